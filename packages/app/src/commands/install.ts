import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  addServers,
  type Bundle,
  bundleIn,
  type ConfigInput,
  createRegistry,
  fetchBundle,
  type InstallPlan,
  type NeededValue,
  ownServers,
  planForServer,
  planFrom,
  readBundle,
  removeBundle,
  removeServer,
  type ServerConfig,
  userConfigFile,
} from '@jackfield/host'
import { McpError } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import type { Io, Output } from '../cli/io.ts'
import { registryOptions } from '../cli/registry.ts'
import { secretStore } from '../cli/secrets.ts'
import { surfaceFor } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { bundleFolder, storeFile } from '../cli/store.ts'
import { nameOfCommand, parseVariables } from '../cli/target.ts'
import { makeHost } from '../daemon/service.ts'
import { installationLines } from '../output/installation.ts'
import { count, oneLine, shellWord } from '../output/sanitize.ts'
import type { TerminalSurface } from '../surface/terminal.ts'

export interface InstallOptions {
  name?: string
  set?: string[]
  yes?: boolean
  registry?: string
  env?: string[]
  start: boolean
  store?: string
  json?: boolean
}

/** The server to install, and the steps besides writing the configuration. */
interface PlannedInstall {
  plan: InstallPlan
  bundle?: Bundle
}

const connectTimeoutMs = 60_000
const bundleFile = /\.(?:mcpb|dxt)$/

/** `jackfield install`: shows the plan, asks, and adds the server to the user's configuration. */
export async function install(
  words: readonly string[],
  command: readonly string[] | undefined,
  options: InstallOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const home = io.env.HOME ?? homedir()
  const file = userConfigFile(io.env, home)
  const { plan, bundle } = await planOf(words, command, options, io)
  if (Object.hasOwn(await ownServers(file), plan.name)) {
    throw usageError(
      `${file} has a server "${oneLine(plan.name)}" already. Choose another name with --name, or: jackfield uninstall ${oneLine(plan.name)}`,
    )
  }
  const set = parseSetValues(plan, options)
  const person = askConsent(installationLines(plan, file, output.palette), options, io, output)
  const available = { set, known: await storedSecretNames(plan, io) }
  // If values cannot be asked for later, missing ones are reported now.
  const earlyValues =
    surfaceFor(io) === undefined ? await collectValues(plan, available, io, output) : undefined
  const refused = (): ExitCode => {
    io.signal.throwIfAborted()
    output.note('Nothing was installed.')
    return ExitCode.toolError
  }
  if (earlyValues !== undefined) plan.config(earlyValues.values)
  if (!(await hasConsent(plan, file, person, options, io))) return refused()
  const collected = earlyValues ?? (await collectValues(plan, available, io, output))
  if (collected === undefined) return refused()
  const config = plan.config(collected.values)
  for (const [name, value] of collected.secrets) await secretStore(io).set(name, value)
  await bundle?.unpack()
  await addServers(file, { [plan.name]: config })
  const started = options.start ? await startOnce(plan.name, config, options, io) : undefined
  output.result(
    { name: plan.name, file, version: plan.version, command: plan.command, ...(started && { started }) },
    () =>
      [
        `${oneLine(plan.name)} is installed in ${file}.`,
        started === undefined
          ? `Look at it with: jackfield tools ${oneLine(plan.name)}`
          : started.state === 'ready'
            ? `It runs, and has ${count(started.tools, 'tool')}: jackfield tools ${oneLine(plan.name)}`
            : `It does not run yet: ${oneLine(started.reason ?? started.state)}`,
      ].join('\n'),
  )
  return started !== undefined && started.state !== 'ready' ? ExitCode.cannotConnect : ExitCode.done
}

/** `jackfield uninstall <name>`: removes a server from the user's configuration, with its bundle and its secrets. */
export async function uninstall(name: string | undefined, io: Io, output: Output): Promise<ExitCode> {
  if (name === undefined) throw usageError('Which server? Usage: jackfield uninstall <name>')
  const file = userConfigFile(io.env, io.env.HOME ?? homedir())
  const config = await removeServer(file, name)
  const bundles = bundleFolder(io)
  const place = 'cwd' in config && config.cwd !== undefined ? resolve(config.cwd) : ''
  const folder = place.startsWith(`${bundles}/`) ? place : undefined
  if (folder !== undefined) await removeBundle(folder)
  const secrets = await removeSecrets(config, io)
  output.result({ name, file, ...(folder !== undefined && { folder }), secrets }, () =>
    [
      `${oneLine(name)} is no longer in ${file}.`,
      ...(folder === undefined ? [] : [`Removed its files: ${folder}`]),
      ...(secrets.length === 0
        ? []
        : [`Removed its secrets: ${secrets.map((one) => oneLine(one)).join(', ')}`]),
    ].join('\n'),
  )
  return ExitCode.done
}

