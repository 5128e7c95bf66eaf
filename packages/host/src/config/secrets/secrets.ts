import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import type { FormTable } from '../../log/store/answer-tables.ts'
import { FixableError, fixesOf } from '../../shared/failures.ts'
import { readErrorReason, readSmallFile } from '../../shared/files.ts'
import type { ConfigInput, MissingInput, SecretStore, Secrets, ServerConfig } from '../../types/index.ts'
import { serverProblems, textsOf } from '../server-entry.ts'
import {
  type ConfigEnvironment,
  folderText,
  fromEnvironment,
  isSecretName,
  type Part,
  partsOf,
} from '../variables.ts'
import type { SecretRedactor } from './redactor.ts'

/** The key prefix of input answers, like a server's for form values. */
const settingsKey = 'inputs of configuration files'
const maxSettingCharacters = 65_536

interface SecretsDeps {
  store: SecretStore
  /** Where answers that are no secrets are stored. */
  settings: FormTable
  redactor: SecretRedactor
  env: ConfigEnvironment
  home: string
  /** Asks the user for a value; undefined if none is given. The value must not be logged or shown. */
  ask: (server: string, input: ConfigInput, signal: AbortSignal) => Promise<string | undefined>
  servers: () => Iterable<[string, ServerConfig]>
  /** Called after `set` stored a value. */
  stored: (name: string) => void
}

/** The secrets of one host. `resolve` expands a configuration for starting its server. */
export function createSecrets(deps: SecretsDeps): Secrets & {
  resolve(server: string, config: ServerConfig, signal: AbortSignal): Promise<ServerConfig>
  /** The stored answer, or one given by the user now; undefined if they give none. */
  answer: ResolveDeps['input']
} {
  const { store, settings, redactor } = deps
  let previousQuestion: Promise<unknown> = Promise.resolve()
  /** One question at a time, so that servers with the same input share the answer. */
  const runSequentially = (work: () => Promise<string | undefined>): Promise<string | undefined> => {
    const turn = previousQuestion.then(work)
    previousQuestion = turn.catch(() => {})
    return turn
  }
  const input: ResolveDeps['input'] = (secret, server, wanted, signal) =>
    runSequentially(async () => {
      const stored = await store.get(secret)
      if (stored !== undefined) return stored
      const given = await deps.ask(server, wanted, signal)
      if (given !== undefined && given !== '') await store.set(secret, given)
      return given
    })
  /** The answer to an input of a file. One that is no secret is stored with the settings. */
  const inputOfFile: ResolveDeps['input'] = (secret, server, wanted, signal) => {
    if (wanted.password === true || isSecretName(wanted.id)) return input(secret, server, wanted, signal)
    return runSequentially(async () => {
      const stored = (await store.get(secret)) ?? settings.get(settingsKey, secret)
      if (typeof stored === 'string') return stored
      const given = await deps.ask(server, wanted, signal)
      if (given !== undefined && given !== '' && given.length <= maxSettingCharacters)
        settings.set(settingsKey, secret, given)
      return given
    })
  }
  return {
    get kind() {
      return store.kind
    },
    names: () => store.names(),
    async set(name, value) {
      redactor.add(value, name, name)
      await store.set(name, value)
      deps.stored(name)
    },
    async remove(name) {
      const wasSetting = settings.get(settingsKey, name) !== undefined
      settings.forget(settingsKey, name)
      return (await store.remove(name)) || wasSetting
    },
    missing: () =>
      missingInputs(
        deps.servers(),
        async (name) =>
          settings.get(settingsKey, name) !== undefined || (await store.get(name)) !== undefined,
      ),
    redact: (text) => redactor.text(text),
    answer: input,
    resolve: (server, config, signal) =>
      resolveServer(server, config, { ...deps, input: inputOfFile, signal }),
  }
}

