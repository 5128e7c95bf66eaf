import { readJson } from '@jackfield/sdk/internal'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactJson } from '../../src/jsonrpc/exact-json.ts'
import { parseJson } from '../../src/jsonrpc/parse.ts'

describe('a key that is written with an escape', () => {
  it.each([
    ['{"a":1,"\\\\":2}', '{"a":1,"\\u0062":3}', { a: 1, b: 3 }],
    ['{"c":1,"\\\\u":2}', '{"c":1,"\\u0064e":3}', { c: 1, de: 3 }],
    ['{"f":1,"g\\\\":2}', '{"f":1,"g\\n":3}', { f: 1, 'g\n': 3 }],
    ['{"h":1,"\\\\":2}', '{"h":1,"\\\\":2,"\\t":3}', { h: 1, '\\': 2, '\t': 3 }],
  ])('is the one that was written, whatever was read before: after %s', (before, text, value) => {
    for (let i = 0; i < 3; i++) parseJson(before)
    expect(parseJson(text)).toEqual(value)
  })

  it('is refused where it stands twice, whatever was read before', () => {
    parseJson('{"x":1,"\\\\":2}')
    expect(() => parseJson('{"x":1,"\\u0061":2,"a":3}')).toThrow('duplicate key "a"')
  })
})

describe('reading again', () => {
  const blanks = fc.constantFrom('', ' ', '\n\t')

  it('gives what the language gives', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), blanks, (value, blank) => {
        const text = JSON.stringify({ value, list: [value, {}, [], -1.5e-7] }, undefined, blank)
        // Written again, since the reader of the language is the one in doubt.
        expect(JSON.stringify(exactJson(text), undefined, blank)).toBe(text)
      }),
    )
  })

  it('keeps __proto__ a member like any other', () => {
    const value = exactJson('{"__proto__":{"a":1}}')
    expect(Object.keys(Object(value))).toEqual(['__proto__'])
    expect(Object(value).a).toBeUndefined()
  })
})

describe('reading text that a program wrote', () => {
  const name = fc.string({
    unit: fc.constantFrom('\\', '"', '\n', '\t', '\0', 'a', 'b'),
    minLength: 1,
    maxLength: 2,
  })
  const value = fc.dictionary(name, fc.dictionary(name, fc.nat(9)), { minKeys: 1, maxKeys: 3 })

  it('gives the names that were written, whatever was read before', () => {
    fc.assert(
      fc.property(value, (one) => {
        const text = JSON.stringify(one)
        expect(JSON.stringify(readJson(text))).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  it('reads whatever the language writes, however deep it nests', () => {
    const depth = 1_000
    const text = `${'{"\\\\":['.repeat(depth)}1${']}'.repeat(depth)}`
    expect(JSON.stringify(readJson(text))).toBe(text)
  })

  it('throws a SyntaxError for what is no JSON', () => {
    expect(() => readJson('{"\\\\":1')).toThrow(SyntaxError)
  })
})
