import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/jsonrpc/parse.ts'

/** Writes a JSON value with whitespace where it is allowed and `extra` as one more member of the object numbered `at`. */
function written(
  value: unknown,
  blank: string,
  extra?: { at: number; counted: { objects: number } },
): string {
  if (Array.isArray(value)) {
    return `[${blank}${value.map((one) => written(one, blank, extra)).join(`${blank},`)}]`
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}${blank}:${blank}${written(one, blank, extra)}`,
  )
  const [first] = Object.keys(value)
  if (extra !== undefined && first !== undefined && extra.counted.objects++ === extra.at) {
    const escaped = [...first].map((c) => (c.length === 1 ? unicode(c) : c)).join('')
    entries.push(`"${escaped}":"again"`)
  }
  return `{${entries.join(`,${blank}`)}${blank}}`
}

function unicode(c: string): string {
  return `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const blanks = fc.constantFrom('', ' ', '\n\t', '  ')
const values = fc.jsonValue({ maxDepth: 6 })

describe('a duplicate key in one object', () => {
  it('is rejected at any place, however it is escaped, and named', () => {
    fc.assert(
      fc.property(values, blanks, fc.nat(20), (value, blank, at) => {
        const counted = { objects: 0 }
        const text = written(value, blank, { at, counted })
        fc.pre(counted.objects > at)
        expect(() => parseJson(text)).toThrow(/duplicate key/)
      }),
    )
  })

  it('is not reported for equal keys in different objects, or colons in strings', () => {
    fc.assert(
      fc.property(values, blanks, (value, blank) => {
        const text = written({ a: value, b: { a: value }, c: [value, { 'a:': 'x":"y\\' }] }, blank)
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('is not repeated at length in the error', () => {
    const key = 'k'.repeat(10_000)
    expect(() => parseJson(`{"${key}":1,"${key}":2}`)).toThrow(
      `Parse error: duplicate key "${key.slice(0, 64)}…"`,
    )
  })
})
