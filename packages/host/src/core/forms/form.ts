import type { ElicitField, ElicitParams, ElicitResult, ElicitSchema, ElicitValue } from '@jackfield/sdk'
import {
  checkElicitContent,
  checkElicitSchema,
  checkElicitValue,
  choicesOf,
  defined,
  fillDefaults,
} from '@jackfield/sdk/internal'
import type { FieldKind, FormChoice, FormField, FormPlan } from '../../types/index.ts'
import { secretRequestedBy } from './secret-fields.ts'

/** Parses a server's form for display. `message`: the question's text, which may also ask for a secret. */
export function planForm(schema: ElicitSchema, message = ''): FormPlan {
  const fault = checkElicitSchema(schema)
  if (fault !== undefined) return { fault }
  const fields = Object.entries(schema.properties).map(([key, property]) =>
    fieldOf(key, property, schema, message),
  )
  const unusable = fields.find((field) => field.choices?.length === 0 && !canBeEmpty(field))
  if (unusable !== undefined) return { fault: `field "${unusable.key}" has nothing to choose from` }
  return { fields }
}

function fieldOf(key: string, property: ElicitField, schema: ElicitSchema, message: string): FormField {
  const label = text(property.title) ?? key
  const description = text(property.description)
  const kind = kindOf(property)
  const constraint = constraintOf(property, kind)
  const choices = choicesOf(property)?.map(
    ({ value, title }): FormChoice => ({ value, label: text(title) ?? value }),
  )
  const fits = property.default !== undefined && checkElicitValue(property, property.default) === undefined
  const secret = secretRequestedBy({ key, label, description, kind, format: formatOf(property), message })
  const required = schema.required?.includes(key) === true
  return {
    key,
    label,
    kind,
    required,
    omissible: !required && property.default === undefined,
    schema: property,
    ...defined({ description, constraint, choices }),
    ...(fits && { default: property.default }),
    ...(secret !== undefined && { secret }),
  }
}

/** Whether a field without choices is harmless. */
function canBeEmpty(field: FormField): boolean {
  if (field.omissible || field.default !== undefined) return true
  return field.kind === 'choices' && checkElicitValue(field.schema, []) === undefined
}

function kindOf(property: ElicitField): FieldKind {
  if (property.type === 'array') return 'choices'
  if (property.type !== 'string') return property.type
  if ('oneOf' in property || 'enum' in property) return 'choice'
  const { format } = property
  return format === 'email' || format === 'uri' || format === 'date' || format === 'date-time'
    ? format
    : 'text'
}

function constraintOf(property: ElicitField, kind: FieldKind): string | undefined {
  switch (kind) {
    case 'boolean':
    case 'choice':
      return undefined
    case 'choices':
      return sentence([range(property, 'minItems', 'maxItems', { of: ['choice', 'choices'] })])
    case 'number':
    case 'integer':
      return sentence([
        kind === 'integer' ? 'a whole number' : 'a number',
        range(property, 'minimum', 'maximum'),
      ])
    default:
      return sentence([
        formatHints[kind],
        range(property, 'minLength', 'maxLength', { of: ['character', 'characters'] }),
      ])
  }
}

const formatHints = {
  text: undefined,
  email: 'an e-mail address such as ada@example.org',
  uri: 'a whole address such as https://example.org/page',
  date: 'a date such as 2026-07-28',
  'date-time': 'a date and time such as 2026-07-28T09:30:00Z',
} as const

function range(
  property: object,
  minName: string,
  maxName: string,
  { of: unitNames }: { of?: readonly [one: string, several: string] } = {},
): string | undefined {
  const low = numberAt(property, minName)
  const high = numberAt(property, maxName)
  const unit = (count: number): string =>
    unitNames === undefined ? '' : ` ${unitNames[count === 1 ? 0 : 1]}`
  // A minimum length of zero has no effect.
  const counts = low !== undefined && !(unitNames !== undefined && low <= 0)
  if (counts && high !== undefined) {
    return low === high ? `exactly ${low}${unit(low)}` : `${low} to ${high}${unit(high)}`
  }
  if (counts) return `at least ${low}${unit(low)}`
  return high === undefined ? undefined : `at most ${high}${unit(high)}`
}

