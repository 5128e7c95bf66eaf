import { inWords, isRecord, type JsonRecord } from '../../shared/json.ts'
import type { ConfigInput } from '../../types/index.ts'
import { Draft } from '../draft.ts'
import type { Path } from '../reader.ts'
import type { ConfigFormat } from './entry.ts'

interface Launcher {
  command: string
  args(identifier: string, version: string | undefined): string[]
  /** Options before the package arguments, where the launcher would otherwise parse those. */
  separator?: '--'
}

/** How packages of each kind are started, without prompts and in exactly this version. */
const launchers: Readonly<Record<string, Launcher>> = {
  npm: {
    command: 'npx',
    args: (name, version) => ['-y', version === undefined ? name : `${name}@${version}`],
  },
  pypi: { command: 'uvx', args: (name, version) => [version === undefined ? name : `${name}==${version}`] },
  nuget: {
    command: 'dnx',
    args: (name, version) => [version === undefined ? name : `${name}@${version}`, '--yes'],
    separator: '--',
  },
  oci: {
    command: 'docker',
    args: (name, version) => [version === undefined || /[:@][^/]*$/.test(name) ? name : `${name}:${version}`],
  },
}

/** `server.json`, the published form of a server: its packages and addresses. The first usable one is chosen. */
export const serverJson: ConfigFormat = {
  name: 'server.json',
  matches: ({ name, packages, remotes }) =>
    typeof name === 'string' && name.includes('/') && (Array.isArray(packages) || Array.isArray(remotes)),
  read(document) {
    const fullName = inWords(document['name'])
    const name = fullName.split('/').at(-1) ?? fullName
    const inputs: ConfigInput[] = []
    const candidate = packageOf(document) ?? remoteOf(document)
    if (candidate === undefined) {
      const draft = new Draft(name, []).addError(
        [],
        'offers nothing that can be started or reached from here',
      )
      return { drafts: [draft], inputs, problems: [] }
    }
    const draft = new Draft(name, candidate.path)
    if (candidate.kind === 'package') readPackage(draft, candidate.entry, candidate.path, inputs)
    else readRemote(draft, candidate.entry, candidate.path, inputs)
    return { drafts: [draft], inputs, problems: [] }
  },
}

interface Candidate {
  kind: 'package' | 'remote'
  entry: JsonRecord
  path: Path
}

function packageOf(document: JsonRecord): Candidate | undefined {
  return candidatesOf(document, 'packages').find(({ entry }) => {
    const transport = isRecord(entry['transport']) ? entry['transport']['type'] : 'stdio'
    return transport === 'stdio' && launcherOf(entry) !== undefined
  })
}

function remoteOf(document: JsonRecord): Candidate | undefined {
  const remotes = candidatesOf(document, 'remotes')
  return remotes.find(({ entry }) => entry['type'] === 'streamable-http') ?? remotes[0]
}

function candidatesOf(document: JsonRecord, name: 'packages' | 'remotes'): Candidate[] {
  const list = document[name]
  if (!Array.isArray(list)) return []
  const kind = name === 'packages' ? 'package' : 'remote'
  return list.flatMap((entry: unknown, index) =>
    isRecord(entry) ? [{ kind, entry, path: [name, index] }] : [],
  )
}

function launcherOf(entry: JsonRecord): Launcher | undefined {
  const kind = inWords(entry['registryType'])
  return Object.hasOwn(launchers, kind) ? launchers[kind] : undefined
}

