import type { ElicitField, ElicitSchema } from '@jackfield/sdk'
import fc from 'fast-check'

const word: fc.Arbitrary<string> = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const about: fc.Arbitrary<object> = fc.record({ title: word, description: word }, { requiredKeys: [] })

function between(from: string, to: string, most: number): fc.Arbitrary<object> {
  return fc.tuple(fc.nat(most), fc.nat(most)).chain(([one, other]) =>
    fc.constantFrom(
      {},
      { [from]: Math.min(one, other) },
      { [to]: Math.max(one, other) },
      {
        [from]: Math.min(one, other),
        [to]: Math.max(one, other),
      },
    ),
  )
}

const values: fc.Arbitrary<string[]> = fc.uniqueArray(word, { minLength: 1, maxLength: 5 })
const titled: fc.Arbitrary<{ const: string; title: string }[]> = fc.uniqueArray(
  fc.record({ const: word, title: word }),
  { minLength: 1, maxLength: 5, selector: (choice) => choice.const },
)

/** A field of each form that the specification has, without a default. */
const bare: fc.Arbitrary<object> = fc.oneof(
  between('minLength', 'maxLength', 8).map((bounds) => ({ type: 'string', ...bounds })),
  fc.constantFrom('email', 'uri', 'date', 'date-time').map((format) => ({ type: 'string', format })),
  fc
    .tuple(fc.constantFrom('number', 'integer'), between('minimum', 'maximum', 50))
    .map(([type, bounds]) => ({ type, ...bounds })),
  fc.constant({ type: 'boolean' }),
  values.map((list) => ({ type: 'string', enum: list })),
  values.chain((list) =>
    fc
      .array(word, { maxLength: list.length })
      .map((enumNames) => ({ type: 'string', enum: list, enumNames })),
  ),
  titled.map((oneOf) => ({ type: 'string', oneOf })),
  fc
    .tuple(
      fc.oneof(
        values.map((list) => ({ type: 'string', enum: list })),
        titled.map((anyOf) => ({ anyOf })),
      ),
      between('minItems', 'maxItems', 3),
    )
    .map(([items, bounds]) => ({ type: 'array', items, ...bounds })),
)

/** Anything a person may want to say in a field, fitting or not. */
export function arbitraryFor(field: ElicitField): fc.Arbitrary<unknown> {
  const text = fc.constantFrom(
    'ada@example.org',
    'https://example.org/a',
    '2027-02-28',
    '2027-02-30',
    '2027-02-28T10:00:00Z',
    '',
    ' ',
    'x',
  )
  if (field.type === 'boolean') return fc.boolean()
  if (field.type === 'number' || field.type === 'integer') {
    return fc.oneof(fc.integer({ min: -5, max: 60 }), fc.double({ noNaN: true, min: -5, max: 60 }))
  }
  if (field.type === 'array') {
    const items = 'anyOf' in field.items ? field.items.anyOf.map((one) => one.const) : field.items.enum
    return fc.subarray(items)
  }
  if ('enum' in field) return fc.constantFrom(...field.enum)
  if ('oneOf' in field) return fc.constantFrom(...field.oneOf.map((one) => one.const))
  return fc.oneof(text, fc.string({ unit: 'grapheme', maxLength: 10 }))
}

const asField = (field: object): ElicitField => JSON.parse(JSON.stringify(field))

/** One field of any form, with texts about it and now and then a default, which may not fit. */
export const anyField: fc.Arbitrary<ElicitField> = fc
  .tuple(bare, about)
  .map(([field, texts]) => asField({ ...field, ...texts }))
  .chain((field) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(field) },
      { weight: 1, arbitrary: arbitraryFor(field).map((preset) => asField({ ...field, default: preset })) },
    ),
  )

/** Any form: up to six fields, some of them required. */
export const anyForm: fc.Arbitrary<ElicitSchema> = fc
  .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z][a-zA-Z0-9_]{0,8}$/), anyField, fc.boolean()), {
    maxLength: 6,
    selector: ([key]) => key,
  })
  .map((fields) => ({
    type: 'object',
    properties: Object.fromEntries(fields.map(([key, field]) => [key, field])),
    required: fields.flatMap(([key, , required]) => (required ? [key] : [])),
  }))
