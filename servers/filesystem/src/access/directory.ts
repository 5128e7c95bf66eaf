import { constants, type Dirent, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises'
import { join, parse, sep } from 'node:path'
import { errnoOf, FileError } from './file-error.ts'

/**
 * An open directory, in which names are looked up. Every operation of this server on the file system takes one name in an open
 * directory, so that no path is resolved twice.
 */
export interface Directory {
  /** The path at which it was opened, without links. For messages; operations use `use`. */
  readonly path: string
  /**
   * Runs an operation of `node:fs` on a name in this directory. The operation must not follow a link of that name.
   * @param name one name, or '.' for the directory itself
   */
  use<T>(name: string, operation: (path: string) => Promise<T>): Promise<T>
  /**
   * Opens a directory in this one.
   * @throws a system error: ENOENT, ENOTDIR or ELOOP for a link or another kind of file
   */
  openDirectory(name: string): Promise<Directory>
  /**
   * Opens a regular file for reading. Links, devices, sockets and named pipes are refused without being opened.
   * @throws FileError 'kind', or a system error
   */
  openFile(name: string): Promise<OpenFile>
  close(): Promise<void>
}

/** A regular file that is open, and its state when it was opened. */
export interface OpenFile {
  readonly handle: FileHandle
  readonly stats: Stats
}

/** `descriptor`: names are looked up in the descriptor of the open directory. `path`: paths are checked before and after. */
export type Lookup = 'descriptor' | 'path'

/** The strongest lookup of this system. */
export const systemLookup: Lookup =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path'

/**
 * Opens a directory by its absolute path without following any link.
 * @throws a system error: ENOTDIR or ELOOP if a part of the path is a link
 */
export async function openAbsolute(path: string, lookup: Lookup): Promise<Directory> {
  const { root } = parse(path)
  const names = path
    .slice(root.length)
    .split(sep)
    .filter((name) => name !== '')
  if (lookup === 'path') {
    const directory = new PathDirectory(path, root, names)
    await directory.check()
    return directory
  }
  let directory: Directory = new DescriptorDirectory(root, await open(root, directoryFlags))
  for (const name of names) {
    const parent = directory
    try {
      directory = await parent.openDirectory(name)
    } finally {
      await parent.close()
    }
  }
  return directory
}

/** `O_PATH` of Linux, which `node:fs` does not name: a descriptor that only locates a file, and needs no permission to read it. */
const pathFlag = 0o10000000
const directoryFlags = pathFlag | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * On Linux `/proc/self/fd/N/name` looks the name up in the directory that is open as N, wherever its path leads by now: what
 * `openat` does, which Node does not have.
 */
class DescriptorDirectory implements Directory {
  readonly path: string
  readonly #handle: FileHandle

  constructor(path: string, handle: FileHandle) {
    this.path = path
    this.#handle = handle
  }

  use<T>(name: string, operation: (path: string) => Promise<T>): Promise<T> {
    return operation(this.#at(name))
  }

  async openDirectory(name: string): Promise<Directory> {
    return new DescriptorDirectory(join(this.path, name), await open(this.#at(name), directoryFlags))
  }

  async openFile(name: string): Promise<OpenFile> {
    // Opening a device or a named pipe can have effects, so the file is located first and opened only if it is regular.
    const located = await open(this.#at(name), pathFlag | constants.O_NOFOLLOW)
    try {
      const stats = await located.stat()
      requireRegular(stats, join(this.path, name))
      // The link of a descriptor leads to the file that was located, not to its path.
      return {
        handle: await open(`/proc/self/fd/${located.fd}`, constants.O_RDONLY | constants.O_NONBLOCK),
        stats,
      }
    } finally {
      await located.close()
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  #at(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${requireName(name)}`
  }
}

/** `O_NOFOLLOW_ANY` of macOS 11: opening fails if any part of the path is a link. */
const noLinksFlag = process.platform === 'darwin' ? 0x20000000 : 0
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | noLinksFlag

/** How many times an opened file is compared with its path. */
const swapChecks = 4

/**
 * Where a descriptor has no path, every part of the path is checked for links before and after each operation. A process that
 * replaces a directory by a link exactly in between, and back, is not excluded.
 */
class PathDirectory implements Directory {
  readonly path: string
  readonly #root: string
  readonly #names: readonly string[]

  constructor(path: string, root: string, names: readonly string[]) {
    this.path = path
    this.#root = root
    this.#names = names
  }

  async use<T>(name: string, operation: (path: string) => Promise<T>): Promise<T> {
    const path = join(this.path, requireName(name))
    await this.check()
    const result = await operation(path)
    await this.check()
    return result
  }

  async openDirectory(name: string): Promise<Directory> {
    const directory = new PathDirectory(join(this.path, requireName(name)), this.#root, [
      ...this.#names,
      name,
    ])
    await directory.check()
    return directory
  }

  async openFile(name: string): Promise<OpenFile> {
    const path = join(this.path, requireName(name))
    await this.check()
    requireRegular(await lstat(path), path)
    const handle = await open(path, readFlags)
    try {
      const stats = await handle.stat()
      requireRegular(stats, path)
      // One check can miss a swap; several checks in a row hardly can.
      for (let round = 0; round < swapChecks; round++) {
        await this.check()
        const now = await lstat(path)
        if (now.isSymbolicLink() || now.ino !== stats.ino || now.dev !== stats.dev) throw replacedError(path)
      }
      await this.check()
      return { handle, stats }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** @throws a system error if a part of the path is missing, and ENOTDIR if one is a link or another kind of file */
  async check(): Promise<void> {
    let path = this.#root
    for (const name of this.#names) {
      path = join(path, name)
      if ((await lstat(path)).isDirectory()) continue
      throw Object.assign(new Error(`${path} is a link or a file`), { code: 'ENOTDIR' })
    }
  }

  async close(): Promise<void> {}
}

/** Returns the name. @throws TypeError for a path, which could leave the directory */
function requireName(name: string): string {
  if (name === '' || name === '..' || name.includes('/') || name.includes('\0') || name.includes(sep)) {
    throw new TypeError(`Not one name in a directory: ${JSON.stringify(name)}`)
  }
  return name
}

function requireRegular(stats: Stats, path: string): void {
  if (stats.isFile()) return
  if (stats.isDirectory()) throw Object.assign(new Error(`${path} is a directory`), { code: 'EISDIR' })
  if (stats.isSymbolicLink()) throw Object.assign(new Error(`${path} is a link`), { code: 'ELOOP' })
  throw new FileError(
    'kind',
    `${path} is a ${kindOf(stats)}, and only regular files can be read and written.`,
  )
}

function replacedError(path: string): FileError {
  return new FileError('changed', `${path} was replaced during the operation. Try again.`)
}

/** The kind of a directory entry, as results name it. */
export function kindOf(
  entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>,
): FileKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'link'
  if (entry.isFIFO()) return 'named pipe'
  return entry.isSocket() ? 'socket' : 'device'
}

export const fileKinds = ['file', 'directory', 'link', 'named pipe', 'socket', 'device'] as const
export type FileKind = (typeof fileKinds)[number]

/** The state of a name in a directory, without following a link; undefined if nothing has that name. */
export async function statIn(directory: Directory, name: string): Promise<Stats | undefined> {
  return directory
    .use(name, (path) => lstat(path))
    .catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    })
}

/** The entries of a directory, in the order of the file system. */
export async function* entriesOf(directory: Directory): AsyncGenerator<Dirent> {
  const entries = await directory.use('.', (path) => opendir(path, { bufferSize: 256 }))
  // A loop that ends early closes the directory as well.
  for await (const entry of entries) yield entry
}
