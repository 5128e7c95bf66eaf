import type { Backplane } from '@jackfield/sdk'
import fc from 'fast-check'
import { expect } from 'vitest'

const hour = 3_600_000
const key = fc.constantFrom('k', 'l')
const text = fc.oneof(fc.constantFrom('', 'a', 'b'), fc.string({ unit: 'grapheme', maxLength: 4 }))
const ttl = fc.constantFrom(hour, hour, hour, 0, -1)
/** Which of the positions so far, counted from the newest one: each backplane has its own. */
const nth = fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined })
const step = fc.oneof(
  fc.record({ do: fc.constant('get' as const), key }),
  fc.record({ do: fc.constant('set' as const), key, text, ttl }),
  fc.record({ do: fc.constant('add' as const), key, text, ttl }),
  fc.record({ do: fc.constant('swap' as const), key, text, to: text, ttl }),
  fc.record({ do: fc.constant('delete' as const), key }),
  fc.record({
    do: fc.constant('append' as const),
    key,
    text,
    keep: fc.integer({ min: 0, max: 4 }),
    ttl,
    previous: nth,
  }),
  fc.record({ do: fc.constant('read' as const), key, at: nth, newest: nth }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** What a backplane does, with its positions counted in the order in which it gave them. */
async function taken(plane: Backplane, step: Step, run: string, positions: string[]): Promise<unknown> {
  const key = `${run} ${step.key}`
  const named = (nth: number | undefined) => (nth === undefined ? undefined : positions.at(-1 - nth))
  switch (step.do) {
    case 'get':
      return plane.get(key)
    case 'set':
      return plane.set(key, step.text, step.ttl)
    case 'add':
      return plane.add(key, step.text, step.ttl)
    case 'swap':
      return plane.swap(key, step.text, step.to, step.ttl)
    case 'delete':
      return plane.delete(key)
    case 'append':
      positions.push(await plane.append(key, step.text, step.keep, step.ttl, named(step.previous)))
      return undefined
    case 'read': {
      const entries = await plane.read(key, named(step.at) ?? '0', named(step.newest))
      return entries?.map(({ position, entry }) => [positions.indexOf(position), entry])
    }
  }
}

/** Runs sequences of commands on two backplanes, and requires the same results. */
export async function requireSame(one: Backplane, other: Backplane, numRuns: number): Promise<void> {
  let runs = 0
  const same = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
    const run = String(runs++)
    const positions: [string[], string[]] = [[], []]
    for (const each of steps) {
      expect(await taken(other, each, run, positions[0]), JSON.stringify(each)).toEqual(
        await taken(one, each, run, positions[1]),
      )
    }
  })
  await fc.assert(same, { numRuns })
}
