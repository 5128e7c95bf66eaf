import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'

/** The identifier of this extension. */
export const skillsExtension = 'io.modelcontextprotocol/skills'

/** What every host takes of one skill; a server gives no more. */
export const skillLimits = {
  /** Files of one skill, `SKILL.md` among them. */
  files: 512,
  /** Bytes of all files of one skill. */
  bytes: 16_777_216,
} as const

/** The file every skill has at its root. */
export const manifestName = 'SKILL.md'

/** The YAML frontmatter of a `SKILL.md`, as JSON, with every field its author wrote. */
export interface SkillFrontmatter {
  readonly name: string
  readonly description: string
  readonly [field: string]: unknown
}

/** One file of a skill, with what its content must be. */
export interface SkillResource {
  readonly uri: string
  /** `sha256:` and 64 hexadecimal digits, of the raw bytes. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** What is known about a skill before any of its files is read. */
export interface Skill {
  /** Where its `SKILL.md` is read. Together with the server it names the skill; the `name` alone does not. */
  readonly uri: string
  readonly frontmatter: SkillFrontmatter
  /** All its files, or `dynamic` where they are made anew and nothing can be promised about them. */
  readonly resources: readonly SkillResource[] | 'dynamic'
}

const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const digest = /^sha256:[0-9a-f]{64}$/

/** Whether a text can be a skill's name: 1 to 64 of a-z, 0-9 and single hyphens inside. */
export function isSkillName(name: string): boolean {
  return name.length <= 64 && skillName.test(name)
}

/** The directory of a skill, without a slash at its end; undefined for a URI that leads to no `SKILL.md`. */
export function rootOf(uri: string): string | undefined {
  const end = `/${manifestName}`
  return uri.endsWith(end) ? uri.slice(0, -end.length) : undefined
}

/** Why a value is no valid entry of a skill; undefined when it is one. */
export function entryFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'it is not an object'
  const { uri, frontmatter, resources } = value
  if (typeof uri !== 'string') return 'it has no "uri"'
  const root = rootOf(uri)
  if (root === undefined || !URL.canParse(uri)) return `its "uri" leads to no ${manifestName}`
  if (!isFrontmatter(frontmatter)) return 'its "frontmatter" lacks a "name" or a "description"'
  if (!isSkillName(frontmatter.name)) return 'its name breaks the rules for names of skills'
  if (!root.endsWith(`/${frontmatter.name}`)) return 'its name is not the last segment of its path'
  if (resources === 'dynamic') return undefined
  return Array.isArray(resources) ? manifestFault(resources, uri, root) : 'it has no list of "resources"'
}

/** Whether a value is a valid entry of a skill. */
export function isSkill(value: unknown): value is Skill {
  return entryFault(value) === undefined
}

function isFrontmatter(value: unknown): value is SkillFrontmatter & JsonObject {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['description'] === 'string' &&
    value['description'] !== ''
  )
}

function manifestFault(resources: readonly unknown[], uri: string, root: string): string | undefined {
  const seen = new Set<string>()
  for (const one of resources) {
    if (!isObject(one) || typeof one['uri'] !== 'string') return 'one of its "resources" has no "uri"'
    const { uri: place, digest: sum, size } = one
    if (!isWithin(place, root)) return 'one of its "resources" lies outside of its directory'
    if (seen.has(place)) return 'one of its "resources" is listed twice'
    if (typeof sum !== 'string' || !digest.test(sum)) return 'one of its "resources" has no SHA-256 "digest"'
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
      return 'one of its "resources" has no "size" in bytes'
    }
    seen.add(place)
  }
  return seen.has(uri) ? undefined : `its "resources" lack its own ${manifestName}`
}

/** Whether a file lies in a directory, by the text of its URI; nothing in it may climb out again. */
export function isWithin(uri: string, root: string): boolean {
  if (!uri.startsWith(`${root}/`)) return false
  return uri
    .slice(root.length + 1)
    .split('/')
    .every((segment) => segment !== '' && !isClimbing(segment))
}

function isClimbing(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment) || /[\\?#]|%(?:2f|5c|00)/i.test(segment)
}
