import type { Readable, Writable } from 'node:stream'
import type { Backplane } from '../core/backplane.ts'
import type { Caller, Transport } from '../core/exchange.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import { InvalidInput } from '../jsonrpc/invalid-input.ts'
import { LineSource } from '../jsonrpc/line-source.ts'
import type { JsonRpcMessage } from '../jsonrpc/message.ts'
import { parseJson } from '../jsonrpc/parse.ts'
import type { Server } from '../server/server.ts'
import type { Bounds } from './bounds.ts'
import { type Duplex, openConnection } from './duplex.ts'
import { LineWriter } from './line-writer.ts'
import { encodeMessage, isDroppable } from './message.ts'

export interface LineConnectionOptions {
  input: Readable
  output: Writable
  /** Writes to `output` and calls back when that was taken, or failed. Default: its own `write`. */
  write?: (text: string, done: () => void) => void
  limits: Bounds
  keys?: readonly (string | Uint8Array)[]
  backplane?: Backplane
  acceptUnknownStates?: boolean | undefined
  caller?: Caller
  transport: Transport
  /** Ends the connection when its first line is not JSON, because then it is no client of this protocol. */
  strict?: boolean
  onError?: (error: Error) => void
  /**
   * Called once, when every handler let go or 0.9 s passed, before `closed` settles. `stuck` is whether one did not, and
   * `left` whether it was the client that ended the connection.
   */
  onOver(how: { stuck: boolean; left: boolean }): void
}

/** One client that sends and is sent messages as lines. */
export class LineConnection {
  /** Settles when the connection is over and every handler let go, or 0.9 s passed. */
  readonly closed: Promise<void>
  readonly #server: Server
  readonly #options: LineConnectionOptions
  readonly #lines: LineSource
  readonly #invalid: InvalidInput
  readonly #writer: LineWriter
  readonly #connection: Duplex
  #unproven: boolean
  #stalled = false
  #left = true
  #settle: () => void = () => {}
  #ending: Promise<void> | undefined

  constructor(server: Server, options: LineConnectionOptions) {
    const { input, output, limits } = options
    this.#server = server
    this.#options = options
    this.#unproven = options.strict ?? false
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#writer = new LineWriter(
      output,
      options.write ?? ((text, done) => output.write(text, done)),
      limits,
      {
        onBehind: () => this.#lines.pause(),
        onCaughtUp: () => this.#lines.resume(),
        onStalled: () => {
          this.#stalled = true
          this.#lost(stalled(limits.streamStallMs))
        },
      },
    )
    this.#connection = openConnection(server, (message) => this.#send(message), {
      ...(options.keys === undefined ? {} : { keys: options.keys }),
      ...(options.backplane === undefined ? {} : { backplane: options.backplane }),
      ...(options.acceptUnknownStates === undefined
        ? {}
        : { acceptUnknownStates: options.acceptUnknownStates }),
      ...(options.caller === undefined ? {} : { caller: options.caller }),
      limits,
      transport: options.transport,
      sendBatch: (responses) =>
        this.#writer.line(
          `[${responses.map((response) => encodeMessage(response, server)).join(',')}]`,
          false,
        ),
      ready: () => this.#writer.ready(),
    })
    this.#invalid = new InvalidInput(limits)
    this.#lines = new LineSource(input, {
      maxBytes: limits.messageBytes,
      onLine: (text) => this.#line(text, limits.jsonDepth),
      onNotUtf8: (bytes) =>
        this.#refuse(new RpcError(ErrorCode.ParseError, 'Parse error: not valid UTF-8'), bytes.length),
      onTooLong: () => {
        this.#connection.reject(
          ErrorCode.InvalidRequest,
          `Invalid request: a message may have at most ${limits.messageBytes} bytes`,
        )
        this.#wasInvalid(limits.messageBytes)
      },
      onEnd: () => this.#finish(),
    })
    this.#listen()
  }

  /** Ends the connection: tells open subscriptions, sends what handlers still answer within 0.9 s. */
  close(): Promise<void> {
    if (this.#ending === undefined) this.#left = false
    return this.#end(() => this.#connection.shutdown('The server is shutting down'))
  }

  #listen(): void {
    const { input, output } = this.#options
    output.on('error', (error) => this.#lost(error))
    input.on('error', (error) => this.#lost(error))
    input.on('close', () => {
      this.#lines.drain()
      this.#finish()
    })
  }

  #line(text: string, depth: number): void {
    let value: unknown
    try {
      value = parseJson(text, { depth })
    } catch (error) {
      const refusal = error instanceof RpcError ? error : new RpcError(ErrorCode.ParseError, 'Parse error')
      this.#refuse(refusal, text.length)
      return
    }
    this.#unproven = false
    if (this.#connection.receive(value)) this.#invalid.reset()
    else this.#wasInvalid(text.length)
  }

  #wasInvalid(bytes: number): void {
    if (!this.#invalid.add(bytes) || this.#ending !== undefined) return
    this.#lost(new McpError('LIMIT', `The client sent ${this.#invalid}, so the connection was closed`))
  }

  /** Answers a line that is not JSON. */
  #refuse({ code, message }: RpcError, bytes: number): void {
    this.#connection.reject(code, message)
    this.#wasInvalid(bytes)
    if (this.#unproven) this.#end(() => this.#connection.close('The client does not speak this protocol'))
  }

  #send(message: JsonRpcMessage): void {
    const text = encodeMessage(message, this.#server)
    if (text !== undefined) this.#writer.line(text, 'method' in message && isDroppable(message.method))
  }

  /** The client closed its end: it may still read, so what handlers answer is still sent. */
  #finish(): void {
    this.#end(() => this.#connection.shutdown('The client closed the connection'))
  }

  /** The client cannot be reached any more. */
  #lost(error: Error): void {
    if (this.#ending === undefined) this.#options.onError?.(error)
    this.#writer.stop()
    this.#end(() => this.#connection.close('The client is gone'))
  }

  #end(stop: () => Promise<void>): Promise<void> {
    this.#ending ??= this.#stop(stop)
    return this.#ending
  }

  async #stop(stop: () => Promise<void>): Promise<void> {
    const stopped = stop()
    this.#lines.stop()
    await stopped
    this.#writer.stop()
    this.#options.onOver({ stuck: this.#connection.running > 0 || this.#stalled, left: this.#left })
    this.#settle()
  }
}

function stalled(ms: number): McpError {
  return new McpError('TIMEOUT', `The client read nothing for ${ms} ms, so the connection was closed`)
}