function sentence(parts: readonly (string | undefined)[]): string | undefined {
  const constraint = parts.filter((part) => part !== undefined).join(', ')
  return constraint === '' ? undefined : `${constraint[0]?.toUpperCase()}${constraint.slice(1)}.`
}

function numberAt(property: object, name: string): number | undefined {
  const value: unknown = Object.entries(property).find(([key]) => key === name)?.[1]
  return typeof value === 'number' ? value : undefined
}

function formatOf(property: ElicitField): string | undefined {
  return 'format' in property ? text(property.format) : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** Values by field; omitted fields are absent. */
export type FormValues = Readonly<Record<string, ElicitValue>>

/** Why one value is invalid, as a sentence; undefined if it is valid. Equal to the wire validation. */
export function problemWithField(field: FormField, value: ElicitValue | undefined): string | undefined {
  if (value === undefined) {
    if (field.omissible || field.default !== undefined) return undefined
    return field.required ? 'This is required.' : 'This is required: the default of the server is not valid.'
  }
  const fault = checkElicitValue(field.schema, value)
  return fault === undefined ? undefined : `This ${fault}.`
}

/** The response content: the values with the form's defaults for omitted ones; or the errors. */
export function finishForm(
  schema: ElicitSchema,
  values: FormValues,
): { content: Record<string, ElicitValue> } | { problem: string } {
  const content = fillDefaults(schema, values)
  const fault = checkElicitContent(schema, content)
  return fault === undefined ? { content } : { problem: `${fault[0]?.toUpperCase()}${fault.slice(1)}.` }
}

/** Parses the text typed for a field; an empty line means no value. */
export function readTyped(
  field: FormField,
  typed: string,
): { value: string | number | undefined } | { problem: string } {
  const trimmed = typed.trim()
  const isNumber = field.kind === 'number' || field.kind === 'integer'
  const entered = isNumber ? Number(trimmed) : field.kind === 'text' ? typed : trimmed
  const value = trimmed === '' ? undefined : entered
  const problem = problemWithField(field, value)
  return problem === undefined ? { value } : { problem }
}

/** A value for display: labels of choices, yes and no. Unsanitized server text. */
export function shownValue(field: FormField, value: ElicitValue | undefined): string {
  if (value === undefined) return '(left out)'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const label = (entry: string): string => {
    const choice = field.choices?.find((candidate) => candidate.value === entry)
    if (choice === undefined || choice.label === entry) return entry
    return `${choice.label} (${entry})`
  }
  return Array.isArray(value) ? value.map(label).join(', ') || '(none)' : label(String(value))
}

/** The values in form order, for review before sending. */
export function reviewForm(
  fields: readonly FormField[],
  values: FormValues,
): { key: string; label: string; value: string }[] {
  return fields.map((field) => {
    const value = Object.hasOwn(values, field.key) ? values[field.key] : undefined
    return { key: field.key, label: field.label, value: shownValue(field, value) }
  })
}

const omittedMark = '(not kept)'

/** The fields of a form that seem to ask for a secret, by their keys. */
export function secretFields(params: ElicitParams): ReadonlySet<string> {
  if (params.mode === 'url') return new Set()
  const plan = planForm(params.requestedSchema, params.message)
  const fields = 'fields' in plan ? plan.fields : []
  return new Set(fields.flatMap(({ key, secret }) => (secret === undefined ? [] : [key])))
}

/** An answer for the store, without the values of secret fields; the same answer if it has none. */
export function withoutSecretFields<T extends ElicitResult>(answer: T, params: ElicitParams): T {
  const { content } = answer
  if (content === undefined) return answer
  const secret = secretFields(params)
  if (!Object.keys(content).some((key) => secret.has(key))) return answer
  const entries = Object.entries(content).map(([key, value]) => [key, secret.has(key) ? omittedMark : value])
  return { ...answer, content: Object.fromEntries(entries) }
}
