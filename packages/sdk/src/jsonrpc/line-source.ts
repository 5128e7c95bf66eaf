import type { Readable } from 'node:stream'
import { pieceEnd } from './bytes.ts'
import { LineReader, type LineReaderOptions } from './line-reader.ts'

/**
 * Reads lines from a stream. The event loop turns between the pieces of a large chunk, so that one peer does not hold up the
 * others, and the responses to one piece are written before the next is read.
 */
export class LineSource {
  readonly #input: Readable
  readonly #lines: LineReader
  /** Chunks received and not yet read. */
  #waiting: Uint8Array[] = []
  #turning = false
  #paused = false
  #stopped = false
  readonly #onEnd: () => void
  #hasEnded = false
  #isOver = false

  /** @param options `onEnd` is called when the stream ended and its last line was delivered */
  constructor(input: Readable, options: LineReaderOptions & { onEnd(): void }) {
    this.#input = input
    this.#lines = new LineReader(options)
    input.on('data', (chunk: Uint8Array | string) => {
      if (this.#stopped) return
      this.#waiting.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk)
      if (!this.#turning && !this.#paused) this.#read()
    })
    this.#onEnd = options.onEnd
    // A stream may end while chunks of it wait here.
    input.once('end', () => {
      this.#hasEnded = true
      if (this.#waiting.length === 0) this.#end()
    })
  }

  /** Reads no more until `resume`. */
  pause(): void {
    this.#paused = true
    this.#input.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#turning) this.#goOn()
  }

  /** Delivers what was received, without a turn of the event loop between: nothing more comes. */
  drain(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const chunk of waiting) if (!this.#stopped) this.#lines.push(chunk)
    if (this.#hasEnded) this.#end()
  }

  /** Delivers nothing more. */
  stop(): void {
    this.#stopped = true
    this.#waiting = []
    if (this.#hasEnded) this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.#stopped) this.#lines.end()
    this.#onEnd()
  }

  #read(): void {
    for (let chunk = this.#waiting[0]; chunk !== undefined; chunk = this.#waiting[0]) {
      const end = pieceEnd(chunk, 0)
      if (end === chunk.length) this.#waiting.shift()
      else this.#waiting[0] = chunk.subarray(end)
      this.#lines.push(end === chunk.length ? chunk : chunk.subarray(0, end))
      if (this.#waiting.length > 0 && !this.#paused) {
        this.#turn()
        return
      }
      if (this.#paused) return
    }
    if (this.#hasEnded) this.#end()
  }

  #turn(): void {
    if (this.#stopped) return
    this.#turning = true
    this.#input.pause()
    setImmediate(() => {
      this.#turning = false
      if (!this.#paused) this.#goOn()
    })
  }

  #goOn(): void {
    this.#read()
    if (!this.#turning && !this.#paused) this.#input.resume()
  }
}
