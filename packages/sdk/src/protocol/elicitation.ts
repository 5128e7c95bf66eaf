import { isObject } from '../jsonrpc/parse.ts'
import type { ElicitField, ElicitSchema, ElicitValue, StringField } from './server-requests.ts'
import { boolean, integer, listOf, number, oneOf, type Shape, shape, string } from './shapes.ts'

/** Why a schema is not an elicitation form (a flat object of strings, numbers, booleans and enums), or undefined if it is one. */
export function checkElicitSchema(schema: unknown): string | undefined {
  if (!isObject(schema) || schema['type'] !== 'object') return 'the form must be a schema of type "object"'
  const { properties, required } = schema
  if (!isObject(properties)) return 'the form must have "properties"'
  for (const [name, field] of Object.entries(properties)) {
    const problem = fieldProblem(field)
    if (problem !== undefined) return `field "${name}" ${problem}`
  }
  if (required !== undefined && !isStrings(required)) return '"required" must be a list of names'
  const unknown = (required ?? []).find((name) => !Object.hasOwn(properties, name))
  return unknown === undefined ? undefined : `"${unknown}" is required but not a field`
}

/** Whether an object is an elicitation form. */
export function isElicitSchema(schema: unknown): schema is ElicitSchema {
  return checkElicitSchema(schema) === undefined
}

const labels = { title: string, description: string }
const bounds = { ...labels, minimum: number, maximum: number, default: number }
/** The optional members of each field type. */
const optionalMembers: Readonly<Record<ElicitField['type'], Shape>> = {
  string: shape(
    {},
    {
      ...labels,
      minLength: integer,
      maxLength: integer,
      format: oneOf('email', 'uri', 'date', 'date-time'),
      enumNames: listOf(string),
      default: string,
    },
  ),
  number: shape({}, bounds),
  integer: shape({}, bounds),
  boolean: shape({}, { ...labels, default: boolean }),
  array: shape({}, { ...labels, minItems: integer, maxItems: integer, default: listOf(string) }),
}

/** The first optional member with an invalid value, such as a title or default of another type, or undefined. */
export function checkFormHints({ properties }: ElicitSchema): string | undefined {
  for (const [name, field] of Object.entries(properties)) {
    let invalid: string | undefined
    // A shape deletes invalid members, so it gets a copy.
    optionalMembers[field.type]({ ...field }, (member) => {
      invalid ??= member
    })
    if (field.type === 'array' && 'enum' in field.items && field.items.type !== 'string') invalid ??= 'items'
    if (invalid !== undefined) return `field "${name}" has an invalid "${invalid}"`
  }
  return undefined
}

function fieldProblem(field: unknown): string | undefined {
  if (!isObject(field)) return 'must be a schema'
  switch (field['type']) {
    case 'string':
      if (field['oneOf'] !== undefined)
        return isTitled(field['oneOf']) ? undefined : 'needs "const" and "title" in every choice'
      if (field['enum'] !== undefined)
        return isStrings(field['enum']) ? undefined : 'needs strings as choices'
      return undefined
    case 'number':
    case 'integer':
    case 'boolean':
      return undefined
    case 'array': {
      const { items } = field
      if (!isObject(items)) return 'must say what may be chosen in "items"'
      const isChoice = items['anyOf'] === undefined ? isStrings(items['enum']) : isTitled(items['anyOf'])
      return isChoice ? undefined : 'may only be a choice among strings'
    }
    default:
      return 'must be a string, number, integer, boolean or a choice'
  }
}

export function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isTitled(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (item) => isObject(item) && typeof item['const'] === 'string' && typeof item['title'] === 'string',
    )
  )
}

/** Form values with defaults for absent fields. */
export function fillDefaults(
  schema: ElicitSchema,
  content: Record<string, ElicitValue>,
): Record<string, ElicitValue> {
  const filled: Record<string, ElicitValue> = { ...content }
  for (const [name, field] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(filled, name) && field.default !== undefined) filled[name] = field.default
  }
  return filled
}