function readPackage(draft: Draft, entry: JsonRecord, path: Path, inputs: ConfigInput[]): void {
  const launcher = launcherOf(entry)
  const { identifier, version } = entry
  if (launcher === undefined || typeof identifier !== 'string') {
    draft.addError(path, 'has no package name')
    return
  }
  const docker = launcher.command === 'docker'
  const identifierPath: Path = [...path, 'identifier']
  draft.set('command', launcher.command, [...path, 'registryType'])
  const environment = namedItems(entry['environmentVariables'], [...path, 'environmentVariables'])
  if (docker) {
    for (const word of ['run', '-i', '--rm']) draft.add('args', word, identifierPath)
    for (const { name, from } of environment) {
      draft.add('args', '-e', from)
      draft.add('args', name, from)
    }
  }
  readArguments(draft, entry['runtimeArguments'], [...path, 'runtimeArguments'], inputs)
  for (const word of launcher.args(identifier, typeof version === 'string' ? version : undefined))
    draft.add('args', word, identifierPath)
  const { packageArguments } = entry
  if (launcher.separator !== undefined && Array.isArray(packageArguments) && packageArguments.length > 0) {
    draft.add('args', launcher.separator, identifierPath)
  }
  readArguments(draft, packageArguments, [...path, 'packageArguments'], inputs)
  for (const { name, item, from } of environment) {
    const text = valueText(name, item, inputs)
    if (text !== undefined) draft.setIn('env', name, text, from)
  }
}

function readRemote(draft: Draft, entry: JsonRecord, path: Path, inputs: ConfigInput[]): void {
  const { url, type } = entry
  draft.set('type', type, [...path, 'type'])
  const variables = isRecord(entry['variables']) ? entry['variables'] : {}
  draft.set('url', typeof url === 'string' ? expandPlaceholders(url, variables, inputs) : url, [
    ...path,
    'url',
  ])
  for (const { name, item, from } of namedItems(entry['headers'], [...path, 'headers'])) {
    const text = valueText(name, item, inputs)
    if (text !== undefined) draft.setIn('headers', name, text, from)
  }
}

function readArguments(draft: Draft, list: unknown, path: Path, inputs: ConfigInput[]): void {
  if (!Array.isArray(list)) return
  for (const [index, item] of list.entries()) {
    if (!isRecord(item)) continue
    const from = [...path, index]
    const flag = item['type'] === 'named' && typeof item['name'] === 'string' ? item['name'] : undefined
    const name = flag ?? (typeof item['valueHint'] === 'string' ? item['valueHint'] : `argument ${index + 1}`)
    const isFlagOnly =
      flag !== undefined &&
      ['value', 'default', 'isRequired', 'isSecret', 'choices', 'format'].every(
        (key) => item[key] === undefined,
      )
    const text = isFlagOnly ? undefined : valueText(name.replace(/^-+/, ''), item, inputs)
    if (!isFlagOnly && text === undefined) continue
    if (flag !== undefined) draft.add('args', flag, from)
    if (text !== undefined) draft.add('args', text, from)
  }
}

/** The value of an argument, variable or header: its fixed value, else an input if it is required. */
function valueText(name: string, item: JsonRecord, inputs: ConfigInput[]): string | undefined {
  const variables = isRecord(item['variables']) ? item['variables'] : {}
  if (typeof item['value'] === 'string') return expandPlaceholders(item['value'], variables, inputs)
  const defaultValue = item['default']
  if (typeof defaultValue === 'string' && item['isSecret'] !== true) return defaultValue
  return item['isRequired'] === true ? addInput(name, item, inputs) : undefined
}

/** Expands `{name}` in a text with its variables. */
function expandPlaceholders(text: string, variables: JsonRecord, inputs: ConfigInput[]): string {
  return text.replace(/\{([\w-]+)\}/g, (placeholder: string, name: string) => {
    const item = variables[name]
    if (!isRecord(item)) return placeholder
    return valueText(name, { isRequired: true, ...item }, inputs) ?? placeholder
  })
}

function addInput(id: string, item: JsonRecord, inputs: ConfigInput[]): string {
  const { description, isSecret, choices } = item
  const options = Array.isArray(choices) ? choices.filter((choice) => typeof choice === 'string') : []
  inputs.push({
    id,
    ...(typeof description === 'string' && { description }),
    ...(isSecret === true && { password: true }),
    ...(options.length > 0 && { options }),
  })
  return `\${input:${id}}`
}

function namedItems(list: unknown, path: Path): { name: string; item: JsonRecord; from: Path }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item: unknown, index) =>
    isRecord(item) && typeof item['name'] === 'string'
      ? [{ name: item['name'], item, from: [...path, index] }]
      : [],
  )
}
