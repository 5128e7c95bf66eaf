import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecretRedactor } from '../../src/config/secrets/redactor.ts'

const secret = 'hunter2/+ "ü" secret'

describe('a redactor', () => {
  it.each([
    ['as it is', `before ${secret} after`],
    ['in JSON', JSON.stringify({ token: secret })],
    ['in a URL', `https://x/?t=${encodeURIComponent(secret)}`],
    ['in a form', new URLSearchParams({ t: secret }).toString().replaceAll('%2B', '%2B')],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in base64 after a name', Buffer.from(`ada:${secret}`).toString('base64')],
    ['in base64 between other things', Buffer.from(`xy${secret}-and-more`).toString('base64')],
    ['in base64 of URLs', Buffer.from(`a${secret}`).toString('base64url')],
  ])('finds a secret %s', (_where, text) => {
    const redactor = createSecretRedactor()
    redactor.add(secret, 'TOKEN')
    expect(redactor.text(text)).toContain('[TOKEN]')
    expect(redactor.text(text)).not.toContain('hunter2')
  })

  it.each(['base64', 'base64url'] as const)(
    'finds any secret in %s, at any position of a text',
    (encoding) => {
      expect(Buffer.from('key>>>???~~~').toString('base64')).toMatch(/\+.*\//)
      fc.assert(
        fc.property(
          fc.string({ minLength: 12, maxLength: 40, unit: fc.constantFrom(...'ab>?~ÿ') }),
          fc.string({ maxLength: 4 }),
          fc.string({ maxLength: 4 }),
          (value, before, after) => {
            const redactor = createSecretRedactor()
            redactor.add(value, 'K')
            const text = Buffer.from(`${before}${value}${after}`).toString(encoding)
            expect(redactor.text(text)).toContain('[K]')
          },
        ),
        { examples: [['key>>>???~~~', '', '']] },
      )
    },
  )

  it('redacts values and names in any structure, and leaves others unchanged', () => {
    const redactor = createSecretRedactor()
    redactor.add('abcdef-secret', 'K')
    const clean = { a: [1, null, { b: 'x' }] }
    expect(redactor.value(clean)).toBe(clean)
    expect(redactor.value({ list: ['is abcdef-secret', 2], 'abcdef-secret': true })).toEqual({
      list: ['is [K]', 2],
      '[K]': true,
    })
  })

  it('ignores values that are too short to be distinguished from other text', () => {
    const redactor = createSecretRedactor()
    redactor.add('12345', 'PIN')
    expect(redactor.text('12345')).toBe('12345')
  })

  it('shows no secret, for any chunk boundaries, and loses nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant('abcdef-secret'), fc.string({ maxLength: 12 })), { maxLength: 8 }),
        fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 40 }),
        (words, cuts) => {
          const redactor = createSecretRedactor()
          redactor.add('abcdef-secret', 'K')
          const whole = words.join('')
          const stream = redactor.stream()
          let shown = ''
          let at = 0
          for (let n = 0; at < whole.length; n++) {
            const next = at + Math.max(1, cuts[n % cuts.length] ?? 1)
            shown += stream.push(whole.slice(at, next))
            at = next
          }
          shown += stream.end()
          expect(shown).toBe(redactor.text(whole))
        },
      ),
      { numRuns: 300 },
    )
  })
})
