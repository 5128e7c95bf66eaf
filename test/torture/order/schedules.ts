import type { ProtocolVersion } from '@jackfield/sdk'
import type { Random } from '../random.ts'

/** What can happen to a request, in any order. */
export const steps = ['request', 'progress', 'cancel', 'response', 'disconnect', 'timeout'] as const
export type Step = (typeof steps)[number]

/** How long the orders are that are all tried: longest on the newest revision of each era, which has all that others have. */
export function wholeUpTo(revision: ProtocolVersion, long: boolean): number {
  if (long) return 7
  return revision >= '2025-11-25' ? 5 : 4
}

/** A request, and whatever else may happen. */
type Steps<T extends string> = readonly ['request', ...T[]]

/** Every order of so many steps and fewer that begins with a request. */
export function* everySchedule<T extends string>(
  longest: number,
  of: Steps<T>,
): Generator<('request' | T)[]> {
  let last: ('request' | T)[][] = [['request']]
  for (let length = 1; length <= longest; length++) {
    yield* last
    last = last.flatMap((schedule) => of.map((step) => [...schedule, step]))
  }
}

/** So many orders of `length` steps that begin with a request, found by chance. */
export function* someSchedules<T extends string>(
  count: number,
  length: number,
  random: Random,
  of: Steps<T>,
): Generator<('request' | T)[]> {
  for (let made = 0; made < count; made++) {
    yield ['request', ...Array.from({ length: length - 1 }, () => random.pick<'request' | T>(of))]
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
