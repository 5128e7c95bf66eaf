import { randomUUID } from 'node:crypto'
import { link, lstat, open, rename, rm } from 'node:fs/promises'
import { type Folder, FolderError, openFolder } from './folder.ts'

/** A file cannot be written, for the reason in the message. */
export class WriteError extends Error {
  override readonly name: string = 'WriteError'
}

/** Device names of Windows, which stay reserved with an extension, and with spaces before it. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d¹²³]) *(\.|$)/i
/** Characters that have a meaning in a path on some system, and those of alternate data streams (`a:b`). */
const forbidden = /[\\:*?"<>|]/
/** Characters that reverse, hide or disguise a name: controls, format characters, and all that fonts draw as nothing. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
const invalidEdges = /^\s|[\s.]$/
const maxFolders = 8

/**
 * The names in a relative path.
 * @throws WriteError for a path that is absolute, leads upwardsor has a name that some system interprets differently
 */
export function namesOf(path: string): { folders: string[]; file: string } {
  if (/^([/\\~]|[A-Za-z]:)/.test(path)) throw new WriteError(`"${path}" must be relative to the root`)
  const names = path.split('/')
  const file = names.pop() ?? ''
  for (const name of [...names, file]) {
    if (name === '..') throw new WriteError(`"${path}" must not lead out of its folder`)
    if (name === '' || name === '.') throw new WriteError(`"${path}" has an empty name in it`)
    const invisibleCode = invisible.exec(name)?.[0].codePointAt(0)
    if (invisibleCode !== undefined) {
      const code = `U+${invisibleCode.toString(16).toUpperCase().padStart(4, '0')}`
      throw new WriteError(
        `The path has the invisible character ${code}, so it is not a name that a file can have everywhere`,
      )
    }
    if (forbidden.test(name) || invalidEdges.test(name) || reserved.test(name)) {
      throw new WriteError(`"${name}" is not a name that a file can have everywhere`)
    }
    if (Buffer.byteLength(name) > 200) throw new WriteError(`"${name.slice(0, 40)}…" is too long a name`)
  }
  if (names.length > maxFolders) throw new WriteError(`"${path}" is more than ${maxFolders} folders deep`)
  return { folders: names, file }
}

/**
 * Writes a text file below a root, whole or not at all: into a draft beside it, then put in place.
 * Follows no symbolic link and replaces nothing but a regular file. Without `overwrite` the file is created exclusively: of
 * several writers at once, exactly one succeeds.
 * @throws WriteError with the reason
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
    await requireWritable(folder, file, path, options.overwrite)
    const draft = await writeDraft(folder, file, text)
    try {
      const replaced = await publishDraft(folder, draft, file, path, options.overwrite)
      return { replaced, bytes: Buffer.byteLength(text) }
    } catch (error) {
      throw error instanceof WriteError ? error : writeFailure(file, error)
    } finally {
      await rm(draft, { force: true })
    }
  } finally {
    await folder.close()
  }
}

/** @throws WriteError where something may not be replaced */
async function requireWritable(
  folder: Folder,
  file: string,
  path: string,
  overwrite: boolean,
): Promise<void> {
  const found = await lstat(folder.at(file)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return
  if (!found.isFile()) {
    throw new WriteError(
      `"${path}" is not a regular file but a link, a folder or a device, and was left alone`,
    )
  }
  if (!overwrite) throw existsError(path)
}

async function writeDraft(folder: Folder, file: string, text: string): Promise<string> {
  const draft = folder.at(`.itinerary-${randomUUID()}.tmp`)
  try {
    const handle = await open(draft, 'wx')
    try {
      await handle.writeFile(text, 'utf8')
      await handle.sync()
    } finally {
      await handle.close()
    }
    return draft
  } catch (error) {
    await rm(draft, { force: true })
    throw writeFailure(file, error)
  }
}

/** Renames the draft to the file. Returns whether it replaced a file. */
async function publishDraft(
  folder: Folder,
  draft: string,
  file: string,
  path: string,
  overwrite: boolean,
): Promise<boolean> {
  if (await create(draft, folder.at(file))) return false
  if (!overwrite) throw existsError(path)
  await requireWritable(folder, file, path, overwrite)
  await rename(draft, folder.at(file))
  return true
}

/** Renames the draft atomically if no file has the new name. Returns false otherwise. */
async function create(draft: string, target: string): Promise<boolean> {
  try {
    await link(draft, target)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (!noHardLinks.has(codeOf(error) ?? '')) throw error
  }
  // The file system has no hard links: an empty file reserves the name until the draft replaces it.
  try {
    await (await open(target, 'wx')).close()
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
  try {
    await rename(draft, target)
    return true
  } catch (error) {
    await rm(target, { force: true })
    throw error
  }
}

const noHardLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function existsError(path: string): WriteError {
  return new WriteError(`"${path}" exists already. Pass overwrite: true to replace it, or another filename`)
}

function writeFailure(file: string, cause: unknown): WriteError {
  return new WriteError(`"${file}" was not written: ${reasonOf(cause)}`, { cause })
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function reasonOf(error: unknown): string {
  switch (codeOf(error)) {
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
