import { unref } from './options.ts'

/** Characters per write: a stream reports progress only per write. */
const pieceChars = 64 * 1024

/** The part of a writable stream of Node that is used here. */
export interface Sink {
  readonly destroyed: boolean
  /** Characters or bytes that were written and not yet flushed. */
  readonly writableLength: number
}

export interface BackpressureEvents {
  onBackpressure?(): void
  onDrained?(): void
}

/**
 * Buffers text for a stream with a slow reader. The text of one turn of the event loop is written at once, and at most one
 * piece is in the stream's own buffer, so that the progress of the reader can be observed.
 */
export class BackpressureWriter {
  readonly #sink: Sink
  readonly #write: (piece: string, done: () => void) => void
  readonly #events: BackpressureEvents
  readonly #pieces: string[] = []
  #collected = ''
  #queuedChars = 0
  /** Writes that have not called back. */
  #pendingWrites = 0
  #flushedWrites = 0
  #scheduled = false

  /** @param write writes to the sink and calls back when that was flushed, or failed */
  constructor(sink: Sink, write: (piece: string, done: () => void) => void, events: BackpressureEvents = {}) {
    this.#sink = sink
    this.#write = write
    this.#events = events
  }

  /** Characters that were added and not yet flushed. */
  get queued(): number {
    return this.#queuedChars + this.#sink.writableLength
  }

  /** Increases with every flushed write. */
  get flushedWrites(): number {
    return this.#flushedWrites
  }

  get isEmpty(): boolean {
    return this.#queuedChars === 0
  }

  add(text: string): void {
    this.#queuedChars += text.length
    this.#collected += text
    if (this.#collected.length >= pieceChars) {
      this.#pieces.push(this.#collected)
      this.#collected = ''
      this.flush()
    } else if (!this.#scheduled && this.#pendingWrites === 0) {
      this.#scheduled = true
      process.nextTick(this.#onTurn)
    }
  }

  /** Writes as much as the reader can receive. */
  flush(): void {
    while (this.#queuedChars > 0 && !this.#isWriting()) {
      if (this.#sink.destroyed) {
        this.clear()
        return
      }
      this.#writeNow(this.#next())
    }
    if (this.#isWriting()) this.#events.onBackpressure?.()
  }

  /** Writes everything, without regard to the reader. */
  flushAll(): void {
    const rest = this.#pieces.join('') + this.#collected
    this.clear()
    if (rest !== '' && !this.#sink.destroyed) this.#writeNow(rest)
  }

  /** Discards what was not written. */
  clear(): void {
    this.#pieces.length = 0
    this.#collected = ''
    this.#queuedChars = 0
  }

  readonly #onTurn = (): void => {
    this.#scheduled = false
    this.flush()
  }

  readonly #onDone = (): void => {
    this.#pendingWrites--
    this.#flushedWrites++
    this.flush()
    if (this.#pendingWrites === 0 && this.#queuedChars === 0) this.#events.onDrained?.()
  }

  /** Whether a write was not flushed yet. One that was flushed at once calls back later, and does not count. */
  #isWriting(): boolean {
    return this.#pendingWrites > 0 && this.#sink.writableLength > 0
  }

  #writeNow(piece: string): void {
    this.#pendingWrites++
    this.#write(piece, this.#onDone)
  }

  /** The next piece, without splitting a surrogate pair. */
  #next(): string {
    let first = this.#pieces.shift()
    if (first === undefined) {
      first = this.#collected
      this.#collected = ''
    }
    if (first.length <= pieceChars) {
      this.#queuedChars -= first.length
      return first
    }
    const last = first.charCodeAt(pieceChars - 1)
    const end = last >= 0xd800 && last <= 0xdbff ? pieceChars - 1 : pieceChars
    this.#pieces.unshift(first.slice(end))
    this.#queuedChars -= end
    return first.slice(0, end)
  }
}

/** Checks without progress after which a reader has stalled. */
const checksPerPeriod = 4

export interface WatchedReader {
  /** A number that changes with the reader's progress. */
  progress(): number
  /** Whether it still needs to be watched. */
  isBehind(): boolean
}

/**
 * Detects a reader without progress. It checks several times per period, so that time in which this process was blocked counts
 * as one check at most.
 */
export class StallDetector {
  readonly #reader: WatchedReader
  readonly #everyMs: number
  readonly #onStalled: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #lastProgress = 0
  #checksLeft = checksPerPeriod

  constructor(reader: WatchedReader, stallMs: number, onStalled: () => void) {
    this.#reader = reader
    this.#everyMs = Math.ceil(stallMs / checksPerPeriod)
    this.#onStalled = onStalled
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#lastProgress = this.#reader.progress()
    this.#checksLeft = checksPerPeriod
    this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(): void {
    this.#timer = unref(setTimeout(this.#check, this.#everyMs))
  }

  readonly #check = (): void => {
    this.#timer = undefined
    if (!this.#reader.isBehind()) return
    const progress = this.#reader.progress()
    if (progress !== this.#lastProgress) {
      this.#lastProgress = progress
      this.#checksLeft = checksPerPeriod
    } else if (--this.#checksLeft === 0) {
      this.#onStalled()
      return
    }
    this.#wait()
  }
}
