/** Lines of JSON-RPC messages, for transports of others that read and write streams. */
import { type JSONRPCMessage, JSONRPCMessageSchema } from '../types.ts'

export const STDIO_DEFAULT_MAX_BUFFER_SIZE: number = 10 * 1024 * 1024

/** Splits a stream of bytes into messages. */
export class ReadBuffer {
  #chunks: Buffer = Buffer.alloc(0)
  readonly #maxBytes: number

  constructor(options?: { maxBufferSize?: number }) {
    this.#maxBytes = options?.maxBufferSize ?? STDIO_DEFAULT_MAX_BUFFER_SIZE
  }

  /** @throws RangeError if the unread bytes exceed the maximum; they are discarded */
  append(chunk: Uint8Array): void {
    if (this.#chunks.length + chunk.length > this.#maxBytes) {
      this.clear()
      throw new RangeError(`A message is longer than ${this.#maxBytes} bytes (see maxBufferSize)`)
    }
    this.#chunks = Buffer.concat([this.#chunks, chunk])
  }

  /** The next message, or `null` if no line is complete. @throws for a line that is no message */
  readMessage(): JSONRPCMessage | null {
    const end = this.#chunks.indexOf('\n')
    if (end === -1) return null
    const line = this.#chunks.toString('utf8', 0, end).replace(/\r$/, '')
    this.#chunks = this.#chunks.subarray(end + 1)
    return deserializeMessage(line)
  }

  clear(): void {
    this.#chunks = Buffer.alloc(0)
  }
}

export function deserializeMessage(line: string): JSONRPCMessage {
  return JSONRPCMessageSchema.parse(JSON.parse(line))
}

export function serializeMessage(message: JSONRPCMessage): string {
  return `${JSON.stringify(message)}\n`
}
