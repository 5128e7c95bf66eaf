import type { Writable } from 'node:stream'
import { McpError } from '../jsonrpc/error.ts'
import { asLine } from '../jsonrpc/lines.ts'
import { TransientSet } from '../jsonrpc/transient.ts'

/** Sends lines to a server that may not be reading, and refuses more than may wait. */
export class LineSender {
  readonly #output: Writable
  readonly #maxQueued: number
  readonly #unsent = new TransientSet<(error: McpError) => void>()
  #queued = 0
  #over: McpError | undefined

  constructor(output: Writable, maxQueuedBytes: number) {
    this.#output = output
    this.#maxQueued = maxQueuedBytes
  }

  /** Settles when the line was handed over. Rejects with an McpError where it cannot be. */
  send(text: string): Promise<void> {
    if (this.#over !== undefined) return Promise.reject(this.#over)
    const line = asLine(text)
    const bytes = Buffer.byteLength(line) + 1
    if (this.#queued > 0 && this.#queued + bytes > this.#maxQueued) {
      return Promise.reject(
        new McpError(
          'LIMIT',
          `The server does not read its input: ${this.#queued} bytes are already waiting`,
        ),
      )
    }
    this.#queued += bytes
    return new Promise((resolve, reject) => {
      this.#unsent.add(reject)
      this.#output.write(`${line}\n`, (error) => {
        this.#queued -= bytes
        // A failed write is settled with the reason of the loss, which is known a moment later.
        if (error) return
        this.#unsent.delete(reject)
        resolve()
      })
    })
  }

  /** Rejects what was not handed over, and whatever comes later. */
  fail(error: McpError): void {
    this.#over ??= error
    for (const reject of this.#unsent.values()) reject(error)
    this.#unsent.clear()
  }
}
