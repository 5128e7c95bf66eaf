import { readlink } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { type Allowed, type Boundary, nothingAllowed } from './boundary.ts'
import { type Directory, entriesOf, type Lookup, openAbsolute, statIn } from './directory.ts'
import { describeErrors, errnoOf, FileError } from './file-error.ts'

/** A resolved path: a name in an open directory within the boundary. Nothing with that name needs to exist. */
export interface Place {
  readonly directory: Directory
  /** The name in `directory`; '.' for an allowed directory itself. */
  readonly name: string
  /** The absolute path, without links. */
  readonly path: string
  /** The entry of the boundary that it lies in. */
  readonly allowed: Allowed
  /** Whether it is the allowed directory or file itself. */
  readonly isAllowed: boolean
}

/** How a path is resolved. */
export interface ResolveOptions {
  /** Whether a link as the last part of the path is followed. Links before it always are, within the boundary. */
  followLast: boolean
  /** Creates missing directories on the way. Default: they are an error. */
  create?: (directory: Directory, name: string) => Promise<void>
}

const maxLinks = 40

/**
 * Resolves a path of a request within the boundary, opens the directory that it leads to, and runs `use` with the place. Every
 * part is looked up in the directory opened before it and never followed by the system: the target of a link is read and resolved
 * by the same rules, so that no link leads out of the boundary, however often it is replaced meanwhile.
 * @throws FileError
 */
export async function withPlace<T>(
  boundary: Boundary,
  lookup: Lookup,
  requested: string,
  options: ResolveOptions,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const candidates = boundary.candidates(requested)
  const place = await resolveCandidates(boundary, lookup, requested, candidates, options)
  try {
    return await use(place)
  } finally {
    await place.directory.close()
  }
}

/** Resolves the first candidate that exists, or else the first candidate. */
async function resolveCandidates(
  boundary: Boundary,
  lookup: Lookup,
  requested: string,
  [first = '', ...others]: readonly string[],
  options: ResolveOptions,
): Promise<Place> {
  const resolveOne = (path: string): Promise<Place> =>
    describeErrors(`Cannot open ${requested}`, () =>
      new PathResolver(boundary, lookup, requested, options).resolve(path),
    )
  if (others.length === 0) return resolveOne(first)
  const { create: _, ...existing } = options
  for (const path of [first, ...others]) {
    const place = await new PathResolver(boundary, lookup, requested, existing)
      .resolve(path)
      .catch(() => undefined)
    if (place === undefined) continue
    const found = await statIn(place.directory, place.name).catch(() => undefined)
    if (found !== undefined) return place
    await place.directory.close()
  }
  return resolveOne(first)
}

/** Resolves one path. */
class PathResolver {
  readonly #boundary: Boundary
  readonly #lookup: Lookup
  readonly #requested: string
  readonly #options: ResolveOptions
  #links = 0

  constructor(boundary: Boundary, lookup: Lookup, requested: string, options: ResolveOptions) {
    this.#boundary = boundary
    this.#lookup = lookup
    this.#requested = requested
    this.#options = options
  }

  async resolve(path: string): Promise<Place> {
    let next = path
    for (;;) {
      const found = this.#boundary.find(next)
      if (found === undefined) throw this.#outside(next)
      const reached = await this.#from(found.allowed, found.names)
      if (typeof reached !== 'string') return reached
      next = reached
    }
  }

  /** Returns a path to start again with if a link leads out of this allowed directory. */
  async #from(allowed: Allowed, names: readonly string[]): Promise<Place | string> {
    if (allowed.kind === 'file') {
      const directory = await this.#openAllowed(dirname(allowed.path))
      return { directory, name: basename(allowed.path), path: allowed.path, allowed, isAllowed: true }
    }
    const opened = [await this.#openAllowed(allowed.path)]
    try {
      const reached = await this.#descend(allowed, opened, [...names])
      if (typeof reached === 'string') return reached
      opened.splice(opened.indexOf(reached.directory), 1)
      return reached
    } finally {
      for (const directory of opened) await directory.close()
    }
  }

  async #openAllowed(path: string): Promise<Directory> {
    try {
      return await openAbsolute(path, this.#lookup)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error
      throw new FileError(
        'changed',
        `The allowed directory ${path}, or a directory above it, was replaced by a link or a file. Restore it, or restart the server.`,
        { cause: error },
      )
    }
  }

