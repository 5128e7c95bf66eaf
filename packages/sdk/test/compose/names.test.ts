import { McpError } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Prefixes } from '../../src/proxy/compose.ts'

const letters = fc.constantFrom(...'aZ0_-.')
const word = fc.string({ unit: letters, minLength: 1, maxLength: 12 })
const separators = fc.string({ unit: letters, minLength: 1, maxLength: 3 })

function accepts(prefixes: Prefixes, prefix: string): boolean {
  try {
    prefixes.check(prefix)
    return true
  } catch (error) {
    if (error instanceof McpError && error.code === 'INVALID') return false
    throw error
  }
}

describe('names under prefixes', () => {
  it('are split into their original parts', () => {
    fc.assert(
      fc.property(separators, word, word, (separator, prefix, name) => {
        const prefixes = new Prefixes(separator)
        fc.pre(accepts(prefixes, prefix))
        expect(prefixes.split(prefixes.join(prefix, name))).toEqual({ prefix, name })
      }),
      { numRuns: 5_000 },
    )
  })

  it('are unique for every tool', () => {
    fc.assert(
      fc.property(separators, word, word, word, word, (separator, p1, n1, p2, n2) => {
        const prefixes = new Prefixes(separator)
        fc.pre((p1 !== p2 || n1 !== n2) && accepts(prefixes, p1) && accepts(prefixes, p2))
        expect(prefixes.join(p1, n1)).not.toBe(prefixes.join(p2, n2))
      }),
      { numRuns: 5_000 },
    )
  })

  it('reject exactly the ambiguous prefixes', () => {
    fc.assert(
      fc.property(separators, word, (separator, prefix) => {
        const prefixes = new Prefixes(separator)
        const found = prefixes.split(prefixes.join(prefix, 'x'))?.prefix === prefix
        expect(accepts(prefixes, prefix)).toBe(found)
      }),
      { numRuns: 5_000 },
    )
  })

  it.each(['', 'a b', 'é', 'x'.repeat(65), 'a__b', 'a_'])('reject the prefix "%s", with advice', (prefix) => {
    expect(() => new Prefixes('__').check(prefix)).toThrow(/use 1 to 64|Choose a prefix/)
  })

  it.each(['', '/', '123456789'])('reject the separator "%s"', (separator) => {
    expect(() => new Prefixes(separator)).toThrow(/must be 1 to 8 of/)
  })
})
