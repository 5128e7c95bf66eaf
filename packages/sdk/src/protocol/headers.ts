import { fromBase64, toBase64, utf8 } from '../jsonrpc/bytes.ts'
import { invalid } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema } from './definitions.ts'

/** A tool argument that is sent as an `Mcp-Param-*` header. */
interface MirroredParam {
  /** The full header name, such as `Mcp-Param-Region`. */
  readonly header: string
  /** Property names from the arguments to the value. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** The tool arguments that are sent as headers. */
export type HeaderPlan = readonly MirroredParam[]

const annotation = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const encodedForm = /^=\?base64\?(.*)\?=$/s
const plainForm = /^[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?$/
const strictBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Reads the `x-mcp-header` annotations of a tool's input schema; an empty plan when there are none.
 * @throws McpError 'INVALID' for an annotation that breaks a rule of the specification
 */
export function headerPlan(inputSchema: JsonSchema): HeaderPlan {
  const plan: MirroredParam[] = []
  const names = new Set<string>()
  let reachable = 0
  const visit = (schema: Record<string, unknown>, path: readonly string[]): void => {
    if (schema[annotation] !== undefined) {
      reachable++
      plan.push(mirroredParam(schema, path, names))
    }
    if (!isObject(schema['properties'])) return
    for (const [name, property] of Object.entries(schema['properties'])) {
      if (isObject(property)) visit(property, [...path, name])
    }
  }
  visit(inputSchema, [])
  if (countAnnotations(inputSchema, 0) > reachable) {
    throw invalid(`"${annotation}" is only allowed on a property reached through "properties" alone`)
  }
  return plan
}

function mirroredParam(
  schema: Record<string, unknown>,
  path: readonly string[],
  names: Set<string>,
): MirroredParam {
  const name = schema[annotation]
  const where = path.length === 0 ? 'the schema itself' : `"${path.join('.')}"`
  if (typeof name !== 'string' || name === '')
    throw invalid(`"${annotation}" on ${where} must be a non-empty string`)
  if (!token.test(name))
    throw invalid(`"${annotation}" on ${where} is not an HTTP header name: ${JSON.stringify(name)}`)
  if (names.has(name.toLowerCase()))
    throw invalid(`"${annotation}" value ${JSON.stringify(name)} is used twice`)
  names.add(name.toLowerCase())
  const { type } = schema
  if (path.length === 0 || (type !== 'string' && type !== 'integer' && type !== 'boolean')) {
    throw invalid(`"${annotation}" on ${where} needs a property of type string, integer or boolean`)
  }
  return { header: `Mcp-Param-${name}`, path, type }
}

const dataKeywords = new Set(['const', 'enum', 'default', 'examples'])

function countAnnotations(schema: unknown, depth: number): number {
  if (depth > 64) throw invalid('the input schema is nested more than 64 levels deep')
  if (Array.isArray(schema))
    return schema.reduce<number>((sum, item) => sum + countAnnotations(item, depth + 1), 0)
  if (!isObject(schema)) return 0
  let count = schema[annotation] === undefined ? 0 : 1
  for (const [key, value] of Object.entries(schema)) {
    if (key === annotation || dataKeywords.has(key)) continue
    if (key === 'properties' && isObject(value)) {
      for (const property of Object.values(value)) count += countAnnotations(property, depth + 1)
    } else {
      count += countAnnotations(value, depth + 1)
    }
  }
  return count
}

/** A header value: the text itself if it is safe in a header, otherwise its base64 form. */
export function encodeHeaderValue(value: string | number | boolean): string {
  const text = String(value)
  if (text === '' || (plainForm.test(text) && !encodedForm.test(text))) return text
  return `=?base64?${toBase64(utf8(text))}?=`
}

/**
 * Decodes a header value.
 * @throws McpError 'INVALID' for base64 that does not decode to UTF-8
 */
export function decodeHeaderValue(text: string): string {
  const encoded = encodedForm.exec(text)?.[1]
  if (encoded === undefined) return text
  if (!strictBase64.test(encoded)) throw invalid('the header value is not valid base64')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fromBase64(encoded))
  } catch {
    throw invalid('the header value is not valid UTF-8')
  }
}

/**
 * The `Mcp-Param-*` headers for a tool's arguments.
 * @throws McpError 'INVALID' for an unsafe integer
 */
export function paramHeaders(
  plan: HeaderPlan,
  args: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { header, path, type } of plan) {
    const value = valueAt(args, path)
    if (type === 'integer' && isUnsafe(value)) {
      throw invalid(`the argument "${path.join('.')}" is sent as a header, so it must be a safe integer`)
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      headers[header] = encodeHeaderValue(value)
    }
  }
  return headers
}

/** How the headers differ from the arguments, or undefined if they match. */
export function checkParamHeaders(
  plan: HeaderPlan,
  args: Readonly<Record<string, unknown>>,
  header: (name: string) => string | undefined,
): string | undefined {
  for (const { header: name, path, type } of plan) {
    const sent = header(name.toLowerCase())
    const value = valueAt(args, path)
    if (value === undefined || value === null) {
      if (sent !== undefined) return `${name} is present but the body has no such argument`
      continue
    }
    if (sent === undefined) return `${name} is missing`
    if (type === 'integer' && isUnsafe(value)) return `${name} mirrors a number that is not a safe integer`
    let decoded: string
    try {
      decoded = decodeHeaderValue(sent)
    } catch {
      return `${name} has an invalid encoding`
    }
    const matches =
      type === 'integer' && typeof value === 'number'
        ? sameNumber(decoded, value)
        : typeof value !== 'object' && decoded === String(value)
    if (!matches) return `${name} does not match the body`
  }
  return undefined
}

/** Whether a number is outside the safe integers, so that readers may round it differently. */
function isUnsafe(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}

function sameNumber(text: string, value: number): boolean {
  return /^[+-]?\d+(?:\.\d+)?$/.test(text) && Number(text) === value
}

function valueAt(args: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let value: unknown = args
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}
