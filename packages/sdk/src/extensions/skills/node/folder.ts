import { constants } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { McpError } from '../../../jsonrpc/error.ts'
import { textOf } from '../bytes.ts'
import { manifestName, skillLimits } from '../entry.ts'
import { type SkillValue, skill } from '../skills.ts'

/** Where the skills of a folder are served, and how much of it is read. */
export interface FolderOptions {
  /** Where the skills stand: `acme` for `skill://acme/<path>`. Default: at the top. */
  under?: string
  /** Bytes of all skills together. Default 64 MiB. */
  maxBytes?: number
}

const maxDepth = 16
const defaultMaxBytes = 67_108_864

/**
 * Reads every skill in a folder into memory: each directory with a `SKILL.md` is one, at the path it has there, and a
 * `SKILL.md` further inside belongs to it. Names that begin with a dot are left out. Served is what was read: to take up
 * later changes, read again and `replace`.
 * @throws McpError 'INVALID' for a skill that breaks the rules, a symbolic link, or too many bytes
 */
export async function skillsIn(folder: string, options: FolderOptions = {}): Promise<SkillValue[]> {
  const { under, maxBytes = defaultMaxBytes } = options
  const root = await realpath(folder)
  const budget = new Budget(maxBytes)
  const found: SkillValue[] = []
  for await (const path of skillFolders(root, [])) {
    found.push(await skillAt(root, path, under, budget))
  }
  return found
}

/** Bytes still to be read. */
class Budget {
  #left: number

  constructor(left: number) {
    this.#left = left
  }

  take(bytes: number, what: string): void {
    this.#left -= bytes
    if (this.#left < 0) throw invalid(what, 'there are more bytes than may be read; raise "maxBytes"')
  }
}

async function* skillFolders(root: string, path: readonly string[]): AsyncGenerator<readonly string[]> {
  const { files, folders } = await entriesOf(root, path)
  if (files.includes(manifestName)) {
    if (path.length === 0) throw invalid(root, `give the folder around it, not the one with ${manifestName}`)
    yield path
    return
  }
  for (const folder of folders) yield* skillFolders(root, [...path, folder])
}

async function skillAt(
  root: string,
  path: readonly string[],
  under: string | undefined,
  budget: Budget,
): Promise<SkillValue> {
  const files: Record<string, Uint8Array> = {}
  let count = 0
  for await (const file of filesIn(root, path)) {
    const what = join(root, ...file)
    if (++count > skillLimits.files) throw invalid(what, `a skill has at most ${skillLimits.files} files`)
    files[file.slice(path.length).join('/')] = await bytesAt(what, budget)
  }
  const { [manifestName]: manifest, ...others } = files
  const text = manifest && textOf(manifest)
  if (text === undefined) throw invalid(join(root, ...path, manifestName), 'it is not text in UTF-8')
  const above = [...(under === undefined ? [] : [under]), ...path.slice(0, -1)].join('/')
  const value = skill({ text, files: others, ...(above === '' ? {} : { under: above }) })
  const { name } = value.frontmatter
  if (name !== path.at(-1))
    throw invalid(join(root, ...path), `its skill is named "${name}", which must be equal`)
  return value
}

async function* filesIn(root: string, path: readonly string[]): AsyncGenerator<readonly string[]> {
  const { files, folders } = await entriesOf(root, path)
  for (const file of files) yield [...path, file]
  for (const folder of folders) yield* filesIn(root, [...path, folder])
}

async function entriesOf(
  root: string,
  path: readonly string[],
): Promise<{ files: string[]; folders: string[] }> {
  const place = join(root, ...path)
  if (path.length > maxDepth) throw invalid(place, `folders are nested more than ${maxDepth} deep`)
  const files: string[] = []
  const folders: string[] = []
  for (const entry of await readdir(place, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue
    if (entry.isFile()) files.push(entry.name)
    else if (entry.isDirectory()) folders.push(entry.name)
    else
      throw invalid(join(place, entry.name), 'it is a symbolic link or a special file, which is not followed')
  }
  return { files: files.sort(), folders: folders.sort() }
}

/** The bytes of a plain file, read only if the path still leads straight to it. */
async function bytesAt(path: string, budget: Budget): Promise<Uint8Array> {
  const file = await open(
    path,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  )
  try {
    const stat = await file.stat()
    if (!stat.isFile() || (await realpath(path)) !== path) throw invalid(path, 'it is not a plain file')
    if (stat.size > skillLimits.bytes) {
      throw invalid(path, `it has ${stat.size} bytes; a skill has at most ${skillLimits.bytes}`)
    }
    budget.take(stat.size, path)
    const bytes = new Uint8Array(stat.size)
    const { bytesRead } = await file.read(bytes, 0, stat.size, 0)
    if (bytesRead !== stat.size) throw invalid(path, 'it changed while it was read')
    return bytes
  } finally {
    await file.close()
  }
}

function invalid(path: string, why: string): McpError {
  return new McpError('INVALID', `${path}: ${why}`)
}
