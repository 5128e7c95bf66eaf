import type { StandardSchemaV1 } from '@standard-schema/spec'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { JsonSchema } from '../protocol/definitions.ts'
import { type DescribedSchema, isDescribed, jsonOf } from './described.ts'

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

/** The object schema with these members: unknown members are removed, a member whose schema accepts `undefined` is optional. */
function objectOf(shape: readonly (readonly [string, DescribedSchema])[]): DescribedSchema {
  const validate = (value: unknown): Result | Promise<Result> => {
    if (!isObject(value)) return { issues: [{ message: 'must be an object' }] }
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
    // A reference to a place; one to an anchor needs no other name.
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
