import { homedir } from 'node:os'
import type { Fix, ServerConfig } from '@jackfield/host'
import { ConfigError, type LayeredConfig, type LayerOptions, loadLayers } from '@jackfield/host/config'
import { oneLine } from '../output/sanitize.ts'
import { usageError } from './exit.ts'
import { type Io, writeNote } from './io.ts'

/** The server that a command uses. */
export interface Target {
  /** The configured name, the URL's host, or the command. */
  name: string
  server: ServerConfig
  /** The configuration that defines it, with the user's rules. */
  config: LayeredConfig | undefined
  /** The user typed the command that starts it. */
  isTyped?: boolean
}

/** How a command names the server of a target: without a configuration, by its URL. */
export function targetArgument({ name, server, config }: Target): string {
  return config === undefined && 'url' in server ? server.url : name
}

/** The fixes that commands can apply. An unconfigured server has no entry to correct, and commands name it by its URL. */
export function fixesFor(target: Target, fixes: readonly Fix[]): readonly Fix[] {
  if (target.config !== undefined) return fixes
  if (!('url' in target.server)) return []
  const server = targetArgument(target)
  return fixes.flatMap((fix) =>
    fix.action === 'sign-in' || fix.action === 'diagnose' ? [{ ...fix, server }] : [],
  )
}

/** The words of a command line, before and after `--`. */
export interface CommandWords {
  words: string[]
  /** The command after `--` that starts a server. */
  command: string[] | undefined
}

/** Which configuration is used. */
export interface ConfigChoice {
  /** Uses only these files; later ones override earlier ones. */
  config?: string | readonly string[]
  profile?: string
  /** Also reads the configuration files of other applications. */
  discover?: boolean
  /** Starts servers from files of the working folder without asking. */
  startWhatThisFolderNames?: boolean
  /** Uses the host process of this folder, starting it if needed; false with `--no-daemon`. Default true. */
  daemon?: boolean
}

export interface TargetOptions extends ConfigChoice {
  /** `Name: value`, for targets that are URLs. */
  header?: string[]
  /** `NAME=value` or `NAME`, for a command after `--`. */
  env?: string[]
}

/** Advice for a user who has no configured server. */
export const serverHints = `Try the servers that come along:  jackfield start
Add one:                          jackfield install <name or URL>, or: jackfield install -- <command>
Take those of other applications: jackfield config import`

/** Whether something in the configuration cannot be used, such as the entry of a server, which is then missing. */
export function hasErrors({ problems }: Pick<LayeredConfig, 'problems'>): boolean {
  return problems.some(({ severity }) => severity === 'error')
}

/** The message for a configuration without a server that could be used. */
export function noServersMessage(file: string, config: Pick<LayeredConfig, 'problems'>): string {
  return hasErrors(config)
    ? `No server of ${file} can be used. Correct what is reported above.`
    : `${file} names no servers.\n${serverHints}`
}

/** Explains how an item of a server is named, for a command whose first word names no server. */
export type ItemHint = (word: string) => Promise<string>

/**
 * Takes the target from the front of the words; with `--`, the command after it is the target. `itemHint` completes the message
 * for a first word that is no server.
 */
