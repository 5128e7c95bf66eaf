import { compileSchema, linearRegex } from '@jackfield/sdk/schema'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMsOf } from '../../../../test/setup/cpu.ts'

const found = (pattern: string, text: string): boolean => linearRegex(pattern).test(text, () => {})

describe('patterns of a peer match as in the native engine', () => {
  const texts = [
    '',
    'a',
    'b',
    'ab',
    'aab',
    'abc',
    'a-b',
    'A1_',
    ' x\n',
    'é',
    '💩',
    'foo.bar@example.com',
    '2024-02-30',
  ]

  test.each([
    '',
    '^$',
    'a',
    '^a',
    'a$',
    '^a$',
    'a|b',
    '^(a|b)+$',
    'a*',
    'a+b',
    'a?b',
    '^a{2}',
    'a{2,}',
    '^a{0,1}b',
    '(?:ab)?c',
    '[a-c]',
    '[^a-c]',
    '[\\w-]',
    '\\d',
    '\\D',
    '\\w+',
    '\\W',
    '\\s',
    '\\S+$',
    '.',
    '^.$',
    '\\.',
    '\\bfoo\\b',
    '\\Ba',
    '\\u0061',
    '\\x61',
    '\\u{1F4A9}',
    '\\ud83d\\udca9',
    '^\\p{L}+$',
    '\\P{L}',
    '(?<year>\\d{4})-(\\d\\d)',
    'a+?b',
    '()',
    '(a|)+b',
    '^(?=.*b)a',
    '^(?!a)',
    '(?=(?!b).)a',
    '[\\]]',
    '[\\\\]',
    '\\/',
    'a\\-b',
    '^[^]*$',
    '\\n',
    '\\cJ',
    '\\t?x',
    "^(?:[A-Za-z0-9_'+\\-]+\\.)*[A-Za-z0-9_'+\\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
  ])('%s', (pattern) => {
    let native: RegExp
    try {
      native = new RegExp(pattern, 'u')
    } catch {
      native = new RegExp(pattern)
    }
    for (const text of texts) expect([text, found(pattern, text)]).toEqual([text, native.test(text)])
  })

  test('on generated patterns and texts', () => {
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '^', '$', '\\b', ''),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
        fc
          .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0}', '{2,}', '*?'))
          .map(([a, quantifier]) => `(${a})${quantifier}`),
        fc.tuple(tie('pattern'), fc.constantFrom('=', '!')).map(([a, kind]) => `(?${kind}${a})`),
      ),
    }))
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (source, input) => {
        expect(found(source, input)).toBe(new RegExp(source, 'u').test(input))
      }),
      { numRuns: 3000 },
    )
  })
})

describe('patterns that hang a backtracking engine', () => {
  test.each([
    '^(a+)+$',
    '(a|a)*b',
    '(.*)*x',
    'a*a*a*a*a*a*a*a*b',
    '^(?:a?){60}a{60}$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(?=(a+)+b)(a+)+c',
    '(?:a?){500}b',
  ])('%s ends in time', async (pattern) => {
    const hard = (): void =>
      expect(compileSchema({ pattern }).check(`${'a'.repeat(50_000)}!`)).toMatch(/pattern|expensive/)
    expect(await cpuMsOf(hard)).toBeLessThan(1500)
  })

  test('time grows with the text, not faster', () => {
    const steps = (length: number): number => {
      let spent = 0
      linearRegex('(a|a?)+(a|a?)+b').test('a'.repeat(length), (more) => {
        spent += more
      })
      return spent
    }
    expect(steps(20_000) / steps(10_000)).toBeLessThan(2.1)
  })
})

describe('unsupported constructs are reported, not guessed', () => {
  test.each([
    ['a back-reference', '(a)\\1', 'it uses a back-reference'],
    ['looking behind', '(?<=a)b', 'it uses look-behind'],
    ['too many states', '(?:a{50}){50}', 'it is too large'],
    ['deep groups', `${'('.repeat(60)}a${')'.repeat(60)}`, 'its groups nest too deep'],
    ['a long pattern', 'a'.repeat(5000), 'it is too long'],
  ])('%s', (_, pattern, why) => {
    const message = `cannot be checked against the pattern ${pattern}: ${why}`
    expect(compileSchema({ pattern }).check('b')).toBe(message)
    expect(compileSchema({ patternProperties: { [pattern]: {} } }).check({ b: 1 })).toContain(why)
  })

  test('a trusted schema has the native engine', () => {
    expect(compileSchema({ pattern: '(a)\\1' }, { trusted: true }).check('aa')).toBeUndefined()
    expect(compileSchema({ pattern: '(a)\\1' }, { trusted: true }).check('ab')).toBe(
      'must match the pattern (a)\\1',
    )
  })

  test('empty groups with unbounded repetition take no time', () => {
    expect(found('(?:(?:(?:){99999}){99999}){99999}a', 'ba')).toBe(true)
  })

  test('the patterns of one schema share one bound', () => {
    const alternatives = Array.from({ length: 200 }, (_, i) => ({ pattern: `^${i}[a-z]{900}$` }))
    const issues = compileSchema({ allOf: [...alternatives.slice(0, 60), { pattern: 'z' }] }).issues('x')
    expect(issues.at(-1)?.message).toContain('must match')
    const last = compileSchema({ anyOf: [...alternatives, { pattern: 'x' }] })
    expect(last.check('x')).toContain('must match one of 201 alternatives')
  })
})

describe('the position of a match', () => {
  const spans = (pattern: string, text: string): string[] => {
    const regex = linearRegex(pattern)
    const all: string[] = []
    for (let from = 0; from <= text.length; ) {
      const span = regex.find(text, from, () => {})
      if (span === undefined) break
      all.push(text.slice(...span))
      from = Math.max(span[1], span[0] + 1)
    }
    return all
  }

  test.each([
    ['T-\\d+', 'T-1, T-22 and xT-333!', ['T-1', 'T-22', 'T-333']],
    ['a|ab|abc', 'xabcab', ['abc', 'ab']],
    ['\\bkey=[^ ]+', 'monkey=1 key=22', ['key=22']],
    ['(?:💩)+', 'a💩💩b', ['💩💩']],
    ['nothing', 'here', []],
  ])('%s is the leftmost and longest of each place', (pattern, text, expected) => {
    expect(spans(pattern, text)).toEqual(expected)
  })

  test('is that of the native engine, for any text', () => {
    const pattern = 'a(b|c)*d|cb+|[ab]d?c'
    const regex = linearRegex(pattern)
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 30 }), (text) => {
        const native = new RegExp(pattern).exec(text)
        const span = regex.find(text, 0, () => {})
        expect(span?.[0]).toBe(native?.index)
        if (native !== null && span !== undefined) {
          expect(span[1]).toBeGreaterThanOrEqual(native.index + native[0].length)
          expect(new RegExp(`^(?:${pattern})$`).test(text.slice(...span))).toBe(true)
        }
      }),
    )
  })

  test('takes time proportional to the text, for any pattern', () => {
    const steps = (length: number): number => {
      let spent = 0
      linearRegex('(a+)+b').find('a'.repeat(length), 0, (more) => {
        spent += more
      })
      return spent
    }
    expect(steps(20_000) / steps(2_000)).toBeLessThan(11)
  })
})
