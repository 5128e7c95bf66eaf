import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join, parse, resolve } from 'node:path'
import { McpError } from '@jackfield/sdk'
import {
  type ConfigEnvironment,
  folderText,
  fromEnvironment,
  isSecretName,
  partsOf,
} from '../../config/variables.ts'
import { exists, findProgram, isWithin } from '../../shared/files.ts'
import type { ServerConfig, StdioServerConfig, TrustFinding } from '../../types/index.ts'
import { programName, runsPackage } from './command-scan.ts'

/** How a command starts on this machine: file, folder and search path. */
interface ResolvedCommand {
  /** The file of the command; undefined if it is not found. */
  file: string | undefined
  /** The target of `file`, if it is a link. */
  real: string | undefined
  args: string[]
  cwd: string
  /** Whether `cwd` is a folder for the servers of this file alone, instead of the working folder. */
  isSeparateFolder: boolean
  /** The search path it gets; undefined if there is none. */
  path: string | undefined
  /** A project file that the command would run if project folders were searched. */
  projectFile?: string
  /** SHA-256 of the project files in the command line, by path. */
  contents: Record<string, string>
  findings: TrustFinding[]
}

/** Maximum bytes of files that are hashed. Beyond that a file is compared by size and modification time. */
const maxHashedBytes = 67_108_864
const relativePath = /^(--?[\w-]+=)?(\.{1,2}(?:[\\/].*)?)$/s

/**
 * Determines what a server of a project file would run. `config` has its variables expanded as far as known.
 *
 * A program that fetches packages (`npx`, `uvx`) reads settings and packages of its working directory. It is started in a
 * separate folder, unless the configuration sets one, so that project files cannot change what it fetches; relative paths among
 * its arguments become absolute.
 */
export async function resolveCommand(
  config: StdioServerConfig,
  surroundings: Surroundings,
): Promise<ResolvedCommand> {
  const { command, args = [], from } = config
  const project = resolve(from?.workspace ?? dirname(from?.file ?? '.'))
  const real = await realpath(project).catch(() => project)
  const isOfProject = (path: string): boolean => isWithin(path, project) || isWithin(path, real)
  // If the project contains the home folder, programs installed there are the user's own.
  const isForeign = (path: string): boolean => !isOfProject(surroundings.home) && isOfProject(path)
  const fetchesPackages = runsPackage(command, args)
  const isSeparateFolder = fetchesPackages && config.cwd === undefined
  const base = resolve(config.cwd ?? '.')
  const cwd = isSeparateFolder ? separateFolder(config, surroundings, isForeign) : base
  const path = searchPath(config, surroundings, (folder) => !fetchesPackages || !isForeign(folder), base)
  const file = await findProgram(command, { path: path ?? '', cwd: base, env: surroundings.env })
  const projectFile =
    file === undefined && fetchesPackages
      ? await findProgram(command, {
          path: variable(surroundings.env, 'PATH') ?? '',
          cwd: base,
          env: surroundings.env,
        })
      : undefined
  const linkTarget = file === undefined ? undefined : await realpath(file).catch(() => undefined)
  const resolvedArgs = isSeparateFolder ? args.map((arg) => toAbsolute(arg, base)) : args
  const contents = await contentsOf(
    [...(file === undefined ? [] : [file]), ...pathsIn(resolvedArgs, cwd)],
    isOfProject,
  )
  return {
    file,
    real: linkTarget === file ? undefined : linkTarget,
    args: resolvedArgs,
    cwd,
    isSeparateFolder,
    path,
    ...(projectFile !== undefined && { projectFile }),
    contents,
    findings: await findingsOf(
      { config, file, link: linkTarget, cwd, isSeparateFolder, fetchesPackages, base },
      isForeign,
    ),
  }
}

/**
 * The configuration that is actually started.
 * @throws McpError 'CONNECT_FAILED' for a program that fetches packages and exists only in the project
 */
