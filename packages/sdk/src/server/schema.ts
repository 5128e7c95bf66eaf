import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { compileTrusted } from '../json-schema/compile.ts'
import { invalid, McpError, messageOf } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema, Tool } from '../protocol/definitions.ts'
import { isPlain } from '../request/json-value.ts'
import { defined } from '../request/object-members.ts'
import { prefixErrors } from './definition-metadata.ts'

/** A validator that can also describe itself as JSON Schema: zod 4.2 and later, arktype, valibot by its converter. */
export type DescribedSchema<In = unknown, Out = In> = {
  /** The validator and its JSON Schema, as in Standard Schema (https://standardschema.dev). */
  readonly '~standard': StandardSchemaV1.Props<In, Out> & StandardJSONSchemaV1.Props<In, Out>
}

/** The members of an object, each with its schema: short for the object schema with those members. */
export type SchemaShape = { readonly [member: string]: DescribedSchema }

/** A validated value, or why it is invalid. */
type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

type Result = StandardSchemaV1.Result<unknown>

const maxIssues = 20

export function validate(schema: DescribedSchema, value: unknown): Checked | Promise<Checked> {
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then(checkedOf) : checkedOf(result)
}

/** The result of a validator; undefined if it is asynchronous or throws. */
function immediateResult(schema: DescribedSchema, value: unknown): Result | undefined {
  try {
    const result = schema['~standard'].validate(value)
    if (!('then' in result)) return result
    Promise.resolve(result).catch(() => {})
    return undefined
  } catch {
    return undefined
  }
}

/** Whether a validator accepts a member of an object, whatever the other members; undefined if that is not known. */
function acceptsMember(schema: DescribedSchema, member: string, value: unknown): boolean | undefined {
  const result = immediateResult(schema, { [member]: value })
  return result && !(result.issues ?? []).some(({ path: [first] = [] }) => nameOf(first) === member)
}

function nameOf(part: unknown): string {
  return String(isObject(part) ? part['key'] : part)
}

/**
 * The JSON Schema of a validator.
 * @throws McpError 'INVALID' if it has none
 */
export function jsonOf(schema: DescribedSchema, side: 'input' | 'output'): JsonSchema {
  const { vendor, jsonSchema }: Partial<DescribedSchema['~standard']> = schema['~standard']
  if (jsonSchema === undefined) {
    throw invalid(
      `a ${vendor ?? 'validator'} schema of this kind cannot describe itself as JSON Schema. Use zod 4.2, arktype 2.1.28 ` +
        'or newer, or wrap it: toStandardJsonSchema of @valibot/to-json-schema does so for valibot',
    )
  }
  try {
    return jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (error) {
    if (error instanceof McpError) throw error
    const reason = messageOf(error)
    const hint = /\b(?:date|bigint)\b/i.test(reason)
      ? '. JSON has neither dates nor BigInts: use a string or a number, such as z.iso.datetime() or z.int(), and convert it in the handler'
      : ''
    throw invalid(`the schema cannot be written as JSON Schema: ${reason}${hint}`, { cause: error })
  }
}

function checkedOf(result: Result): Checked {
  if (result.issues === undefined) return { ok: true, value: result.value }
  const shown = result.issues.slice(0, maxIssues).map(issueText).join('; ')
  const more = result.issues.length - maxIssues
  return { ok: false, reason: more > 0 ? `${shown}; and ${more} more` : shown }
}

function issueText({ path, message }: StandardSchemaV1.Issue): string {
  const at = (path ?? []).map(nameOf).join('.')
  return at === '' || message.startsWith(at) ? message : `${at}: ${message}`
}

/**
 * The validator of a definition: itself, or the object schema of a shape. Undefined for plain JSON Schema.
 * @throws McpError 'INVALID' for an object that mixes schemas with other values, naming the member
 */
export function describedOf(schema: object): DescribedSchema | undefined {
  if (isValidator(schema)) return schema
  const members = Object.entries(schema)
  if (!members.some(([, member]) => isValidator(member))) return undefined
  const shape: [string, DescribedSchema][] = []
  for (const [name, member] of members) {
    if (!isValidator(member)) {
      throw invalid(
        `"${name}" is not a schema, but other members are. An object of schemas needs one for each member: ` +
          'use the object() of your validator for a nested object',
      )
    }
    shape.push([name, member])
  }
  return objectOf(shape)
}

function isValidator(value: unknown): value is DescribedSchema {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value
  )
}

/** The object schema with these members: unknown members are removed, a member whose schema accepts `undefined` is optional. */
function objectOf(shape: readonly (readonly [string, DescribedSchema])[]): DescribedSchema {
  const validate = (value: unknown): Result | Promise<Result> => {
    if (!isObject(value)) return { issues: [{ message: 'must be an object' }] }
    const results = shape.map(([name, schema]) =>
      schema['~standard'].validate(Object.hasOwn(value, name) ? value[name] : undefined),
    )
    const finished = results.filter((result): result is Result => !('then' in result))
    return finished.length === results.length
      ? mergedResult(shape, value, finished)
      : Promise.all(results).then((all) => mergedResult(shape, value, all))
  }
  const json = (side: 'input' | 'output'): JsonSchema => {
    const properties = shape.map(([name, schema]) => {
      // The name as a part of a JSON Pointer within a URI fragment.
      const place = `/properties/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`
      const { $schema, ...property } = prefixErrors(`"${name}"`, () => jsonOf(schema, side))
      return [name, property['$id'] === undefined ? movedTo(place, property) : property]
    })
    const required = shape.filter(([, schema]) => !isOptional(schema, side)).map(([name]) => name)
    return {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length === 0 ? {} : { required }),
      ...(side === 'input' ? {} : { additionalProperties: false }),
    }
  }
  const jsonSchema = { input: () => json('input'), output: () => json('output') }
  return { '~standard': { version: 1, vendor: 'shape', validate, jsonSchema } }
}

