import type { ElicitSchema } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { type Field, planForm, problemWith, readTyped } from '../../src/forms/fields.ts'

function form(properties: Record<string, unknown>, required: string[] = []): ElicitSchema {
  return JSON.parse(JSON.stringify({ type: 'object', properties, required }))
}

function only(property: unknown, required = true): Field {
  const [field] = fieldsOf(form({ f: property }, required ? ['f'] : []))
  if (field === undefined) throw new Error('no field')
  return field
}

function fieldsOf(schema: ElicitSchema): Field[] {
  const plan = planForm(schema)
  if ('fault' in plan) throw new Error(plan.fault)
  return plan.fields
}

describe('every kind of field of the specification', () => {
  test.each([
    [
      { type: 'string', title: 'Name', minLength: 2 },
      { label: 'Name', choices: undefined },
    ],
    [
      { type: 'string', format: 'date', default: '2027-01-01' },
      { label: 'f', default: '2027-01-01' },
    ],
    [{ type: 'number', minimum: 0, default: 0 }, { default: 0 }],
    [{ type: 'boolean', default: false }, { default: false }],
    [
      { type: 'string', enum: ['a', 'b'], default: 'b' },
      {
        choices: [
          { value: 'a', label: 'a' },
          { value: 'b', label: 'b' },
        ],
        default: 'b',
      },
    ],
    [
      { type: 'string', enum: ['a', 'b'], enumNames: ['A!'] },
      {
        choices: [
          { value: 'a', label: 'A!' },
          { value: 'b', label: 'b' },
        ],
      },
    ],
    [{ type: 'string', oneOf: [{ const: 'a', title: 'Ah' }] }, { choices: [{ value: 'a', label: 'Ah' }] }],
    [
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, default: ['a'] },
      { choices: [{ value: 'a', label: 'a' }, { value: 'b' }], default: ['a'] },
    ],
    [
      { type: 'array', items: { anyOf: [{ const: 'a', title: 'Ah' }] } },
      { choices: [{ value: 'a', label: 'Ah' }] },
    ],
  ])('%j', (property, expected) => {
    expect(only(property)).toMatchObject({ key: 'f', required: true, ...expected })
  })

  test.each([
    { type: 'string', enum: ['a'], default: 'x' },
    { type: 'integer', default: 'x' },
    { type: 'number', minimum: 5, default: 1 },
    { type: 'array', items: { enum: ['a'] }, default: ['x'] },
  ])('a default that does not fit is none: %j', (property) => {
    expect(only(property).default).toBeUndefined()
  })

  test('what the specification does not have is a fault, not a guess', () => {
    expect(planForm(form({ a: { type: 'object' } }))).toEqual({
      fault: expect.stringContaining('field "a" must be a string, number'),
    })
  })

  test('titles and descriptions that are no texts are left away', () => {
    expect(only({ type: 'string', title: 5, description: { x: 1 } })).toMatchObject({
      label: 'f',
      description: undefined,
    })
  })
})

test.each([
  ['password', undefined],
  ['apiKey', undefined],
  ['x', 'Your API key'],
  ['cardNumber', undefined],
  ['pin', undefined],
  ['accessToken', undefined],
])('%s %s looks like a secret', (key, title) => {
  expect(fieldsOf(form({ [key]: { type: 'string', title } }))[0]?.sensitive).toBe(true)
})

test.each(['name', 'shippingDate', 'opinion', 'discard', 'compass'])(
  '%s does not look like a secret',
  (key) => {
    expect(fieldsOf(form({ [key]: { type: 'string' } }))[0]?.sensitive).toBe(false)
  },
)

test('what a person types becomes the value of its type, and an empty line none', () => {
  const number = only({ type: 'integer', minimum: 1 }, false)
  const date = only({ type: 'string', format: 'date' })
  const words = only({ type: 'string' })
  expect(readTyped(number, ' 7 ')).toEqual({ value: 7 })
  expect(readTyped(number, '')).toEqual({ value: undefined })
  expect(readTyped(number, 'seven')).toEqual({ problem: 'This must be a number.' })
  expect(readTyped(number, '0')).toEqual({ problem: 'This must be at least 1.' })
  expect(readTyped(date, '')).toEqual({ problem: 'This is required.' })
  expect(readTyped(date, ' 2027-06-15 ')).toEqual({ value: '2027-06-15' })
  expect(readTyped(words, ' as typed ')).toEqual({ value: ' as typed ' })
})

test('required means there must be a value, and false, 0 and empty lists are values', () => {
  expect(problemWith(only({ type: 'string' }), undefined)).toBe('This is required.')
  expect(problemWith(only({ type: 'string' }, false), undefined)).toBeUndefined()
  expect(problemWith(only({ type: 'boolean' }), false)).toBeUndefined()
  expect(problemWith(only({ type: 'number' }), 0)).toBeUndefined()
  expect(problemWith(only({ type: 'array', items: { enum: ['a'] } }), [])).toBeUndefined()
})
