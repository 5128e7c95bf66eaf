import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, link, mkdir, open, rename, rmdir, unlink } from 'node:fs/promises'
import { type Directory, kindOf, statIn } from '../access/directory.ts'
import { describeErrors, errnoOf, FileError } from '../access/file-error.ts'
import type { Place } from '../access/resolve.ts'

/** Identifies the state of a file, to detect changes; null if the file does not exist. */
export type Fingerprint = string | null

/** The fingerprint of a file or directory. */
export function fingerprintOf(stats: Stats | undefined): Fingerprint {
  if (stats === undefined) return null
  const { dev, ino, size, mtimeMs, mode } = stats
  return [dev, ino, size, mtimeMs, mode].join(':')
}

/** @throws FileError 'changed' if the file changed since it was inspected */
export async function requireUnchanged(
  { directory, name, path }: Place,
  expected: Fingerprint,
): Promise<Stats | undefined> {
  const stats = await statIn(directory, name)
  if (fingerprintOf(stats) === expected) return stats
  const what =
    expected === null
      ? 'was created meanwhile'
      : stats === undefined
        ? 'was removed meanwhile'
        : 'was changed meanwhile'
  throw new FileError('changed', `${path} ${what}, so it was left as it is. Look at it again, then decide.`)
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

/**
 * Writes a file atomically: writes a temporary file in the same directory and renames it. Follows no link, replaces only regular
 * files, and keeps the permissions of a replaced file.
 * @param expected the file to replace, null to create one
 * @throws FileError
 */
export async function writeAtomically(
  place: Place,
  content: Uint8Array,
  expected: Fingerprint,
): Promise<void> {
  const { directory, name, path } = place
  await describeErrors(`Cannot write ${path}`, async () => {
    requireFile(path, await requireUnchanged(place, expected))
    let draft: string
    try {
      // The replaced file may be private, so the draft is readable only for its owner until it gets the permissions.
      draft = await writeDraft(directory, content, expected === null ? 0o666 : 0o600)
    } catch (error) {
      // The directory of an allowed file may not be writable.
      if (expected === null || !place.isAllowed || !notWritableCodes.has(errnoOf(error) ?? '')) throw error
      return overwrite(place, content, expected)
    }
    try {
      const stats = await requireUnchanged(place, expected)
      requireFile(path, stats)
      if (stats === undefined) {
        if (!(await linkNew(directory, draft, directory, name))) throw existsError(path)
        return
      }
      await directory.use(draft, (at) => copyPermissions(at, stats))
      await directory
        .use(draft, (from) => directory.use(name, (to) => rename(from, to)))
        .catch((error: unknown) => {
          if (place.isAllowed && notWritableCodes.has(errnoOf(error) ?? ''))
            return overwrite(place, content, expected)
          throw error
        })
    } finally {
      await directory.use(draft, (at) => unlink(at)).catch(() => {})
    }
  })
}

const notWritableCodes: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV'])

function requireFile(path: string, stats: Stats | undefined): void {
  if (stats === undefined || stats.isFile()) return
  throw new FileError(
    'kind',
    `Cannot write ${path}: it is a ${kindOf(stats)}, and only regular files are replaced.`,
  )
}

function existsError(path: string): FileError {
  return new FileError('exists', `${path} exists already, so it was left as it is.`)
}

/** Writes a temporary file. Returns its name. */
async function writeDraft(directory: Directory, content: Uint8Array, mode: number): Promise<string> {
  const draft = `.${randomUUID()}.jackfield-tmp`
  const handle = await directory.use(draft, (at) => open(at, createFlags, mode))
  try {
    await writeAll(handle, content)
    await handle.sync()
  } catch (error) {
    await directory.use(draft, (at) => unlink(at)).catch(() => {})
    throw error
  } finally {
    await handle.close()
  }
  return draft
}

async function writeAll(handle: FileHandle, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.length; ) {
    const { bytesWritten } = await handle.write(content, at, content.length - at, at)
    at += bytesWritten
  }
}

/** Copies the permissions of the replaced file to the draft and, where the system allows it, the owner and group. */
async function copyPermissions(draft: string, { mode, uid, gid }: Stats): Promise<void> {
  const handle = await open(draft, constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    const draftStats = await handle.stat()
    // Before chmod, because chown can reset some permissions.
    if (draftStats.uid !== uid || draftStats.gid !== gid) await handle.chown(uid, gid).catch(() => {})
    await handle.chmod(mode & 0o777)
  } finally {
    await handle.close()
  }
}

