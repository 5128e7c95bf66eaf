import type { Readable } from 'node:stream'
import { pieceEnd, Slice, utf8 } from './bytes.ts'
import { LineReader, type LineReaderOptions } from './line-reader.ts'

/**
 * Reads lines from a stream. A chunk is read in pieces, each in its own microtask, so that the time of handlers is measured
 * too. After a few milliseconds it yields to the event loop, so that one peer does not block the others.
 */
export class LineSource {
  readonly #input: Readable
  readonly #lines: LineReader
  readonly #slice = new Slice()
  /** Chunks not read yet. */
  #queue: Uint8Array[] = []
  /** The next piece is read in a later microtask or turn of the event loop. */
  #scheduled = false
  #paused = false
  #stopped = false
  readonly #onEnd: () => void
  #inputEnded = false
  #finished = false

  /** @param options `onEnd` is called after the stream ended and its last line was delivered */
  constructor(input: Readable, options: LineReaderOptions & { onEnd(): void }) {
    this.#input = input
    this.#lines = new LineReader(options)
    input.on('data', (chunk: Uint8Array | string) => {
      if (this.#stopped) return
      this.#queue.push(typeof chunk === 'string' ? utf8(chunk) : chunk)
      if (!this.#scheduled && !this.#paused) this.#read()
    })
    this.#onEnd = options.onEnd
    // The stream may end while chunks are queued.
    input.once('end', () => {
      this.#inputEnded = true
      if (this.#queue.length === 0) this.#end()
    })
  }

  /** Stops reading until `resume`. */
  pause(): void {
    this.#paused = true
    this.#input.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#scheduled) this.#read()
  }

  /** Delivers all queued chunks at once; for a stream that has ended. */
  drain(): void {
    const queue = this.#queue
    this.#queue = []
    for (const chunk of queue) if (!this.#stopped) this.#lines.push(chunk)
    if (this.#inputEnded) this.#end()
  }

  /** Discards queued chunks and delivers nothing more. */
  stop(): void {
    this.#stopped = true
    this.#queue = []
    if (this.#inputEnded) this.#end()
  }

  #end(): void {
    if (this.#finished) return
    this.#finished = true
    if (!this.#stopped) this.#lines.end()
    this.#onEnd()
  }

  #read(): void {
    this.#slice.begin()
    this.#readPiece()
  }

  readonly #readPiece = (): void => {
    this.#scheduled = false
    if (this.#paused) return
    const chunk = this.#queue[0]
    if (chunk !== undefined) {
      const end = pieceEnd(chunk, 0)
      if (end === chunk.length) this.#queue.shift()
      else this.#queue[0] = chunk.subarray(end)
      this.#lines.push(end === chunk.length ? chunk : chunk.subarray(0, end))
      const isSliceOver = this.#slice.end()
      if (this.#paused) return
      if (isSliceOver) {
        this.#scheduled = true
        this.#input.pause()
        setImmediate(() => this.#read())
        return
      }
      if (this.#queue.length > 0) {
        this.#scheduled = true
        queueMicrotask(this.#readPiece)
        return
      }
    }
    if (this.#inputEnded) this.#end()
    else if (this.#input.isPaused()) this.#input.resume()
  }
}
