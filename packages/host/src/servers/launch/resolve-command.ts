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
import { findProgram, isWithin } from '../../shared/files.ts'
import type { ServerConfig, StdioServerConfig, TrustFinding } from '../../types/index.ts'
import { programName, runsPackage } from './command-scan.ts'

/** How a command is started on this machine: which file runs, where, and with which search path. */
interface ResolvedCommand {
  /** The file that the command names; undefined where there is none. */
  file: string | undefined
  /** The file that `file` leads to, where it is a link. */
  real: string | undefined
  args: string[]
  cwd: string
  /** Whether `cwd` is a folder of the servers of this file alone, instead of the one that is worked in. */
  isApart: boolean
  /** The search path that it is given; undefined where there is none. */
  path: string | undefined
  /** A file of the project that the command would name if folders of the project were searched. */
  left?: string
  /** SHA-256 of the files of the project that the command line names, by their paths. */
  contents: Record<string, string>
  findings: TrustFinding[]
}

/** Bytes of files whose contents are compared. Beyond them a file counts by its size and the time of its last change. */
const maxHashedBytes = 67_108_864
const relativePath = /^(--?[\w-]+=)?(\.{1,2}(?:[\\/].*)?)$/s

/**
 * Finds out what a server of a project file would run. `config` has its variables replaced as far as they are known.
 *
 * A program that fetches packages (`npx`, `uvx`) reads settings and packages of the folder that it runs in. It is
 * started in a folder of its own, unless the configuration names one, so that nothing of the project changes what it
 * fetches; relative paths among its arguments are made absolute for that.
 */
export async function resolveCommand(
  config: StdioServerConfig,
  around: Surroundings,
): Promise<ResolvedCommand> {
  const { command, args = [], from } = config
  const project = resolve(from?.workspace ?? dirname(from?.file ?? '.'))
  const real = await realpath(project).catch(() => project)
  const isOfProject = (path: string): boolean => isWithin(path, project) || isWithin(path, real)
  // In a project that holds the home folder, what is installed there is the person's own.
  const isForeign = (path: string): boolean => !isOfProject(around.home) && isOfProject(path)
  const fetches = runsPackage(command, args)
  const isApart = fetches && config.cwd === undefined
  const base = resolve(config.cwd ?? '.')
  const cwd = isApart ? apart(config, around, isForeign) : base
  const path = searchPath(config, around, (folder) => !fetches || !isForeign(folder), base)
  const file = await findProgram(command, { path: path ?? '', cwd: base, env: around.env })
  const left =
    file === undefined && fetches
      ? await findProgram(command, { path: variable(around.env, 'PATH') ?? '', cwd: base, env: around.env })
      : undefined
  const link = file === undefined ? undefined : await realpath(file).catch(() => undefined)
  const words = isApart ? args.map((arg) => absolute(arg, base)) : args
  const contents = await contentsOf(
    [...(file === undefined ? [] : [file]), ...pathsIn(words, cwd)],
    isOfProject,
  )
  return {
    file,
    real: link === file ? undefined : link,
    args: words,
    cwd,
    isApart,
    path,
    ...(left !== undefined && { left }),
    contents,
    findings: await findingsOf({ config, file, link, cwd, isApart, fetches, base }, isForeign),
  }
}

/**
 * What is started, in place of what the configuration says.
 * @throws McpError 'CONNECT_FAILED' for a program that fetches packages and is found in the project alone
 */
export function startedAs(config: StdioServerConfig, place: ResolvedCommand): StdioServerConfig {
  const { file, args, cwd, isApart, path, left } = place
  if (left !== undefined) {
    throw new McpError(
      'CONNECT_FAILED',
      `${config.command} is found in this folder alone (${left}), and no program of the folder fetches packages unless it is named as that. Install ${config.command} elsewhere, or write its whole path as "command"`,
      { details: { code: 'ENOENT' } },
    )
  }
  return {
    ...config,
    command: file ?? config.command,
    args,
    // A sandbox opens the folder that is named, so none is named that the configuration does not.
    ...((isApart || config.cwd !== undefined) && { cwd }),
    ...(path !== undefined && { env: { ...withoutPath(config.env), PATH: path } }),
  }
}

/** A folder that belongs to the servers of one file and holds nothing of the project. */
function apart(
  { from }: StdioServerConfig,
  { env, home }: Surroundings,
  isForeign: (path: string) => boolean,
): string {
  const given = process.platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME']
  const usual = process.platform === 'win32' ? join(home, 'AppData', 'Local') : join(home, '.cache')
  const cache = given !== undefined && isAbsolute(given) ? given : usual
  const name = createHash('sha256')
    .update(from?.file ?? '')
    .digest('hex')
    .slice(0, 16)
  const folder = join(cache, 'jackfield', 'servers', name)
  // Programs look for settings in the folders above as well.
  return isForeign(folder) ? parse(folder).root : folder
}