function mergedResult(
  shape: readonly (readonly [string, DescribedSchema])[],
  value: Readonly<Record<string, unknown>>,
  results: readonly Result[],
): Result {
  const issues: StandardSchemaV1.Issue[] = []
  const members: [string, unknown][] = []
  for (const [at, [name]] of shape.entries()) {
    const result = results[at]
    if (result === undefined) continue
    if (result.issues === undefined) {
      if (result.value !== undefined || Object.hasOwn(value, name)) members.push([name, result.value])
    } else {
      for (const { message, path = [] } of result.issues) issues.push({ message, path: [name, ...path] })
    }
  }
  return issues.length > 0 ? { issues } : { value: Object.fromEntries(members) }
}

/**
 * Whether a member of an object is optional: its schema accepts `undefined` and, on the output side, returns it. With an
 * asynchronous validator it is required.
 */
function isOptional(schema: DescribedSchema, side: 'input' | 'output'): boolean {
  const result = immediateResult(schema, undefined)
  return (
    result?.issues === undefined && result !== undefined && (side === 'input' || result.value === undefined)
  )
}

/** Keywords whose value is data, not a schema. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose value holds schemas by name. */
const namedKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** A schema as a part of another one, with its references adjusted. */
function movedTo(place: string, schema: JsonSchema): JsonSchema {
  const moved = (keyword: string, value: unknown): unknown => {
    // References to anchors stay valid.
    if (keyword === '$ref' && typeof value === 'string' && /^#(?:\/|$)/.test(value)) {
      return `#${place}${value.slice(1)}`
    }
    if (dataKeywords.has(keyword)) return value
    if (Array.isArray(value)) return value.map((item) => (isObject(item) ? movedTo(place, item) : item))
    if (!isObject(value)) return value
    if (!namedKeywords.has(keyword)) return movedTo(place, value)
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, isObject(one) ? movedTo(place, one) : one]),
    )
  }
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, moved(keyword, value)]),
  )
}

/**
 * A schema of a definition: a described validator, an object of them (short for the object schema with those members), or a
 * plain JSON Schema object (whose values are `unknown`).
 */
export type AnySchema = DescribedSchema | SchemaShape | JsonSchema

/** The type of a validated value. Without a schema an object of which nothing is known, so that reading a member is an error. */
export type OutputOf<S> = S extends { readonly '~standard': StandardSchemaV1.Props<infer _In, infer Out> }
  ? Out
  : S extends undefined
    ? object
    : S extends SchemaShape
      ? ShapeOutput<S>
      : Record<string, unknown>

/** The type of a value before validation. */
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

/** A schema, prepared for validation. */
export interface PreparedSchema {
  readonly json: JsonSchema
  check(value: unknown): Checked | Promise<Checked>
  /** Whether an object may have this member with this value, whatever its other members; undefined if that is not known synchronously. */
  accepts(member: string, value: unknown): boolean | undefined
}

/**
 * Prepares a schema for validating input or output.
 * @throws McpError 'INVALID' if it cannot be converted to JSON Schema, or is not valid JSON Schema
 */
function prepare(schema: AnySchema, side: 'input' | 'output'): PreparedSchema {
  const described = describedOf(schema)
  if (described === undefined) {
    requireJson(schema, '')
    requireKeywords(schema)
    const validator = compileTrusted(schema)
    return {
      json: schema,
      check(value) {
        const reason = validator.check(value)
        return reason === undefined ? { ok: true, value } : { ok: false, reason }
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
    return (
      compileTrusted({ ...defined({ $defs, definitions }), allOf: [property] }).check(value) === undefined
    )
  } catch {
    // It refers to another part of the schema.
    return undefined
  }
}

/** Rejects a plain JSON Schema with values that are not JSON, such as a validator in `properties`. */
function requireJson(value: unknown, place: string, above: readonly object[] = []): void {
  const isJson =
    typeof value === 'object' && value !== null
      ? (Array.isArray(value) || (isPlain(value) && !('~standard' in value))) && !above.includes(value)
      : typeof value !== 'function' && typeof value !== 'bigint'
  if (!isJson) {
    throw invalid(
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
  throw invalid(
    `"${unknown}" is neither a keyword of JSON Schema nor a member with a schema: write { ${unknown}: z.string() } with a ` +
      `validator, or { type: 'object', properties: { ${unknown}: { type: 'string' } } }`,
  )
}

/** As `prepare`, naming the definition in errors. @throws McpError 'INVALID' */
export function prepareFor(what: string, schema: AnySchema, side: 'input' | 'output'): PreparedSchema {
  return prefixErrors(`${what}: ${side}`, () => prepare(schema, side))
}

/** The schema of arguments, which are always an object. @throws McpError 'INVALID' for a schema that excludes objects */
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
