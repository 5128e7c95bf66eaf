import { memoryBackplane } from '@jackfield/sdk/testing'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const small = { remembered: 10, rememberedChars: 100, storedEventChars: 100 }
const full = { code: 'LIMIT', message: expect.stringContaining('limits.remembered') }

describe('a full backplane in memory', () => {
  it('rejects new values instead of dropping old ones', async () => {
    const plane = memoryBackplane(small)
    for (let nth = 0; nth < 10; nth++) await plane.add(`k${nth}`, 'v', 1_000)
    await expect(plane.add('more', 'v', 1_000)).rejects.toMatchObject(full)
    await expect(plane.set('more', 'v', 1_000)).rejects.toMatchObject(full)
    for (let nth = 0; nth < 10; nth++) expect(await plane.add(`k${nth}`, 'v', 1_000)).toBe(false)
  })

  it('keeps the old value if the new one does not fit', async () => {
    const plane = memoryBackplane(small)
    await plane.set('k', 'old', 1_000)
    await plane.set('other', 'x'.repeat(90), 1_000)
    await expect(plane.set('k', 'y'.repeat(20), 1_000)).rejects.toMatchObject({ code: 'LIMIT' })
    await expect(plane.swap('k', 'old', 'y'.repeat(20), 1_000)).rejects.toMatchObject({ code: 'LIMIT' })
    expect(await plane.get('k')).toBe('old')
  })

  it('counts a swapped value for the same owner', async () => {
    const plane = memoryBackplane(small)
    await plane.add('one', 'a', 1_000, 'ann')
    await plane.add('two', 'a', 1_000, 'ann')
    await plane.swap('two', 'a', 'b', 1_000)
    await expect(plane.add('three', 'c', 1_000, 'ann')).rejects.toMatchObject(full)
  })

  it('has room again for what was deleted or expired', async () => {
    const plane = memoryBackplane(small)
    for (let nth = 0; nth < 10; nth++) await plane.add(`k${nth}`, 'v', 5_000)
    await plane.delete('k0')
    await expect(plane.add('new', 'v', 60_000)).resolves.toBe(true)
    await expect(plane.add('newer', 'v', 60_000)).rejects.toMatchObject(full)
    vi.advanceTimersByTime(5_000)
    await expect(plane.add('newer', 'v', 60_000)).resolves.toBe(true)
  })
})

it('a backplane in memory behaves like a simple reference store, within its limits', async () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm')
  const value = fc.constantFrom(0, 1, 15, 40).map((length) => 'v'.repeat(length))
  const ttl = fc.integer({ min: 1, max: 4_000 })
  const owner = fc.constantFrom(undefined, 'ann', 'bob')
  const step = fc.oneof(
    fc.record({ does: fc.constant('set' as const), key, value, ttl, owner }),
    fc.record({ does: fc.constant('add' as const), key, value, ttl, owner }),
    fc.record({ does: fc.constant('swap' as const), key, expected: value, value, ttl }),
    fc.record({ does: fc.constant('delete' as const), key }),
    fc.record({ does: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3_000 }) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const plane = memoryBackplane(small)
      const model = new Map<string, { value: string; expires: number; owner: string | undefined }>()
      const live = (name: string) => {
        const entry = model.get(name)
        return entry !== undefined && entry.expires > Date.now() ? entry : undefined
      }
      for (const one of steps) {
        if (one.does === 'wait') vi.advanceTimersByTime(one.ms)
        else if (one.does === 'delete') {
          model.delete(one.key)
          await plane.delete(one.key)
        } else {
          const before = live(one.key)
          const mayPut =
            one.does === 'swap' ? before?.value === one.expected : one.does === 'set' || before === undefined
          const entry = { value: one.value, expires: Date.now() + one.ttl }
          const owned = one.does === 'swap' ? before?.owner : one.owner
          const outcome = await (one.does === 'swap'
            ? plane.swap(one.key, one.expected, one.value, one.ttl)
            : plane[one.does](one.key, one.value, one.ttl, one.owner)
          ).then(
            (result) => result ?? true,
            () => 'refused' as const,
          )
          expect(outcome === true || outcome === 'refused').toBe(mayPut)
          if (outcome === true) model.set(one.key, { ...entry, owner: owned })
        }
        const all = [...model.keys()].flatMap((name) => live(name) ?? [])
        for (const who of [undefined, 'ann', 'bob']) {
          const theirs = all.filter((entry) => who === undefined || entry.owner === who)
          const share = who === undefined ? 1 : 5
          expect(theirs.length).toBeLessThanOrEqual(small.remembered / share)
          const chars = theirs.reduce((sum, entry) => sum + entry.value.length, 0)
          expect(chars).toBeLessThanOrEqual(small.rememberedChars / share)
        }
        for (const name of model.keys()) expect(await plane.get(name)).toBe(live(name)?.value)
      }
      vi.advanceTimersByTime(10_000)
      for (let nth = 0; nth < small.remembered; nth++) {
        await expect(plane.add(`fresh ${nth}`, 'x'.repeat(10), 1)).resolves.toBe(true)
      }
    }),
    { numRuns: 200 },
  )
})
