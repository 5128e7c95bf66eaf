import { constants } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { McpError } from '../../../jsonrpc/error.ts'
import { manifestName, skillLimits, textOf } from '../entry.ts'
import { type SkillValue, skill } from '../skills.ts'

/** Where the skills of a folder are served, and how much is read. */
export interface FolderOptions {
  /** Parent path of the skills: `acme` for `skill://acme/<path>`. Default: none. */
  under?: string
  /** Maximum bytes of all skills. Default 64 MiB. */
  maxBytes?: number
}

const maxDepth = 16
const defaultMaxBytes = 67_108_864

/**
 * Reads every skill of a folder into memory: each directory with a `SKILL.md` is one, at its path; nested `SKILL.md` files
 * belong to the outer skill. Names starting with a dot are skipped. To serve later changes, read again and call `replace`.
 * @throws McpError 'INVALID' for an invalid skill, a symbolic link, or too many bytes
 */
export async function skillsIn(folder: string, options: FolderOptions = {}): Promise<SkillValue[]> {
  const { under, maxBytes = defaultMaxBytes } = options
  const root = await realpath(folder)
  let left = maxBytes
  const spend: Spend = (bytes, what) => {
    left -= bytes
    if (left < 0) throw invalid(what, 'the skills exceed the byte limit; raise "maxBytes"')
  }
  const skills: SkillValue[] = []
  for await (const path of skillFolders(root, [])) {
    skills.push(await readSkill(root, path, under, spend))
  }
  return skills
}

/** Counts the bytes of a file, and throws above the limit. */
type Spend = (bytes: number, what: string) => void

async function* skillFolders(root: string, path: readonly string[]): AsyncGenerator<readonly string[]> {
  const { files, folders } = await entriesOf(root, path)
  if (files.includes(manifestName)) {
    if (path.length === 0) throw invalid(root, `pass its parent folder, not the folder with ${manifestName}`)
    yield path
    return
  }
  for (const folder of folders) yield* skillFolders(root, [...path, folder])
}

async function readSkill(
  root: string,
  path: readonly string[],
  under: string | undefined,
  spend: Spend,
): Promise<SkillValue> {
  const files: Record<string, Uint8Array> = {}
  let count = 0
  for await (const file of filesIn(root, path)) {
    const what = join(root, ...file)
    if (++count > skillLimits.files) throw invalid(what, `a skill has at most ${skillLimits.files} files`)
    files[file.slice(path.length).join('/')] = await readRegularFile(what, spend)
  }
  const { [manifestName]: manifest, ...others } = files
  const text = manifest && textOf(manifest)
  if (text === undefined) throw invalid(join(root, ...path, manifestName), 'it is not UTF-8 text')
  const parent = [...(under === undefined ? [] : [under]), ...path.slice(0, -1)].join('/')
  const value = skill({ text, files: others, ...(parent === '' ? {} : { under: parent }) })
  const { name } = value.frontmatter
  if (name !== path.at(-1))
    throw invalid(
      join(root, ...path),
      `its skill is named "${name}"; folder and skill must have the same name`,
    )
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
    else throw invalid(join(place, entry.name), 'symbolic links and special files are not supported')
  }
  return { files: files.sort(), folders: folders.sort() }
}

/** The bytes of a regular file whose path has no symbolic link. */
async function readRegularFile(path: string, spend: Spend): Promise<Uint8Array> {
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
    spend(stat.size, path)
    const bytes = new Uint8Array(stat.size)
    const { bytesRead } = await file.read(bytes, 0, stat.size, 0)
    if (bytesRead !== stat.size) throw invalid(path, 'it changed while it was read')
    return bytes
  } finally {
    await file.close()
  }
}

function invalid(path: string, reason: string): McpError {
  return new McpError('INVALID', `${path}: ${reason}`)
}
