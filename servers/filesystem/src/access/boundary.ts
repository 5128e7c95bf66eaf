import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FileError } from './file-error.ts'

/** A directory that a client may use with everything below it, or one file. */
export interface Allowed {
  /** The absolute path, without links: where it was when it was first named. */
  readonly path: string
  /** The absolute path as it was named, which may have links. */
  readonly named: string
  readonly kind: 'directory' | 'file'
}

/**
 * The directories and files that a client may use. It compares paths only as text, to find where a lookup begins. Links are checked
 * by the lookup itself, in `resolve.ts`.
 */
export class Boundary {
  readonly allowed: readonly Allowed[]

  constructor(allowed: readonly Allowed[]) {
    this.allowed = allowed
  }

  /** The innermost allowed directory or file that contains a path, and the names that lead from there; undefined if none does. */
  find(path: string): { allowed: Allowed; names: string[] } | undefined {
    let innermost: { allowed: Allowed; names: string[] } | undefined
    for (const allowed of this.allowed) {
      for (const base of [allowed.path, allowed.named]) {
        const names = namesBelow(base, path)
        if (names === undefined || (allowed.kind === 'file' && names.length > 0)) continue
        if (innermost === undefined || names.length < innermost.names.length) innermost = { allowed, names }
      }
    }
    return innermost
  }

  /**
   * The absolute paths that a path of a request can mean: itself if it is absolute, otherwise its place in each allowed directory.
   * `~` is the home directory.
   * @throws FileError for a path that no file can have
   */
  candidates(requested: string): string[] {
    if (requested === '') throw new FileError('missing', 'The path is empty. Name a file or directory.')
    if (requested.includes('\0'))
      throw new FileError('missing', 'The path contains a NUL character, which no file name can have.')
    if (requested.length > maxPathChars) {
      throw new FileError('limit', `The path has more than ${maxPathChars} characters.`)
    }
    if (/^file:\/\//i.test(requested)) throw new FileError('missing', uriMessage(requested))
    if (process.platform === 'win32') requirePlainNames(requested)
    else if (/^[A-Za-z]:([\\/]|$)/.test(requested)) {
      throw new FileError(
        'outside',
        `Access denied - ${requested} is a Windows path, and this server does not run on Windows.`,
      )
    }
    const path = expandHome(requested)
    if (isAbsolute(path)) return [resolve(path)]
    const directories = this.allowed.filter(({ kind }) => kind === 'directory')
    const bases = (directories.length > 0 ? directories : this.allowed).map(({ path }) => path)
    if (bases.length === 0) throw nothingAllowed()
    return bases.map((base) => resolve(base, path))
  }

  /** The paths of all entries, for messages. */
  describe(): string {
    const paths = this.allowed.map(({ path }) => path)
    return paths.length <= 5
      ? paths.join(', ')
      : `${paths.slice(0, 5).join(', ')} and ${paths.length - 5} more`
  }
}

const maxPathChars = 4096

/** The names between a directory and a path below it; undefined if the path is not below it. */
function namesBelow(base: string, path: string): string[] | undefined {
  // On Windows this ignores case; elsewhere the first allowed path that differs in case only is not taken.
  const rest = relative(base, path)
  if (rest === '') return []
  const names = rest.split(sep)
  return names[0] === '..' || isAbsolute(rest) ? undefined : names
}

/** The error of a request while no directory is allowed. */
export function nothingAllowed(): FileError {
  return new FileError(
    'outside',
    'Access denied - no directory is allowed. Start the server with directories as arguments, or open a folder (root) in the client.',
  )
}

/** `~` and `~/…` as paths in the home directory. */
export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') || path.startsWith('~\\')
    ? join(homedir(), path.slice(1))
    : path
}

/** On Windows `file:stream` names another stream of a file, and trailing dots and spaces are ignored. */
function requirePlainNames(path: string): void {
  const names = path.replace(/^(\\\\[?.]\\)?[A-Za-z]:/, '').split(/[\\/]/)
  const invalidName = names.find(
    (name) => name.includes(':') || (/[. ]$/.test(name) && !/^\.\.?$/.test(name)),
  )
  if (invalidName !== undefined)
    throw new FileError(
      'missing',
      `"${invalidName}" is not a valid file name on Windows: it contains a colon, or ends with a dot or a space.`,
    )
}

/**
 * A directory or file as an entry of a boundary.
 * @throws a system error if it does not exist, and FileError 'kind' if it is neither
 */
export async function allowedAt(path: string): Promise<Allowed> {
  const named = resolve(expandHome(path))
  const real = await realpath(named)
  const stats = await stat(real)
  if (!stats.isDirectory() && !stats.isFile()) {
    throw new FileError('kind', `${path} is neither a directory nor a regular file.`)
  }
  return { path: real, named, kind: stats.isDirectory() ? 'directory' : 'file' }
}

/** Removes duplicates. An entry within another directory of the list is kept, because it can be listed. */
export function uniqueByPath(allowed: readonly Allowed[]): Allowed[] {
  return [...new Map(allowed.map((one) => [one.path, one])).values()]
}

/**
 * Configured directories, narrowed by the roots of a client: a root within one of them replaces it, and other roots are ignored.
 * Without configured directories the roots are the boundary.
 */
export function boundaryOf(configured: readonly Allowed[], roots: readonly Allowed[]): Boundary {
  if (configured.length === 0) return new Boundary(uniqueByPath(roots))
  const narrowed = configured.flatMap((one) => {
    if (one.kind === 'file') return [one]
    const within = roots.filter(({ path }) => (namesBelow(one.path, path)?.length ?? 0) > 0)
    const whole = roots.some(({ path }) => path === one.path)
    return within.length === 0 || whole ? [one] : within
  })
  return new Boundary(uniqueByPath(narrowed))
}

/** The refusal of a `file:` URI, such as that of a resource link, as a path. */
function uriMessage(uri: string): string {
  let path: string | undefined
  try {
    path = fileURLToPath(uri)
  } catch {
    // Of another host, or with characters that no path has.
  }
  return `${uri} is a URI, not a path. ${path === undefined ? 'Use the path of the file.' : `Use the path ${path}`}`
}
