import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gc } from '../../../../test/setup/memory.ts'
import { RotatingMap, RotatingSet } from '../../src/jsonrpc/rotating-map.ts'

/** Bytes of heap in use once everything young that nothing points to is gone. */
function countKept(): number {
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  return process.memoryUsage().heapUsed
}

/** Has many values come and go, 32 of them there at a time, and gives the bytes that stay. */
function churn(entries: {
  set(key: number, value: string[]): unknown
  delete(key: number): unknown
}): number {
  for (let key = -32; key < 0; key++) entries.set(key, [])
  // The object below is in the old generation from here on.
  gc()
  const before = countKept()
  for (let key = 0; key < 20_000; key++) {
    entries.set(
      key,
      Array.from({ length: 64 }, () => 'kept'),
    )
    entries.delete(key - 32)
  }
  return countKept() - before
}

describe('short-lived entries', () => {
  it('leave no garbage of the old generation, at any lifetime of the map', () => {
    expect(churn(new RotatingMap<number, string[]>())).toBeLessThan(2_000_000)
  })

  it('leave none in a set either', () => {
    const there = new Map<number, string[]>()
    const members = new RotatingSet<string[]>()
    const stays = churn({
      set(key, value) {
        there.set(key & 63, value)
        members.add(value)
      },
      delete(key) {
        const value = there.get(key & 63)
        if (value !== undefined) members.delete(value)
      },
    })
    expect(stays).toBeLessThan(2_000_000)
  })

  it('behave as in a map', () => {
    const key = fc.integer({ min: 0, max: 40 })
    const action = fc.oneof(
      { weight: 20, arbitrary: fc.record({ do: fc.constant('set' as const), key, value: fc.nat() }) },
      { weight: 18, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 4_000, size: 'max' }), (actions) => {
        const map = new Map<number, number>()
        const mine = new RotatingMap<number, number>()
        for (const one of actions) {
          if (one.do === 'set') {
            map.set(one.key, one.value)
            mine.set(one.key, one.value)
          } else if (one.do === 'delete') {
            expect(mine.delete(one.key)).toBe(map.delete(one.key))
          } else {
            map.clear()
            mine.clear()
          }
          expect(mine.size).toBe(map.size)
        }
        expect(mine.entries()).toEqual([...map])
        expect(mine.values()).toEqual([...map.values()])
        for (let at = 0; at <= 40; at++) {
          expect(mine.get(at)).toBe(map.get(at))
          expect(mine.has(at)).toBe(map.has(at))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('are iterated in insertion order, unaffected by changes', () => {
    const set = new RotatingSet<string>()
    for (const member of ['a', 'b', 'c', 'a']) set.add(member)
    const received = set.values()
    expect(set.delete('b')).toBe(true)
    expect(set.delete('b')).toBe(false)
    expect(received).toEqual(['a', 'b', 'c'])
    expect(set.values()).toEqual(['a', 'c'])
    set.clear()
    expect(set.size).toBe(0)
  })
})