export async function readTarget(
  { words, command }: CommandWords,
  options: TargetOptions,
  io: Io,
  itemHint?: ItemHint,
): Promise<{ target: Target; rest: string[] }> {
  if (command !== undefined) {
    const [program, ...args] = command
    if (program === undefined)
      throw usageError('Nothing follows --. Write the command that starts the server after it.')
    const env = parseVariables(options.env, (name) => environmentValue(name, io))
    return {
      target: {
        name: nameOfCommand(command),
        server: { command: program, args, ...(env !== undefined && { env }) },
        config: undefined,
        isTyped: true,
      },
      rest: words,
    }
  }
  if (options.env !== undefined) {
    throw usageError(
      '--env is for a command after --. For a server of the config, write the variable under "env" there.',
    )
  }
  const [given, ...rest] = words
  if (given === undefined) {
    throw usageError('Which server? Give a configured name, a URL, or a command after --.')
  }
  if (/^https?:\/\//i.test(given)) return { target: urlTarget(given, options.header ?? []), rest }
  const { name, tool } = await splitName(given, options, io)
  const word = { name, given, isSplit: tool !== undefined }
  const target = await configuredTarget(word, options, io, itemHint)
  return { target, rest: tool === undefined ? rest : [tool, ...rest] }
}

/** Splits `server.tool` into two words, if no server has the whole as its name and one has the prefix. */
async function splitName(
  given: string,
  options: TargetOptions,
  io: Io,
): Promise<{ name: string; tool?: string }> {
  if (!/[.]|__/.test(given)) return { name: given }
  const { servers } = await readLayers(options, io)
  if (Object.hasOwn(servers, given)) return { name: given }
  // Dots inside the parentheses of `server.tool(price: 1.5)` are no separators.
  const names = given.split('(', 1)[0] ?? ''
  for (const separator of names.matchAll(/[.]|__/g)) {
    const name = given.slice(0, separator.index)
    const tool = given.slice(separator.index + separator[0].length)
    if (tool !== '' && Object.hasOwn(servers, name)) return { name, tool }
  }
  return { name: given }
}

/** The server part of `server.tool`, when no server has the whole as its name. */
function serverPart(given: string): string {
  return /^(.+?)(?:[.]|__)[^.]+$/.exec(given)?.[1] ?? given
}

/** Parses `--env`; `inheritedValue` returns the value of a variable written without one. */
export function parseVariables(
  words: readonly string[] | undefined,
  inheritedValue: (name: string) => string,
): Record<string, string> | undefined {
  return (
    words &&
    Object.fromEntries(
      words.map((word) => {
        const [, name, value] = /^([^=]+)(?:=(.*))?$/s.exec(word) ?? []
        if (name === undefined)
          throw usageError(`--env ${oneLine(word)} has no variable name. Write NAME=value, or NAME.`)
        return [name, value ?? inheritedValue(name)]
      }),
    )
  )
}

function environmentValue(name: string, { env }: Pick<Io, 'env'>): string {
  const value = env[name]
  if (value !== undefined) return value
  throw usageError(
    `--env ${oneLine(name)}: it is not set in your environment. Set it first, or write --env ${oneLine(name)}=value.`,
  )
}

/** The files selected by the options. */
export function layersOf(options: ConfigChoice, io: Pick<Io, 'env' | 'cwd'>): LayerOptions {
  const { config, profile, discover } = options
  return {
    cwd: io.cwd,
    env: io.env,
    home: io.env.HOME ?? homedir(),
    ...(config !== undefined && { files: typeof config === 'string' ? [config] : config }),
    ...(profile !== undefined && { profile }),
    ...(discover !== undefined && { discover }),
  }
}

/** Reads every configuration file, whether or not any exists. */
export async function readLayers(options: ConfigChoice, io: Pick<Io, 'env' | 'cwd'>): Promise<LayeredConfig> {
  try {
    return await loadLayers(layersOf(options, io))
  } catch (error) {
    if (error instanceof ConfigError) throw usageError(error.message)
    throw error
  }
}

/** Reads the configuration. Invalid entries are reported with `note`. */
export async function readConfig(
  options: ConfigChoice,
  io: Io,
  note: (text: string) => void,
): Promise<{ file: string; config: LayeredConfig }> {
  const config = await readLayers(options, io)
  if (config.files.length === 0) {
    throw usageError(
      `There is no config file yet, so no server is known.\n${serverHints}\nOr write .mcp.json here with "mcpServers" in it, or name a file with --config FILE.`,
    )
  }
  for (const problem of config.problems) note(`! ${problemLine(problem)}`)
  return { file: config.files.map(({ file }) => file).join(', '), config }
}

/** A problem as one line: file, line, column and advice. */
export function problemLine({ file, line, path, message }: LayeredConfig['problems'][number]): string {
  const location = line === undefined ? file : `${file}:${line}`
  const member = path === '' ? '' : `${path}${message.startsWith('the ') ? ':' : ''} `
  return oneLine(`${location}: ${member}${message}`)
}

/** What is wrong with a word that looks like an address; undefined for a name. */
function addressProblem(given: string): string | undefined {
  const [, protocol, address = ''] = /^(https?)(?::\/|\/\/)(?=[^/])(.+)$/i.exec(given) ?? []
  if (protocol !== undefined)
    return `"${oneLine(given)}" is not a URL. Write ${protocol.toLowerCase()}://${oneLine(address)}`
  const scheme = /^([a-z][\w+.-]*):\/\//i.exec(given)?.[1]
  if (scheme !== undefined)
    return `The scheme "${oneLine(scheme)}" of ${oneLine(given)} is not supported. Servers are reached over http:// or https://.`
  const [, host] = /^(\[[\da-f:]+\]|[\w.-]+)(?::\d+(?:\/\S*)?|\/\S*)$/i.exec(given) ?? []
  if (host === undefined || URL.parse(`http://${given}`) === null) return undefined
  const isLocal = /^(?:localhost|127\.[\d.]+|\[::1\])$/i.test(host)
  return `"${oneLine(given)}" has no scheme. Write ${isLocal ? 'http' : 'https'}://${oneLine(given)}`
}

/** `given`: the typed word; `isSplit`: it was `server.tool`, and a server has that name. */
async function configuredTarget(
  { name, given, isSplit }: { name: string; given: string; isSplit: boolean },
  options: TargetOptions,
  io: Io,
  itemHint?: ItemHint,
): Promise<Target> {
  const config = await readLayers(options, io)
  const address = Object.hasOwn(config.servers, name) ? undefined : addressProblem(given)
  if (address !== undefined) throw usageError(address)
  if (config.files.length === 0) {
    throw usageError(
      `"${name}" is not a URL, and there is no config file that could name a server. Write .mcp.json, use --config FILE, or give a command after --.\n${serverHints}`,
    )
  }
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  const unread = config.problems.filter(({ file, path }) => path === '' && config.broken.includes(file))
  if (server !== undefined) {
    for (const problem of unread) writeNote(io, `! ${problemLine(problem)}`)
    return { name, server, config }
  }
  if (unread[0] !== undefined)
    throw usageError(`No server "${name}" is known, but a file could not be read: ${problemLine(unread[0])}`)
  const broken = config.problems.find(
    ({ path, severity }) => severity === 'error' && path.split(/[.[]/).includes(name),
  )
  if (broken !== undefined) throw usageError(problemLine(broken))
  const known = Object.keys(config.servers)
  const has = known.length === 0 ? 'It names none.' : `It names: ${known.join(', ')}.`
  const shownName = isSplit ? name : serverPart(name)
  const hint = shownName === given && itemHint !== undefined ? `\n${await itemHint(given)}` : ''
  throw usageError(
    `${config.files.map(({ file }) => file).join(', ')} has no server "${shownName}". ${has}${hint}`,
  )
}

function urlTarget(text: string, headers: string[]): Target {
  const url = URL.parse(text)
  if (url === null) throw usageError(`"${text}" is not a valid URL.`)
  const entries = headers.map((header) => {
    const colon = header.indexOf(':')
    if (colon < 1) throw usageError(`"${header}" is not a header. Write --header 'Name: value'.`)
    return [header.slice(0, colon).trim(), header.slice(colon + 1).trim()] as const
  })
  return {
    name: url.host,
    server: { url: text, ...(entries.length > 0 && { headers: Object.fromEntries(entries) }) },
    config: undefined,
  }
}

const containerOptions = '-e --env --env-file -v --volume --mount --name --network --net -p -w -u'.split(' ')
/** Programs that start another one, with their options that take a value. */
const launchers: Readonly<Record<string, readonly string[]>> = {
  npx: ['-p', '--package'],
  bunx: ['-p', '--package'],
  pnpx: ['--package'],
  npm: ['-p', '--package'],
  pnpm: ['--package'],
  yarn: ['-p', '--package'],
  bun: ['-r', '--preload', '--cwd', '--env-file'],
  node: ['-r', '--require', '--import', '--loader', '--env-file', '-C', '--conditions'],
  deno: [],
  tsx: [],
  uvx: ['--from', '--with', '--python', '-p', '--index-url'],
  uv: ['--from', '--with', '--python', '-p', '--directory', '--project', '--index-url'],
  pipx: ['--spec', '--python'],
  python: ['-X', '-W'],
  docker: containerOptions,
  podman: containerOptions,
  env: ['-u', '-C'],
}
const launcherWords = new Set(['exec', 'dlx', 'run', 'x', 'tool', '--'])
/** Options followed by program text, not a file. */
const programTextOptions = new Set(['-e', '--eval', '-p', '--print', '-c'])
/** Parts of a path or package that name no server. */
const genericName =
  /^(?:index|main|cli|app|start|run|server|servers|mcp|mcp-server|mcp_server|stdio|dist|build|out|lib|src|bin|node_modules|latest|\.+)?$/i

/**
 * Derives a server name from its command: the package, image or file without scope, version, `server` and `mcp`; the program
 * itself if nothing remains, as for `node -e …`.
 */
export function nameOfCommand(command: readonly string[]): string {
  const [program = ''] = command
  const own = baseName(program)
  return (nameIn(command) ?? own).replaceAll(/[^\w.-]+/g, '-').slice(0, 60) || 'server'
}

/** The name in the first word that is neither a launcher nor one of its options. */
function nameIn(command: readonly string[]): string | undefined {
  const [program = '', ...args] = command
  const launcher = /^python[\d.]*$/.test(baseName(program)) ? 'python' : baseName(program)
  if (!Object.hasOwn(launchers, launcher)) return shortName(program)
  const valued = launchers[launcher] ?? []
  const runsText = launcher === 'node' || launcher === 'bun' || launcher === 'python' || launcher === 'deno'
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? ''
    if (runsText && programTextOptions.has(word)) return undefined
    if (launcher === 'python' && word === '-m') continue
    if (valued.includes(word)) index += 1
    else if (word.startsWith('-') || launcherWords.has(word)) continue
    else if (launcher === 'env' && word.includes('=')) continue
    else return nameIn(args.slice(index))
  }
  return undefined
}

/** The last part of a path, package or image that can be a name. */
function shortName(word: string): string | undefined {
  const parts = word.split(/[\\/]/).filter((part) => part !== '')
  // In a package folder, the package name takes precedence over file names.
  const modules = parts.lastIndexOf('node_modules')
  const from = parts[modules + 1] === '.bin' ? -1 : modules
  const ofPackage =
    from === -1 ? parts : parts.slice(from + 1, from + (parts[from + 1]?.startsWith('@') ? 3 : 2))
  for (const part of ofPackage.toReversed()) {
    const plain = part
      .replace(/^@/, '')
      .replace(/(?:@|==|:).*$/, '')
      .replace(/\.(?:[cm]?[jt]s|py|exe|cmd|bat|sh|rb|jar)$/i, '')
    const short = plain
      .replace(/^(?:mcp[-_.])?(?:server[-_.])/i, '')
      .replace(/^mcp[-_.]/i, '')
      .replace(/(?:[-_.]mcp)?(?:[-_.]server)$/i, '')
      .replace(/[-_.]mcp$/i, '')
    if (!genericName.test(short)) return short
  }
  return undefined
}

function baseName(program: string): string {
  const last = program.split(/[\\/]/).at(-1) ?? program
  return last.replace(/\.(?:exe|cmd|bat)$/i, '')
}
