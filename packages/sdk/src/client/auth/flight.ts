import { orAborted } from '../scope.ts'

interface Flight {
  readonly promise: Promise<void>
  readonly stop: AbortController
  waiting: number
}

/** One piece of work at a time, shared by all who want it meanwhile, and ended when none of them waits any more. */
export class SharedWork {
  #flight: Flight | undefined

  /** Joins the work that is going on, or begins it. Without a signal the caller waits to the end. */
  async join(work: (signal: AbortSignal) => Promise<void>, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const flight = this.#flight ?? this.#begin(work)
    flight.waiting++
    try {
      await (signal === undefined ? flight.promise : orAborted(flight.promise, signal))
    } finally {
      if (--flight.waiting === 0) flight.stop.abort(signal?.reason)
      if (flight.waiting === 0 && this.#flight === flight) this.#flight = undefined
    }
  }

  #begin(work: (signal: AbortSignal) => Promise<void>): Flight {
    const stop = new AbortController()
    const promise = work(stop.signal)
    const flight: Flight = { promise, stop, waiting: 0 }
    this.#flight = flight
    const over = (): void => {
      if (this.#flight === flight) this.#flight = undefined
    }
    promise.then(over, over)
    return flight
  }
}