async function planOf(
  words: readonly string[],
  command: readonly string[] | undefined,
  options: InstallOptions,
  io: Io,
): Promise<PlannedInstall> {
  const { name } = options
  const [given, ...rest] = words
  if (command !== undefined) {
    const [program] = command
    if (program === undefined)
      throw usageError('Nothing follows --. Write the command that starts the server after it.')
    if (given !== undefined) throw usageError('Give a name or a file, or a command after --, and not both.')
    // A variable without a value stays a reference, so that its value is not stored.
    const env = parseVariables(options.env, (variable) => `\${${variable}}`)
    const [fullName = program, ...args] = await Promise.all(command.map((word) => withAbsolutePath(word, io)))
    const server = { command: fullName, args, ...(env !== undefined && { env }) }
    return { plan: planForServer(name ?? nameOfCommand(command), server) }
  }
  if (options.env !== undefined)
    throw usageError('--env is for a command after --. Use --set for the values it needs.')
  if (given === undefined || rest.length > 0)
    throw usageError(
      'Which server? Give a name in the registry, a server.json, a .mcpb file, a URL, or -- command.',
    )
  if (/^https?:\/\//i.test(given)) {
    const url = URL.parse(given)
    if (url === null) throw usageError(`"${oneLine(given)}" is not a valid URL.`)
    if (bundleFile.test(url.pathname)) {
      throw usageError(
        `${oneLine(given)} is the address of a bundle without a known checksum. Download it, compare its checksum with the one its publisher gives, and install the file: jackfield install ./${oneLine(basename(url.pathname))}`,
      )
    }
    return { plan: planForServer(name ?? url.hostname, { url: given }) }
  }
  if (bundleFile.test(given)) {
    return planFromBundle(await readBytes(resolve(io.cwd, given)), options, io)
  }
  if (given.endsWith('.json')) {
    const text = (await readBytes(resolve(io.cwd, given))).toString('utf8')
    return planFromDocument(parseDocument(text, given), options, io)
  }
  const [, own = given, wanted] = /^(.+?)@([^@/]+)$/.exec(given) ?? []
  if (!own.includes('/')) {
    throw usageError(
      `"${oneLine(own)}" is not a full name. Find it with: jackfield registry search ${oneLine(own)}`,
    )
  }
  if (own.startsWith('@')) {
    throw usageError(
      `"${oneLine(given)}" is the name of an npm package and not one of the registry. To run the package: jackfield install -- npx -y ${oneLine(given)}`,
    )
  }
  const registry = createRegistry(registryOptions(options, io))
  const server = await registry.show(own, {
    signal: io.signal,
    ...(wanted !== undefined && { version: wanted }),
  })
  if (server.status === 'deleted') throw usageError(`${oneLine(own)} was deleted from the registry.`)
  return planFromDocument(server.document, options, io)
}

/** A word of a command, with the whole path where it names a file or folder, because the server is started in any folder. */
async function withAbsolutePath(word: string, { cwd }: Io): Promise<string> {
  const path = resolve(cwd, word)
  if (/^\.{1,2}(?:[\\/]|$)/.test(word)) return path
  if (word.startsWith('-') || !/[./\\]/.test(word)) return word
  const file = await stat(path).catch(() => undefined)
  return file === undefined ? word : path
}

async function planFromDocument(
  document: Readonly<Record<string, unknown>>,
  options: InstallOptions,
  io: Io,
): Promise<PlannedInstall> {
  const bundle = bundleIn(document)
  if (bundle === undefined) return { plan: planFrom(document, options.name) }
  return planFromBundle(
    await fetchBundle(bundle, { env: io.env, signal: io.signal }),
    options,
    io,
    bundle.publisher,
  )
}

function planFromBundle(
  bytes: Uint8Array,
  { name }: InstallOptions,
  io: Io,
  publisher?: string,
): PlannedInstall {
  const bundle = readBundle(bytes, {
    folder: bundleFolder(io),
    home: io.env.HOME ?? homedir(),
    ...(name !== undefined && { name }),
    ...(publisher !== undefined && { publisher }),
  })
  return { plan: bundle.plan, bundle }
}

/** Asks the user, or only prints the plan when `--yes` was given. */
function askConsent(
  lines: readonly string[],
  options: InstallOptions,
  io: Io,
  output: Output,
): TerminalSurface | undefined {
  const person = options.yes === true ? undefined : surfaceFor(io)
  if (person === undefined) output.note(lines.join('\n'))
  if (person === undefined && options.yes !== true) {
    throw usageError('There is no terminal to ask in. Review what would run, and add --yes to install it.')
  }
  return person
}

/** Gets consent from the user, in any window, or from `--yes`. */
async function hasConsent(
  plan: InstallPlan,
  file: string,
  person: TerminalSurface | undefined,
  options: InstallOptions,
  io: Io,
): Promise<boolean> {
  const { config: _, ...shown } = plan
  await using host = makeHost({
    ...{ servers: {}, models: [], store: storeFile(options.store, io) },
    ...(person !== undefined && { surface: person }),
  })
  const allowed = await host.approveInstallation(
    { plan: shown, file, starts: options.start },
    { signal: io.signal, ...(person === undefined && { by: 'the command line' }) },
  )
  await person?.idle()
  return allowed
}

