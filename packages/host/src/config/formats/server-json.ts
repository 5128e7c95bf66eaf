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
    const full = inWords(document['name'])
    const name = full.split('/').at(-1) ?? full
    const inputs: ConfigInput[] = []
    const chosen = packageOf(document) ?? remoteOf(document)
    if (chosen === undefined) {
      const draft = new Draft(name, []).fault([], 'offers nothing that can be started or reached from here')
      return { drafts: [draft], inputs, problems: [] }
    }
    const draft = new Draft(name, chosen.path)
    if (chosen.kind === 'package') readPackage(draft, chosen.entry, chosen.path, inputs)
    else readRemote(draft, chosen.entry, chosen.path, inputs)
    return { drafts: [draft], inputs, problems: [] }
  },
}

interface Chosen {
  kind: 'package' | 'remote'
  entry: JsonRecord
  path: Path
}

function packageOf(document: JsonRecord): Chosen | undefined {
  return listed(document, 'packages').find(({ entry }) => {
    const transport = isRecord(entry['transport']) ? entry['transport']['type'] : 'stdio'
    return transport === 'stdio' && launcherOf(entry) !== undefined
  })
}

function remoteOf(document: JsonRecord): Chosen | undefined {
  const remotes = listed(document, 'remotes')
  return remotes.find(({ entry }) => entry['type'] === 'streamable-http') ?? remotes[0]
}

function listed(document: JsonRecord, name: 'packages' | 'remotes'): Chosen[] {
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
    draft.fault(path, 'has no package name')
    return
  }
  const docker = launcher.command === 'docker'
  const at: Path = [...path, 'identifier']
  draft.set('command', launcher.command, [...path, 'registryType'])
  const environment = named(entry['environmentVariables'], [...path, 'environmentVariables'])
  if (docker) {
    for (const word of ['run', '-i', '--rm']) draft.add('args', word, at)
    for (const { name, from } of environment) {
      draft.add('args', '-e', from)
      draft.add('args', name, from)
    }
  }
  readArguments(draft, entry['runtimeArguments'], [...path, 'runtimeArguments'], inputs)
  for (const word of launcher.args(identifier, typeof version === 'string' ? version : undefined))
    draft.add('args', word, at)
  const { packageArguments } = entry
  if (launcher.separator !== undefined && Array.isArray(packageArguments) && packageArguments.length > 0) {
    draft.add('args', launcher.separator, at)
  }
  readArguments(draft, packageArguments, [...path, 'packageArguments'], inputs)
  for (const { name, item, from } of environment) {
    const text = givenText(name, item, inputs)
    if (text !== undefined) draft.setIn('env', name, text, from)
  }
}

function readRemote(draft: Draft, entry: JsonRecord, path: Path, inputs: ConfigInput[]): void {
  const { url, type } = entry
  draft.set('type', type, [...path, 'type'])
  const variables = isRecord(entry['variables']) ? entry['variables'] : {}
  draft.set('url', typeof url === 'string' ? filled(url, variables, inputs) : url, [...path, 'url'])
  for (const { name, item, from } of named(entry['headers'], [...path, 'headers'])) {
    const text = givenText(name, item, inputs)
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
    const bare =
      flag !== undefined &&
      ['value', 'default', 'isRequired', 'isSecret', 'choices', 'format'].every(
        (key) => item[key] === undefined,
      )
    const text = bare ? undefined : givenText(name.replace(/^-+/, ''), item, inputs)
    if (!bare && text === undefined) continue
    if (flag !== undefined) draft.add('args', flag, from)
    if (text !== undefined) draft.add('args', text, from)
  }
}

/** The value of an argument, variable or header: its fixed value, else an input if it is required. */
function givenText(name: string, item: JsonRecord, inputs: ConfigInput[]): string | undefined {
  const variables = isRecord(item['variables']) ? item['variables'] : {}
  if (typeof item['value'] === 'string') return filled(item['value'], variables, inputs)
  const preset = item['default']
  if (typeof preset === 'string' && item['isSecret'] !== true) return preset
  return item['isRequired'] === true ? asked(name, item, inputs) : undefined
}

/** Expands `{name}` in a text with its variables. */
function filled(text: string, variables: JsonRecord, inputs: ConfigInput[]): string {
  return text.replace(/\{([\w-]+)\}/g, (written: string, name: string) => {
    const item = variables[name]
    if (!isRecord(item)) return written
    return givenText(name, { isRequired: true, ...item }, inputs) ?? written
  })
}

function asked(id: string, item: JsonRecord, inputs: ConfigInput[]): string {
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

function named(list: unknown, path: Path): { name: string; item: JsonRecord; from: Path }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item: unknown, index) =>
    isRecord(item) && typeof item['name'] === 'string'
      ? [{ name: item['name'], item, from: [...path, index] }]
      : [],
  )
}
