import { makeVisible } from '@jackfield/host/browser'
import { compileSchema, type Issue, type Validator } from '@jackfield/sdk/schema'
import { isRecord } from '../text/pieces.ts'

export type Schema = Readonly<Record<string, unknown>>

/** The properties of a schema that a form uses. */
export interface SchemaView {
  /** The schema after references are resolved. */
  readonly schema: Schema
  readonly kind: 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'any'
  readonly description: string | undefined
  readonly fallback: unknown
  readonly choices: readonly { readonly value: unknown; readonly label: string }[] | undefined
  readonly properties: readonly (readonly [string, Schema])[]
  readonly required: ReadonlySet<string>
  readonly items: Schema | undefined
}

const kinds = ['string', 'number', 'integer', 'boolean', 'object', 'array'] as const
const maxReferences = 16
const maxChoices = 200

/** Describes a schema for a form. Local references are resolved; a choice between one schema and null is that schema. */
export function describeSchema(declared: Schema, root: Schema): SchemaView {
  const schema = resolveReferences(declared, root)
  const types: readonly unknown[] = Array.isArray(schema['type']) ? schema['type'] : [schema['type']]
  const typeNamesOf = types.filter((type) => type !== 'null')
  const kind =
    typeNamesOf.length === 1 ? (kinds.find((kindName) => kindName === typeNamesOf[0]) ?? 'any') : 'any'
  const description = declared['description'] ?? schema['description']
  const properties = isRecord(schema['properties']) ? Object.entries(schema['properties']) : []
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  return {
    schema,
    kind: kind === 'any' && properties.length > 0 ? 'object' : kind,
    description: typeof description === 'string' ? description : undefined,
    fallback: declared['default'] ?? schema['default'],
    choices: choicesOf(schema),
    properties: properties.map(([name, property]) => [name, isRecord(property) ? property : {}] as const),
    required: new Set(required.filter((name) => typeof name === 'string')),
    items: isRecord(schema['items']) ? schema['items'] : undefined,
  }
}

function resolveReferences(declared: Schema, root: Schema): Schema {
  let schema = declared
  for (let step = 0; step < maxReferences; step++) {
    const { $ref } = schema
    const alternatives = [schema['anyOf'], schema['oneOf']].find(Array.isArray)
    const nonNull = alternatives?.filter(
      (alternative) => isRecord(alternative) && alternative['type'] !== 'null',
    )
    if (typeof $ref === 'string' && $ref.startsWith('#')) {
      const target = valueAtPointer(root, $ref.slice(1))
      if (target === undefined) return schema
      schema = target
    } else if (nonNull?.length === 1 && isRecord(nonNull[0])) schema = nonNull[0]
    else break
  }
  return schema
}

function valueAtPointer(root: Schema, pointer: string): Schema | undefined {
  let value: unknown = root
  for (const part of pointer.split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return isRecord(value) ? value : undefined
}

function choicesOf(schema: Schema): SchemaView['choices'] {
  const shown = (value: unknown): string =>
    makeVisible(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  const alternatives = [schema['oneOf'], schema['anyOf']].find(Array.isArray)
  if (alternatives?.every((alternative) => isRecord(alternative) && 'const' in alternative) === true)
    return alternatives.filter(isRecord).map((alternative) => ({
      value: alternative['const'],
      label:
        typeof alternative['title'] === 'string'
          ? makeVisible(alternative['title'])
          : shown(alternative['const']),
    }))
  if ('const' in schema) return [{ value: schema['const'], label: shown(schema['const']) }]
  const { enum: enumValues } = schema
  if (!Array.isArray(enumValues) || enumValues.length > maxChoices) return undefined
  return enumValues.map((value) => ({ value, label: shown(value) }))
}

/** The type of a value in terms of JSON Schema: `integer 1…10`, `string date-time`, `string[]`. */
export function typeNames({ kind, schema, items }: SchemaView, root: Schema): string {
  const limit = (low: unknown, high: unknown): string =>
    low === undefined && high === undefined ? '' : ` ${low ?? ''}…${high ?? ''}`
  const format = typeof schema['format'] === 'string' ? ` ${schema['format']}` : ''
  if (kind === 'array') {
    const itemKind = items === undefined ? '' : describeSchema(items, root).kind
    return `${itemKind === 'any' ? '' : itemKind}[]${limit(schema['minItems'], schema['maxItems'])}`
  }
  if (kind === 'string') return `string${format}${limit(schema['minLength'], schema['maxLength'])}`
  if (kind === 'number' || kind === 'integer')
    return `${kind}${limit(schema['minimum'] ?? schema['exclusiveMinimum'], schema['maximum'] ?? schema['exclusiveMaximum'])}`
  return kind === 'any' ? '' : kind
}

/** The initial value of an object: the defaults of its required properties. */
export function defaultsOf(schema: Schema): Record<string, unknown> {
  const { properties, required } = describeSchema(schema, schema)
  return Object.fromEntries(
    properties.flatMap(([name, property]) => {
      const { fallback } = describeSchema(property, schema)
      return fallback === undefined || !required.has(name) ? [] : [[name, fallback]]
    }),
  )
}

const validators = new WeakMap<object, Validator | Error>()

/** The cached validator of a schema, or the error that makes it invalid. */
function validatorOf(schema: unknown): Validator | Error {
  if (!isRecord(schema)) return new Error('The schema is no object')
  const cached = validators.get(schema)
  if (cached !== undefined) return cached
  let compiled: Validator | Error
  try {
    compiled = compileSchema(schema)
  } catch (error) {
    compiled = error instanceof Error ? error : new Error(String(error))
  }
  validators.set(schema, compiled)
  return compiled
}

/** The message why a schema is invalid; undefined if it is valid. */
export function schemaError(schema: unknown): string | undefined {
  const validator = validatorOf(schema)
  return validator instanceof Error ? validator.message : undefined
}

/** The validation issues of a value; none if its schema is invalid. */
export function issuesOf(schema: unknown, value: unknown): readonly Issue[] {
  const validator = validatorOf(schema)
  return validator instanceof Error ? [] : validator.issues(value)
}
