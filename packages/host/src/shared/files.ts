import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path'
import { reasonOf } from './text.ts'

/** Where a program is searched. */
interface SearchOptions {
  /** The search path; relative folders in it are ignored. */
  path: string
  cwd: string
  /** The environment with `PATHEXT` on Windows. Default: its usual value. */
  env?: Readonly<Record<string, string | undefined>>
}

/** Whether there is a file or folder, also behind a link. */
export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Whether this is a file, or a link to one. */
export function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  )
}

/** The file of a command, as the system would find it; undefined if there is none that may be executed. */
export async function findProgram(
  command: string,
  { path, cwd, env = {} }: SearchOptions,
): Promise<string | undefined> {
  const isPath = process.platform === 'win32' ? /[\\/]/.test(command) : command.includes('/')
  const candidates = isPath
    ? [resolve(cwd, command)]
    : path.split(delimiter).flatMap((folder) => (isAbsolute(folder) ? [join(folder, command)] : []))
  const endings = process.platform === 'win32' ? windowsEndings(command, env) : ['']
  for (const candidate of candidates) {
    for (const ending of endings)
      if (await isExecutable(`${candidate}${ending}`)) return `${candidate}${ending}`
  }
  return undefined
}

function windowsEndings(command: string, env: NonNullable<SearchOptions['env']>): string[] {
  const extensions = Object.entries(env).find(([name]) => name.toUpperCase() === 'PATHEXT')?.[1]
  const endings = (extensions ?? '.COM;.EXE;.BAT;.CMD').split(';').filter(Boolean)
  return /\.[^.\\/]+$/.test(command) ? ['', ...endings] : endings
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    if (!(await stat(file)).isFile()) return false
    await access(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Reads a file. Devices, pipes and files of more than `maxBytes` bytes are not read, since the path may be untrusted. */
export async function readSmallFile(file: string, maxBytes: number): Promise<Buffer> {
  const info = await stat(file)
  if (!info.isFile()) throw Object.assign(new Error('it is not a file'), { code: 'it is not a file' })
  if (info.size > maxBytes) {
    const reason = `it has more than ${maxBytes} bytes`
    throw Object.assign(new Error(reason), { code: reason })
  }
  return readFile(file)
}

const readReasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
  EACCES: 'you may not read it',
}

/** Why a file cannot be read, without the path and the names of system calls. */
export function readErrorReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return readReasons[code] ?? (/^E[A-Z]+$/.test(code) ? `it cannot be read (${code})` : reasonOf(error))
}

/** A path with `~` at its start as the home folder. */
export function expandHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

/** Whether a path is the folder or inside it. Both are absolute and normalized. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}
