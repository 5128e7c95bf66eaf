import { readJson } from '@jackfield/sdk/internal'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactJson } from '../../src/jsonrpc/exact-json.ts'
import { parseJson } from '../../src/jsonrpc/parse.ts'

describe('a key written with an escape', () => {
  it.each([
    ['{"a":1,"\\\\":2}', '{"a":1,"\\u0062":3}', { a: 1, b: 3 }],
    ['{"c":1,"\\\\u":2}', '{"c":1,"\\u0064e":3}', { c: 1, de: 3 }],
    ['{"f":1,"g\\\\":2}', '{"f":1,"g\\n":3}', { f: 1, 'g\n': 3 }],
    ['{"h":1,"\\\\":2}', '{"h":1,"\\\\":2,"\\t":3}', { h: 1, '\\': 2, '\t': 3 }],
  ])('is exact, after any earlier parse: after %s', (before, text, value) => {
    for (let i = 0; i < 3; i++) parseJson(before)
    expect(parseJson(text)).toEqual(value)
  })

  it('is rejected as a duplicate, after any earlier parse', () => {
    parseJson('{"x":1,"\\\\":2}')
    expect(() => parseJson('{"x":1,"\\u0061":2,"a":3}')).toThrow('duplicate key "a"')
  })
})

describe('exact parsing', () => {
  const blanks = fc.constantFrom('', ' ', '\n\t')

  it('returns the same as JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), blanks, (value, blank) => {
        const text = JSON.stringify({ value, list: [value, {}, [], -1.5e-7] }, undefined, blank)
        // Written again, since the reader of the language is the one in doubt.
        expect(JSON.stringify(exactJson(text), undefined, blank)).toBe(text)
      }),
    )
  })

  it('keeps __proto__ as an ordinary member', () => {
    const value = exactJson('{"__proto__":{"a":1}}')
    expect(Object.keys(Object(value))).toEqual(['__proto__'])
    expect(Object(value).a).toBeUndefined()
  })
})

describe('parsing text written by a program', () => {
  const name = fc.string({
    unit: fc.constantFrom('\\', '"', '\n', '\t', '\0', 'a', 'b'),
    minLength: 1,
    maxLength: 2,
  })
  const value = fc.dictionary(name, fc.dictionary(name, fc.nat(9)), { minKeys: 1, maxKeys: 3 })

  it('returns exact names, after any earlier parse', () => {
    fc.assert(
      fc.property(value, (one) => {
        const text = JSON.stringify(one)
        expect(JSON.stringify(readJson(text))).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  it('parses any output of JSON.stringify, at any depth', () => {
    const depth = 1_000
    const text = `${'{"\\\\":['.repeat(depth)}1${']}'.repeat(depth)}`
    expect(JSON.stringify(readJson(text))).toBe(text)
  })

  it('throws a SyntaxError for invalid JSON', () => {
    expect(() => readJson('{"\\\\":1')).toThrow(SyntaxError)
  })
})
