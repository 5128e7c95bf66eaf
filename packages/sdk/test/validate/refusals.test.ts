import { McpError } from '@jackfield/sdk'
import { compileSchema } from '@jackfield/sdk/schema'
import { describe, expect, test } from 'vitest'
import { cpuMsOf } from '../../../../test/setup/cpu.ts'

function refusal(schema: unknown): string {
  try {
    compileSchema(schema)
  } catch (error) {
    expect(error).toBeInstanceOf(McpError)
    expect(error).toMatchObject({ code: 'INVALID' })
    return error instanceof Error ? error.message : ''
  }
  return 'accepted'
}

describe('a schema is refused with its reason', () => {
  test.each([
    ['a string', 'x', 'it must be an object or a boolean'],
    ['null', null, 'it must be an object or a boolean'],
    ['an unknown type', { type: 'text' }, '"/type" must be one or several of null, boolean'],
    ['a member of the prototype as type', { type: 'constructor' }, '"/type" must be one or several of null'],
    ['a negative length', { minLength: -1 }, '"/minLength" must be a non-negative integer'],
    ['a bound that is text', { minimum: '1' }, '"/minimum" must be a number'],
    ['a factor of zero', { multipleOf: 0 }, '"/multipleOf" must be a number above 0'],
    [
      'a broken pattern',
      { properties: { a: { pattern: '(' } } },
      '"/properties/a/pattern" must be a regular expression',
    ],
    ['required as a string', { required: 'a' }, '"/required" must have only arrays of strings'],
    ['properties as an array', { properties: [] }, '"/properties" must be an object'],
    ['a subschema that is text', { properties: { a: 'string' } }, '"/properties" must be a schema'],
    ['an empty anyOf', { anyOf: [] }, '"/anyOf" must be a non-empty array'],
    ['items as an array', { items: [{}] }, 'is written "prefixItems" in this dialect'],
    [
      'a dangling pointer',
      { $ref: '#/$defs/none' },
      '"/$ref" refers to "#/$defs/none", which does not exist',
    ],
    ['a dangling anchor', { $ref: '#none' }, 'which does not exist'],
    ['a network reference', { $ref: 'https://example.com/s' }, 'Other schemas are never fetched'],
    [
      'a file reference',
      { items: { $ref: 'file:///etc/passwd' } },
      '"/items/$ref" refers to "file:///etc/passwd"',
    ],
    ['a prototype member as a target', { $ref: '#/constructor' }, 'which does not exist'],
    [
      'an unknown dialect',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      'names a dialect that is not supported',
    ],
    [
      'one identifier twice',
      { $defs: { a: { $id: 'x:a' }, b: { $id: 'x:a' } } },
      'has the "$id" "x:a" twice',
    ],
    [
      'one anchor twice',
      { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } },
      'another subschema has too',
    ],
  ])('%s', (_, schema, reason) => {
    expect(refusal(schema)).toContain(reason)
  })

  test('a cyclic object', () => {
    const schema: Record<string, unknown> = {}
    schema['not'] = schema
    expect(refusal(schema)).toContain('cannot be written as JSON')
  })
})

describe('bounds', () => {
  const nested = (depth: number): unknown => (depth === 0 ? {} : { not: nested(depth - 1) })
  const wide = (count: number): unknown => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}])),
  })

  test('32 levels are enough, 33 are too many', () => {
    expect(refusal(nested(32))).toBe('accepted')
    expect(refusal(nested(33))).toContain('nests deeper than 32 subschemas')
  })

  test('2,000 subschemas are enough, one more is too many', () => {
    expect(refusal(wide(1999))).toBe('accepted')
    expect(refusal(wide(2000))).toContain('more than 2000 subschemas')
  })

  test('256 Ki characters are enough, more is too large', () => {
    const filled = (chars: number) => ({ description: 'x'.repeat(chars - '{"description":""}'.length) })
    expect(refusal(filled(256 * 1024))).toBe('accepted')
    expect(refusal(filled(256 * 1024 + 1))).toContain('larger than 262144 characters')
  })

  test('a schema that doubles its work at every level is stopped in time', async () => {
    const $defs: Record<string, unknown> = { d0: { type: 'string' } }
    for (let i = 1; i <= 40; i++) {
      $defs[`d${i}`] = { anyOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] }
    }
    const hard = (): void =>
      expect(compileSchema({ $defs, $ref: '#/$defs/d40' }).check(5)).toBe('is too expensive to check')
    expect(await cpuMsOf(hard)).toBeLessThan(2000)
  })

  test('a schema that refers to itself endlessly is stopped', () => {
    expect(compileSchema({ $ref: '#' }).check(1)).toBe('nests too deep to check')
    expect(compileSchema({ allOf: [{ $ref: '#' }] }).check(1)).toBe('nests too deep to check')
  })

  test('the number of steps can be set', () => {
    const validator = compileSchema({ items: { type: 'number' } }, { steps: 100 })
    expect(validator.check(Array.from({ length: 99 }, () => 1))).toBeUndefined()
    expect(validator.check(Array.from({ length: 100 }, () => 1))).toBe('is too expensive to check')
  })
})
