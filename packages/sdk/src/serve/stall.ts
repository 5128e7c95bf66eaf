import { unref } from './timers.ts'

/** Looks without any progress that make a stall. */
const looks = 4

export interface WatchedReader {
  /** A number that changes whenever the reader took something. */
  taken(): number
  /** Whether it is watched any longer. */
  isBehind(): boolean
}

/**
 * Watches a reader that is behind, and tells when it took nothing for too long. It looks several times, and each look
 * counts for no more than its share: the time in which this process did nothing is no fault of the reader.
 */
export class StallWatch {
  readonly #reader: WatchedReader
  readonly #everyMs: number
  readonly #onStalled: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #seen = 0
  #left = looks

  constructor(reader: WatchedReader, stallMs: number, onStalled: () => void) {
    this.#reader = reader
    this.#everyMs = Math.ceil(stallMs / looks)
    this.#onStalled = onStalled
  }

  /** Begins to watch, where it does not already. */
  start(): void {
    if (this.#timer !== undefined) return
    this.#seen = this.#reader.taken()
    this.#left = looks
    this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(): void {
    this.#timer = unref(setTimeout(this.#look, this.#everyMs))
  }

  readonly #look = (): void => {
    this.#timer = undefined
    if (!this.#reader.isBehind()) return
    const taken = this.#reader.taken()
    if (taken !== this.#seen) {
      this.#seen = taken
      this.#left = looks
    } else if (--this.#left === 0) {
      this.#onStalled()
      return
    }
    this.#wait()
  }
}
