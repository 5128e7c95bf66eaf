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
    const hint = /\b(?:date|bigint)\b/i.test(why)
      ? '. JSON has neither dates nor BigInts: use a string or a number, such as z.iso.datetime() or z.int(), and convert it in the handler'
      : ''
    throw new McpError('INVALID', `the schema cannot be written as JSON Schema: ${why}${hint}`, {
      cause: error,
    })
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
