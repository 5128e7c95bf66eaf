import type { Root } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import type { JsonRecord } from '../shared/json.ts'
import type {
  ConfigProblem,
  HttpServerConfig,
  Sandbox,
  ServerConfig,
  ServerSettings,
  StdioServerConfig,
} from '../types/index.ts'
import type { Draft } from './draft.ts'
import { readRoot } from './jackfield-section.ts'
import { createReader, type Lookup, type Path, pathText, type Reader } from './reader.ts'
import { partsOf } from './variables.ts'

const stdioFields = ['command', 'args', 'env', 'envFile', 'cwd', 'sandbox']
const httpFields = ['url', 'headers', 'auth']
/** Node alone uses about ten threads. */
const minProcesses = 16
const minTemporaryBytes = 65_536
const commonFields = [
  'disabled',
  'type',
  'era',
  'lazy',
  'connectTimeoutMs',
  'callTimeoutMs',
  'sleepAfterMs',
  'roots',
  'labels',
  'tools',
]
const stdioTypes = ['stdio', 'local']
const httpTypes = ['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'sse', 'remote']

const additionFields = [...commonFields.filter((name) => name !== 'type'), 'sandbox', 'auth']

/** Context for parsing an entry. */
export interface ServerParseContext {
  file: string
  /** Base folder for relative roots. */
  folder: string
  problems: ConfigProblem[]
  /** For folders, which are resolved when the file is read. */
  lookup: Lookup
}

/** One file's additions to a server of another file. */
export interface ServerAddition {
  /** Options of the entry besides its command or URL. */
  settings: ServerSettings
  /** The sandbox of a server that is a program. */
  sandbox?: boolean | Sandbox
  /** The login settings of a server at a URL. */
  auth?: NonNullable<HttpServerConfig['auth']> | false
}

/** Parses a server entry; undefined if invalid, with its problems reported. */
export function readServer(draft: Draft, options: ServerParseContext): ServerConfig | undefined {
  const reader = createReader({ file: options.file, problems: options.problems })
  for (const { path, message } of draft.warnings) reader.warning(pathText(path), message)
  for (const { path, message } of draft.errors) reader.problem(pathText(path), message)
  if (reader.failed) return undefined
  const { entry } = draft
  const type = reader.oneOf(entry['type'], draft.sourceText('type'), [...stdioTypes, ...httpTypes])
  const expandingReader = createReader(options)
  const target = readTarget(draft, entry, type, reader, expandingReader)
  const settings = readSettings(draft, entry, options.folder, reader, expandingReader)
  return target === undefined || reader.failed || expandingReader.failed
    ? undefined
    : { ...target, ...settings }
}

/** Parses an entry of `jackfield.servers`; undefined if invalid, with its problems reported. */
export function readAddition(draft: Draft, options: ServerParseContext): ServerAddition | undefined {
  const reader = createReader({ file: options.file, problems: options.problems })
  const { entry } = draft
  for (const name of Object.keys(entry)) {
    if (!additionFields.includes(name))
      reader.problem(draft.sourceText(name), `cannot be set here. Known are ${additionFields.join(', ')}`)
  }
  for (const { path, message } of [...draft.warnings, ...draft.errors])
    reader.problem(pathText(path), message)
  const expandingReader = createReader(options)
  const settings = readSettings(draft, entry, options.folder, reader, expandingReader)
  const target = defined({
    sandbox: readSandbox(draft, entry['sandbox'], expandingReader),
    auth: readAuth(draft, entry['auth'], reader),
  })
  return reader.failed || expandingReader.failed ? undefined : { settings, ...target }
}

/** Merges the additions into a server. */
export function withAddition(
  config: ServerConfig,
  { settings, sandbox, auth }: ServerAddition,
): ServerConfig {
  if ('url' in config) return { ...config, ...settings, ...(auth !== undefined && { auth }) }
  return { ...config, ...settings, ...(sandbox !== undefined && { sandbox }) }
}

function readTarget(
  draft: Draft,
  entry: JsonRecord,
  type: string | undefined,
  reader: Reader,
  expandingReader: Reader,
): ServerConfig | undefined {
  const entryPath = pathText(draft.path)
  const hasCommand = entry['command'] !== undefined
  const hasUrl = entry['url'] !== undefined
  if (hasCommand && hasUrl) {
    reader.problem(entryPath, 'has both "command" and "url": remove one of them')
    return undefined
  }
  if (!hasCommand && !hasUrl) {
    reader.problem(entryPath, 'needs "command" (a program to start) or "url" (an address)')
    return undefined
  }
  if (type !== undefined && (hasCommand ? httpTypes : stdioTypes).includes(type)) {
    reader.problem(
      draft.sourceText('type'),
      `is "${type}", but the entry has "${hasCommand ? 'command' : 'url'}"`,
    )
  }
  const known = [...commonFields, ...(hasCommand ? stdioFields : httpFields)]
  for (const name of Object.keys(entry)) {
    if (!known.includes(name)) reader.warning(draft.sourceText(name), 'is not used by Jackfield')
  }
  const config = hasCommand
    ? readCommand(draft, entry, reader, expandingReader)
    : readUrl(draft, entry, reader)
  if (config === undefined) return undefined
  for (const { field, message } of serverProblems(config)) reader.problem(draft.sourceText(...field), message)
  return config
}

function readCommand(
  draft: Draft,
  entry: JsonRecord,
  reader: Reader,
  expandingReader: Reader,
): StdioServerConfig | undefined {
  const command = reader.text(entry['command'], draft.sourceText('command'))?.trim()
  const otherFields = defined({
    args: readArgs(draft, entry['args'], reader),
    env: textRecord(draft, entry, 'env', reader),
    envFile: reader.text(entry['envFile'], draft.sourceText('envFile')),
    cwd: reader.text(entry['cwd'], draft.sourceText('cwd')),
    sandbox: readSandbox(draft, entry['sandbox'], expandingReader),
  })
  return command === undefined ? undefined : { command, ...otherFields }
}

/** Item by item, since each may have its own source position. */
function readArgs(draft: Draft, value: unknown, reader: Reader): string[] | undefined {
  if (!Array.isArray(value)) return reader.texts(value, draft.sourceText('args'))
  return value.map((item: unknown, index) => reader.text(item ?? null, draft.sourceText('args', index)) ?? '')
}

function readUrl(draft: Draft, entry: JsonRecord, reader: Reader): HttpServerConfig | undefined {
  const url = reader.text(entry['url'], draft.sourceText('url'))?.trim()
  const headers = textRecord(draft, entry, 'headers', reader)
  const auth = readAuth(draft, entry['auth'], reader)
  return url === undefined ? undefined : { url, ...defined({ headers, auth }) }
}

function textRecord(
  draft: Draft,
  entry: JsonRecord,
  name: string,
  reader: Reader,
): Record<string, string> | undefined {
  const record = reader.record(entry[name], draft.sourceText(name))
  if (record === undefined) return undefined
  return Object.fromEntries(
    Object.entries(record).map(([key, item]) => [
      key,
      reader.text(item ?? null, draft.sourceText(name, key)) ?? '',
    ]),
  )
}

function readAuth(draft: Draft, value: unknown, reader: Reader): HttpServerConfig['auth'] {
  if (value === undefined || value === false) return value
  const entry = reader.record(value, draft.sourceText('auth'))
  if (entry === undefined) return undefined
  warnUnknown(entry, ['clientId', 'clientSecret', 'issuer', 'scopes'], draft, 'auth', reader)
  return defined({
    clientId: reader.text(entry['clientId'], draft.sourceText('auth', 'clientId')),
    clientSecret: reader.text(entry['clientSecret'], draft.sourceText('auth', 'clientSecret')),
    issuer: reader.text(entry['issuer'], draft.sourceText('auth', 'issuer')),
    scopes: reader.texts(entry['scopes'], draft.sourceText('auth', 'scopes')),
  })
}

function readSandbox(draft: Draft, value: unknown, reader: Reader): boolean | Sandbox | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  const entry = reader.record(value, draft.sourceText('sandbox'))
  if (entry === undefined) return undefined
  const known = ['read', 'write', 'network', 'maxProcesses', 'maxTemporaryBytes']
  warnUnknown(entry, known, draft, 'sandbox', reader)
  const { network } = entry
  const at = (name: string): string => draft.sourceText('sandbox', name)
  return defined({
    read: reader.texts(entry['read'], at('read')),
    write: reader.texts(entry['write'], at('write')),
    network: typeof network === 'boolean' ? network : reader.texts(network, at('network')),
    maxProcesses: reader.count(entry['maxProcesses'], at('maxProcesses'), minProcesses),
    maxTemporaryBytes: reader.count(entry['maxTemporaryBytes'], at('maxTemporaryBytes'), minTemporaryBytes),
  })
}

