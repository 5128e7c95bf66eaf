import { ask, type DescribedSchema, type ElicitSchema } from '@jackfield/sdk'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

function fields(schema: DescribedSchema | ElicitSchema): unknown {
  const { params } = ask.elicit({ message: 'm', schema })
  return 'requestedSchema' in params ? params.requestedSchema : undefined
}

const one = (schema: z.ZodType) => {
  const form = fields(z.object({ x: schema }))
  return (form as ElicitSchema).properties['x']
}

describe('the form of a zod schema', () => {
  test.each<[string, z.ZodType, object]>([
    ['text', z.string().min(1).max(9), { type: 'string', minLength: 1, maxLength: 9 }],
    [
      'what is shown',
      z.string().meta({ title: 'T', description: 'D' }),
      { type: 'string', title: 'T', description: 'D' },
    ],
    ['an e-mail address', z.email(), { type: 'string', format: 'email' }],
    ['a URL', z.url(), { type: 'string', format: 'uri' }],
    ['a date', z.iso.date(), { type: 'string', format: 'date' }],
    ['a time', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['a format no form has', z.uuid(), { type: 'string' }],
    ['a pattern', z.string().regex(/^a/), { type: 'string' }],
    ['a number', z.number().min(1).max(2.5), { type: 'number', minimum: 1, maximum: 2.5 }],
    ['a whole number', z.int(), { type: 'integer' }],
    ['a whole number between', z.int().gt(2).lt(9), { type: 'integer', minimum: 3, maximum: 8 }],
    ['a default', z.number().default(5), { type: 'number', default: 5 }],
    ['a boolean', z.boolean().default(true), { type: 'boolean', default: true }],
    ['choices', z.enum(['a', 'b']).default('a'), { type: 'string', enum: ['a', 'b'], default: 'a' }],
    ['one literal', z.literal('a'), { type: 'string', enum: ['a'] }],
    ['literals', z.literal(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
    ['a union of literals', z.union([z.literal('a'), z.literal('b')]), { type: 'string', enum: ['a', 'b'] }],
    [
      'titled choices',
      z.union([z.literal('a').meta({ title: 'A' }), z.literal('b')]),
      {
        type: 'string',
        oneOf: [
          { const: 'a', title: 'A' },
          { const: 'b', title: 'b' },
        ],
      },
    ],
    [
      'several choices',
      z
        .array(z.enum(['a', 'b']))
        .min(1)
        .max(2),
      { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['a', 'b'] } },
    ],
    [
      'several titled choices',
      z.array(z.union([z.literal('a').meta({ title: 'A' }), z.literal('b').meta({ title: 'B' })])),
      {
        type: 'array',
        items: {
          anyOf: [
            { const: 'a', title: 'A' },
            { const: 'b', title: 'B' },
          ],
        },
      },
    ],
    ['a named schema', z.enum(['a', 'b']).meta({ id: 'Letter' }), { type: 'string', enum: ['a', 'b'] }],
  ])('%s', (_, schema, field) => {
    expect(one(schema)).toEqual(field)
  })

  test('optional fields are not required, and unknown keywords are removed', () => {
    expect(fields(z.strictObject({ a: z.string(), b: z.string().optional() }))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
    })
    expect(fields(z.object({}))).toEqual({ type: 'object', properties: {} })
  })
})

test('valibot and arktype make forms too', () => {
  const form = {
    type: 'object',
    properties: { a: { type: 'string', enum: ['x', 'y'] }, n: { type: 'integer', minimum: 2 } },
    required: ['a'],
  }
  const fromValibot = toStandardJsonSchema(
    v.object({ a: v.picklist(['x', 'y']), n: v.optional(v.pipe(v.number(), v.integer(), v.minValue(2))) }),
  )
  expect(fields(fromValibot)).toEqual(form)
  expect(fields(type({ a: "'x' | 'y'", 'n?': 'number.integer >= 2' }))).toEqual(form)
})

test('a form written as JSON Schema is used unchanged', () => {
  const form: ElicitSchema = {
    type: 'object',
    properties: {
      old: { type: 'string', enum: ['a'], enumNames: ['A'] },
      many: { type: 'array', items: { type: 'string', enum: ['a'] }, default: ['a'] },
    },
    required: ['old'],
  }
  expect(fields(form)).toEqual(form)
})

describe('a schema that no form can represent is rejected by name', () => {
  test.each<[string, DescribedSchema, string]>([
    ['an object in an object', z.object({ x: z.object({ y: z.string() }) }), 'field "x"'],
    ['a list of anything', z.object({ x: z.array(z.string()) }), 'field "x"'],
    ['a list of objects', z.object({ x: z.array(z.object({})) }), 'field "x"'],
    ['null', z.object({ x: z.string().nullable() }), 'field "x"'],
    ['a union of kinds', z.object({ x: z.union([z.string(), z.number()]) }), 'field "x"'],
    ['a choice of numbers', z.object({ x: z.literal([1, 2]) }), 'field "x"'],
    ['a date that is no text', z.object({ x: z.date() }), 'Date cannot be represented'],
    ['no object', z.string(), 'the form must be a schema of type "object"'],
  ])('%s', (_, schema, why) => {
    expect(() => fields(schema)).toThrow(TypeError)
    expect(() => fields(schema)).toThrow(why)
  })
})