  /** @param opened the directories from the allowed one to the current one; `..` in the target of a link returns to the last */
  async #descend(allowed: Allowed, opened: Directory[], pending: string[]): Promise<Place | string> {
    for (;;) {
      const current = opened.at(-1)
      if (current === undefined) throw new TypeError('No directory is open')
      const name = pending.shift()
      if (name === undefined) {
        // The path ended in a directory by '..' or '.', or is the allowed directory itself.
        const isAllowed = opened.length === 1
        return { directory: current, name: '.', path: current.path, allowed, isAllowed }
      }
      if (name === '' || name === '.') continue
      if (name === '..') {
        if (opened.length === 1) return resolve(dirname(allowed.path), ...pending)
        await opened.pop()?.close()
        continue
      }
      const place = { directory: current, name, path: join(current.path, name), allowed, isAllowed: false }
      const isLast = pending.length === 0
      const next = await this.#openNext(current, name, isLast)
      if (typeof next === 'object') {
        if (isLast) {
          await next.close()
          return place
        }
        opened.push(next)
        continue
      }
      if (next === 'missing' || (isLast && !this.#options.followLast)) {
        if (next === 'missing') {
          const stored = await equivalentName(current, name)
          if (stored !== undefined) {
            pending.unshift(stored)
            continue
          }
          if (!isLast) {
            if (this.#options.create === undefined) throw this.#missing(place.path)
            await this.#options.create(current, name)
            pending.unshift(name)
            continue
          }
        }
        return place
      }
      const target = await this.#readLink(current, name)
      if (target === undefined) {
        if (isLast) return place
        throw new FileError('kind', `Cannot open ${this.#requested}: ${place.path} is not a directory.`)
      }
      if (isAbsolute(target)) return resolve(target, ...pending)
      pending.unshift(...target.split(sep === '\\' ? /[\\/]/ : '/'))
    }
  }

  /** Opens a directory. `other`: the name is not a directory that can be opened. */
  async #openNext(
    current: Directory,
    name: string,
    isLast: boolean,
  ): Promise<Directory | 'missing' | 'other'> {
    try {
      return await current.openDirectory(name)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === 'ENOENT') return 'missing'
      if (errno === 'ENOTDIR' || errno === 'ELOOP') return 'other'
      // A directory that may not be searched can still be renamed, removed or described.
      if (errno === 'EACCES' && isLast) return 'other'
      throw error
    }
  }

  /** The target of a link; undefined if it is not a link. @throws FileError after too many links */
  async #readLink(current: Directory, name: string): Promise<string | undefined> {
    let target: string
    try {
      target = await current.use(name, (path) => readlink(path))
    } catch (error) {
      const errno = errnoOf(error)
      // On Windows, reading something that is not a link fails with UNKNOWN.
      if (errno === 'EINVAL' || errno === 'UNKNOWN') return undefined
      throw error
    }
    if (++this.#links > maxLinks) {
      throw new FileError(
        'failed',
        `Cannot open ${this.#requested}: it leads through more than ${maxLinks} links.`,
      )
    }
    return target
  }

  #missing(path: string): FileError {
    const what = path === this.#requested ? '' : ` ${path} does not exist.`
    return new FileError(
      'missing',
      `Cannot open ${this.#requested}: a directory on the way does not exist.${what} (ENOENT)`,
    )
  }

  #outside(path: string): FileError {
    if (this.#boundary.allowed.length === 0) return nothingAllowed()
    const allowed = `Allowed: ${this.#boundary.describe()}.`
    return this.#links > 0
      ? new FileError(
          'outside',
          `Access denied - ${this.#requested} leads through a symbolic link to ${path}, outside of the allowed directories. ${allowed}`,
        )
      : new FileError('outside', `Access denied - path outside allowed directories: ${path}. ${allowed}`)
  }
}

const maxComparedNames = 10_000

/**
 * The one name in a directory that is written differently in Unicode but reads the same, such as `é` as one or two characters;
 * undefined if there is none, or several.
 */
async function equivalentName(directory: Directory, name: string): Promise<string | undefined> {
  if (!/[^\0-\x7f]/.test(name)) return undefined
  const wanted = name.normalize('NFC')
  const found: string[] = []
  let compared = 0
  for await (const entry of entriesOf(directory)) {
    if (entry.name !== name && entry.name.normalize('NFC') === wanted) found.push(entry.name)
    if (++compared >= maxComparedNames || found.length > 1) return undefined
  }
  return found[0]
}
