import type { Readable, Writable } from 'node:stream'
import { McpError } from '../../jsonrpc/error.ts'
import { asLine } from '../../jsonrpc/line-reader.ts'
import { LineSource } from '../../jsonrpc/line-source.ts'
import { RotatingSet } from '../../jsonrpc/rotating-map.ts'
import { limits } from '../../request/limits.ts'
import type { Channel, ChannelEvents } from './duplex.ts'

/** Limits of a channel of lines. */
export interface LineLimits {
  /** Maximum bytes of one message. Default 4 MiB. */
  maxFrameBytes?: number
  /** Maximum bytes queued while the server does not read. Default 16 MiB. */
  maxQueuedBytes?: number
}

/** A channel of one message per line. Limits the bytes that wait for the server to read. */
export abstract class LineChannel implements Channel {
  protected readonly lines: LineSource
  readonly #output: Writable
  readonly #maxQueued: number
  readonly #events: ChannelEvents
  readonly #unsent = new RotatingSet<(error: McpError) => void>()
  #queued = 0
  #isCorked = false
  #over: McpError | undefined

  constructor(input: Readable, output: Writable, options: LineLimits, events: ChannelEvents) {
    const { maxFrameBytes: maxBytes = limits.messageBytes, maxQueuedBytes = 4 * limits.messageBytes } =
      options
    this.#output = output
    this.#maxQueued = maxQueuedBytes
    this.#events = events
    this.lines = new LineSource(input, {
      maxBytes,
      onLine: (text) => events.text(text),
      onTooLong: () => {
        const message = `The server sent a message of more than ${maxBytes} bytes, so the connection was closed`
        this.lose(new McpError('LIMIT', message))
      },
      onNotUtf8: (bytes) => events.unreadable(bytes.length),
      onEnd: () => this.onEnd(),
    })
  }

  abstract close(): Promise<void>

  protected abstract onEnd(): void

  /** Resolves when the line was written. Rejects with an McpError if it cannot be. */
  send(text: string): Promise<void> {
    if (this.#over !== undefined) return Promise.reject(this.#over)
    const line = asLine(text)
    const bytes = Buffer.byteLength(line) + 1
    if (this.#queued > 0 && this.#queued + bytes > this.#maxQueued) {
      const message = `The server does not read its input: ${this.#queued} bytes are queued, the limit is ${this.#maxQueued}`
      return Promise.reject(new McpError('LIMIT', message))
    }
    this.#queued += bytes
    return new Promise((resolve, reject) => {
      this.#unsent.add(reject)
      this.#cork()
      this.#output.write(`${line}\n`, (error) => {
        this.#queued -= bytes
        // `lose` rejects a failed write, once the reason is known.
        if (error) return
        this.#unsent.delete(reject)
        resolve()
      })
    })
  }

  /** Messages of one turn are written together: each write may wake up the server. */
  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#output.cork()
    process.nextTick(() => {
      this.#isCorked = false
      this.#output.uncork()
    })
  }

  /** Stops reading, and rejects the queued lines and all later ones. */
  protected lose(error: McpError, notify = true): void {
    if (this.#over !== undefined) return
    this.#over = error
    this.lines.stop()
    for (const reject of this.#unsent.values()) reject(error)
    this.#unsent.clear()
    if (notify) this.#events.lost(error)
  }
}
