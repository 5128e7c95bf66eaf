import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../protocol/definitions.ts'

/** A validator that can also describe itself as JSON Schema: zod 4.2 and later, arktype, valibot by its converter. */
export type DescribedSchema<In = unknown, Out = In> = {
  readonly '~standard': StandardSchemaV1.Props<In, Out> & StandardJSONSchemaV1.Props<In, Out>
}

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
