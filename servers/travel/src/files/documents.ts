import { constants, type Dirent } from 'node:fs'
import { lstat, open, opendir } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Folder, FolderError, openFolder } from './folder.ts'
import type { OpenRoot } from './roots.ts'

/** A file in a root that is of use for planning a trip. */
export interface TravelFile {
  /** Calendars and templates are read. The contents of documents are never read. */
  kind: 'calendar' | 'template' | 'document'
  /** Of a document, by its name: passport, visa, ticket, insurance, vaccination, licence, or other. */
  document?: DocumentKind
  /** Path within the root, with `/`. */
  path: string
  root: OpenRoot
  uri: string
  bytes: number
  /** Day of the last change. */
  modified: string
}

export type DocumentKind = (typeof documentKinds)[number][0] | 'other'

const documentKinds = [
  ['passport', /passport|reisepass|pasaporte|passeport/i],
  ['visa', /\bvisa\b|\besta\b|\beta\b/i],
  ['ticket', /ticket|boarding/i],
  ['insurance', /insurance/i],
  ['vaccination', /vaccin/i],
  ['licence', /licen[cs]e|id[ _-]?card/i],
] as const

const documentTypes = new Set([
  '.pdf',
  '.jpg',
  '.jpeg',
  '.png',
  '.webp',
  '.heic',
  '.doc',
  '.docx',
  '.txt',
  '.pkpass',
])
const maxDepth = 4
const maxEntries = 5_000
const maxFiles = 200

/** The documents found in roots, and what was skipped, with the reasons. */
export interface FoundFiles {
  files: TravelFile[]
  notes: string[]
}

/**
 * Finds calendars (`.ics`), templates (Markdown whose path names "template") and documents in roots, by their names. Follows no
 * links and looks into no hidden folders.
 */
export async function findFiles(roots: readonly OpenRoot[], signal: AbortSignal): Promise<FoundFiles> {
  const found: FoundFiles = { files: [], notes: [] }
  let entries = 0
  const visit = async (root: OpenRoot, folders: readonly string[]): Promise<void> => {
    signal.throwIfAborted()
    const folder = await openFolder(root.path, folders).catch(() => undefined)
    const listed = folder && (await entriesOf(folder, maxEntries - entries).catch(() => undefined))
    if (folder === undefined || listed === undefined) {
      await folder?.close()
      found.notes.push(`"${[root.name, ...folders].join('/')}" cannot be read`)
      return
    }
    const below: string[] = []
    try {
      for (const entry of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        if (++entries > maxEntries || found.files.length >= maxFiles) return
        if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
        if (/\p{Cc}/u.test(entry.name))
          found.notes.push('A file whose name has control characters is left out')
        else if (entry.isDirectory()) below.push(entry.name)
        else if (entry.isFile()) {
          const file = await fileAt(root, [...folders, entry.name], folder)
          if (file !== undefined) found.files.push(file)
        }
      }
    } finally {
      await folder.close()
    }
    if (folders.length < maxDepth) for (const name of below) await visit(root, [...folders, name])
    else if (below.length > 0) {
      found.notes.push(
        `Folders in "${[root.name, ...folders].join('/')}" were not searched: they are too deep`,
      )
    }
  }
  for (const root of roots) await visit(root, [])
  if (entries > maxEntries || found.files.length >= maxFiles) {
    found.notes.push(
      `Only the first ${maxEntries} entries and ${maxFiles} files of the folders were searched`,
    )
  }
  return found
}

/** The entries of a folder, one more than `max` if there are more. */
async function entriesOf(folder: Folder, max: number): Promise<Dirent[]> {
  const listed: Dirent[] = []
  for await (const entry of await opendir(folder.at('.'))) {
    listed.push(entry)
    if (listed.length > max) break
  }
  return listed
}

async function fileAt(
  root: OpenRoot,
  names: readonly string[],
  folder: Folder,
): Promise<TravelFile | undefined> {
  const path = names.join('/')
  const kinds = kindsOf(root, path)
  if (kinds === undefined) return undefined
  const info = await lstat(folder.at(names.at(-1) ?? '')).catch(() => undefined)
  if (info === undefined) return undefined
  const modified = info.mtime.toISOString().slice(0, 10)
  return {
    ...kinds,
    path,
    root,
    uri: pathToFileURL(join(root.path, ...names)).href,
    bytes: info.size,
    modified,
  }
}

function kindsOf(root: OpenRoot, path: string): Pick<TravelFile, 'kind' | 'document'> | undefined {
  const type = extname(path).toLowerCase()
  const place = `${basename(root.path)}/${path}`
  if (type === '.ics') return { kind: 'calendar' }
  if (type === '.md' || type === '.markdown')
    return /template/i.test(place) ? { kind: 'template' } : undefined
  if (!documentTypes.has(type)) return undefined
  const named = documentKinds.find(([, pattern]) => pattern.test(basename(path)))
  if (named !== undefined) return { kind: 'document', document: named[0] }
  return /document/i.test(place.slice(0, -basename(path).length))
    ? { kind: 'document', document: 'other' }
    : undefined
}

/**
 * Reads a text file below a root, never through a symbolic link.
 * @throws FolderError with the reason
 */
export async function readText({ root, path }: TravelFile, maxBytes: number): Promise<string> {
  const names = path.split('/')
  const file = names.pop() ?? ''
  const folder = await openFolder(root.path, names)
  try {
    const handle = await open(
      folder.at(file),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
    try {
      const info = await handle.stat()
      if (!info.isFile()) throw new FolderError(`"${path}" is not a regular file`)
      if (info.size > maxBytes) throw new FolderError(`"${path}" has more than ${maxBytes} bytes`)
      return (await handle.readFile()).subarray(0, maxBytes).toString('utf8')
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw error instanceof FolderError ? error : new FolderError(`"${path}" cannot be read`)
  } finally {
    await folder.close()
  }
}
