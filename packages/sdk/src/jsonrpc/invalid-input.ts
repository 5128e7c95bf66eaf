/** How much input without any message is tolerated. */
export interface InvalidInputBounds {
  readonly invalidLines: number
  readonly invalidBytes: number
  readonly invalidMs: number
}

/**
 * Counts input that holds no message: lines that are not JSON-RPC, events without one, comments. A program may log to its output,
 * so some is tolerated. A peer that sends nothing else is cut, because every line of it costs time.
 */
export class InvalidInput {
  readonly #bounds: InvalidInputBounds
  #lines = 0
  #bytes = 0
  #since = 0

  constructor(bounds: InvalidInputBounds) {
    this.#bounds = bounds
  }

  /** Counts invalid input since the last message. The result is whether the peer must be cut. */
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

  /** A message came. */
  reset(): void {
    this.#lines = 0
  }

  /** What was sent, in words for a message. */
  toString(): string {
    return `${this.#lines} lines or events (${this.#bytes} bytes) that are no messages, and nothing else`
  }
}