export function resolvedConfig(config: StdioServerConfig, command: ResolvedCommand): StdioServerConfig {
  const { file, args, cwd, isSeparateFolder, path, projectFile } = command
  if (projectFile !== undefined) {
    throw new McpError(
      'CONNECT_FAILED',
      `${config.command} exists only in this folder (${projectFile}), and a program of the folder may fetch packages only if it is named by its path. Install ${config.command} elsewhere, or write its full path as "command"`,
      { details: { code: 'ENOENT' } },
    )
  }
  return {
    ...config,
    command: file ?? config.command,
    args,
    // A sandbox opens the named working folder, so none is added that the configuration does not name.
    ...((isSeparateFolder || config.cwd !== undefined) && { cwd }),
    ...(path !== undefined && { env: { ...withoutPath(config.env), PATH: path } }),
  }
}

/** A folder for the servers of one file, without project files. */
function separateFolder(
  { from }: StdioServerConfig,
  { env, home }: Surroundings,
  isForeign: (path: string) => boolean,
): string {
  const configuredCache = process.platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME']
  const defaultCache = process.platform === 'win32' ? join(home, 'AppData', 'Local') : join(home, '.cache')
  const cache = configuredCache !== undefined && isAbsolute(configuredCache) ? configuredCache : defaultCache
  const name = createHash('sha256')
    .update(from?.file ?? '')
    .digest('hex')
    .slice(0, 16)
  const folder = join(cache, 'jackfield', 'servers', name)
  // Programs search for settings in parent folders as well.
  return isForeign(folder) ? parse(folder).root : folder
}

/**
 * The search path without folders that depend on the working directory. A relative folder of the user's PATH is left out; one in
 * the configuration is shown, and is resolved below the working directory.
 */
function searchPath(
  { env }: StdioServerConfig,
  surroundings: Surroundings,
  isWanted: (folder: string) => boolean,
  base: string,
): string | undefined {
  const configured = variable(env, 'PATH')
  const text = configured ?? variable(surroundings.env, 'PATH')
  if (text === undefined) return undefined
  const folders = text.split(delimiter)
  return configured === undefined
    ? folders.filter((folder) => isAbsolute(folder) && isWanted(folder)).join(delimiter)
    : folders.map((folder) => resolve(base, folder)).join(delimiter)
}

function variable(
  env: Readonly<Record<string, string | undefined>> | undefined,
  name: string,
): string | undefined {
  const fold = (text: string): string => (process.platform === 'win32' ? text.toUpperCase() : text)
  return Object.entries(env ?? {}).find(([key, value]) => fold(key) === name && value !== undefined)?.[1]
}

function withoutPath(env: Record<string, string> = {}): Record<string, string> {
  if (process.platform !== 'win32') return env
  return Object.fromEntries(Object.entries(env).filter(([name]) => name.toUpperCase() !== 'PATH'))
}

/** Makes `./x` and `--option=../x` absolute; other words may not be paths. */
function toAbsolute(word: string, base: string): string {
  const [, option = '', path] = relativePath.exec(word) ?? []
  return path === undefined ? word : `${option}${resolve(base, path)}`
}

function pathsIn(resolvedArgs: readonly string[], cwd: string): string[] {
  return resolvedArgs.flatMap((word) => {
    const value = /^--?[\w-]+=(.+)$/s.exec(word)?.[1]
    return [word, ...(value === undefined ? [] : [value])].map((path) => resolve(cwd, path))
  })
}

