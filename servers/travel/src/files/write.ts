import { randomUUID } from 'node:crypto'
import { lstat, open, rename, rm } from 'node:fs/promises'
import { type Folder, FolderError, openFolder } from './folder.ts'

/** A file could not, or may not, be written. The message says why, in words for a person. */
export class WriteError extends Error {
  override readonly name: string = 'WriteError'
}

const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i
const deepest = 8

/**
 * The names a relative path is made of.
 * @throws WriteError for a path that is absolute, leads upwards, or holds a name that some system reads differently
 */
export function namesOf(path: string): { folders: string[]; file: string } {
  if (/^([/\\~]|[A-Za-z]:)/.test(path)) throw new WriteError(`"${path}" must be relative to the root`)
  const names = path.split('/')
  const file = names.pop() ?? ''
  for (const name of [...names, file]) {
    if (name === '..') throw new WriteError(`"${path}" must not lead out of its folder`)
    if (name === '' || name === '.') throw new WriteError(`"${path}" has an empty name in it`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (/[\\:*?"<>|\u0000-\u001f\u007f]/.test(name) || /[. ]$/.test(name) || reserved.test(name)) {
      throw new WriteError(`"${name}" is not a name that a file can have everywhere`)
    }
    if (Buffer.byteLength(name) > 200) throw new WriteError(`"${name.slice(0, 40)}…" is too long a name`)
  }
  if (names.length > deepest) throw new WriteError(`"${path}" is more than ${deepest} folders deep`)
  return { folders: names, file }
}

/**
 * Writes a text file below a root, whole or not at all: into a file of its own, then put in place.
 * Follows no symbolic link and writes over nothing but a regular file.
 * @throws WriteError that says what is in the way
 */
export async function writeBelow(
  root: string,
  path: string,
  text: string,
  options: { overwrite: boolean },
): Promise<{ replaced: boolean; bytes: number }> {
  const { folders, file } = namesOf(path)
  const folder = await openFolder(root, folders).catch((error: unknown) => {
    throw error instanceof FolderError ? new WriteError(`"${path}" was not written: ${error.message}`) : error
  })
  try {
    const replaced = await mayWrite(folder, file, path, options.overwrite)
    await putInPlace(folder, file, text)
    return { replaced, bytes: Buffer.byteLength(text) }
  } finally {
    await folder.close()
  }
}

/** Whether there is a regular file that will be replaced. */
async function mayWrite(folder: Folder, file: string, path: string, overwrite: boolean): Promise<boolean> {
  const found = await lstat(folder.at(file)).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return false
  if (!found.isFile()) {
    throw new WriteError(
      `"${path}" is not a regular file but a link, a folder or a device, and was left alone`,
    )
  }
  if (!overwrite) {
    throw new WriteError(`"${path}" exists already. Pass overwrite: true to replace it, or another filename`)
  }
  return true
}

async function putInPlace(folder: Folder, file: string, text: string): Promise<void> {
  const draft = folder.at(`.itinerary-${randomUUID()}.tmp`)
  try {
    const handle = await open(draft, 'wx')
    try {
      await handle.writeFile(text, 'utf8')
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, folder.at(file))
  } catch (error) {
    await rm(draft, { force: true })
    throw new WriteError(`"${file}" was not written: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'the folder may not be written to'
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full'
    default:
      return 'the file system refused'
  }
}
