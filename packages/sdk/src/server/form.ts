import { isObject } from '../jsonrpc/parse.ts'
import type { ElicitField, ElicitSchema } from '../protocol/asking.ts'
import { checkElicitSchema, isElicitSchema } from '../protocol/elicit.ts'
import { type DescribedSchema, isDescribed } from './schema.ts'

const forms = new WeakMap<object, ElicitSchema>()

const shown = ['type', 'title', 'description', 'default']
const members: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'enum', 'enumNames', 'oneOf'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['minItems', 'maxItems', 'items'],
}
const formats = ['email', 'uri', 'date', 'date-time']

/**
 * The form a schema describes: a flat object of primitive fields, without what forms do not know.
 * @throws TypeError naming the field that no form can show
 */
export function formOf(schema: DescribedSchema | ElicitSchema): ElicitSchema {
  const known = forms.get(schema)
  if (known !== undefined) return known
  const json = isDescribed(schema)
    ? schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' })
    : schema
  const form = isDescribed(schema) ? reduced(json) : schema
  const fault = checkElicitSchema(form)
  if (fault !== undefined) throw new TypeError(`The schema cannot be shown as a form: ${fault}`)
  forms.set(schema, form)
  return form
}

function reduced(json: object): ElicitSchema {
  const { properties, required } = { properties: {}, required: [], ...json }
  const fields = Object.entries(properties).map(([name, field]): [string, ElicitField] => [
    name,
    fieldOf(name, field),
  ])
  const needed = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const form: ElicitSchema = { type: 'object', properties: Object.fromEntries(fields) }
  return needed.length === 0 ? form : { ...form, required: needed }
}

function fieldOf(name: string, field: unknown): ElicitField {
  const choice = isObject(field) ? titledChoice(field) : undefined
  const schema = choice ?? field
  if (!isObject(schema) || typeof schema['type'] !== 'string') {
    throw new TypeError(`The schema cannot be shown as a form: field "${name}" has no single type`)
  }
  const kept = [...shown, ...(members[schema['type']] ?? [])]
  const reducedField: Record<string, unknown> = {}
  for (const member of kept) if (schema[member] !== undefined) reducedField[member] = schema[member]
  if (formats.includes(String(schema['format']))) reducedField['format'] = schema['format']
  if (isObject(reducedField['items'])) reducedField['items'] = itemsOf(reducedField['items'])
  const whole: unknown = { type: 'object', properties: { [name]: reducedField } }
  const known = isElicitSchema(whole) ? whole.properties[name] : undefined
  if (known === undefined) {
    throw new TypeError(
      `The schema cannot be shown as a form: ${checkElicitSchema(whole) ?? `field "${name}" is missing`}`,
    )
  }
  return known
}

/** A union of titled constants is a choice with titles. */
function titledChoice(field: Record<string, unknown>): Record<string, unknown> | undefined {
  const union = field['anyOf'] ?? field['oneOf']
  if (!Array.isArray(union) || !union.every((item) => isObject(item) && typeof item['const'] === 'string'))
    return undefined
  const { anyOf: _anyOf, ...rest } = field
  return {
    ...rest,
    type: 'string',
    oneOf: union.map((item) => ({ const: item.const, title: item.title ?? item.const })),
  }
}

function itemsOf(items: Record<string, unknown>): Record<string, unknown> {
  const choice = titledChoice(items)
  return choice === undefined ? { type: items['type'], enum: items['enum'] } : { anyOf: choice['oneOf'] }
}