interface ResolveDeps {
  env: ConfigEnvironment
  home: string
  store: SecretStore
  redactor: SecretRedactor
  /** Reads a stored value, or asks the user for it. */
  input: (
    secret: string,
    server: string,
    input: ConfigInput,
    signal: AbortSignal,
  ) => Promise<string | undefined>
  /** Aborted when the connection is no longer needed. */
  signal: AbortSignal
}

const maxFileBytes = 65_536
/** Maximum bytes of an env file. */
export const maxVariablesBytes = 1_048_576

/** The storage name of the answer to a file's `${input:id}`, unique to that file. */
function inputSecret(id: string, file: string): string {
  return `input ${id} of ${file}`
}

/**
 * Expands all variables of a configuration. Secret values are first added to the redactor. Use the result only for the process or
 * address it belongs to.
 * @throws McpError 'INVALID' that names the field and what is missing.
 */
async function resolveServer(server: string, config: ServerConfig, deps: ResolveDeps): Promise<ServerConfig> {
  learnSecrets(config, deps.redactor)
  if (config.from === undefined) return config
  const text = (given: string, field: string): Promise<string> =>
    resolveText(server, config, given, field, deps)
  const record = async (given: Record<string, string> | undefined, field: string) =>
    given === undefined
      ? undefined
      : Object.fromEntries(
          await mapSequentially(Object.entries(given), async ([name, item]) => {
            const value = await text(item, `${field}.${name}`)
            if (isSecretName(name)) deps.redactor.add(withoutScheme(value), name)
            return [name, value] as const
          }),
        )
  const { from, ...rest } = config
  const resolved: ServerConfig =
    'url' in rest
      ? { ...rest, url: await text(rest.url, 'url'), ...(await httpTexts(rest, text, record)) }
      : { ...rest, command: await text(rest.command, 'command'), ...(await stdioTexts(rest, text, record)) }
  if ('envFile' in resolved && resolved.envFile !== undefined) {
    const fromFile = await fileVariables(resolve(dirname(from.file), resolved.envFile))
    for (const [name, value] of Object.entries(fromFile))
      if (isSecretName(name)) deps.redactor.add(value, name)
    resolved.env = { ...fromFile, ...resolved.env }
    delete resolved.envFile
  }
  for (const { field, message } of serverProblems(resolved))
    throw new McpError('INVALID', `${field.join('.')} ${message}, once its variables are replaced`)
  return resolved
}

type Text = (given: string, field: string) => Promise<string>
type TextRecord = (
  given: Record<string, string> | undefined,
  field: string,
) => Promise<Record<string, string> | undefined>

async function httpTexts(
  config: Extract<ServerConfig, { url: string }>,
  text: Text,
  record: TextRecord,
): Promise<Partial<Extract<ServerConfig, { url: string }>>> {
  const headers = await record(config.headers, 'headers')
  const { auth } = config
  if (auth === undefined || auth === false) return headers === undefined ? {} : { headers }
  const { clientId, clientSecret } = auth
  return {
    ...defined({ headers }),
    auth: {
      ...auth,
      ...(clientId !== undefined && { clientId: await text(clientId, 'auth.clientId') }),
      ...(clientSecret !== undefined && { clientSecret: await text(clientSecret, 'auth.clientSecret') }),
    },
  }
}

async function stdioTexts(
  config: Extract<ServerConfig, { command: string }>,
  text: Text,
  record: TextRecord,
): Promise<Partial<Extract<ServerConfig, { command: string }>>> {
  const args = await mapSequentially([...(config.args ?? []).entries()], ([index, item]) =>
    text(item, `args[${index}]`),
  )
  const env = await record(config.env, 'env')
  return {
    ...(config.args !== undefined && { args }),
    ...(env !== undefined && { env }),
    ...(config.envFile !== undefined && { envFile: await text(config.envFile, 'envFile') }),
    ...(config.cwd !== undefined && { cwd: await text(config.cwd, 'cwd') }),
  }
}