/** The choices of an enum field with their titles; undefined for other fields. */
export function choicesOf(field: ElicitField): { value: string; title: string }[] | undefined {
  if (field.type === 'array') {
    return 'anyOf' in field.items
      ? field.items.anyOf.map(({ const: value, title }) => ({ value, title }))
      : field.items.enum.map((value) => ({ value, title: value }))
  }
  // Only strings can be enum values.
  if (field.type !== 'string') return undefined
  if ('oneOf' in field) return field.oneOf.map(({ const: value, title }) => ({ value, title }))
  if ('enum' in field) return field.enum.map((value, i) => ({ value, title: field.enumNames?.[i] ?? value }))
  return undefined
}

/** What is wrong with a form's values, or undefined if they satisfy it. */
export function checkElicitContent(schema: ElicitSchema, content: unknown): string | undefined {
  if (!isObject(content)) return 'the values must be an object'
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(content, name)) return `"${name}" is required`
  }
  for (const [name, value] of Object.entries(content)) {
    const field = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (field === undefined) return `"${name}" is not a field of the form`
    const problem = checkElicitValue(field, value)
    if (problem !== undefined) return `"${name}" ${problem}`
  }
  return undefined
}

/** What is wrong with one value, or undefined if it satisfies its field. */
export function checkElicitValue(field: ElicitField, value: unknown): string | undefined {
  const choices = choicesOf(field)
  if (field.type === 'array') {
    if (!isStrings(value)) return 'must be a list of strings'
    if (field.minItems !== undefined && value.length < field.minItems)
      return `needs at least ${field.minItems} choices`
    if (field.maxItems !== undefined && value.length > field.maxItems)
      return `allows at most ${field.maxItems} choices`
    if (new Set(value).size !== value.length) return 'must not name a choice twice'
    return value.every((item) => choices?.some((choice) => choice.value === item))
      ? undefined
      : notAmong(choices)
  }
  if (choices !== undefined)
    return choices.some((choice) => choice.value === value) ? undefined : notAmong(choices)
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'integer':
    case 'number':
      return numberProblem(field, value)
    case 'string':
      return stringProblem(field, value)
  }
}

function notAmong(choices: { value: string }[] | undefined): string {
  return `must be among ${(choices ?? []).map((choice) => JSON.stringify(choice.value)).join(', ')}`
}

function numberProblem(
  field: { type: string; minimum?: number; maximum?: number },
  value: unknown,
): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number'
  if (field.type === 'integer' && !Number.isInteger(value)) return 'must be a whole number'
  if (field.minimum !== undefined && value < field.minimum) return `must be at least ${field.minimum}`
  if (field.maximum !== undefined && value > field.maximum) return `must be at most ${field.maximum}`
  return undefined
}

function stringProblem(field: StringField, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be text'
  const length = [...value].length
  if (field.minLength !== undefined && length < field.minLength)
    return `needs at least ${field.minLength} characters`
  if (field.maxLength !== undefined && length > field.maxLength)
    return `allows at most ${field.maxLength} characters`
  return field.format === undefined ? undefined : formatProblem(field.format, value)
}

function formatProblem(format: string, value: string): string | undefined {
  switch (format) {
    case 'email':
      return /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*$/.test(value) ? undefined : 'must be an e-mail address'
    case 'uri':
      return URL.canParse(value) ? undefined : 'must be an absolute URI'
    case 'date':
      return isDate(value) ? undefined : 'must be a date such as 2026-07-28'
    case 'date-time':
      return /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(value) &&
        isDate(value.slice(0, 10)) &&
        !Number.isNaN(Date.parse(value))
        ? undefined
        : 'must be a date and time such as 2026-07-28T09:30:00Z'
    default:
      return undefined
  }
}

function isDate(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return false
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value)
}
