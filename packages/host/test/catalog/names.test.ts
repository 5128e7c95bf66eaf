import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exposedName } from '../../src/servers/catalog.ts'

const allowed = /^[a-zA-Z0-9_-]{1,64}$/

describe('qualified names of tools', () => {
  it('are server and tool if possible', () => {
    expect(exposedName('github', 'create_issue')).toBe('github__create_issue')
    expect(exposedName('my-fs_2', '_private')).toBe('my-fs_2___private')
  })

  it.each([
    [
      ['a__b', 'c'],
      ['a', 'b__c'],
    ],
    [
      ['a_', '_b'],
      ['a', '__b'],
    ],
    [
      ['a_', 'b'],
      ['a', '_b'],
    ],
    [
      ['a.b', 'c'],
      ['a_b', 'c'],
    ],
    [
      ['a b', 'c'],
      ['a_b', 'c'],
    ],
    [
      ['a', 'x.y'],
      ['a', 'x/y'],
    ],
    [
      ['A', 'x'],
      ['a', 'x'],
    ],
    [
      ['é', 'x'],
      ['e', 'x'],
    ],
    [
      ['а', 'x'],
      ['a', 'x'],
    ],
    [
      ['', 'x'],
      ['_', 'x'],
    ],
  ] as const)('distinguish %j and %j', ([s1, t1], [s2, t2]) => {
    expect(exposedName(s1, t1)).not.toBe(exposedName(s2, t2))
    expect(exposedName(s1, t1)).toMatch(allowed)
    expect(exposedName(s2, t2)).toMatch(allowed)
  })

  it('keep the start and the end of long names', () => {
    const name = exposedName('server', `${'x'.repeat(100)}_delete`)
    expect(name).toHaveLength(64)
    expect(name).toMatch(/^server__x+_[a-z2-7]{16}_x*_delete$/)
    expect(exposedName('server', `${'x'.repeat(101)}_delete`)).not.toBe(name)
  })

  it('cannot be forged with a tool named like a hashed name', () => {
    const hashed = exposedName('bank', `pay${'x'.repeat(99)}`)
    const forged = hashed.slice('bank__'.length)
    expect(exposedName('bank', forged)).not.toBe(hashed)
  })

  it('are one to one for 2 000 generated pairs at a time, valid for every provider, and stable', () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', 'A', '.'), maxLength: 6 }),
      fc.string({ unit: fc.constantFrom('a', '_'), maxLength: 70 }),
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
    )
    const pairs = fc.array(fc.tuple(part, part), { minLength: 2000, maxLength: 2000, size: 'max' })
    fc.assert(
      fc.property(pairs, (list) => {
        const seen = new Map<string, string>()
        for (const [server, tool] of list) {
          const name = exposedName(server, tool)
          if (!allowed.test(name)) throw new Error(`not allowed: ${name}`)
          const pair = JSON.stringify([server, tool])
          const owner = seen.get(name) ?? pair
          if (owner !== pair) throw new Error(`${owner} and ${pair} share ${name}`)
          seen.set(name, pair)
        }
        for (const [server, tool] of list.toReversed()) {
          if (seen.get(exposedName(server, tool)) !== JSON.stringify([server, tool]))
            throw new Error('changed')
        }
      }),
      { numRuns: 10 },
    )
  })

  it('are the same as in earlier versions', () => {
    expect(exposedName('a__b', 'c')).toBe('a__b_kkbdt2ntt437klex_c')
    expect(exposedName('srv', 'naïve tool')).toBe('srv_qogyrb4x7ojz6fgz_na_ve_tool')
  })
})
