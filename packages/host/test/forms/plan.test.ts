import type { ElicitSchema } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { planForm, problemWithField, readTyped, reviewForm } from '../../src/core/forms/form.ts'
import type { FormField } from '../../src/types/index.ts'

function form(properties: Record<string, unknown>, required: string[] = []): ElicitSchema {
  return JSON.parse(JSON.stringify({ type: 'object', properties, required }))
}

function fieldsOf(schema: ElicitSchema): readonly FormField[] {
  const plan = planForm(schema)
  if ('fault' in plan) throw new Error(plan.fault)
  return plan.fields
}

function only(property: unknown, required = true): FormField {
  const [field] = fieldsOf(form({ f: property }, required ? ['f'] : []))
  if (field === undefined) throw new Error('no field')
  return field
}

describe('every kind of field of the specification', () => {
  const ab = [
    { value: 'a', label: 'a' },
    { value: 'b', label: 'b' },
  ]
  test.each<[object, object]>([
    [
      { type: 'string', title: 'Name' },
      { kind: 'text', label: 'Name' },
    ],
    [
      { type: 'string', minLength: 2, maxLength: 5 },
      { kind: 'text', constraint: '2 to 5 characters.' },
    ],
    [{ type: 'string', minLength: 1 }, { constraint: 'At least 1 character.' }],
    [{ type: 'string', maxLength: 8 }, { constraint: 'At most 8 characters.' }],
    [{ type: 'string', minLength: 4, maxLength: 4 }, { constraint: 'Exactly 4 characters.' }],
    [
      { type: 'string', format: 'email' },
      { kind: 'email', constraint: 'An e-mail address such as ada@example.org.' },
    ],
    [{ type: 'string', format: 'uri' }, { kind: 'uri' }],
    [
      { type: 'string', format: 'date', default: '2027-01-01' },
      { kind: 'date', default: '2027-01-01' },
    ],
    [{ type: 'string', format: 'date-time' }, { kind: 'date-time' }],
    [
      { type: 'number', minimum: 0, default: 0 },
      { kind: 'number', default: 0, constraint: 'A number, at least 0.' },
    ],
    [
      { type: 'integer', minimum: 1, maximum: 14 },
      { kind: 'integer', constraint: 'A whole number, 1 to 14.' },
    ],
    [
      { type: 'boolean', default: false },
      { kind: 'boolean', default: false },
    ],
    [
      { type: 'string', enum: ['a', 'b'], default: 'b' },
      { kind: 'choice', choices: ab, default: 'b' },
    ],
    [
      { type: 'string', enum: ['a', 'b'], enumNames: ['A!'] },
      { kind: 'choice', choices: [{ value: 'a', label: 'A!' }, ab[1]] },
    ],
    [
      { type: 'string', oneOf: [{ const: 'a', title: 'Ah' }] },
      { kind: 'choice', choices: [{ value: 'a', label: 'Ah' }] },
    ],
    [
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, default: ['a'] },
      { kind: 'choices', choices: ab, default: ['a'], constraint: 'At least 1 choice.' },
    ],
    [
      { type: 'array', items: { anyOf: [{ const: 'a', title: 'Ah' }] }, minItems: 1, maxItems: 2 },
      { kind: 'choices', choices: [{ value: 'a', label: 'Ah' }], constraint: '1 to 2 choices.' },
    ],
  ])('%j', (property, expected) => {
    expect(only(property)).toMatchObject({ key: 'f', required: true, omissible: false, ...expected })
  })
})

test.each([
  { type: 'string', enum: ['a'], default: 'x' },
  { type: 'integer', default: 'x' },
  { type: 'number', minimum: 5, default: 1 },
  { type: 'array', items: { enum: ['a'] }, default: ['x'] },
])('an invalid default is ignored, and the field needs an answer: %j', (property) => {
  const field = only(property, false)
  expect(field.default).toBeUndefined()
  expect(field.omissible).toBe(false)
  expect(problemWithField(field, undefined)).toContain('This is required')
})

test('unsupported schemas are errors, not guesses', () => {
  expect(planForm(form({ a: { type: 'object' } }))).toEqual({
    fault: expect.stringContaining('field "a" must be a string, number'),
  })
  expect(planForm(form({ a: { type: 'string', enum: [] } }, ['a']))).toEqual({
    fault: 'field "a" has nothing to choose from',
  })
  expect(planForm(form({ a: { type: 'string', enum: [] } }))).toHaveProperty('fields')
})

test('titles and descriptions that are not text are ignored', () => {
  const field = only({ type: 'string', title: 5, description: { x: 1 } })
  expect(field.label).toBe('f')
  expect(field).not.toHaveProperty('description')
})

test("typed text is converted to the field's type, and an empty line is no value", () => {
  const number = only({ type: 'integer', minimum: 1 }, false)
  const date = only({ type: 'string', format: 'date' })
  expect(readTyped(number, ' 7 ')).toEqual({ value: 7 })
  expect(readTyped(number, '')).toEqual({ value: undefined })
  expect(readTyped(number, 'seven')).toEqual({ problem: 'This must be a number.' })
  expect(readTyped(number, '0')).toEqual({ problem: 'This must be at least 1.' })
  expect(readTyped(date, '')).toEqual({ problem: 'This is required.' })
  expect(readTyped(date, ' 2027-06-15 ')).toEqual({ value: '2027-06-15' })
  expect(readTyped(only({ type: 'string' }), ' as typed ')).toEqual({ value: ' as typed ' })
})

test('required means that there must be a value, and false, 0 and empty lists are values', () => {
  expect(problemWithField(only({ type: 'string' }), undefined)).toBe('This is required.')
  expect(problemWithField(only({ type: 'string' }, false), undefined)).toBeUndefined()
  expect(problemWithField(only({ type: 'boolean' }), false)).toBeUndefined()
  expect(problemWithField(only({ type: 'number' }), 0)).toBeUndefined()
  expect(problemWithField(only({ type: 'array', items: { enum: ['a'] } }), [])).toBeUndefined()
})

test('the review lists each field with its value and its label', () => {
  const fields = fieldsOf(
    form({
      seat: { type: 'string', oneOf: [{ const: 'w', title: 'Window' }] },
      ok: { type: 'boolean', title: 'Sure?' },
      extras: { type: 'array', items: { enum: ['bag', 'meal'] } },
      note: { type: 'string' },
    }),
  )
  expect(reviewForm(fields, { seat: 'w', ok: true, extras: ['bag', 'meal'] })).toEqual([
    { key: 'seat', label: 'seat', value: 'Window (w)' },
    { key: 'ok', label: 'Sure?', value: 'yes' },
    { key: 'extras', label: 'extras', value: 'bag, meal' },
    { key: 'note', label: 'note', value: '(left out)' },
  ])
})
