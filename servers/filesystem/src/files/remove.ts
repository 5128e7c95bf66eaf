import type { Dirent, Stats } from 'node:fs'
import { rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Directory, entriesOf, statIn } from '../access/directory.ts'
import { describeErrors, errnoOf, FileError } from '../access/file-error.ts'
import type { Place } from '../access/resolve.ts'
import { type Fingerprint, requireUnchanged } from './write.ts'

/** Removes a file or a link, never what a link leads to. @throws FileError */
export async function removeFile(place: Place, expected: Fingerprint): Promise<void> {
  const { directory, name, path } = place
  await describeErrors(`Cannot delete ${path}`, async () => {
    await requireUnchanged(place, expected)
    await directory.use(name, (at) => unlink(at))
  })
}

/** Files and directories below a directory. */
export interface Contents {
  readonly files: number
  readonly directories: number
}

/**
 * Counts what a directory contains, without following links.
 * @throws FileError 'limit' above `limit` entries
 */
export async function contentsOf(place: Place, limit: number, signal: AbortSignal): Promise<Contents> {
  return describeErrors(`Cannot read ${place.path}`, async () => {
    const counts = { files: 0, directories: 0 }
    const count = async (directory: Directory): Promise<void> => {
      for await (const entry of entriesOf(directory)) {
        signal.throwIfAborted()
        if (counts.files + counts.directories >= limit) {
          throw new FileError(
            'limit',
            `${place.path} contains more than ${limit} files and directories, the most that one call deletes. Delete parts of it first.`,
          )
        }
        if (!entry.isDirectory()) {
          counts.files++
          continue
        }
        counts.directories++
        await withDirectoryIn(directory, entry.name, count)
      }
    }
    await withDirectoryIn(place.directory, place.name, count)
    return counts
  })
}

/**
 * Removes a directory with everything in it. Links in it are removed, and what they lead to is not. A directory that is replaced
 * by a link meanwhile is not entered.
 * @param limit the most entries of one directory that are removed
 * @param onRemoved called after each entry
 * @throws FileError; what was removed until then stays removed
 */
export async function removeDirectory(
  place: Place,
  limit: number,
  signal: AbortSignal,
  onRemoved: (path: string) => void,
): Promise<void> {
  const empty = async (directory: Directory): Promise<void> => {
    // Read to the end first: some file systems leave out entries of a directory that is changed meanwhile.
    const entries: Dirent[] = []
    for await (const entry of entriesOf(directory)) if (entries.push(entry) >= limit) break
    for (const entry of entries) {
      signal.throwIfAborted()
      const path = join(directory.path, entry.name)
      if (entry.isDirectory()) {
        await withDirectoryIn(directory, entry.name, empty)
        await directory.use(entry.name, (at) => rmdir(at))
      } else {
        await directory.use(entry.name, (at) => unlink(at))
      }
      onRemoved(path)
    }
  }
  await describeErrors(`Cannot delete ${place.path} completely`, async () => {
    await withDirectoryIn(place.directory, place.name, empty)
    await removeEmptyDirectory(place)
  })
}

/** Removes a directory that has nothing in it. @throws FileError */
export async function removeEmptyDirectory({ directory, name, path }: Place): Promise<void> {
  await describeErrors(`Cannot delete ${path}`, async () => {
    try {
      await directory.use(name, (at) => rmdir(at))
    } catch (error) {
      if (errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') throw error
      throw new FileError(
        'kind',
        `${path} is not empty, so it was not deleted. Set recursive to delete it with everything in it.`,
      )
    }
  })
}

async function withDirectoryIn(
  parent: Directory,
  name: string,
  use: (directory: Directory) => Promise<void>,
): Promise<void> {
  const directory = await parent.openDirectory(name)
  try {
    await use(directory)
  } finally {
    await directory.close()
  }
}

/** @throws FileError if nothing is at the place, or it is an allowed directory or file itself */
export async function requireRemovable(place: Place): Promise<Stats> {
  const stats = await statIn(place.directory, place.name)
  if (stats === undefined) throw new FileError('missing', `Cannot delete ${place.path}: it does not exist.`)
  if (place.isAllowed || place.name === '.') {
    throw new FileError('outside', `${place.path} is an allowed directory or file, and is not deleted.`)
  }
  return stats
}
