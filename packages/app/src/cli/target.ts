import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { ConfigError, type HostConfig, loadConfig, type ServerConfig } from '@jackfield/host'
import { oneLine } from '../output/sanitize.ts'
import { usageError } from './exit.ts'
import type { Io } from './io.ts'

/** One server that a command is about. */
export interface Target {
  /** The configured name, the URL's host, or the command. */
  name: string
  server: ServerConfig
  /** The config it stands in, with the person's rules. */
  config: HostConfig | undefined
}

/** The words of a command line, before and after `--`. */
export interface CommandWords {
  words: string[]
  /** What follows `--`: the command that starts a server. */
  command: string[] | undefined
}

export interface TargetOptions {
  config?: string
  /** `Name: value`, for targets that are URLs. */
  header?: string[]
}

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
    return {
      target: { name: nameOf(program), server: { command: program, args }, config: undefined },
      rest: words,
    }
  }
  const [given, ...rest] = words
  if (given === undefined) {
    throw usageError('Which server? Give a configured name, a URL, or a command after --.')
  }
  if (/^https?:\/\//i.test(given)) return { target: urlTarget(given, options.header ?? []), rest }
  return { target: await configured(given, options, io), rest }
}

/** The config file in use: the one named, or the first of the usual ones that there is. */
export function configFile(options: TargetOptions, io: Io): string | undefined {
  if (options.config !== undefined) return resolve(io.cwd, options.config)
  const base = io.env.XDG_CONFIG_HOME ?? join(io.env.HOME ?? homedir(), '.config')
  const usual = [
    join(io.cwd, '.mcp.json'),
    join(io.cwd, 'jackfield.json'),
    join(base, 'jackfield', 'config.json'),
  ]
  return usual.find((file) => existsSync(file))
}

/** Reads the config in use. Entries that cannot be used are told of through `note`. */
export async function readConfig(
  options: TargetOptions,
  io: Io,
  note: (text: string) => void,
): Promise<{ file: string; config: HostConfig }> {
  const file = configFile(options, io)
  if (file === undefined) {
    throw usageError(
      'There is no config file. Write .mcp.json here with "mcpServers" in it, or name one with --config FILE.',
    )
  }
  try {
    const config = await loadConfig(file, { env: io.env })
    for (const problem of config.problems) note(`${file}: ${oneLine(`${problem.path} ${problem.message}`)}`)
    return { file, config }
  } catch (error) {
    if (error instanceof ConfigError) throw usageError(error.message)
    throw error
  }
}

async function configured(name: string, options: TargetOptions, io: Io): Promise<Target> {
  if (configFile(options, io) === undefined) {
    throw usageError(
      `"${name}" is not a URL, and there is no config file that could name a server. Write .mcp.json, use --config FILE, or give a command after --.`,
    )
  }
  const { file, config } = await readConfig(options, io, () => {})
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  if (server !== undefined) return { name, server, config }
  const broken = config.problems.find((problem) => problem.path.startsWith(`mcpServers.${name}`))
  if (broken !== undefined) throw usageError(`${file}: ${broken.path} ${broken.message}`)
  const known = Object.keys(config.servers)
  const has = known.length === 0 ? 'It names none.' : `It names: ${known.join(', ')}.`
  throw usageError(`${file} has no server "${name}". ${has}`)
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

function nameOf(program: string): string {
  return program.split(/[\\/]/).at(-1) ?? program
}
