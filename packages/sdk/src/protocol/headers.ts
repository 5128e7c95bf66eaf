import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema } from './definitions.ts'

/** One argument of a tool that travels as an `Mcp-Param-*` header. */
export interface MirroredParam {
  /** The whole header name, `Mcp-Param-Region`. */
  readonly header: string
  /** The chain of property names that leads to the value. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** Which arguments of a tool travel as headers. */
export type HeaderPlan = readonly MirroredParam[]

const annotation = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const sentinel = /^=\?base64\?(.*)\?=$/s
const plain = /^[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?$/
const strictBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Reads the `x-mcp-header` annotations of a tool's input schema; an empty plan when there are none.
 * @throws McpError 'INVALID' for an annotation that breaks a rule of the specification
 */
export function headerPlan(inputSchema: JsonSchema): HeaderPlan {
  const plan: MirroredParam[] = []
  const names = new Set<string>()
  let reached = 0
  const visit = (schema: Record<string, unknown>, path: readonly string[]): void => {
    if (schema[annotation] !== undefined) {
      reached++
      plan.push(mirrored(schema, path, names))
    }
    if (!isObject(schema['properties'])) return
    for (const [name, property] of Object.entries(schema['properties'])) {
      if (isObject(property)) visit(property, [...path, name])
    }
  }
  visit(inputSchema, [])
  if (annotationsIn(inputSchema, 0) > reached) {
    throw invalid(`"${annotation}" may only stand on a property reached through "properties" alone`)
  }
  return plan
}

function mirrored(
  schema: Record<string, unknown>,
  path: readonly string[],
  names: Set<string>,
): MirroredParam {
  const name = schema[annotation]
  const at = path.length === 0 ? 'the schema itself' : `"${path.join('.')}"`
  if (typeof name !== 'string' || name === '')
    throw invalid(`"${annotation}" on ${at} must be a non-empty string`)
  if (!token.test(name))
    throw invalid(`"${annotation}" on ${at} is not an HTTP header name: ${JSON.stringify(name)}`)
  if (names.has(name.toLowerCase()))
    throw invalid(`"${annotation}" value ${JSON.stringify(name)} is used twice`)
  names.add(name.toLowerCase())
  const { type } = schema
  if (path.length === 0 || (type !== 'string' && type !== 'integer' && type !== 'boolean')) {
    throw invalid(`"${annotation}" on ${at} needs a property of type string, integer or boolean`)
  }
  return { header: `Mcp-Param-${name}`, path, type }
}

const dataKeywords = new Set(['const', 'enum', 'default', 'examples'])

function annotationsIn(schema: unknown, depth: number): number {
  if (depth > 64) throw invalid('the input schema nests too deep')
  if (Array.isArray(schema))
    return schema.reduce<number>((sum, item) => sum + annotationsIn(item, depth + 1), 0)
  if (!isObject(schema)) return 0
  let count = schema[annotation] === undefined ? 0 : 1
  for (const [key, value] of Object.entries(schema)) {
    if (key === annotation || dataKeywords.has(key)) continue
    if (key === 'properties' && isObject(value)) {
      for (const property of Object.values(value)) count += annotationsIn(property, depth + 1)
    } else {
      count += annotationsIn(value, depth + 1)
    }
  }
  return count
}

function invalid(why: string): McpError {
  return new McpError('INVALID', why)
}

/** A value as it stands in a header: as it is where that is safe, else in the base64 form. */
export function encodeHeaderValue(value: string | number | boolean): string {
  const text = String(value)
  if (text === '' || (plain.test(text) && !sentinel.test(text))) return text
  let binary = ''
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte)
  return `=?base64?${btoa(binary)}?=`
}

/**
 * The value a header stands for.
 * @throws McpError 'INVALID' for base64 that does not decode to UTF-8
 */
export function decodeHeaderValue(text: string): string {
  const encoded = sentinel.exec(text)?.[1]
  if (encoded === undefined) return text
  if (!strictBase64.test(encoded)) throw invalid('the header value is not valid base64')
  const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0))
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalid('the header value is not valid UTF-8')
  }
}

/**
 * The headers that go with a tool's arguments.
 * @throws McpError 'INVALID' for an integer that not every reader can hold exactly
 */
export function paramHeaders(
  plan: HeaderPlan,
  args: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { header, path, type } of plan) {
    const value = valueAt(args, path)
    if (type === 'integer' && isUnsafe(value)) {
      throw invalid(`the argument "${path.join('.')}" travels as a header, so it must be a safe integer`)
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      headers[header] = encodeHeaderValue(value)
    }
  }
  return headers
}

/** Tells where the headers do not match the arguments; undefined when they do. */
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
    if (type === 'integer' && isUnsafe(value)) return `${name} mirrors a number that is no safe integer`
    let decoded: string
    try {
      decoded = decodeHeaderValue(sent)
    } catch {
      return `${name} holds characters that are not valid`
    }
    const same =
      type === 'integer' && typeof value === 'number'
        ? sameNumber(decoded, value)
        : typeof value !== 'object' && decoded === String(value)
    if (!same) return `${name} does not match the body`
  }
  return undefined
}

/** Whether a number is too large to be the same number for every reader. */
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
