import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema, Tool } from '../protocol/definitions.ts'
import { type AnySchema, type Prepared, prepare } from './schema.ts'
import { attempt, invalid } from './shown.ts'

/** A definition's schema made ready. @throws McpError 'INVALID' */
export function ready(what: string, schema: AnySchema, side: 'input' | 'output'): Prepared {
  return attempt(what, side, () => prepare(schema, side))
}

/** Arguments are always an object, so a schema need not say so; one that says otherwise could never be satisfied. */
export function objectSchema(what: string, json: JsonSchema): Tool['inputSchema'] {
  if (!mayBeObject(json, 0)) throw invalid(`${what} needs an object schema as its input`)
  return { ...json, type: 'object' }
}

function mayBeObject(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > 8) return schema !== false
  const { type, anyOf, oneOf, allOf } = schema
  if (type !== undefined) return type === 'object'
  const some = (options: unknown): boolean =>
    !Array.isArray(options) || options.some((option) => mayBeObject(option, depth + 1))
  const all = !Array.isArray(allOf) || allOf.every((part) => mayBeObject(part, depth + 1))
  return some(anyOf) && some(oneOf) && all
}
