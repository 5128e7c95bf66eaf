import type { StandardSchemaV1 } from '@standard-schema/spec'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema } from '../protocol/definitions.ts'
import { compileTrusted } from '../validate/trusted.ts'
import {
  acceptsMember,
  type Checked,
  type DescribedSchema,
  jsonOf,
  type SchemaShape,
  validate,
} from './described.ts'
import { describedOf } from './schema-shape.ts'

/**
 * What a definition accepts as a schema: a described validator, an object of them (short for the object schema with those
 * members), or a plain JSON Schema object (whose values are `unknown`).
 */
export type AnySchema = DescribedSchema | SchemaShape | JsonSchema

/** What a validated value looks like to the handler. */
export type OutputOf<S> = S extends { readonly '~standard': StandardSchemaV1.Props<infer _In, infer Out> }
  ? Out
  : S extends undefined
    ? Record<string, never>
    : S extends SchemaShape
      ? ShapeOutput<S>
      : Record<string, unknown>

/** What a caller, or a handler's return, has to provide. */
export type InputOf<S> = S extends { readonly '~standard': StandardSchemaV1.Props<infer In, infer _Out> }
  ? In
  : S extends undefined
    ? Record<string, never>
    : S extends SchemaShape
      ? ShapeInput<S>
      : unknown

type ShapeOutput<S extends SchemaShape> = keyof S extends never
  ? Record<string, unknown>
  : Optional<{ -readonly [M in keyof S]: StandardSchemaV1.InferOutput<S[M]> }>

type ShapeInput<S extends SchemaShape> = keyof S extends never
  ? unknown
  : Optional<{ -readonly [M in keyof S]: StandardSchemaV1.InferInput<S[M]> }>

/** Members that may be undefined may be absent. */
type Optional<T> = {
  [M in keyof ({ [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
    [K in keyof T as undefined extends T[K] ? K : never]?: T[K]
  })]: T[M]
}

/** A schema made ready. */
export interface Prepared {
  readonly json: JsonSchema
  /** A promise only where the validator is asynchronous. */
  check(value: unknown): Checked | Promise<Checked>
  /** Whether an object may have this member with this value, whatever else it lacks; undefined where that is not known at once. */
  accepts(member: string, value: unknown): boolean | undefined
}

/**
 * Makes a schema ready for use on what comes in, or on what goes out.
 * @throws McpError 'INVALID' when it cannot be written as JSON Schema, or is not valid JSON Schema
 */
export function prepare(schema: AnySchema, side: 'input' | 'output'): Prepared {
  const described = describedOf(schema)
  if (described === undefined) {
    requireJson(schema, '')
    requireKeywords(schema)
    const validator = compileTrusted(schema)
    return {
      json: schema,
      check(value) {
        const why = validator.check(value)
        return why === undefined ? { ok: true, value } : { ok: false, why }
      },
      accepts: (member, value) => acceptsJson(schema, member, value),
    }
  }
  return {
    json: jsonOf(described, side),
    check: (value) => validate(described, value),
    accepts: (member, value) => acceptsMember(described, member, value),
  }
}

function acceptsJson(schema: JsonSchema, member: string, value: unknown): boolean | undefined {
  const { properties, $defs, definitions } = schema
  if (!isObject(properties) || !Object.hasOwn(properties, member)) return undefined
  try {
    const { [member]: property } = properties
    const defs = {
      ...($defs === undefined ? {} : { $defs }),
      ...(definitions === undefined ? {} : { definitions }),
    }
    return compileTrusted({ ...defs, allOf: [property] }).check(value) === undefined
  } catch {
    // It refers to another place of the schema.
    return undefined
  }
}

/** Refuses a plain JSON Schema that holds what is not JSON, such as a validator under `properties`. */
function requireJson(value: unknown, place: string, above: readonly object[] = []): void {
  const isPlain = typeof value !== 'object' || value === null || Array.isArray(value) || isLiteral(value)
  if (
    typeof value === 'function' ||
    typeof value === 'bigint' ||
    !isPlain ||
    above.some((one) => one === value)
  ) {
    throw new McpError(
      'INVALID',
      `"${place}" is not JSON, so that the schema cannot be sent. Write all of it as JSON Schema, or all of it with a ` +
        'validator that describes itself as JSON Schema (zod 4.2, arktype 2.1.28 or newer)',
    )
  }
  if (typeof value !== 'object' || value === null) return
  const inside = [...above, value]
  for (const [name, member] of Object.entries(value)) {
    requireJson(member, place === '' ? name : `${place}.${name}`, inside)
  }
}

/** Names that JSON Schema, or an extension of it, gives a meaning. */
const keyword =
  /^(?:[$]|x-|type$|enum$|const$|not$|if$|items$|prefixItems$|contains$|required$|definitions$|depend|title$|description$|default$|examples$|.*(?:Of|[pP]roperties|propertyNames)$)/

/** Refuses an object that is neither a shape nor JSON Schema: JSON Schema would ignore its members, and accept any value. */
function requireKeywords(schema: JsonSchema): void {
  const names = Object.keys(schema)
  const [unknown] = names
  if (unknown === undefined || names.some((name) => keyword.test(name))) return
  throw new McpError(
    'INVALID',
    `"${unknown}" is neither a keyword of JSON Schema nor a member with a schema: write { ${unknown}: z.string() } with a ` +
      `validator, or { type: 'object', properties: { ${unknown}: { type: 'string' } } }`,
  )
}

/** Whether an object is made by a literal, and no validator. */
function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return !('~standard' in value) && (prototype === null || Object.getPrototypeOf(prototype) === null)
}
