/** How much input without a valid message is tolerated. */
export interface InvalidInputBounds {
  readonly invalidLines: number
  readonly invalidBytes: number
  readonly invalidMs: number
}

/**
 * Counts input that is not a message: lines that are not JSON-RPC, empty events, comments. Some is tolerated, because
 * programs may log to stdout; a peer that sends nothing else is disconnected.
 */
export class InvalidInput {
  readonly #bounds: InvalidInputBounds
  #lines = 0
  #bytes = 0
  #since = 0

  constructor(bounds: InvalidInputBounds) {
    this.#bounds = bounds
  }

  /** Counts invalid input since the last message. Returns true when the peer must be disconnected. */
  add(bytes: number, lines = 1): boolean {
    const { invalidLines, invalidBytes, invalidMs } = this.#bounds
    const now = performance.now()
    if (this.#lines === 0 || now - this.#since > invalidMs) {
      this.#lines = 0
      this.#bytes = 0
      this.#since = now
    }
    this.#lines += lines
    this.#bytes += bytes
    return this.#lines > invalidLines || this.#bytes > invalidBytes
  }

  /** Called for each valid message. */
  reset(): void {
    this.#lines = 0
  }

  /** What was received, for an error message. */
  toString(): string {
    return `${this.#lines} lines or events (${this.#bytes} bytes) without a valid message`
  }
}
