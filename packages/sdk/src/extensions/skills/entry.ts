import { parse } from 'yaml'
import { toBase64, utf8 } from '../../jsonrpc/bytes.ts'
import { invalid } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { ResourceContents } from '../../protocol/content.ts'

/** The identifier of the skills extension, as in `capabilities.extensions`. */
export const skillsExtension = 'io.modelcontextprotocol/skills'

/** The maximum size of one skill, which every host must accept; servers reject larger ones. */
export const skillLimits = {
  /** Files of one skill, including `SKILL.md`. */
  files: 512,
  /** Bytes of all files of one skill. */
  bytes: 16_777_216,
} as const

/** The root file of every skill. */
export const manifestName = 'SKILL.md'

/** The YAML frontmatter of a `SKILL.md` as JSON, with all its fields. */
export interface SkillFrontmatter {
  /** Name of the skill: 1 to 64 of a-z, 0-9 and single inner hyphens. */
  readonly name: string
  /** What the skill does and when to use it, for the model. */
  readonly description: string
  readonly [field: string]: unknown
}

/** One file of a skill, with its digest and size. */
export interface SkillResource {
  /** URI of the file. */
  readonly uri: string
  /** `sha256:` and 64 hexadecimal digits, of the raw bytes. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** The entry of a skill. */
export interface Skill {
  /** URI of its `SKILL.md`. Identifies the skill on its server; the `name` does not. */
  readonly uri: string
  /** The frontmatter of its `SKILL.md`. */
  readonly frontmatter: SkillFrontmatter
  /** All its files, or `dynamic` if they are generated and cannot be verified. */
  readonly resources: readonly SkillResource[] | 'dynamic'
}

const skillName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const unsafeSegment = /^(?:\.|%2e){1,2}$|[\\?#]|%(?:2f|5c|00)/i
const digest = /^sha256:[0-9a-f]{64}$/

/** Whether a text is a valid skill name: 1 to 64 of a-z, 0-9 and single inner hyphens. */
function isSkillName(name: string): boolean {
  return name.length <= 64 && skillName.test(name)
}

/** The directory of a skill, without a trailing slash; undefined for a URI that does not end in `SKILL.md`. */
export function rootOf(uri: string): string | undefined {
  const end = `/${manifestName}`
  return uri.endsWith(end) ? uri.slice(0, -end.length) : undefined
}

/** Why a value is not a valid skill entry; undefined if it is. */
export function entryProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'it is not an object'
  const { uri, frontmatter, resources } = value
  if (typeof uri !== 'string') return 'it has no "uri"'
  const root = rootOf(uri)
  if (root === undefined || !URL.canParse(uri)) return `its "uri" does not end in ${manifestName}`
  if (!isFrontmatter(frontmatter)) return 'its "frontmatter" lacks a "name" or a "description"'
  if (!isSkillName(frontmatter.name)) return 'its name is not a valid skill name'
  if (!root.endsWith(`/${frontmatter.name}`)) return 'its name is not the last segment of its path'
  if (resources === 'dynamic') return undefined
  return Array.isArray(resources) ? resourcesProblem(resources, uri, root) : 'it has no list of "resources"'
}

export function isSkill(value: unknown): value is Skill {
  return entryProblem(value) === undefined
}

function isFrontmatter(value: unknown): value is SkillFrontmatter & JsonObject {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['description'] === 'string' &&
    value['description'] !== ''
  )
}

function resourcesProblem(resources: readonly unknown[], uri: string, root: string): string | undefined {
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

/** Whether a URI is inside a directory, without segments that could leave it. */
export function isWithin(uri: string, root: string): boolean {
  if (!uri.startsWith(`${root}/`)) return false
  return uri
    .slice(root.length + 1)
    .split('/')
    .every((segment) => segment !== '' && !unsafeSegment.test(segment))
}

/** Maximum characters of the frontmatter with its delimiters. */
const maxChars = 16_384
const maxDepth = 32
const reserved = 'io.modelcontextprotocol/'
const block = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/**
 * Parses the frontmatter of a `SKILL.md`.
 * @throws McpError 'INVALID' if it is missing, or not JSON-compatible
 */
export function parseFrontmatter(text: string): JsonObject {
  const match = block.exec(text.slice(0, maxChars))
  if (match === null) throw invalid('it does not begin with frontmatter between two lines of "---"')
  const value = parseYaml(match[1] ?? '')
  if (!isObject(value)) throw invalid('its frontmatter is not a mapping')
  if (!isJson(value, 0)) throw invalid('its frontmatter has a value that JSON cannot represent')
  return value
}

function parseYaml(yaml: string): unknown {
  try {
    // Keys that are collections would be stringified, in exponential time when nested.
    return parse(yaml, { schema: 'core', logLevel: 'error', stringKeys: true })
  } catch (error) {
    throw invalid('its frontmatter is not YAML', { cause: error })
  }
}

function isJson(value: unknown, depth: number): boolean {
  if (depth > maxDepth) return false
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1))
  if (isObject(value)) return Object.values(value).every((member) => isJson(member, depth + 1))
  return (
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value))
  )
}

/**
 * Validates frontmatter (Agent Skills specification).
 * @throws McpError 'INVALID'
 */
export function requireFrontmatter(value: JsonObject): SkillFrontmatter {
  const { name, description, compatibility, metadata = {} } = value
  if (typeof name !== 'string' || !isSkillName(name)) {
    throw invalid(
      `its name must be 1 to 64 of a-z, 0-9 and single inner hyphens, not ${JSON.stringify(name)}`,
    )
  }
  if (!isText(description, 1024)) throw invalid('its description is not a text of 1 to 1024 characters')
  if (compatibility !== undefined && !isText(compatibility, 500)) {
    throw invalid('its compatibility is not a text of 1 to 500 characters')
  }
  if (!isObject(metadata)) throw invalid('its metadata is not a mapping')
  const reservedKey = Object.keys(metadata).find((key) => key.startsWith(reserved))
  if (reservedKey !== undefined) throw invalid(`its metadata uses "${reservedKey}", which is reserved`)
  return { ...value, name, description }
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxLength
}

/** The digest of a file, in the form of an entry. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)))
  return `sha256:${Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** The bytes as UTF-8 text if that is lossless; otherwise undefined. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

export function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? utf8(content) : content
}

/** The contents of a file for `resources/read`: text if possible. */
export function contentsOf(uri: string, bytes: Uint8Array): ResourceContents {
  const mimeType = mimeTypeOf(uri)
  const text = textOf(bytes)
  if (text !== undefined) return { uri, mimeType: mimeType ?? 'text/plain', text }
  return { uri, mimeType: mimeType ?? 'application/octet-stream', blob: toBase64(bytes) }
}

/** The media type of a file extension; undefined if unknown. */
export function mimeTypeOf(path: string): string | undefined {
  const ending = /\.([A-Za-z0-9]{1,8})$/.exec(path)?.[1]?.toLowerCase()
  return ending === undefined ? undefined : types.get(ending)
}

const types: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['txt', 'text/plain'],
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['csv', 'text/csv'],
  ['js', 'text/javascript'],
  ['mjs', 'text/javascript'],
  ['ts', 'text/x-typescript'],
  ['py', 'text/x-python'],
  ['sh', 'application/x-sh'],
  ['json', 'application/json'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['toml', 'application/toml'],
  ['xml', 'application/xml'],
  ['svg', 'image/svg+xml'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['pdf', 'application/pdf'],
  ['zip', 'application/zip'],
])
