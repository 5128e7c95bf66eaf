import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'

/** A folder that was reached without following a link, and stays the same one while it is open. */
export interface Folder {
  /** A path to a name in this folder, for the calls of `node:fs`. */
  at(name: string): string
  close(): Promise<void>
}

/** A folder or file that does not exist, cannot be opened, or would be reached through a link. */
export class FolderError extends Error {
  override readonly name: string = 'FolderError'
}

/**
 * Opens a folder below a root, one name at a time and never through a symbolic link.
 * @param root an absolute path; the root itself may be reached through links, as its owner named it
 * @throws FolderError that names what is in the way
 */
export async function openFolder(root: string, names: readonly string[]): Promise<Folder> {
  const real = await realpath(root).catch(() => {
    throw new FolderError('the folder does not exist')
  })
  return existsSync('/proc/self/fd') ? openByHandle(real, names) : openByPath(real, names)
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** With `/proc/self/fd`, each name is looked up in the open folder before it. */
async function openByHandle(root: string, names: readonly string[]): Promise<Folder> {
  let handle: FileHandle = await openFolderHandle(root, root)
  try {
    for (const name of names) {
      const next = await openFolderHandle(pathIn(handle, name), name)
      await handle.close()
      handle = next
    }
  } catch (error) {
    await handle.close()
    throw error
  }
  const last = handle
  return { at: (name) => pathIn(last, name), close: () => last.close() }
}

function pathIn(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`
}

async function openFolderHandle(path: string, name: string): Promise<FileHandle> {
  return open(path, folderFlags).catch((error: unknown) => {
    throw new FolderError(openFailure(error, name))
  })
}

/** On other systems, each name is checked before the next one is looked up. */
async function openByPath(root: string, names: readonly string[]): Promise<Folder> {
  let path = root
  for (const name of ['', ...names]) {
    path = join(path, name)
    const found = await lstat(path).catch((error: unknown) => {
      throw new FolderError(openFailure(error, name))
    })
    if (!found.isDirectory()) throw new FolderError(`"${name}" is a link or a file, not a folder`)
  }
  return { at: (name) => join(path, name), close: async () => {} }
}

function openFailure(error: unknown, name: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'ENOENT':
      return `"${name}" does not exist`
    case 'ELOOP':
    case 'ENOTDIR':
      return `"${name}" is a link or a file, not a folder`
    case 'EACCES':
    case 'EPERM':
      return `"${name}" may not be opened`
    default:
      return `"${name}" cannot be opened`
  }
}
