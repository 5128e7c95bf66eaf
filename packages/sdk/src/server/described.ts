import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema } from '../protocol/definitions.ts'

/** A validator that can also describe itself as JSON Schema: zod 4.2 and later, arktype, valibot by its converter. */
export type DescribedSchema<In = unknown, Out = In> = {
  readonly '~standard': StandardSchemaV1.Props<In, Out> & StandardJSONSchemaV1.Props<In, Out>
}

/** The members of an object, each with its schema: short for the object schema with those members. */
export type SchemaShape = { readonly [member: string]: DescribedSchema }

/** A checked value, or what is wrong with it. */
export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: string }

const maxIssues = 20

/** Whether a schema validates by itself. */
export function isDescribed(schema: object): schema is DescribedSchema {
  return '~standard' in schema
}

/**
 * The validator a definition was given: itself, or the object schema that a shape is short for. Undefined for plain JSON Schema.
 * @throws McpError 'INVALID' for an object that mixes schemas with other values, naming the member
 */
export function describedOf(schema: object): DescribedSchema | undefined {
  if (isDescribed(schema)) return schema
  const members = Object.entries(schema)
  if (!members.some(([, member]) => isValidator(member))) return undefined
  const shape: [string, DescribedSchema][] = []
  for (const [name, member] of members) {
    if (!isValidator(member)) {
      throw new McpError(
        'INVALID',
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

/** Checks a value by the validator itself. */
export function validate(schema: DescribedSchema, value: unknown): Checked | Promise<Checked> {
  const result = schema['~standard'].validate(value)
  return 'then' in result ? Promise.resolve(result).then(checkedOf) : checkedOf(result)
}

/**
 * Whether a validator has nothing against a member of an object, whatever it says of others; undefined for one that is
 * asynchronous or fails.
 */
export function acceptsMember(schema: DescribedSchema, member: string, value: unknown): boolean | undefined {
  try {
    const result = schema['~standard'].validate({ [member]: value })
    if ('then' in result) {
      Promise.resolve(result).catch(() => {})
      return undefined
    }
    const wrong = (result.issues ?? []).some(({ path = [] }) => {
      const [first] = path
      return String(isObject(first) ? first['key'] : first) === member
    })
    return !wrong
  } catch {
    return undefined
  }
}

/**
 * The JSON Schema of a validator.
 * @throws McpError 'INVALID' when it has none, saying what to do
 */
export function jsonOf(schema: DescribedSchema, side: 'input' | 'output'): JsonSchema {
  const { vendor, jsonSchema }: Partial<DescribedSchema['~standard']> = schema['~standard']
  if (jsonSchema === undefined) {
    throw new McpError(
      'INVALID',
      `a ${vendor ?? 'validator'} schema of this kind cannot describe itself as JSON Schema. Use zod 4.2, arktype 2.1.28 ` +
        'or newer, or wrap it: toStandardJsonSchema of @valibot/to-json-schema does so for valibot',
    )
  }
  try {
    return jsonSchema[side]({ target: 'draft-2020-12' })
  } catch (error) {
    if (error instanceof McpError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new McpError('INVALID', `the schema cannot be written as JSON Schema: ${why}`, { cause: error })
  }
}

/** The object schema with these members: unknown members are removed, a member whose schema accepts `undefined` is optional. */
function objectOf(shape: readonly (readonly [string, DescribedSchema])[]): DescribedSchema {
  const validate = (value: unknown): Result | Promise<Result> => {
    if (!isObject(value) || Array.isArray(value)) return { issues: [{ message: 'must be an object' }] }
    const results = shape.map(([name, schema]) =>
      schema['~standard'].validate(Object.hasOwn(value, name) ? value[name] : undefined),
    )
    const finished = results.filter((result): result is Result => !('then' in result))
    return finished.length === results.length
      ? unitedResult(shape, value, finished)
      : Promise.all(results).then((all) => unitedResult(shape, value, all))
  }
  const json = (side: 'input' | 'output'): JsonSchema => {
    const properties = shape.map(([name, schema]) => {
      const { $schema, ...property } = attempt(`"${name}"`, () => jsonOf(schema, side))
      return [
        name,
        property['$id'] === undefined ? movedTo(`/properties/${pointed(name)}`, property) : property,
      ]
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

type Result = StandardSchemaV1.Result<unknown>

function unitedResult(
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
      issues.push(
        ...result.issues.map((issue) => ({
          ...issue,
          message: issue.message,
          path: [name, ...(issue.path ?? [])],
        })),
      )
    }
  }
  return issues.length > 0 ? { issues } : { value: Object.fromEntries(members) }
}

/** Whether an object may leave a member out: the schema accepts `undefined`, and on the output side gives nothing for it. */
function isOptional(schema: DescribedSchema, side: 'input' | 'output'): boolean {
  try {
    const result = schema['~standard'].validate(undefined)
    if ('then' in result) {
      // An asynchronous validator cannot be asked here, so that its member is required.
      Promise.resolve(result).catch(() => {})
      return false
    }
    return result.issues === undefined && (side === 'input' || result.value === undefined)
  } catch {
    return false
  }
}

/** Keywords whose value is data, not a schema. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose value holds schemas by names of the author's choice. */
const namedKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/** A schema that is moved into another one, with the references within it adjusted to its new place. */
function movedTo(place: string, schema: JsonSchema): JsonSchema {
  const moved = (keyword: string, value: unknown): unknown => {
    if (keyword === '$ref' && typeof value === 'string' && value.startsWith('#'))
      return `#${place}${value.slice(1)}`
    if (dataKeywords.has(keyword) || !isObject(value)) return value
    if (Array.isArray(value)) return value.map((item) => (isObject(item) ? movedTo(place, item) : item))
    if (!namedKeywords.has(keyword)) return movedTo(place, value)
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, isObject(one) ? movedTo(place, one) : one]),
    )
  }
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, moved(keyword, value)]),
  )
}

/** A name as a part of a JSON Pointer within a URI fragment. */
function pointed(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function attempt<T>(what: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw new McpError('INVALID', `${what}: ${error.message}`, { cause: error })
  }
}

function checkedOf(result: StandardSchemaV1.Result<unknown>): Checked {
  if (result.issues === undefined) return { ok: true, value: result.value }
  const shown = result.issues.slice(0, maxIssues).map(inWords).join('; ')
  const more = result.issues.length - maxIssues
  return { ok: false, why: more > 0 ? `${shown}; and ${more} more` : shown }
}

function inWords({ path, message }: StandardSchemaV1.Issue): string {
  const at = (path ?? []).map((part) => String(isObject(part) ? part['key'] : part)).join('.')
  return at === '' || message.startsWith(at) ? message : `${at}: ${message}`
}
