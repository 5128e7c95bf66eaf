import type { ProtocolVersion } from '@jackfield/sdk'
import type { Apart, Kind } from './schema-exceptions.ts'
import { placesIn, values, withValueAt } from './schema-places.ts'

/** One change of a right message. */
export interface Change {
  changed: object
  place: readonly string[]
  value: unknown
}

/** Every change of a message: each place of it as each value. */
export function* changesOf(message: object): Generator<Change> {
  for (const place of placesIn(message))
    for (const value of values) yield { changed: withValueAt(message, place, value), place, value }
}

/** Counts trials, and keeps those in which ours and the schema do not agree. */
export class Differences {
  readonly #kind: Kind
  readonly #apart: Apart[] = []
  #trials = 0

  constructor(kind: Kind) {
    this.#kind = kind
  }

  note(
    revision: ProtocolVersion,
    method: string,
    { place, value }: Change,
    verdicts: { wrong: boolean; refused: boolean },
  ): void {
    this.#trials++
    if (verdicts.wrong === verdicts.refused) return
    this.#apart.push({
      kind: this.#kind,
      revision,
      method,
      place: place.join('.'),
      value: value === undefined ? 'absent' : JSON.stringify(value),
      ours: verdicts.wrong ? 'taken' : 'refused',
    })
  }

  /** What a program prints. */
  found(): { trials: number; apart: Apart[] } {
    return { trials: this.#trials, apart: this.#apart }
  }
}

/** Prints what several counts are together, and settles when that was written whole. */
export function print(...all: readonly Differences[]): Promise<void> {
  const found = all.map((one) => one.found())
  const trials = found.reduce((sum, one) => sum + one.trials, 0)
  const text = JSON.stringify({ trials, apart: found.flatMap(({ apart }) => apart) })
  return new Promise((resolve) => process.stdout.write(text, () => resolve()))
}
