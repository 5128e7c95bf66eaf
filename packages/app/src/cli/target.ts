import { homedir } from 'node:os'
import {
  ConfigError,
  type LayeredConfig,
  type LayerOptions,
  loadLayers,
  type ServerConfig,
} from '@jackfield/host'
import { oneLine } from '../output/sanitize.ts'
import { usageError } from './exit.ts'
import type { Io } from './io.ts'

/** One server that a command is about. */
export interface Target {
  /** The configured name, the URL's host, or the command. */
  name: string
  server: ServerConfig
  /** The configuration it stands in, with the person's rules. */
  config: LayeredConfig | undefined
  /** The person typed the command that starts it. */
  isTyped?: boolean
}

/** The words of a command line, before and after `--`. */
export interface CommandWords {
  words: string[]
  /** What follows `--`: the command that starts a server. */
  command: string[] | undefined
}

/** Which configuration is used. */
export interface ConfigChoice {
  /** These files and no others; the last one wins. */
  config?: string | readonly string[]
  profile?: string
  /** Also the files of other applications. */
  discover?: boolean
  /** Starts what files of the working folder name without asking. */
  startWhatThisFolderNames?: boolean
}

export interface TargetOptions extends ConfigChoice {
  /** `Name: value`, for targets that are URLs. */
  header?: string[]
  /** `NAME=value` or `NAME`, for a command after `--`. */
  env?: string[]
}

/** What a person does who has no server yet. */
export const waysToServers = `Try the servers that come along:  jackfield start
Add one:                          jackfield install <name or URL>, or: jackfield install -- <command>
Take those of other applications: jackfield config import`

/** Takes the target off the front of the words; after `--` it is the command there and none is in front. */
export async function takeTarget(
  { words, command }: CommandWords,
  options: TargetOptions,
  io: Io,
): Promise<{ target: Target; rest: string[] }> {
  if (command !== undefined) {
    const [program, ...args] = command
    if (program === undefined)
      throw usageError('Nothing follows --. Write the command that starts the server after it.')
    const env = variablesOf(options.env, (name) => valueHere(name, io))
    return {
      target: {
        name: nameOfProgram(program),
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
  return { target: await configured(name, options, io), rest: tool === undefined ? rest : [tool, ...rest] }
}

/** `server.tool` as both words, where no server has all of it as its name and one has its beginning. */
async function splitName(
  given: string,
  options: TargetOptions,
  io: Io,
): Promise<{ name: string; tool?: string }> {
  if (!/[.]|__/.test(given)) return { name: given }
  const { servers } = await readLayers(options, io)
  if (Object.hasOwn(servers, given)) return { name: given }
  for (const separator of given.matchAll(/[.]|__/g)) {
    const name = given.slice(0, separator.index)
    const tool = given.slice(separator.index + separator[0].length)
    if (tool !== '' && Object.hasOwn(servers, name)) return { name, tool }
  }
  return { name: given }
}

/** The variables of `--env`; `bare` gives the value of one that is written without. */
export function variablesOf(
  words: readonly string[] | undefined,
  bare: (name: string) => string,
): Record<string, string> | undefined {
  return (
    words &&
    Object.fromEntries(
      words.map((word) => {
        const [, name, value] = /^([^=]+)(?:=(.*))?$/s.exec(word) ?? []
        if (name === undefined)
          throw usageError(`--env ${oneLine(word)} names no variable. Write NAME=value, or NAME.`)
        return [name, value ?? bare(name)]
      }),
    )
  )
}

function valueHere(name: string, { env }: Pick<Io, 'env'>): string {
  const value = env[name]
  if (value !== undefined) return value
  throw usageError(
    `--env ${oneLine(name)}: it is not set here. Set it first, or write --env ${oneLine(name)}=value.`,
  )
}

/** Which files the options choose. */
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

/** Reads every file in use, whether or not there is any. */
export async function readLayers(options: ConfigChoice, io: Pick<Io, 'env' | 'cwd'>): Promise<LayeredConfig> {
  try {
    return await loadLayers(layersOf(options, io))
  } catch (error) {
    if (error instanceof ConfigError) throw usageError(error.message)
    throw error
  }
}

/** Reads the configuration in use. Entries that cannot be used are told of through `note`. */
export async function readConfig(
  options: ConfigChoice,
  io: Io,
  note: (text: string) => void,
): Promise<{ file: string; config: LayeredConfig }> {
  const config = await readLayers(options, io)
  if (config.files.length === 0) {
    throw usageError(
      `There is no config file yet, so no server is known.\n${waysToServers}\nOr write .mcp.json here with "mcpServers" in it, or name a file with --config FILE.`,
    )
  }
  for (const problem of config.problems) note(problemLine(problem))
  return { file: config.files.map(({ file }) => file).join(', '), config }
}

/** A problem as one line: file, line, place and what to do. */
export function problemLine({ file, line, path, message }: LayeredConfig['problems'][number]): string {
  const at = line === undefined ? file : `${file}:${line}`
  return oneLine(`${at}: ${path === '' ? '' : `${path} `}${message}`)
}

async function configured(name: string, options: TargetOptions, io: Io): Promise<Target> {
  const config = await readLayers(options, io)
  if (config.files.length === 0) {
    throw usageError(
      `"${name}" is not a URL, and there is no config file that could name a server. Write .mcp.json, use --config FILE, or give a command after --.\n${waysToServers}`,
    )
  }
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  const unread = config.problems.filter(({ file, path }) => path === '' && config.broken.includes(file))
  if (server !== undefined) {
    for (const problem of unread) io.stderr.write(`! ${problemLine(problem)}\n`)
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
  throw usageError(`${config.files.map(({ file }) => file).join(', ')} has no server "${name}". ${has}`)
}

function urlTarget(text: string, headers: string[]): Target {
  const url = URL.parse(text)
  if (url === null) throw usageError(`"${text}" is not a valid URL.`)
  const entries = headers.map((header) => {
    const colon = header.indexOf(':')
    if (colon < 1) throw usageError(`"${header}" is no header. Write --header 'Name: value'.`)
    return [header.slice(0, colon).trim(), header.slice(colon + 1).trim()] as const
  })
  return {
    name: url.host,
    server: { url: text, ...(entries.length > 0 && { headers: Object.fromEntries(entries) }) },
    config: undefined,
  }
}

/** What a server is called that is started by a command. */
export function nameOfProgram(program: string): string {
  return program.split(/[\\/]/).at(-1) ?? program
}
