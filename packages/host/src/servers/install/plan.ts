import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { parseConfig } from '../../config/config.ts'
import { textsOf } from '../../config/server-entry.ts'
import { displayedValues, partsOf } from '../../config/variables.ts'
import { inWords, isDeeper, isRecord, type JsonRecord } from '../../shared/json.ts'
import { oneLine, shellWord } from '../../shared/text.ts'
import type {
  ConfigInput,
  InstallPlan,
  NeededValue,
  ServerConfig,
  StdioServerConfig,
} from '../../types/index.ts'
import { scanCommand, variableEffect } from '../launch/command-scan.ts'

const maxTexts = 500
const maxLevels = 64

/**
 * The configuration entry for a published server. `name`: its name there; default the last part of its own.
 * @throws McpError 'INVALID' if it cannot be started here, or not in exactly one version
 */
export function planFrom(document: Readonly<JsonRecord>, name?: string): InstallPlan {
  const fullName = inWords(document['name'])
  if (isDeeper(document, maxLevels)) {
    throw new McpError('INVALID', `${oneLine(fullName)} cannot be installed: it is nested too deeply`)
  }
  if (![document['packages'], document['remotes']].some(Array.isArray)) {
    throw new McpError('INVALID', `${oneLine(fullName)} cannot be installed: it has nothing to start`)
  }
  const { version, packages, remotes } = document
  const usedMembers = JSON.stringify({ name: document['name'], version, packages, remotes })
  const { servers, problems } = parseConfig(usedMembers, { file: 'server.json', env: {} })
  const [entry] = Object.entries(servers)
  if (entry === undefined) {
    const reason = problems.find(({ severity }) => severity === 'error')?.message ?? 'has nothing to start'
    throw new McpError('INVALID', `${oneLine(fullName)} cannot be installed: it ${oneLine(reason)}`)
  }
  const [publishedName, { from, ...config }] = entry
  const serverName = name ?? publishedName
  const inputs = from?.inputs ?? []
  checkVariables(fullName, config, inputs)
  checkPackage(config, document)
  return {
    ...planOf(serverName, config, inputs),
    publisher: fullName.slice(0, fullName.lastIndexOf('/')),
    ...(typeof version === 'string' && { version }),
  }
}

/** The configuration entry for a server given by its command line or URL. */
export function planForServer(name: string, config: ServerConfig): InstallPlan {
  return planOf(name, config, [])
}

function planOf(name: string, config: ServerConfig, inputs: readonly ConfigInput[]): InstallPlan {
  const needs = inputs.map((input): NeededValue => {
    const { id, description, password = false, options } = input
    return {
      id,
      required: true,
      kind: 'text',
      ...defined({ description, default: input.default, options }),
      ...(password && { secret: `${name}.${id}`.replaceAll('}', '') }),
    }
  })
  return {
    name,
    command: commandOf(config),
    words: wordsOf(config),
    given: displayedValues('url' in config ? config.headers : config.env),
    needs,
    findings: scanCommand(config),
    config: (values) =>
      mapTexts(config, (text) => {
        const read = partsOf(text)
        if ('problem' in read) return text
        return read.parts
          .map((part) => {
            if (part.kind === 'text') return part.text
            const need = part.kind === 'input' ? needs.find(({ id }) => id === part.name) : undefined
            if (need === undefined) return part.written
            const [value] = need.secret === undefined ? valuesOf(need, values) : ['']
            return placeholderFor(need, value ?? '')
          })
          .join('')
      }),
  }
}

/** The publisher must not read variables and files of this machine through its texts. */
function checkVariables(name: string, config: ServerConfig, inputs: readonly ConfigInput[]): void {
  const texts = textsOf(config)
  if (texts.length > maxTexts) throw new McpError('INVALID', `${oneLine(name)} has too many arguments`)
  for (const { text } of texts) {
    const read = partsOf(text)
    const isAllowed =
      'parts' in read &&
      read.parts.every(
        (part) =>
          part.kind === 'text' || (part.kind === 'input' && inputs.some(({ id }) => id === part.name)),
      )
    if (isAllowed) continue
    throw new McpError(
      'INVALID',
      `${oneLine(name)} uses values of this machine (${oneLine(text)}). Add it by hand if you trust it.`,
    )
  }
}

