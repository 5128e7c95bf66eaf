import { stringify } from 'yaml'
import { canonical } from '../../core/canonical.ts'
import { McpError } from '../../jsonrpc/error.ts'
import type { Context } from '../../server/context.ts'
import { bytesOf } from './bytes.ts'
import type { SkillFrontmatter } from './entry.ts'
import { parseFrontmatter, requireFrontmatter } from './frontmatter.ts'
import { manifestName, skillLimits } from './names.ts'

interface Placed {
  /** Where the skill stands: `acme/billing` for `skill://acme/billing/<name>`. Default: at the top. */
  under?: string
  /** Whether `skills/list` shows it. Default true; otherwise it is found by its URI alone. */
  listed?: boolean
}

/** A skill whose text and files are known. */
export interface SkillDefinition extends Placed {
  /** The whole `SKILL.md`, frontmatter included; its `name` becomes the last segment of the skill's path. */
  text: string
  /** Its other files, by their path with slashes. */
  files?: Readonly<Record<string, string | Uint8Array>>
}

/** Makes the content of a file when it is read. */
export type MakeContent = (ctx: Context) => string | Uint8Array | Promise<string | Uint8Array>

/** A skill whose text and files are made whenever they are read. */
export interface GeneratedSkillDefinition extends Placed {
  frontmatter: SkillFrontmatter
  /** Makes what stands below the frontmatter in `SKILL.md`. */
  body(ctx: Context): string | Promise<string>
  /** Makes the other files, by their path with slashes. */
  files?: Readonly<Record<string, MakeContent>>
}

/** A skill ready to be served. Make one with `skill` or `generatedSkill`. */
export interface SkillValue {
  readonly kind: 'skill'
  /** Path of its directory, its name last. */
  readonly path: string
  readonly frontmatter: SkillFrontmatter
  readonly listed: boolean
  /** Its files by their path: bytes, or how to make them. `SKILL.md` comes first. */
  readonly files: ReadonlyMap<string, Uint8Array | MakeContent>
}

const maxPathChars = 1024
const prefix = /^[A-Za-z0-9._~-]+$/

/**
 * Defines a skill whose files are known: its entry promises what each of them is.
 * @throws McpError 'INVALID' for one that breaks the rules, naming it
 */
export function skill(definition: SkillDefinition): SkillValue {
  const { text, files = {}, under, listed = true } = definition
  const frontmatter = attempt(nameIn(text), () => requireFrontmatter(parseFrontmatter(text)))
  const all = new Map([
    [manifestName, bytesOf(text)],
    ...Object.entries(files).map(([path, content]): [string, Uint8Array] => [path, bytesOf(content)]),
  ])
  return attempt(frontmatter.name, () => {
    requireFiles(all, files)
    return { kind: 'skill', path: pathOf(under, frontmatter.name), frontmatter, listed, files: all }
  })
}

/**
 * Defines a skill whose files are made when they are read: nothing is promised about their content, and clients may
 * decline to load it.
 * @throws McpError 'INVALID' for one that breaks the rules, naming it
 */
export function generatedSkill(definition: GeneratedSkillDefinition): SkillValue {
  const { files = {}, under, listed = true } = definition
  const { name } = definition.frontmatter
  return attempt(name, () => {
    const frontmatter = requireFrontmatter({ ...definition.frontmatter })
    const head = headOf(frontmatter)
    const all = new Map<string, MakeContent>([
      [manifestName, async (ctx) => `${head}\n${await definition.body(ctx)}`],
      ...Object.entries(files),
    ])
    requireFiles(all, files)
    return { kind: 'skill', path: pathOf(under, name), frontmatter, listed, files: all }
  })
}

/** Frontmatter as text that reads back as the same. */
function headOf(frontmatter: SkillFrontmatter): string {
  const head = `---\n${stringify(frontmatter)}---\n`
  if (canonical(parseFrontmatter(head)) !== canonical(frontmatter)) {
    throw new McpError('INVALID', 'its frontmatter holds a value that YAML does not give back')
  }
  return head
}

function pathOf(under: string | undefined, name: string): string {
  if (under === undefined) return name
  const wrong = under.split('/').find((segment) => !prefix.test(segment) || isDots(segment))
  if (wrong !== undefined || under.length > maxPathChars) {
    throw new McpError(
      'INVALID',
      `"under" must be segments of A-Z a-z 0-9 . _ ~ - and slashes, not "${under}"`,
    )
  }
  return `${under}/${name}`
}

function requireFiles(all: ReadonlyMap<string, Uint8Array | MakeContent>, given: object): void {
  if (Object.hasOwn(given, manifestName)) {
    throw new McpError('INVALID', `its files name ${manifestName}, which stands for itself`)
  }
  for (const path of all.keys()) {
    if (!isFilePath(path)) throw new McpError('INVALID', `"${path}" is no path of a file inside of it`)
    const parents = path.split('/').slice(0, -1)
    const clash = parents.map((_, i) => parents.slice(0, i + 1).join('/')).find((folder) => all.has(folder))
    if (clash !== undefined) throw new McpError('INVALID', `"${clash}" is both a file and a folder`)
  }
  const bytes = [...all.values()].reduce(
    (sum, file) => sum + (typeof file === 'function' ? 0 : file.length),
    0,
  )
  if (all.size > skillLimits.files || bytes > skillLimits.bytes) {
    throw new McpError(
      'INVALID',
      `it has ${all.size} files of ${bytes} bytes; hosts take ${skillLimits.files} of ${skillLimits.bytes}`,
    )
  }
}

function isFilePath(path: string): boolean {
  return (
    path.length <= maxPathChars &&
    path.isWellFormed() &&
    path.split('/').every((segment) => segment !== '' && !isDots(segment) && !/[\\\p{Cc}]/u.test(segment))
  )
}

function isDots(segment: string): boolean {
  return segment === '.' || segment === '..'
}

function attempt<T>(name: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new McpError('INVALID', `Skill "${name}": ${error.message}`, { cause: error })
  }
}

/** What to call a skill whose frontmatter may not be readable. */
function nameIn(text: string): string {
  return /^name:[ \t]*(\S{1,64})/m.exec(text.slice(0, 4096))?.[1] ?? '?'
}
