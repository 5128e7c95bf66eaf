import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../protocol/definitions.ts'
import { compileTrusted } from '../validate/trusted.ts'
import { type Checked, type DescribedSchema, isDescribed, jsonOf, validate } from './described.ts'

/** What a definition accepts as a schema: a described validator, or a plain JSON Schema object (whose values are `unknown`). */
export type AnySchema = DescribedSchema | JsonSchema

/** What a validated value looks like to the handler. */
export type OutputOf<S> = S extends { readonly '~standard': StandardSchemaV1.Props<infer _In, infer Out> }
  ? Out
  : S extends undefined
    ? Record<string, never>
    : Record<string, unknown>

/** What a caller, or a handler's return, has to provide. */
export type InputOf<S> = S extends { readonly '~standard': StandardSchemaV1.Props<infer In, infer _Out> }
  ? In
  : S extends undefined
    ? Record<string, never>
    : unknown

/** A schema made ready. */
export interface Prepared {
  readonly json: JsonSchema
  /** A promise only where the validator is asynchronous. */
  check(value: unknown): Checked | Promise<Checked>
}

/**
 * Makes a schema ready for use on what comes in, or on what goes out.
 * @throws McpError 'INVALID' when it cannot be written as JSON Schema, or is not valid JSON Schema
 */
export function prepare(schema: AnySchema, side: 'input' | 'output'): Prepared {
  if (!isDescribed(schema)) {
    const validator = compileTrusted(schema)
    return {
      json: schema,
      check(value) {
        const why = validator.check(value)
        return why === undefined ? { ok: true, value } : { ok: false, why }
      },
    }
  }
  return { json: jsonOf(schema, side), check: (value) => validate(schema, value) }
}