/** How one program fetches and runs a package, and what a publisher may specify for it. */
interface Runner {
  registryType: string
  /** Registries that the program uses by default; a package of another registry would be a different one here. */
  registries: readonly string[]
  /** The words before the options. */
  verbs: readonly string[]
  /** A package name, neither a URL, a path nor a repository. */
  name: RegExp
  /** The separator of name and version. */
  before: '@' | '==' | ':'
  /** One exact version, neither a range nor a tag. */
  version: RegExp
  example: string
  flags: ReadonlySet<string>
  /** Options that take a value, which the pattern must match. */
  options: ReadonlyMap<string, RegExp>
}

const semver = /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/
const anyValue = /^[^\0]*$/
const containerOptions = `-e --env -v --volume --mount -p --publish -u --user -w --workdir -l --label -h --hostname -m
  --memory --name --network --net --cap-add --cap-drop --security-opt --entrypoint --platform --add-host --dns --cpus
  --gpus --device --tmpfs --pull --pid --ipc --userns --uts --env-file --group-add --restart --stop-timeout --shm-size --ulimit`

const runners: Readonly<Record<string, Runner>> = {
  npx: {
    registryType: 'npm',
    registries: ['https://registry.npmjs.org'],
    verbs: [],
    name: /^(?:@[a-z0-9~_-][a-z0-9._~-]*\/)?[a-z0-9~_][a-z0-9._~-]*$/i,
    before: '@',
    version: semver,
    example: '1.2.3',
    flags: new Set(['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online']),
    options: new Map(),
  },
  uvx: {
    registryType: 'pypi',
    registries: ['https://pypi.org', 'https://pypi.org/simple'],
    verbs: [],
    name: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i,
    before: '==',
    // PEP 440 without wildcards and local labels.
    version: /^v?(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?$/,
    example: '1.2.3',
    flags: new Set(['-q', '--quiet', '-v', '--verbose', '-n', '--no-cache', '--no-progress', '--isolated']),
    options: new Map(['-p', '--python'].map((name) => [name, /^(?:(?:c?python|pypy)@?)?\d+(?:\.\d+){0,2}$/])),
  },
  dnx: {
    registryType: 'nuget',
    registries: ['https://api.nuget.org', 'https://api.nuget.org/v3/index.json', 'https://www.nuget.org'],
    verbs: [],
    name: /^\w[\w.-]*$/,
    before: '@',
    version: /^\d+\.\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z.-]+)?$/,
    example: '1.2.3',
    flags: new Set(['-y', '--yes']),
    options: new Map(),
  },
  docker: {
    registryType: 'oci',
    // The name of an image includes its registry.
    registries: [],
    verbs: ['run'],
    name: /^(?:[a-z0-9.-]+(?::\d+)?\/)?[a-z0-9._-]+(?:\/[a-z0-9._-]+)*$/,
    before: ':',
    version: /^v?\d+\.\d+\.\d+(?:[-.][\w.-]+)?$/,
    example: '1.2.3, or a digest (@sha256:…)',
    flags: new Set(['-i', '--interactive', '--rm', '--init', '--read-only', '--privileged']),
    options: new Map(containerOptions.split(/\s+/).map((name) => [name, anyValue])),
  },
}

/**
 * A published server must run one package of a public registry in one exact version, so that later starts run exactly what the
 * user approved.
 * @throws McpError 'INVALID' with the problem, the reason and a suggested fix
 */
