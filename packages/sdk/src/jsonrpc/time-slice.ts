const newline = 10
/** Smaller pieces slow down large messages, larger ones block the event loop longer on many small lines. */
const pieceBytes = 16_384
const sliceMs = 10

/** Where the piece of a chunk that starts at `from` ends: after a newline, or at the end of the chunk. */
export function pieceEnd(chunk: Uint8Array, from: number): number {
  if (chunk.length - from <= pieceBytes) return chunk.length
  const at = chunk.indexOf(newline, from + pieceBytes - 1)
  return at === -1 ? chunk.length : at + 1
}

/** Measures how long work has run since it last yielded to the event loop. */
export class TimeSlice {
  #spentMs = 0
  #since = 0

  begin(): void {
    this.#since = performance.now()
  }

  /** Ends one unit of work. Returns true, and resets, when the caller must yield to the event loop before the next. */
  end(): boolean {
    const now = performance.now()
    this.#spentMs += now - this.#since
    this.#since = now
    if (this.#spentMs < sliceMs) return false
    this.#spentMs = 0
    return true
  }
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
