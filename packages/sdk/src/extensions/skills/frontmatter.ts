import { parse } from 'yaml'
import { McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { isSkillName, type SkillFrontmatter } from './entry.ts'

/** Characters of the frontmatter, its two lines of dashes among them. */
const maxChars = 16_384
const maxDepth = 32
const reserved = 'io.modelcontextprotocol/'
const block = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/**
 * The frontmatter at the beginning of a `SKILL.md`, as JSON.
 * @throws McpError 'INVALID' where there is none, or one that JSON cannot write
 */
export function parseFrontmatter(text: string): JsonObject {
  const found = block.exec(text.slice(0, maxChars))
  if (found === null) throw invalid('it does not begin with frontmatter between two lines of "---"')
  const value = read(found[1] ?? '')
  if (!isObject(value)) throw invalid('its frontmatter is not a mapping')
  if (!isJson(value, 0)) throw invalid('its frontmatter holds a value that JSON cannot write')
  return value
}

function read(yaml: string): unknown {
  try {
    // Names that are lists or objects would be written out as texts, which takes for ever where they stand in each other.
    return parse(yaml, { schema: 'core', logLevel: 'error', stringKeys: true })
  } catch (error) {
    throw new McpError('INVALID', 'its frontmatter is not YAML', { cause: error })
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
 * Holds frontmatter to the rules for authors of skills.
 * @throws McpError 'INVALID'
 */
export function requireFrontmatter(value: JsonObject): SkillFrontmatter {
  const { name, description, compatibility, metadata = {} } = value
  if (typeof name !== 'string' || !isSkillName(name)) {
    throw invalid(`its name is not 1 to 64 of a-z, 0-9 and single hyphens inside: ${JSON.stringify(name)}`)
  }
  if (!isText(description, 1024)) throw invalid('its description is not a text of 1 to 1024 characters')
  if (compatibility !== undefined && !isText(compatibility, 500)) {
    throw invalid('its compatibility is not a text of 1 to 500 characters')
  }
  if (!isObject(metadata)) throw invalid('its metadata is not a mapping')
  const taken = Object.keys(metadata).find((key) => key.startsWith(reserved))
  if (taken !== undefined) throw invalid(`its metadata uses "${taken}", which is reserved`)
  return { ...value, name, description }
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxLength
}

function invalid(why: string): McpError {
  return new McpError('INVALID', why)
}