function checkPackage(config: ServerConfig, document: Readonly<JsonRecord>): void {
  if ('url' in config) return
  const fullName = oneLine(inWords(document['name']))
  const refuse: CreateRefusal = (what, reason) =>
    new McpError(
      'INVALID',
      `${fullName} cannot be installed: ${what}. ${reason} Ask its publisher, or add it by hand if you trust it: ${oneLine(commandOf(config))}`,
    )
  const runner = Object.hasOwn(runners, config.command) ? runners[config.command] : undefined
  if (runner === undefined) throw refuse('it does not name its package in one exact version', '')
  const packages = (Array.isArray(document['packages']) ? document['packages'] : []).filter(isRecord)
  const candidates = packages.filter(({ registryType }) => registryType === runner.registryType)
  for (const { identifier, version } of candidates) checkOptionNames([identifier, version], refuse)
  const packageText = packageWord(config, runner, refuse)
  checkVersion(packageText, runner, config.command, refuse)
  checkEntry(packageText, runner, candidates, refuse)
  for (const name of Object.keys(config.env ?? {})) {
    const effect = /^[A-Za-z_]\w*$/.test(name) ? variableEffect(name) : undefined
    if (effect !== undefined) {
      throw refuse(`it sets the variable ${oneLine(name)}`, `${effect.message} Only you should set it.`)
    }
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      throw refuse(
        `it sets a variable named ${JSON.stringify(oneLine(name))}`,
        'That is not a variable name.',
      )
    }
  }
}

type CreateRefusal = (what: string, reason: string) => McpError

/** The first word that is no option of the runner: the package. */
function packageWord(
  { command, args = [] }: StdioServerConfig,
  runner: Runner,
  refuse: CreateRefusal,
): string {
  const changes = `It could change what ${command} fetches or runs.`
  let n = runner.verbs.length
  for (; n < args.length; n++) {
    const arg = args[n] ?? ''
    if (!arg.startsWith('-')) break
    if (runner.flags.has(arg)) continue
    const equals = arg.startsWith('--') ? arg.indexOf('=') : -1
    const name = equals === -1 ? arg : arg.slice(0, equals)
    const value = equals === -1 ? args[++n] : arg.slice(equals + 1)
    const pattern = runner.options.get(name)
    if (pattern !== undefined && value !== undefined && pattern.test(value)) continue
    const what = pattern === undefined ? '' : ` with the value ${JSON.stringify(oneLine(value ?? ''))}`
    throw refuse(`its runtime argument ${JSON.stringify(oneLine(name))} is not accepted${what}`, changes)
  }
  return args[n] ?? ''
}

function checkVersion(
  packageText: string,
  { name, before, version, example }: Runner,
  command: string,
  refuse: CreateRefusal,
): void {
  const digestName = before === ':' ? /^(.+)@sha256:[0-9a-f]{64}$/.exec(packageText)?.[1] : undefined
  const at =
    before === '@'
      ? packageText.lastIndexOf('@')
      : before === ':'
        ? colonOf(packageText)
        : packageText.indexOf(before)
  const [serverName, wanted] =
    at < 1 ? [packageText, ''] : [packageText.slice(0, at), packageText.slice(at + before.length)]
  // An image may have a tag besides its digest; the digest decides.
  const plainName =
    digestName === undefined
      ? serverName
      : digestName.slice(0, colonOf(digestName) === -1 ? undefined : colonOf(digestName))
  if (!name.test(plainName)) {
    throw refuse(
      `its package name ${JSON.stringify(oneLine(plainName))} is not valid`,
      `It is not the name of a package in a registry, so it is unknown what ${command} would run.`,
    )
  }
  if (digestName === undefined && !version.test(wanted)) {
    const named = wanted === '' ? 'no version' : `the version ${JSON.stringify(oneLine(wanted))}`
    throw refuse(
      'it does not name its package in one exact version',
      `It names ${named}, so each start may run something else; an exact one looks like ${example}.`,
    )
  }
}

/** Where the tag of an image begins; a colon before a slash belongs to a port. */
function colonOf(image: string): number {
  const colon = image.lastIndexOf(':')
  return image.indexOf('/', colon) === -1 ? colon : -1
}