/** Writes into the file itself, where nothing can be created beside it. A failure can leave it incomplete. */
async function overwrite(
  { directory, name, path }: Place,
  content: Uint8Array,
  expected: Fingerprint,
): Promise<void> {
  const flags = constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const handle = await directory.use(name, (at) => open(at, flags))
  try {
    if (fingerprintOf(await handle.stat()) !== expected)
      throw new FileError('changed', `${path} was replaced meanwhile. Try again.`)
    await writeAll(handle, content)
    await handle.truncate(content.length)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Gives a file a new name atomically. Returns false if the name exists.
 * @param from the file, which keeps its old name if hard links are possible
 */
async function linkNew(source: Directory, from: string, target: Directory, to: string): Promise<boolean> {
  try {
    await source.use(from, (a) => target.use(to, (b) => link(a, b)))
    return true
  } catch (error) {
    const errno = errnoOf(error) ?? ''
    if (errno === 'EEXIST') return false
    if (!noHardLinkCodes.has(errno)) throw error
  }
  return renameNew(source, from, target, to, 'file')
}

const noHardLinkCodes: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** Renames to a new name, which an empty file or directory reserves first. Returns false if the name exists. */
async function renameNew(
  source: Directory,
  from: string,
  target: Directory,
  to: string,
  kind: 'file' | 'directory',
): Promise<boolean> {
  try {
    await target.use(to, async (path) => {
      if (kind === 'directory') await mkdir(path)
      else await (await open(path, createFlags)).close()
    })
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
  try {
    // On Windows a directory cannot replace an empty one.
    if (kind === 'directory' && process.platform === 'win32') await target.use(to, (path) => rmdir(path))
    await source.use(from, (a) => target.use(to, (b) => rename(a, b)))
    return true
  } catch (error) {
    await target.use(to, (path) => (kind === 'directory' ? rmdir(path) : unlink(path))).catch(() => {})
    throw error
  }
}

/**
 * Moves a file, link or directory to a name that nothing has yet.
 * @throws FileError 'exists' if something has it
 */
export async function move(source: Place, target: Place, signal: AbortSignal): Promise<void> {
  await describeErrors(`Cannot move ${source.path} to ${target.path}`, async () => {
    const stats = await statIn(source.directory, source.name)
    if (stats === undefined) throw new FileError('missing', `${source.path} does not exist.`)
    if (source.isAllowed)
      throw new FileError('outside', `${source.path} is an allowed directory or file, and is not moved.`)
    if (stats.isDirectory() && `${target.path}/`.startsWith(`${source.path}/`)) {
      throw new FileError('kind', `${source.path} cannot be moved into itself.`)
    }
    const kind = stats.isDirectory() ? 'directory' : 'file'
    try {
      if (await renameNew(source.directory, source.name, target.directory, target.name, kind)) return
    } catch (error) {
      if (errnoOf(error) !== 'EXDEV' || !stats.isFile()) throw error
      if (await copyAcross(source, target, signal)) return
    }
    throw new FileError('exists', `Destination already exists: ${target.path}. Nothing was moved.`)
  })
}

/** Moves a regular file to another file system: copies it, then removes the source. */
async function copyAcross(source: Place, target: Place, signal: AbortSignal): Promise<boolean> {
  const { handle, stats } = await source.directory.openFile(source.name)
  const draft = `.${randomUUID()}.jackfield-tmp`
  try {
    const copy = await target.directory.use(draft, (at) => open(at, createFlags, 0o600))
    try {
      for await (const chunk of handle.createReadStream({ autoClose: false, signal }))
        await copy.writeFile(chunk)
      await copy.chmod(stats.mode & 0o777)
      await copy.utimes(stats.atime, stats.mtime)
      await copy.sync()
    } finally {
      await copy.close()
    }
    const now = await requireUnchanged(source, fingerprintOf(stats))
    if (now === undefined || !(await linkNew(target.directory, draft, target.directory, target.name)))
      return false
    await source.directory.use(source.name, (at) => unlink(at))
    return true
  } finally {
    await target.directory.use(draft, (at) => unlink(at)).catch(() => {})
    await handle.close()
  }
}

/** Creates a directory if it does not exist. @throws FileError */
export async function createDirectory({
  directory,
  name,
  path,
}: Pick<Place, 'directory' | 'name' | 'path'>): Promise<boolean> {
  return describeErrors(`Cannot create the directory ${path}`, async () => {
    if (name === '.') return false
    try {
      await directory.use(name, (at) => mkdir(at))
      return true
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
      const stats = await statIn(directory, name)
      if (stats?.isDirectory() === true) return false
      throw new FileError(
        'exists',
        `Cannot create the directory ${path}: a ${stats === undefined ? 'file' : kindOf(stats)} has this name.`,
      )
    }
  })
}