/**
 * The search path without folders that depend on where a program runs. A relative folder of the person's own PATH is
 * left out; one that the configuration names is shown with it, and is that folder below the working directory.
 */
function searchPath(
  { env }: StdioServerConfig,
  around: Surroundings,
  isWanted: (folder: string) => boolean,
  base: string,
): string | undefined {
  const configured = variable(env, 'PATH')
  const text = configured ?? variable(around.env, 'PATH')
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

/** `./x` and `--option=../x` with their whole paths; other words may be no paths. */
function absolute(word: string, base: string): string {
  const [, option = '', path] = relativePath.exec(word) ?? []
  return path === undefined ? word : `${option}${resolve(base, path)}`
}

function pathsIn(words: readonly string[], cwd: string): string[] {
  return words.flatMap((word) => {
    const value = /^--?[\w-]+=(.+)$/s.exec(word)?.[1]
    return [word, ...(value === undefined ? [] : [value])].map((path) => resolve(cwd, path))
  })
}

/** Hashes of those files that belong to the project, or that a link of the project leads to. */
async function contentsOf(
  paths: readonly string[],
  isOfProject: (path: string) => boolean,
): Promise<Record<string, string>> {
  const contents: Record<string, string> = {}
  let left = maxHashedBytes
  for (const path of new Set(paths)) {
    const real = await realpath(path).catch(() => undefined)
    if (real === undefined || !(isOfProject(path) || isOfProject(real))) continue
    const found = await stat(real)
    if (!found.isFile()) continue
    left -= found.size
    contents[path] = `${real} ${left < 0 ? `${found.size} ${found.mtimeMs}` : await hashOf(real)}`
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
  isApart: boolean
  fetches: boolean
  base: string
}

async function findingsOf(
  { config, file, link, cwd, isApart, fetches, base }: CommandFinding,
  isForeign: (path: string) => boolean,
): Promise<TrustFinding[]> {
  const { command, args = [] } = config
  const found: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, at: string, message: string): void => {
    found.push({ severity, code, at, message })
  }
  const isBare = !/[\\/]/.test(command)
  if (file === undefined) {
    add('warning', 'no-program', 'command', `There is no program ${JSON.stringify(command)} to run now.`)
  } else if (isBare && (isForeign(file) || isForeign(link ?? file))) {
    const message = `${command} is ${file}, a file of this folder, and not an installed program.`
    add('danger', 'program-of-the-folder', 'command', message)
  }
  if (isApart) {
    const message = `It runs in ${cwd} and not in this folder, whose files would change what ${command} fetches. A "cwd" in its configuration has it run elsewhere.`
    add('notice', 'runs-apart', 'cwd', message)
  } else if ((fetches || mayFetch(command, args)) && isForeign(cwd)) {
    const message = `It runs in ${cwd}, where files such as node_modules, .npmrc or uv.toml change what it fetches and runs.`
    add('danger', 'runs-in-the-folder', 'cwd', message)
  }
  const module = /^(?:python[\d.]*|pypy[\d.]*)$/.test(programName(command)) ? moduleIn(args) : undefined
  for (const path of module === undefined ? [] : [resolve(base, module), resolve(base, `${module}.py`)]) {
    if (
      await stat(path).then(
        () => true,
        () => false,
      )
    ) {
      const message = `Python takes the module "${module}" from ${path}, even where one of that name is installed.`
      add('danger', 'module-of-the-folder', 'args', message)
    }
  }
  return found
}

/** Whether a shell is given a script that names a program that fetches packages. */
function mayFetch(command: string, args: readonly string[]): boolean {
  const isShell = /^(?:(?:ba|z|da|k|fi)?sh|cmd|powershell|pwsh)$/.test(programName(command))
  return isShell && /\b(?:npx|uvx|bunx|pnpx|pipx|dlx|dnx|npm\s+(?:exec|x))\b/.test(args.join(' '))
}

/** The first part of what follows `-m`, which Python looks for in the working directory first. */
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
 * A text of a configuration with what its environment and folders say. Inputs, secrets, files, and variables that sound
 * like secrets stand as they are written; `open` is called for each of them.
 */
export function spelled(
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
          const found = fromEnvironment(part, env)
          return found !== undefined && 'text' in found ? found.text : part.written
        }
        default:
          return folderText(part.kind, { workspace, home })
      }
    })
    .join('')
}