function readSettings(
  draft: Draft,
  entry: JsonRecord,
  folder: string,
  reader: Reader,
  expandingReader: Reader,
): ServerSettings {
  return defined({
    disabled: reader.flag(entry['disabled'], draft.sourceText('disabled')),
    era: reader.oneOf(entry['era'], draft.sourceText('era'), ['auto', 'modern', 'legacy']),
    lazy: reader.flag(entry['lazy'], draft.sourceText('lazy')),
    connectTimeoutMs: reader.milliseconds(entry['connectTimeoutMs'], draft.sourceText('connectTimeoutMs')),
    callTimeoutMs: reader.milliseconds(entry['callTimeoutMs'], draft.sourceText('callTimeoutMs')),
    sleepAfterMs: reader.milliseconds(entry['sleepAfterMs'], draft.sourceText('sleepAfterMs')),
    roots: readRoots(draft, entry['roots'], folder, expandingReader),
    labels: reader.texts(entry['labels'], draft.sourceText('labels')),
    tools: readTools(draft, entry['tools'], reader),
  })
}

function readRoots(draft: Draft, value: unknown, folder: string, reader: Reader): false | Root[] | undefined {
  if (value === undefined || value === false) return value
  if (!Array.isArray(value)) {
    reader.problem(draft.sourceText('roots'), 'must be a list of folders, or false for none')
    return undefined
  }
  return value.flatMap(
    (item: unknown, index) => readRoot(item, draft.sourceText('roots', index), folder, reader) ?? [],
  )
}

