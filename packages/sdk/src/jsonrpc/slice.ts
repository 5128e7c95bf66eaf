const newline = 10
/** Smaller pieces cost more for input of large messages, larger ones hold the event loop for longer with many small lines. */
const pieceBytes = 4096
const sliceMs = 10

/** The end of the piece of a chunk that begins at `from`: behind a newline, or the end of the chunk. */
export function pieceEnd(chunk: Uint8Array, from: number): number {
  if (chunk.length - from <= pieceBytes) return chunk.length
  const at = chunk.indexOf(newline, from + pieceBytes - 1)
  return at === -1 ? chunk.length : at + 1
}

/** Measures how long work has run since the event loop last turned. */
export class Slice {
  #spentMs = 0
  #since = 0

  begin(): void {
    this.#since = performance.now()
  }

  /** Ends a piece of work. The result is whether the event loop must turn before the next; the measure then starts anew. */
  end(): boolean {
    const now = performance.now()
    this.#spentMs += now - this.#since
    this.#since = now
    if (this.#spentMs < sliceMs) return false
    this.#spentMs = 0
    return true
  }
}

/** Settles in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
