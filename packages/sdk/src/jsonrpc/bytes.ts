const none = new Uint8Array()
// Made when first needed: its module of the runtime takes long to load.
let encoder: TextEncoder | undefined

/** Bytes of a value as JSON text in UTF-8. */
export function jsonBytes(value: object): number {
  encoder ??= new TextEncoder()
  return encoder.encode(JSON.stringify(value)).length
}

/** What so many bytes cost while they are collected: the room grows by doubling. */
export function collectedBytes(length: number): number {
  return 2 * length
}

/** Bytes that come in pieces, put together. It holds at most about twice what came, however small the pieces are. */
export class ByteCollector {
  #bytes: Uint8Array = none
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Adds a piece, which must not change until all of it is taken. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length
    if (this.#length === 0) {
      // It has no room to spare, so nothing is ever written into what belongs to somebody else.
      this.#bytes = piece
    } else {
      if (length > this.#bytes.length) this.#grow(Math.max(length, this.#bytes.length * 2))
      this.#bytes.set(piece, this.#length)
    }
    this.#length = length
  }

  /** Gives what came so far, and begins anew. */
  take(): Uint8Array {
    const all = this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length)
    this.clear()
    return all
  }

  clear(): void {
    this.#bytes = none
    this.#length = 0
  }

  #grow(to: number): void {
    const bytes = new Uint8Array(to)
    bytes.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = bytes
  }
}

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