function readTools(draft: Draft, value: unknown, reader: Reader): ServerSettings['tools'] {
  const entry = reader.record(value, draft.sourceText('tools'))
  if (entry === undefined) return undefined
  warnUnknown(entry, ['only', 'without', 'always'], draft, 'tools', reader)
  return defined({
    only: reader.texts(entry['only'], draft.sourceText('tools', 'only')),
    without: reader.texts(entry['without'], draft.sourceText('tools', 'without')),
    always: reader.texts(entry['always'], draft.sourceText('tools', 'always')),
  })
}

function warnUnknown(
  entry: JsonRecord,
  known: readonly string[],
  draft: Draft,
  name: string,
  reader: Reader,
): void {
  for (const key of Object.keys(entry)) {
    if (!known.includes(key)) reader.warning(draft.sourceText(name, key), 'is not used by Jackfield')
  }
}

/** Why a configuration is unusable. Texts with variables are checked as far as they are known. */
export function serverProblems(config: ServerConfig): { field: Path; message: string }[] {
  return 'url' in config ? httpProblems(config) : stdioProblems(config)
}

function stdioProblems(
  config: Extract<ServerConfig, { command: string }>,
): { field: Path; message: string }[] {
  const { command, env = {}, envFile, cwd } = config
  const problems: { field: Path; message: string }[] = []
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('='))
      problems.push({ field: ['env', name], message: 'is not a valid variable name' })
  }
  for (const [name, value] of Object.entries({ command, cwd, envFile })) {
    if (value === '') problems.push({ field: [name], message: 'is empty' })
  }
  for (const { field, text } of textsOf(config)) {
    if (text.includes('\0')) problems.push({ field, message: 'contains a NUL character' })
  }
  return problems
}

function httpProblems(config: Extract<ServerConfig, { url: string }>): { field: Path; message: string }[] {
  const problems: { field: Path; message: string }[] = []
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    try {
      new Headers([[name, value]])
    } catch {
      problems.push({ field: ['headers', name], message: 'is not a valid header' })
    }
  }
  const message = urlProblem(config.url)
  if (message !== undefined) problems.push({ field: ['url'], message })
  return problems
}

function urlProblem(url: string): string | undefined {
  const variables = partsOf(url)
  const [first] = 'parts' in variables ? variables.parts : []
  if (first !== undefined && first.kind !== 'text') return undefined
  const expandedUrl =
    'parts' in variables
      ? variables.parts.map((part) => (part.kind === 'text' ? part.text : '1')).join('')
      : url
  const parsed = URL.parse(expandedUrl)
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:'))
    return 'must be an http or https address'
  if (parsed.username !== '' || parsed.password !== '')
    return 'must not contain a user name or password: use "headers"'
  return undefined
}

/** Every text of a server that may contain variables, with its field. */
export function textsOf(config: ServerConfig): { field: (string | number)[]; text: string }[] {
  const texts: { field: (string | number)[]; text: string | undefined }[] =
    'url' in config
      ? [
          { field: ['url'], text: config.url },
          ...Object.entries(config.headers ?? {}).map(([name, text]) => ({ field: ['headers', name], text })),
          ...(config.auth
            ? [
                { field: ['auth', 'clientId'], text: config.auth.clientId },
                { field: ['auth', 'clientSecret'], text: config.auth.clientSecret },
              ]
            : []),
        ]
      : [
          { field: ['command'], text: config.command },
          ...(config.args ?? []).map((text, index) => ({ field: ['args', index], text })),
          ...Object.entries(config.env ?? {}).map(([name, text]) => ({ field: ['env', name], text })),
          { field: ['envFile'], text: config.envFile },
          { field: ['cwd'], text: config.cwd },
        ]
  return texts.flatMap(({ field, text }) => (text === undefined ? [] : [{ field, text }]))
}