/** Hashes of those files that belong to the project, or are the target of a project link. */
async function contentsOf(
  paths: readonly string[],
  isOfProject: (path: string) => boolean,
): Promise<Record<string, string>> {
  const contents: Record<string, string> = {}
  let remainingBytes = maxHashedBytes
  for (const path of new Set(paths)) {
    const real = await realpath(path).catch(() => undefined)
    if (real === undefined || !(isOfProject(path) || isOfProject(real))) continue
    const stats = await stat(real)
    if (!stats.isFile()) continue
    remainingBytes -= stats.size
    contents[path] = `${real} ${remainingBytes < 0 ? `${stats.size} ${stats.mtimeMs}` : await hashOf(real)}`
  }
  return contents
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

interface CommandFinding {
  config: StdioServerConfig
  file: string | undefined
  link: string | undefined
  cwd: string
  isSeparateFolder: boolean
  fetchesPackages: boolean
  base: string
}

async function findingsOf(
  { config, file, link: linkTarget, cwd, isSeparateFolder, fetchesPackages, base }: CommandFinding,
  isForeign: (path: string) => boolean,
): Promise<TrustFinding[]> {
  const { command, args = [] } = config
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, at: string, message: string): void => {
    findings.push({ severity, code, at, message })
  }
  const isBare = !/[\\/]/.test(command)
  if (file === undefined) {
    add('warning', 'no-program', 'command', `There is no program ${JSON.stringify(command)} to run now.`)
  } else if (isBare && (isForeign(file) || isForeign(linkTarget ?? file))) {
    const message = `${command} is ${file}, a file of this folder, and not an installed program.`
    add('danger', 'program-of-the-folder', 'command', message)
  }
  if (isSeparateFolder) {
    const message = `It runs in ${cwd} and not in this folder, whose files would change what ${command} fetches. To choose another folder, set "cwd" in its configuration.`
    add('notice', 'runs-apart', 'cwd', message)
  } else if ((fetchesPackages || mayFetch(command, args)) && isForeign(cwd)) {
    const message = `It runs in ${cwd}, where files such as node_modules, .npmrc or uv.toml change what it fetches and runs.`
    add('danger', 'runs-in-the-folder', 'cwd', message)
  }
  const module = /^(?:python[\d.]*|pypy[\d.]*)$/.test(programName(command)) ? moduleIn(args) : undefined
  for (const path of module === undefined ? [] : [resolve(base, module), resolve(base, `${module}.py`)]) {
    if (await exists(path)) {
      const message = `Python takes the module "${module}" from ${path}, even where one of that name is installed.`
      add('danger', 'module-of-the-folder', 'args', message)
    }
  }
  return findings
}

/** Whether a shell gets a script that names a program that fetches packages. */
function mayFetch(command: string, args: readonly string[]): boolean {
  const isShell = /^(?:(?:ba|z|da|k|fi)?sh|cmd|powershell|pwsh)$/.test(programName(command))
  return isShell && /\b(?:npx|uvx|bunx|pnpx|pipx|dlx|dnx|npm\s+(?:exec|x))\b/.test(args.join(' '))
}

/** The first part of the argument of `-m`, which Python searches in the working directory first. */
function moduleIn(args: readonly string[]): string | undefined {
  const at = args.findIndex((arg) => /^-\w*m/.test(arg))
  const word = at === -1 ? undefined : (/^-\w*?m(.+)$/.exec(args[at] ?? '')?.[1] ?? args[at + 1])
  const first = word?.split('.')[0]
  return first !== undefined && /^\w+$/.test(first) ? first : undefined
}

/** What variables of a configuration are taken from. */
export interface Surroundings {
  env: ConfigEnvironment
  home: string
}

/**
 * A text of a configuration with environment and folder variables expanded. Inputs, secrets, files, and secret-like variables
 * stay as written; `open` is called for each of them.
 */
export function expandKnown(
  text: string,
  { from }: ServerConfig,
  { env, home }: Surroundings,
  open?: () => void,
): string {
  if (from === undefined) return text
  const workspace = from.workspace ?? dirname(from.file)
  const read = partsOf(text)
  if ('problem' in read) return text
  return read.parts
    .map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text
        case 'input':
        case 'secret':
        case 'file':
          open?.()
          return part.written
        case 'env': {
          if (isSecretName(part.name)) {
            open?.()
            return part.written
          }
          const known = fromEnvironment(part, env)
          return 'text' in known ? known.text : part.written
        }
        default:
          return folderText(part.kind, { workspace, home })
      }
    })
    .join('')
}
