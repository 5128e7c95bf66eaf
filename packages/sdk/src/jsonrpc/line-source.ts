import type { Readable } from 'node:stream'
import { utf8 } from './bytes.ts'
import { LineReader, type LineReaderOptions } from './line-reader.ts'
import { pieceEnd, TimeSlice } from './promises.ts'

/**
 * Reads lines from a stream. It yields to the event loop between the pieces of a large chunk and after 10 ms of small chunks, so
 * that one peer does not block the others, and the responses to one piece are written before the next is read.
 */
export class LineSource {
  readonly #input: Readable
  readonly #lines: LineReader
  readonly #slice = new TimeSlice()
  /** Chunks not read yet. */
  #queue: Uint8Array[] = []
  #yielding = false
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
      if (!this.#yielding && !this.#paused) this.#read()
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
    if (!this.#yielding) this.#readOn()
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
    for (let chunk = this.#queue[0]; chunk !== undefined; chunk = this.#queue[0]) {
      const end = pieceEnd(chunk, 0)
      if (end === chunk.length) this.#queue.shift()
      else this.#queue[0] = chunk.subarray(end)
      this.#lines.push(end === chunk.length ? chunk : chunk.subarray(0, end))
      const isSliceOver = this.#slice.end()
      if ((isSliceOver || this.#queue.length > 0) && !this.#paused) {
        this.#yield()
        return
      }
      if (this.#paused) return
    }
    if (this.#inputEnded) this.#end()
  }

  #yield(): void {
    if (this.#stopped) return
    this.#yielding = true
    this.#input.pause()
    setImmediate(() => {
      this.#yielding = false
      if (!this.#paused) this.#readOn()
    })
  }

  #readOn(): void {
    this.#read()
    if (!this.#yielding && !this.#paused) this.#input.resume()
  }
}