/** Values from the command line that the plan needs. */
function parseSetValues(plan: InstallPlan, options: InstallOptions): Record<string, string[]> {
  const values: Record<string, string[]> = {}
  for (const word of options.set ?? []) {
    const [, id, value] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    const need = plan.needs.find((one) => one.id === id)
    if (id === undefined || value === undefined || need === undefined)
      throw usageError(`--set ${oneLine(word)} is not one of: ${plan.needs.map((one) => one.id).join(', ')}`)
    if (need.secret !== undefined)
      throw usageError(
        `${oneLine(id)} is a secret and does not belong on a command line. Run: jackfield secret set ${oneLine(need.secret)}`,
      )
    values[id] = [...(values[id] ?? []), value]
  }
  return values
}

/** The names of stored secrets. Throws if the plan has secrets and there is no secret store. */
async function storedSecretNames({ name, needs }: InstallPlan, io: Io): Promise<ReadonlySet<string>> {
  const wanted = needs.flatMap(({ id, secret }) => (secret === undefined ? [] : [oneLine(id)]))
  if (wanted.length === 0) return new Set()
  try {
    const store = secretStore(io)
    await store.ready()
    return new Set(await store.names())
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new CliError(
      ExitCode.toolError,
      `Nothing was installed: ${oneLine(name)} needs secrets (${wanted.join(', ')}), and there is no store for them. ${error.message}`,
      { cause: error, code: error.code },
    )
  }
}

interface CollectedValues {
  values: Record<string, string[]>
  /** Typed secrets, to be stored under these names. */
  secrets: Map<string, string>
}

/** The values that the plan needs; undefined if the user cancels with Esc. */
async function collectValues(
  plan: InstallPlan,
  { set, known }: { set: Record<string, string[]>; known: ReadonlySet<string> },
  io: Io,
  output: Output,
): Promise<CollectedValues | undefined> {
  const values = { ...set }
  const secrets = new Map<string, string>()
  const ask = surfaceFor(io)?.askInput
  for (const need of plan.needs) {
    const { id, secret } = need
    if (values[id] !== undefined) continue
    if (secret !== undefined && known.has(secret)) {
      values[id] = ['']
      continue
    }
    const isAsked = ask !== undefined && (need.required || need.default === undefined)
    const typed = isAsked ? await ask(plan.name, inputOf(need)) : ''
    if (typed === undefined) return undefined
    if (typed === '') {
      if (secret !== undefined && need.required) {
        output.note(`It needs a secret before it starts: jackfield secret set ${oneLine(secret)}`)
      }
      continue
    }
    if (secret !== undefined) secrets.set(secret, typed)
    values[id] = [secret === undefined ? typed : '']
  }
  return { values, secrets }
}

function inputOf({ id, description, secret, options, ...rest }: NeededValue): ConfigInput {
  return {
    id,
    ...(description !== undefined && { description }),
    ...(secret !== undefined && { password: true }),
    ...(options !== undefined && { options: [...options] }),
    ...(rest.default !== undefined && { default: rest.default }),
  }
}

async function startOnce(
  name: string,
  config: ServerConfig,
  options: InstallOptions,
  io: Io,
): Promise<{ state: string; tools: number; reason?: string }> {
  await using host = makeHost({
    ...hostSettings(undefined, {}, io),
    servers: {
      [name]: {
        ...config,
        from: { file: userConfigFile(io.env, io.env.HOME ?? homedir()), layer: 'user' },
      },
    },
    models: [],
    store: storeFile(options.store, io),
    connectTimeoutMs,
    connect: { follow: false },
  })
  await Promise.race([host.start(), startTimeout(io.signal)])
  const state = host.connections.get(name)
  return {
    state: state?.state ?? 'failed',
    tools: host.tools().length,
    ...(state !== undefined && 'reason' in state && { reason: state.reason }),
  }
}

async function startTimeout(signal: AbortSignal): Promise<never> {
  await pause(connectTimeoutMs * 2, undefined, { signal, ref: false })
  throw new CliError(ExitCode.cannotConnect, 'The server took too long to start.')
}

async function removeSecrets(config: ServerConfig, io: Io): Promise<string[]> {
  const texts = Object.values(('url' in config ? config.headers : config.env) ?? {})
  const args = 'args' in config ? (config.args ?? []) : []
  const names = [...texts, ...args].flatMap((text) =>
    Array.from(text.matchAll(/\$\{secret:([^}]+)\}/g), ([, name = '']) => name),
  )
  const removed: string[] = []
  for (const name of new Set(names)) if (await secretStore(io).remove(name)) removed.push(name)
  return removed
}

async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw usageError(`${file} cannot be read: ${readErrorReason(error)}`)
  }
}

function parseDocument(text: string, file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const document = Object.fromEntries(Object.entries(value))
      if (typeof document['name'] === 'string') return document
      throw usageError(
        'mcpServers' in document
          ? `${file} is a configuration file, not a server.json. To use its servers: --config ${shellWord(file)}`
          : `${file} is not a server.json: it has no "name".`,
      )
    }
  } catch (error) {
    if (error instanceof CliError) throw error
  }
  throw usageError(`${file} is not a server.json: it is not a JSON object.`)
}
