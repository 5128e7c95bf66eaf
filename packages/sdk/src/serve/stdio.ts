import process from 'node:process'
import type { Readable, Writable } from 'node:stream'
import type { Backplane } from '../core/backplane.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import { LineReader } from '../jsonrpc/lines.ts'
import type { JsonRpcMessage } from '../jsonrpc/message.ts'
import { parseJson } from '../jsonrpc/parse.ts'
import type { Server } from '../server/server.ts'
import { type Bounds, bounds } from './bounds.ts'
import { type Duplex, openConnection } from './duplex.ts'
import { encodeMessage, isDroppable } from './message.ts'
import { guardStdout, LineWriter } from './stdout.ts'

export interface StdioOptions {
  /**
   * Secrets of at least 32 bytes that seal `requestState`; the first seals, all open. Default: a random one, which
   * is enough unless a client carries a question over to another process.
   */
  keys?: readonly (string | Uint8Array)[]
  /** What state shared between requests stands on. Default: memory. */
  backplane?: Backplane
  /** Hears why the connection broke. Default: says nothing, because a client that goes away is no fault. */
  onError?: (error: Error) => void
  /** Other limits than the default ones. */
  limits?: Partial<Bounds>
  /** Read instead of stdin. */
  input?: Readable
  /** Written instead of stdout. */
  output?: Writable
}

/** A server on stdin and stdout. */
export interface StdioServer {
  /** Settles when the connection is over and every handler let go, or 1 s passed. */
  readonly closed: Promise<void>
  /** Ends the connection: tells open subscriptions, sends what handlers still answer within 1 s. */
  close(): Promise<void>
}

/**
 * Serves one client on stdin and stdout, in every revision. While it does, whatever else is written to stdout (by
 * `console.log`, by a library) goes to stderr. When stdin ends, handlers are asked to stop; the process is ended by
 * force only if one is still running after 1 s, or if the client stopped reading long ago.
 */
export function serveStdio(server: Server, options: StdioOptions = {}): StdioServer {
  return new StdioConnection(server, options)
}

class StdioConnection implements StdioServer {
  readonly closed: Promise<void>
  readonly #server: Server
  readonly #options: StdioOptions
  readonly #input: Readable
  readonly #output: Writable
  readonly #lines: LineReader
  readonly #writer: LineWriter
  readonly #connection: Duplex
  readonly #restore: () => void
  #stalled = false
  #settle: () => void = () => {}
  #ending: Promise<void> | undefined

  constructor(server: Server, options: StdioOptions) {
    const limits = bounds(options.limits)
    this.#server = server
    this.#options = options
    this.#input = options.input ?? process.stdin
    this.#output = options.output ?? process.stdout
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
    const guard = options.output === undefined ? guardStdout() : undefined
    this.#restore = () => guard?.restore()
    const write = guard?.write ?? ((text: string): boolean => this.#output.write(text))
    this.#writer = new LineWriter(this.#output, write, limits, {
      onBehind: () => this.#input.pause(),
      onCaughtUp: () => this.#input.resume(),
      onStalled: () => {
        this.#stalled = true
        this.#lost(stalled(limits.streamStallMs))
      },
    })
    this.#connection = openConnection(server, (message) => this.#send(message), {
      ...(options.keys === undefined ? {} : { keys: options.keys }),
      ...(options.backplane === undefined ? {} : { backplane: options.backplane }),
      limits,
      sendBatch: (responses) =>
        this.#writer.line(
          `[${responses.map((response) => encodeMessage(response, server)).join(',')}]`,
          false,
        ),
      ready: () => this.#writer.ready(),
    })
    this.#lines = new LineReader({
      maxBytes: limits.messageBytes,
      onLine: (text) => this.#line(text, limits.jsonDepth),
      onTooLong: () =>
        this.#connection.reject(
          ErrorCode.InvalidRequest,
          `Invalid request: a message may have at most ${limits.messageBytes} bytes`,
        ),
    })
    this.#listen()
  }

  close(): Promise<void> {
    return this.#end(() => this.#connection.shutdown('The server is shutting down'))
  }

  #listen(): void {
    this.#output.on('error', (error) => this.#lost(error))
    this.#input.on('error', (error) => this.#lost(error))
    this.#input.on('end', () => {
      this.#lines.end()
      this.#finish()
    })
    this.#input.on('close', () => this.#finish())
    this.#input.on('data', (chunk: Uint8Array | string) =>
      this.#lines.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk),
    )
  }

  #line(text: string, depth: number): void {
    let value: unknown
    try {
      value = parseJson(text, { depth })
    } catch (error) {
      const { code, message } =
        error instanceof RpcError ? error : new RpcError(ErrorCode.ParseError, 'Parse error')
      this.#connection.reject(code, message)
      return
    }
    this.#connection.receive(value)
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
    await stop()
    this.#writer.stop()
    this.#restore()
    this.#input.destroy()
    if (this.#options.output !== undefined) this.#output.end()
    this.#settle()
    const stuck = this.#connection.running > 0 || this.#stalled
    if (stuck && this.#options.input === undefined) exitSoon(this.#output)
  }
}

/** Ends the process once what was written is out, at the latest after 100 ms. */
function exitSoon(output: Writable): void {
  const timer = setTimeout(() => process.exit(), 100)
  if (output.writableLength === 0) process.exit()
  output.once('drain', () => {
    clearTimeout(timer)
    process.exit()
  })
}

function stalled(ms: number): McpError {
  return new McpError('TIMEOUT', `The client read nothing for ${ms} ms, so the connection was closed`)
}
