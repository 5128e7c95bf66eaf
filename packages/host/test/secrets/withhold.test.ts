import { inspect } from 'node:util'
import { McpError, RpcError } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createSealRecipient,
  createSecretRedactor,
  marksIn,
  redactedError,
  restoreMarks,
  sealFor,
} from '../../src/config/secrets/redactor.ts'
import { extractSecrets, fill } from '../../src/core/suspended-secrets.ts'

const named = 'NAMED-secret-19'
const bare = 'BARE-secret-77'

function redactor() {
  const made = createSecretRedactor()
  made.add(named, 'office', 'office')
  made.add(bare, 'header')
  return made
}

/** JSON with the two secrets in texts and names of members, whole and in pieces of others. */
const text = fc
  .array(fc.oneof(fc.constant(named), fc.constant(bare), fc.string({ maxLength: 5 })), { maxLength: 4 })
  .map((pieces) => pieces.join(''))
const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  ),
}))

describe('a value without its secrets', () => {
  it('contains none of them, and is restored exactly', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (given) => {
        // As it comes out of the store.
        const value: unknown = JSON.parse(JSON.stringify(given))
        const extracted = extractSecrets({ value }, redactor())
        if (extracted === undefined) {
          expect(JSON.stringify(value)).not.toMatch(/NAMED-secret-19|BARE-secret-77/)
          return
        }
        const stored = JSON.parse(JSON.stringify({ value: extracted.value, holes: extracted.holes }))
        expect(JSON.stringify(stored)).not.toMatch(/NAMED-secret-19|BARE-secret-77/)
        const secret = async (name: string): Promise<string> => (name === 'office' ? named : '')
        expect(await fill({ ...stored, bare: extracted.bare }, secret)).toEqual({ value })
      }),
    )
  })

  it('restores only what was removed: an equal reference in a text stays text', async () => {
    const reference = `$${'{'}secret:office}`
    const extracted = extractSecrets({ given: reference, token: named }, redactor())
    if (extracted === undefined) throw new Error('nothing was taken out')
    expect(extracted.holes).toEqual([{ at: ['token'], parts: [{ secret: 'office' }] }])
    expect(await fill(extracted, async () => 'another value')).toEqual({
      given: reference,
      token: 'another value',
    })
  })
})

describe('marks of secrets', () => {
  it('are replaced where the user kept them', () => {
    const given = { a: `Bearer ${bare}`, b: [named] }
    const known = redactor()
    const shown = known.value(given)
    expect(shown).toEqual({ a: 'Bearer [header]', b: ['[office]'] })
    expect(restoreMarks({ ...shown, c: 'more' }, marksIn(given, known))).toEqual({ ...given, c: 'more' })
  })

  it('that were not shown are literal', () => {
    expect(restoreMarks('[office]', marksIn({ a: bare }, redactor()))).toBe('[office]')
  })
})

describe('a sealed text', () => {
  it('is opened only by its program, for its question, and unchanged', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (given, about) => {
        const [me, other] = [createSealRecipient(), createSealRecipient()]
        const sealed = sealFor(me.address, given, about)
        expect(me.open(sealed, about)).toBe(Buffer.from(given, 'utf8').toString('utf8'))
        expect(other.open(sealed, about)).toBeUndefined()
        expect(me.open(sealed, `${about}!`)).toBeUndefined()
        const at = sealed.length - 6
        const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`
        expect(me.open(changed, about)).toBeUndefined()
      }),
      { numRuns: 20 },
    )
  })

  it('that is invalid is not opened', () => {
    for (const text of ['', '.', 'x.y', 'AAAA.AAAA'])
      expect(createSealRecipient().open(text, 'q')).toBeUndefined()
  })
})

describe('an error', () => {
  const shown = (error: unknown): string => inspect(redactedError(error, redactor()), { depth: 20 })

  it('has no secret in any printed part, its causes included', () => {
    const cause = new Error(`far ${bare}`)
    for (const error of [
      new Error(`with ${bare}`),
      new Error('plain', { cause }),
      new Error('plain', { cause: { token: bare } }),
      new McpError('HTTP', `with ${bare}`, {
        cause: new Error('near', { cause }),
        details: { told: bare },
      }),
      new RpcError(-32603, 'plain', { told: [bare] }),
    ]) {
      expect(shown(error)).not.toContain(bare)
      expect(shown(error)).toMatch(/with|plain/)
    }
  })

  it('is unchanged, with its cause, without a secret', () => {
    const error = new McpError('HTTP', 'plain', { cause: new Error('near') })
    expect(redactedError(error, redactor())).toBe(error)
    expect(redactedError(new McpError('HTTP', bare, { cause: error }), redactor())).toMatchObject({
      code: 'HTTP',
      message: '[header]',
      cause: error,
    })
  })
})

describe('a value that is too short to be searched for', () => {
  it('is replaced as the whole value of a member with its name', () => {
    const known = createSecretRedactor()
    known.addMember('pin', 4711)
    expect(known.value({ pin: 4711, deep: [{ pin: '4711' }], other: 4711, text: 'pin 4711' })).toEqual({
      pin: '[pin]',
      deep: [{ pin: '[pin]' }],
      other: 4711,
      text: 'pin 4711',
    })
  })
})
