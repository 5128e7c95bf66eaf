import { orAborted } from '../scope.ts'

/** Milliseconds of silence after which the next place is asked too. */
const silentMs = 1_500
/** Milliseconds all places together may take. */
export const withinMs = 5_000

/** What came of asking one place; `late` where it had not answered when the time of all was up. */
export type Outcome<Place, Answer> =
  | { readonly place: Place; readonly answer: Answer }
  | { readonly place: Place; readonly error: unknown; readonly late: boolean }

/**
 * Asks places that may hold the same, and gives what came of each in their order. One is asked when those before it
 * have answered, or have been silent for 1.5 s, so that a place that never answers takes no time of the others; all
 * together take 5 s at most. Whoever found what it looked for asks for no more, and what is still under way is dropped.
 */
export async function* inTurn<Place, Answer>(
  places: readonly Place[],
  ask: (place: Place, signal: AbortSignal) => Promise<Answer>,
  signal?: AbortSignal,
): AsyncGenerator<Outcome<Place, Answer>> {
  const stop = new AbortController()
  const limited = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  const late = setTimeout(() => stop.abort(tooLate), withinMs)
  const asked: Promise<Answer>[] = []
  let next: ReturnType<typeof setTimeout> | undefined
  const askNext = (): void => {
    clearTimeout(next)
    const place = places[asked.length]
    if (place === undefined || limited.aborted) return
    const answer = orAborted(ask(place, limited), limited)
    answer.catch(() => {})
    asked.push(answer)
    next = setTimeout(askNext, silentMs)
  }
  const outcomeOf = async (
    place: Place,
    answer: Promise<Answer> | undefined,
  ): Promise<Outcome<Place, Answer>> => {
    try {
      if (answer !== undefined) return { place, answer: await answer }
    } catch (error) {
      if (error !== tooLate) return { place, error, late: false }
    }
    return { place, error: tooLate, late: true }
  }
  try {
    for (const [at, place] of places.entries()) {
      signal?.throwIfAborted()
      if (asked.length === at) askNext()
      yield await outcomeOf(place, asked[at])
    }
  } finally {
    clearTimeout(late)
    clearTimeout(next)
    stop.abort()
  }
}

const tooLate = new Error(`There was no answer within ${withinMs} ms`)