async function resolveText(
  server: string,
  config: ServerConfig,
  given: string,
  field: string,
  deps: ResolveDeps,
): Promise<string> {
  const read = partsOf(given)
  if ('problem' in read) throw new McpError('INVALID', `${field}: ${read.problem}`)
  const texts = await mapSequentially(read.parts, async (part) => {
    try {
      return await partText(server, config, part, deps)
    } catch (error) {
      const { message } = error instanceof Error ? error : { message: String(error) }
      const details = error instanceof McpError ? error.details : {}
      throw new FixableError('INVALID', `${field}: ${message}`, fixesOf(error), { cause: error, details })
    }
  })
  return texts.join('')
}

async function partText(
  server: string,
  config: ServerConfig,
  part: Part,
  deps: ResolveDeps,
): Promise<string> {
  const file = config.from?.file ?? ''
  switch (part.kind) {
    case 'text':
      return part.text
    case 'env': {
      const variable = fromEnvironment(part, deps.env)
      if ('problem' in variable) throw new Error(variable.problem)
      if (isSecretName(part.name)) deps.redactor.add(variable.text, part.name)
      return variable.text
    }
    case 'secret': {
      const value = await deps.store.get(part.name)
      if (value === undefined)
        throw new FixableError('INVALID', `there is no secret "${part.name}"`, [
          { action: 'set-secret', name: part.name },
        ])
      deps.redactor.add(value, part.name, part.name)
      return value
    }
    case 'input':
      return inputText(server, config, part.name, deps)
    case 'file':
      return fileText(part.name, file, deps)
    default:
      return folderText(part.kind, { workspace: config.from?.workspace ?? dirname(file), home: deps.home })
  }
}

async function inputText(
  server: string,
  config: ServerConfig,
  id: string,
  deps: ResolveDeps,
): Promise<string> {
  const input = config.from?.inputs?.find((known) => known.id === id) ?? { id }
  const name = inputSecret(id, config.from?.file ?? '')
  const value = await deps.input(name, server, input, deps.signal)
  if (value === undefined || value === '') {
    const descriptionText = input.description === undefined ? '' : ` (${input.description})`
    throw new FixableError('INVALID', `the input "${id}"${descriptionText} has no value yet`, [
      { action: 'set-secret', name },
    ])
  }
  if (input.password === true || isSecretName(id)) deps.redactor.add(value, id, name)
  return value
}

/** A file next to the configuration, whose content is treated as secret. */
async function fileText(path: string, config: string, { redactor }: ResolveDeps): Promise<string> {
  const folder = await realpath(dirname(config))
  const wanted = isAbsolute(path) ? path : join(folder, path)
  let real: string
  try {
    real = await realpath(wanted)
  } catch {
    throw new Error(`there is no file ${path}`)
  }
  const relativePath = relative(folder, real)
  if (relativePath.startsWith('..') || isAbsolute(relativePath))
    throw new Error(`the file ${path} is not inside the folder of the configuration, so it is not read`)
  const read = await readSmallFile(real, maxFileBytes).catch((error: unknown) => {
    throw new Error(`the file ${path} cannot be a value: ${readErrorReason(error)}`)
  })
  const text = read.toString('utf8')
  const value = text.replace(/\r?\n$/, '')
  redactor.add(value, path)
  return value
}

