import type { ElicitSchema, ElicitValue } from '@jackfield/sdk'
import { checkElicitContent, checkElicitValue, fillDefaults } from '@jackfield/sdk/internal'
import type { FormField } from '../types/index.ts'

/** Values by field; a field that is left out is not there. */
export type FormValues = Readonly<Record<string, ElicitValue>>

/** What is wrong with one value, as a sentence; undefined where nothing is. It says what the wire would say. */
export function problemWithField(field: FormField, value: ElicitValue | undefined): string | undefined {
  if (value === undefined) {
    if (field.omissible || field.default !== undefined) return undefined
    return field.required
      ? 'This is required.'
      : 'This is needed: what the server would take instead does not fit.'
  }
  const fault = checkElicitValue(field.schema, value)
  return fault === undefined ? undefined : `This ${fault}.`
}

/** What would be sent: the values with the form's defaults in place of those left out; or what is wrong with them. */
export function finishForm(
  schema: ElicitSchema,
  values: FormValues,
): { content: Record<string, ElicitValue> } | { problem: string } {
  const content = fillDefaults(schema, values)
  const fault = checkElicitContent(schema, content)
  return fault === undefined ? { content } : { problem: `${fault[0]?.toUpperCase()}${fault.slice(1)}.` }
}

/** Reads what a person typed for a field; an empty line is no value. */
export function readTyped(
  field: FormField,
  typed: string,
): { value: string | number | undefined } | { problem: string } {
  const trimmed = typed.trim()
  const isNumber = field.kind === 'number' || field.kind === 'integer'
  const given = isNumber ? Number(trimmed) : field.kind === 'text' ? typed : trimmed
  const value = trimmed === '' ? undefined : given
  const problem = problemWithField(field, value)
  return problem === undefined ? { value } : { problem }
}

/** A value as a person reads it: the labels of choices, yes and no. As the server wrote it: make it safe. */
export function shownValue(field: FormField, value: ElicitValue | undefined): string {
  if (value === undefined) return '(left out)'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const label = (entry: string): string => {
    const choice = field.choices?.find((one) => one.value === entry)
    if (choice === undefined || choice.label === entry) return entry
    return `${choice.label} (${entry})`
  }
  return Array.isArray(value) ? value.map(label).join(', ') || '(none)' : label(String(value))
}

/** What the fields hold, in the form's order, for review before sending. */
export function reviewForm(
  fields: readonly FormField[],
  values: FormValues,
): { key: string; label: string; value: string }[] {
  return fields.map((field) => {
    const value = Object.hasOwn(values, field.key) ? values[field.key] : undefined
    return { key: field.key, label: field.label, value: shownValue(field, value) }
  })
}