/** A name that looks like an option would be parsed as one. */
function checkOptionNames(texts: readonly unknown[], refuse: CreateRefusal): void {
  for (const text of texts) {
    if (typeof text !== 'string' || !/^-|[\s\0]/.test(text)) continue
    throw refuse(
      `its package name ${JSON.stringify(oneLine(text))} is not valid`,
      'It would be read as an option.',
    )
  }
}

/** The started package must be the published one, and its metadata must match. */
function checkEntry(
  packageText: string,
  runner: Runner,
  candidates: readonly JsonRecord[],
  refuse: CreateRefusal,
): void {
  const entry = candidates.find(({ identifier, version }) =>
    [inWords(identifier), `${inWords(identifier)}${runner.before}${inWords(version)}`].includes(packageText),
  )
  if (entry === undefined) {
    throw refuse(
      `${JSON.stringify(oneLine(packageText))} is not the package it publishes`,
      'It would run something else.',
    )
  }
  const { registryBaseUrl: base, fileSha256 } = entry
  if (fileSha256 !== undefined) {
    throw refuse(
      'it names a checksum (fileSha256) for its package',
      'The package is fetched by another program, so the checksum cannot be compared.',
    )
  }
  const isDefaultRegistry = typeof base === 'string' && runner.registries.includes(base.replace(/\/$/, ''))
  if (base !== undefined && runner.registries.length > 0 && !isDefaultRegistry) {
    throw refuse(
      `its package is published at ${oneLine(inWords(base))}`,
      'The registry that this machine uses may have another package under that name.',
    )
  }
}

/** The text in a configuration for a value: the name of its secret, or the value itself. */
export function placeholderFor(need: NeededValue, value: string): string {
  if (need.secret !== undefined) return `\${secret:${need.secret}}`
  const read = partsOf(value)
  if ('parts' in read && read.parts.every(({ kind }) => kind === 'text')) return value
  throw new McpError('INVALID', `The value of "${oneLine(need.id)}" reads like a variable: ${oneLine(value)}`)
}

/**
 * The given value or its default.
 * @throws McpError 'INVALID' if it is missing or invalid
 */
export function valuesOf(
  need: NeededValue,
  values: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const { id, required, options, kind, multiple = false, min, max } = need
  const given = Object.hasOwn(values, id) ? (values[id] ?? []) : []
  const all = given.length > 0 ? given : need.default === undefined ? [] : [need.default]
  const throwInvalid = (reason: string): never => {
    throw new McpError('INVALID', `"${oneLine(id)}" ${reason}`)
  }
  if (all.length === 0) return required ? throwInvalid('is needed') : []
  if (all.length > 1 && !multiple) throwInvalid('takes one value')
  for (const value of all) {
    if (options !== undefined && !options.includes(value))
      throwInvalid(`must be one of ${options.join(', ')}`)
    if (kind === 'boolean' && value !== 'true' && value !== 'false') throwInvalid('must be true or false')
    if (kind !== 'number') continue
    const number = Number(value)
    if (value.trim() === '' || !Number.isFinite(number)) throwInvalid('must be a number')
    if (min !== undefined && number < min) throwInvalid(`must be at least ${min}`)
    if (max !== undefined && number > max) throwInvalid(`must be at most ${max}`)
  }
  return all
}

/** The command line or URL. */
export function commandOf(config: ServerConfig): string {
  return 'url' in config ? config.url : wordsOf(config).map(shellWord).join(' ')
}

/** Program and arguments, or the URL alone. */
export function wordsOf(config: ServerConfig): string[] {
  return 'url' in config ? [config.url] : [config.command, ...(config.args ?? [])]
}

function mapTexts(config: ServerConfig, text: (value: string) => string): ServerConfig {
  const record = (all: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, text(value)]))
  if ('url' in config) {
    const { url, headers } = config
    return { ...config, url: text(url), ...(headers !== undefined && { headers: record(headers) }) }
  }
  const { args, env } = config
  return {
    ...config,
    command: text(config.command),
    ...(args !== undefined && { args: args.map(text) }),
    ...(env !== undefined && { env: record(env) }),
  }
}