/** The variables of a file of `NAME=value` lines. @throws McpError 'INVALID' if it cannot be read */
export async function fileVariables(file: string): Promise<Record<string, string>> {
  try {
    const variables = parseEnv((await readSmallFile(file, maxVariablesBytes)).toString('utf8'))
    return Object.fromEntries(
      Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new McpError('INVALID', `envFile: ${file} cannot be read (${code})`, { cause: error })
  }
}

/** Adds literal values of the configuration to the redactor if their names suggest secrets. */
export function learnSecrets(config: ServerConfig, redactor: SecretRedactor): void {
  for (const { name, text } of secretTexts(config)) {
    const read = partsOf(text)
    if (config.from === undefined || ('parts' in read && read.parts.every(({ kind }) => kind === 'text')))
      redactor.add(withoutScheme(text), name)
  }
}

/** Adds environment values to the redactor if a configuration uses them under names that suggest secrets. */
export function learnVariables(config: ServerConfig, env: ConfigEnvironment, redactor: SecretRedactor): void {
  learnSecrets(config, redactor)
  if (config.from === undefined) return
  for (const { field, text } of textsOf(config)) {
    const name = String(field.at(-1))
    const read = partsOf(text)
    if ('problem' in read) continue
    let fullText: string | undefined = ''
    for (const part of read.parts) {
      const resolvedPart =
        part.kind === 'text' ? part : part.kind === 'env' ? fromEnvironment(part, env) : undefined
      const value = resolvedPart !== undefined && 'text' in resolvedPart ? resolvedPart.text : undefined
      if (value !== undefined && part.kind === 'env' && isSecretName(part.name))
        redactor.add(value, part.name)
      fullText = value === undefined ? undefined : fullText === undefined ? undefined : fullText + value
    }
    if (fullText !== undefined && isSecretName(name)) redactor.add(withoutScheme(fullText), name)
  }
}

function secretTexts(config: ServerConfig): { name: string; text: string }[] {
  const namedValues: [string, string][] =
    'url' in config
      ? [
          ...Object.entries(config.headers ?? {}),
          ...queryOf(config.url),
          ...(config.auth && config.auth.clientSecret !== undefined
            ? [['clientSecret', config.auth.clientSecret] satisfies [string, string]]
            : []),
        ]
      : [...Object.entries(config.env ?? {}), ...flagsOf(config.args ?? [])]
  const urlPasswords =
    'url' in config ? [] : [...(config.args ?? []), ...Object.values(config.env ?? {})].flatMap(passwordsOf)
  return [
    ...namedValues.filter(([name]) => isSecretName(name)).map(([name, text]) => ({ name, text })),
    ...urlPasswords.map((text) => ({ name: 'password', text })),
  ]
}

/** `postgres://user:password@host` anywhere in a text; a password equal to the user name is no secret. */
function passwordsOf(text: string): string[] {
  return Array.from(text.matchAll(/:\/\/([^\s/?#@:]*):([^\s/?#@]+)@/g)).flatMap(([, user, password = '']) =>
    password === user ? [] : [password],
  )
}

function queryOf(url: string): [string, string][] {
  return [...(URL.parse(url)?.searchParams ?? [])]
}

/** `--token=value` and `--token value`. */
function flagsOf(args: readonly string[]): [string, string][] {
  return args.flatMap((arg, index): [string, string][] => {
    const [, name, value = args[index + 1]] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? []
    return name === undefined || value === undefined || value.startsWith('-') ? [] : [[name, value]]
  })
}

/** A header's value without the scheme before the token. */
function withoutScheme(text: string): string {
  return text.replace(/^(?:Bearer|Basic|Token|Digest)\s+/i, '').trim()
}

/** Sequential, so that the user is asked one question at a time. */
async function mapSequentially<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

/** What the user has to enter before these servers can start. */
async function missingInputs(
  servers: Iterable<[string, ServerConfig]>,
  isKnown: (name: string) => Promise<boolean>,
): Promise<MissingInput[]> {
  const wanted = [...servers].flatMap(([server, { from, disabled }]) =>
    from === undefined || disabled === true
      ? []
      : (from.inputs ?? []).map((input: ConfigInput) => ({
          server,
          input,
          secret: inputSecret(input.id, from.file),
        })),
  )
  const missingItems = await mapSequentially(wanted, async (item) =>
    (await isKnown(item.secret)) ? [] : [item],
  )
  return missingItems.flat()
}
