/** The stdio transport of a server: `serveStdio` of Jackfield, behind the class of the official SDK. */
import type { Readable, Writable } from 'node:stream'
import { type StdioServer, serveStdio } from '@jackfield/sdk/stdio'
import type { JSONRPCMessage } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { type ConnectedServer, NotificationLines, type ServingTransport } from './serving.ts'

export class StdioServerTransport implements ServingTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #input: Readable | undefined
  readonly #output: Writable | undefined
  readonly #maxBytes: number | undefined
  #connection: StdioServer | undefined

  /** @param options `maxBufferSize`: maximum bytes of one message. Default 4 MiB */
  constructor(stdin?: Readable, stdout?: Writable, options?: { maxBufferSize?: number }) {
    this.#input = stdin
    this.#output = stdout
    this.#maxBytes = options?.maxBufferSize
  }

  async '~serve'(server: ConnectedServer): Promise<void> {
    const input = this.#input ?? process.stdin
    const lines = new NotificationLines(server.engine)
    const connection = serveStdio(server.engine.toServer(), {
      ...(this.#input === undefined || this.#input === process.stdin ? {} : { input: this.#input }),
      ...(this.#output === undefined || this.#output === process.stdout ? {} : { output: this.#output }),
      ...(this.#maxBytes === undefined ? {} : { limits: { messageBytes: this.#maxBytes } }),
      onError: (error) => {
        this.onerror?.(error)
        server.onError(error)
      },
      // A process of the official SDK continues when its client disconnected.
      outlives: true,
    })
    this.#connection = connection
    input.on('data', (chunk: Uint8Array | string) => lines.push(chunk))
    connection.closed.then(() => {
      this.onclose?.()
      server.onClose()
    })
  }

  async start(): Promise<void> {
    throw new NotCoveredError(
      'a StdioServerTransport without a server',
      'Give it to server.connect(transport)',
    )
  }

  async send(): Promise<void> {
    return this.start()
  }

  async close(): Promise<void> {
    await this.#connection?.close()
  }
}
