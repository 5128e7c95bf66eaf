/** Milliseconds between two looks at the folders that servers were told of. */
const lookMs = 500

/** Does something over and over once it was begun, one time after another, until the signal. */
export class Watch {
  readonly #look: () => Promise<void>
  readonly #signal: AbortSignal
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(look: () => Promise<void>, signal: AbortSignal) {
    this.#look = look
    this.#signal = signal
    signal.addEventListener('abort', () => clearInterval(this.#timer), { once: true })
  }

  begin(): void {
    if (this.#signal.aborted) return
    this.#timer ??= setInterval(() => {
      if (this.#looking === undefined) this.now()
    }, lookMs).unref()
  }

  /** Looks at once, after the look that is under way. */
  now(): Promise<void> {
    const looking = (this.#looking ?? Promise.resolve())
      .then(() => (this.#signal.aborted ? undefined : this.#look()))
      .catch(() => {})
      .finally(() => {
        if (this.#looking === looking) this.#looking = undefined
      })
    this.#looking = looking
    return looking
  }
}
