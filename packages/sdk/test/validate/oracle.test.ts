import { compileSchema } from '@jackfield/sdk/schema'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const name = fc.constantFrom('a', 'b', 'c')
const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -2, max: 6 }),
  fc.constantFrom('', 'a', 'ab', 'ba'),
)

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))

const { schema } = fc.letrec<{ schema: object | boolean; inner: object }>((tie) => {
  const some = tie('schema')
  const optional = fc.record(
    {
      type: fc.constantFrom('string', 'number', 'integer', 'object', 'array', 'boolean', 'null', [
        'string',
        'array',
      ]),
      const: value,
      enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (item) => JSON.stringify(item) }),
      minimum: fc.integer({ min: 0, max: 3 }),
      exclusiveMaximum: fc.integer({ min: 0, max: 5 }),
      multipleOf: fc.integer({ min: 1, max: 3 }),
      minLength: fc.integer({ min: 0, max: 2 }),
      maxLength: fc.integer({ min: 0, max: 2 }),
      pattern: fc.constantFrom('a', '^a', 'b$', '^(ab?)*$'),
      minItems: fc.integer({ min: 0, max: 2 }),
      maxItems: fc.integer({ min: 0, max: 3 }),
      uniqueItems: fc.boolean(),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      minProperties: fc.integer({ min: 0, max: 2 }),
      maxProperties: fc.integer({ min: 0, max: 2 }),
      dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      properties: fc.dictionary(name, some, { maxKeys: 2, noNullPrototype: true }),
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'b|c'), some, {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      additionalProperties: some,
      propertyNames: some,
      dependentSchemas: fc.dictionary(name, some, { maxKeys: 2, noNullPrototype: true }),
      prefixItems: fc.array(some, { minLength: 1, maxLength: 2 }),
      items: some,
      contains: some,
      allOf: fc.array(some, { minLength: 1, maxLength: 2 }),
      anyOf: fc.array(some, { minLength: 1, maxLength: 3 }),
      oneOf: fc.array(some, { minLength: 1, maxLength: 3 }),
      not: some,
      $ref: fc.constantFrom('#/$defs/a', '#/$defs/b'),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  // With "prefixItems" and "contains", the oracle wrongly accepts an empty array.
  const few = fc.tuple(optional, fc.array(fc.nat(), { minLength: 1, maxLength: 4 })).map(([all, picks]) => {
    const entries = Object.entries(all)
    const picked = new Map(picks.flatMap((pick) => entries.slice(pick % (entries.length || 1)).slice(0, 1)))
    if (picked.has('prefixItems')) picked.delete('contains')
    return Object.fromEntries(picked)
  })
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  const conditional = fc.record({ if: some, then: some, else: some })
  return {
    inner: fc.oneof(few, conditional),
    schema: fc.oneof({ maxDepth: 4, depthSize: 'small' }, fc.boolean(), scalarSchema(), tie('inner')),
  }
})

function scalarSchema(): fc.Arbitrary<object> {
  return fc.record({ type: fc.constantFrom('string', 'number', 'object', 'array') })
}

const whole = fc.tuple(schema, scalarSchema(), schema).map(([root, a, b]) => ({
  ...(typeof root === 'boolean' ? { allOf: [root] } : root),
  $defs: { a, b: withoutRefs(b) },
}))

/** References may go in circles otherwise, which the two validators bound in different ways. */
function withoutRefs(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutRefs)
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(
    Object.entries(part)
      .filter(([key, member]) => !(key === '$ref' && typeof member === 'string'))
      .map(([key, member]) => [key, withoutRefs(member)]),
  )
}

/** The oracle's verdict; undefined where the code it generated is broken, as it is for some nested branches. */
function verdict(theirs: (value: unknown) => unknown, one: unknown): boolean | undefined {
  try {
    return theirs(one) === true
  } catch {
    return undefined
  }
}

/** `npm test` repeats the same cases every time: the larger number is for `npm run test:all`. */
const numRuns = process.env['JACKFIELD_MATRIX'] === 'full' ? 2000 : 500

test.each([true, false])(
  'agrees with ajv on generated schemas and values (trusted: %s)',
  (trusted) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    let valid = 0
    let runs = 0
    fc.assert(
      fc.property(whole, fc.array(value, { minLength: 5, maxLength: 10 }), (root, values) => {
        const theirs = ajv.compile(root)
        const ours = compileSchema(root, { trusted })
        for (const one of values) {
          const issue = ours.check(one)
          const expected = verdict(theirs, one)
          if (expected === undefined) continue
          runs++
          if (issue === undefined) valid++
          expect([JSON.stringify(one), issue === undefined, issue]).toEqual([
            JSON.stringify(one),
            expected,
            issue,
          ])
        }
        ajv.removeSchema()
      }),
      { numRuns },
    )
    expect(valid / runs).toBeGreaterThan(0.1)
    expect(valid / runs).toBeLessThan(0.9)
  },
  120_000,
)
