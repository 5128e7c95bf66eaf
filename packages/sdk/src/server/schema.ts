import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema } from '../protocol/definitions.ts'
import { compileSchema, type Validator } from '../validate/index.ts'

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

/** A checked value, or what is wrong with it. */
export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: string }

/** A schema made ready: its JSON form is converted once, when first looked at. */
export interface Prepared {
  readonly json: JsonSchema
  check(value: unknown): Checked | Promise<Checked>
}

/** Whether a schema validates by itself. */
export function isDescribed(schema: object): schema is DescribedSchema {
  return '~standard' in schema
}

/** Makes a schema ready for use on what comes in, or on what goes out. */
export function prepare(schema: DescribedSchema | JsonSchema, side: 'input' | 'output'): Prepared {
  return isDescribed(schema) ? prepareDescribed(schema, side) : preparePlain(schema)
}

function prepareDescribed(schema: DescribedSchema, side: 'input' | 'output'): Prepared {
  const standard = schema['~standard']
  let json: JsonSchema | undefined
  return {
    get json() {
      json ??= standard.jsonSchema[side]({ target: 'draft-2020-12' })
      return json
    },
    check(value) {
      const result = standard.validate(value)
      return result instanceof Promise ? result.then(checkedOf) : checkedOf(result)
    },
  }
}

function checkedOf(result: StandardSchemaV1.Result<unknown>): Checked {
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, why: result.issues.map(inWords).join('; ') }
}

function inWords({ path, message }: StandardSchemaV1.Issue): string {
  const at = (path ?? []).map((part) => String(isObject(part) ? part['key'] : part)).join('.')
  return at === '' ? message : `${at}: ${message}`
}

function preparePlain(json: JsonSchema): Prepared {
  let validator: Validator | undefined
  return {
    json,
    check(value) {
      validator ??= compileSchema(json, { trusted: true })
      const why = validator.check(value)
      return why === undefined ? { ok: true, value } : { ok: false, why }
    },
  }
}
