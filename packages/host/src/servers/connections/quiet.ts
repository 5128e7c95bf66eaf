export interface QuietBounds {
  maxChars: number
  windowMs: number
}

const bounds: QuietBounds = { maxChars: 262_144, windowMs: 60_000 }

/** Passes on text up to a bound per window of time; what is over it is counted and told of once. */
export class Quiet {
  readonly #pass: (text: string) => void
  readonly #tell: (message: string) => void
  readonly #maxChars: number
  readonly #windowMs: number
  readonly #now: () => number
  #since = Number.NEGATIVE_INFINITY
  #chars = 0
  #left = 0

  constructor(
    pass: (text: string) => void,
    tell: (message: string) => void,
    { maxChars, windowMs }: QuietBounds = bounds,
    now: () => number = () => performance.now(),
  ) {
    this.#pass = pass
    this.#tell = tell
    this.#maxChars = maxChars
    this.#windowMs = windowMs
    this.#now = now
  }

  push(text: string): void {
    if (this.#now() - this.#since >= this.#windowMs) {
      this.end()
      this.#since = this.#now()
    }
    const kept = text.slice(0, Math.max(0, this.#maxChars - this.#chars))
    this.#chars += kept.length
    const first = this.#left === 0
    this.#left += text.length - kept.length
    if (kept !== '') this.#pass(kept)
    if (first && this.#left > 0) {
      this.#tell(`It writes more to stderr than is shown: over ${this.#maxChars} characters in a minute`)
    }
  }

  /** Tells how much was left out, and begins anew. */
  end(): void {
    if (this.#left > 0) this.#tell(`${this.#left} characters that it wrote to stderr were not shown`)
    this.#left = 0
    this.#chars = 0
  }
}
