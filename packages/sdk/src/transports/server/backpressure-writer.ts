import { unref } from './options.ts'

/** Characters that are handed over at once: a stream shows what was taken of it only write by write. */
const pieceChars = 64 * 1024

/** A stream of text, as `node:stream` and `node:http` have them. */
export interface Sink {
  readonly destroyed: boolean
  /** What was written and not yet taken. */
  readonly writableLength: number
}

export interface BackpressureEvents {
  /** The reader has not taken yet what it was given. */
  onHeld?(): void
  /** The reader took everything. */
  onDrained?(): void
}

/**
 * Text on its way to a stream that may be slower than what it is given. That of one turn of the event loop goes out at
 * once, and no more than a piece is with the stream at any time, so that whoever waits sees a slow reader take it.
 */
export class BackpressureWriter {
  readonly #sink: Sink
  readonly #write: (piece: string, done: () => void) => void
  readonly #events: BackpressureEvents
  readonly #pieces: string[] = []
  #collected = ''
  #waiting = 0
  /** Writes that have not called back. */
  #open = 0
  #taken = 0
  #scheduled = false

  /** @param write writes to the sink and calls back when that was taken, or failed */
  constructor(sink: Sink, write: (piece: string, done: () => void) => void, events: BackpressureEvents = {}) {
    this.#sink = sink
    this.#write = write
    this.#events = events
  }

  /** Characters that were given and not yet taken. */
  get queued(): number {
    return this.#waiting + this.#sink.writableLength
  }

  /** Grows whenever the reader takes something. */
  get taken(): number {
    return this.#taken
  }

  /** Whether everything was handed over. */
  get isEmpty(): boolean {
    return this.#waiting === 0
  }

  add(text: string): void {
    this.#waiting += text.length
    this.#collected += text
    if (this.#collected.length >= pieceChars) {
      this.#pieces.push(this.#collected)
      this.#collected = ''
      this.flush()
    } else if (!this.#scheduled && this.#open === 0) {
      this.#scheduled = true
      process.nextTick(this.#onTurn)
    }
  }

  /** Hands over what may be now. */
  flush(): void {
    while (this.#waiting > 0 && !this.#isTaking()) {
      if (this.#sink.destroyed) {
        this.clear()
        return
      }
      this.#give(this.#next())
    }
    if (this.#isTaking()) this.#events.onHeld?.()
  }

  /** Hands over everything, because nothing is waited for any more. */
  release(): void {
    const rest = this.#pieces.join('') + this.#collected
    this.clear()
    if (rest !== '' && !this.#sink.destroyed) this.#give(rest)
  }

  /** Forgets what was not handed over. */
  clear(): void {
    this.#pieces.length = 0
    this.#collected = ''
    this.#waiting = 0
  }

  readonly #onTurn = (): void => {
    this.#scheduled = false
    this.flush()
  }

  readonly #onDone = (): void => {
    this.#open--
    this.#taken++
    this.flush()
    if (this.#open === 0 && this.#waiting === 0) this.#events.onDrained?.()
  }

  /** A write that was taken at once calls back a moment later, and is not waited for. */
  #isTaking(): boolean {
    return this.#open > 0 && this.#sink.writableLength > 0
  }

  #give(piece: string): void {
    this.#open++
    this.#write(piece, this.#onDone)
  }

  /** The next piece, which ends where a character does. */
  #next(): string {
    let first = this.#pieces.shift()
    if (first === undefined) {
      first = this.#collected
      this.#collected = ''
    }
    if (first.length <= pieceChars) {
      this.#waiting -= first.length
      return first
    }
    const last = first.charCodeAt(pieceChars - 1)
    const end = last >= 0xd800 && last <= 0xdbff ? pieceChars - 1 : pieceChars
    this.#pieces.unshift(first.slice(end))
    this.#waiting -= end
    return first.slice(0, end)
  }
}

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
export class StallDetector {
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
