import type { Readable, Writable } from 'node:stream'
import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import { asLine } from '../../jsonrpc/line-reader.ts'
import { LineSource } from '../../jsonrpc/line-source.ts'
import type { JsonRpcMessage } from '../../jsonrpc/message.ts'
import { InvalidInput, parseJson } from '../../jsonrpc/parse.ts'
import { type Deferred, deferred } from '../../jsonrpc/promises.ts'
import type { Transport } from '../../request/exchange.ts'
import type { Server } from '../../server/server.ts'
import { BackpressureWriter, StallDetector } from './backpressure-writer.ts'
import { DuplexConnection, type DuplexOptions } from './duplex-connection.ts'
import { type FullBudget, fullError, type MemoryAccount, MemoryBudget, parsedBytes } from './memory-budget.ts'
import type { Bounds } from './options.ts'
import { encodeBatch, encodeMessage, failure, isDroppable } from './served-request.ts'

export interface LineConnectionOptions
  extends Pick<DuplexOptions, 'keys' | 'backplane' | 'acceptUnknownStates' | 'caller' | 'memory'> {
  input: Readable
  output: Writable
  /** Writes to `output` and calls back when that was flushed, or failed. Default: its own `write`. */
  write?: ((text: string, done: () => void) => void) | undefined
  limits: Bounds
  transport: Transport
  /** Closes the connection if its first line is not JSON, because the client does not speak this protocol then. */
  strict?: boolean
  onError?: ((error: Error) => void) | undefined
  /**
   * Called once when all handlers ended, or after 0.9 s, before `closed` resolves. `stuck`: a handler still runs; `left`: the
   * client closed the connection.
   */
  onOver(how: { stuck: boolean; left: boolean }): void
}

/** A connection with one message per line. */
export class LineConnection {
  /** Resolves when the connection is closed and all handlers ended, or after 0.9 s. */
  readonly closed: Promise<void>
  readonly #closed: Deferred<void> = deferred()
  readonly #server: Server
  readonly #options: LineConnectionOptions
  readonly #lines: LineSource
  readonly #invalid: InvalidInput
  readonly #writer: BackpressureWriter
  readonly #watch: StallDetector
  readonly #connection: DuplexConnection
  readonly #memory: MemoryAccount
  /** Resolves when the reader caught up; undefined if it is not behind. */
  #behind: Deferred<void> | undefined
  #writingStopped = false
  /** Bytes of unread lines that the account counts. */
  #reservedBytes = 0
  #awaitsFirstMessage: boolean
  #stalled = false
  #closedByClient = true
  #ending: Promise<void> | undefined

  constructor(server: Server, options: LineConnectionOptions) {
    const { input, output, limits } = options
    this.#server = server
    this.#options = options
    this.#awaitsFirstMessage = options.strict ?? false
    this.#memory = options.memory ?? new MemoryBudget(limits.memoryBytes).account(undefined)
    this.closed = this.#closed.promise
    const write = options.write ?? ((text, done) => output.write(text, done))
    this.#writer = new BackpressureWriter(output, write, {
      onBackpressure: () => this.#fallBehind(),
      onDrained: () => {
        this.#updateReserved()
        this.#catchUp()
      },
    })
    this.#watch = new StallDetector(
      { progress: () => this.#writer.flushedWrites, isBehind: () => this.#behind !== undefined },
      limits.streamStallMs,
      () => {
        this.#stalled = true
        const message = `The client read nothing for ${limits.streamStallMs} ms, so the connection was closed`
        this.#fail(new McpError('TIMEOUT', message))
      },
    )
    this.#connection = new DuplexConnection(server, (message) => this.#send(message), {
      ...options,
      memory: this.#memory,
      sendBatch: (responses) => this.#write(encodeBatch(responses, server)),
      ready: () => this.#behind?.promise,
    })
    this.#invalid = new InvalidInput(limits)
    this.#lines = new LineSource(input, {
      maxBytes: limits.messageBytes,
      onLine: (text) => this.#receive(text, limits.jsonDepth),
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
    output.on('error', (error) => this.#fail(error))
    input.on('error', (error) => this.#fail(error))
    input.on('close', () => {
      this.#lines.drain()
      this.#finish()
    })
  }

  /** Closes the connection: ends open subscriptions, and sends responses within 0.9 s. */
  close(): Promise<void> {
    if (this.#ending === undefined) this.#closedByClient = false
    return this.#end(() => this.#connection.shutdown('The server is shutting down'))
  }

  #receive(text: string, depth: number): void {
    let value: unknown
    try {
      value = parseJson(text, { depth })
    } catch (error) {
      const refusal = error instanceof RpcError ? error : new RpcError(ErrorCode.ParseError, 'Parse error')
      this.#refuse(refusal, text.length)
      return
    }
    this.#awaitsFirstMessage = false
    if (this.#connection.receive(value, parsedBytes(text, false))) this.#invalid.reset()
    else this.#wasInvalid(text.length)
  }

  #wasInvalid(bytes: number): void {
    if (!this.#invalid.add(bytes) || this.#ending !== undefined) return
    this.#fail(new McpError('LIMIT', `The client sent ${this.#invalid}, so the connection was closed`))
  }

  #refuse({ code, message }: RpcError, bytes: number): void {
    this.#connection.reject(code, message)
    this.#wasInvalid(bytes)
    if (this.#awaitsFirstMessage)
      this.#end(() => this.#connection.close('The client does not speak this protocol'))
  }

  #send(message: JsonRpcMessage): void {
    const text = encodeMessage(message, this.#server)
    if (text === undefined) return
    const droppable = 'method' in message && isDroppable(message.method)
    const full = this.#reserve(text)
    if (full === undefined) {
      this.#writeLine(text, droppable)
      this.#updateReserved()
    } else if ('method' in message) {
      // The handler of a request that never arrives would wait forever, so the connection is closed.
      if (!droppable) this.#fail(unreadError())
    } else this.#writeLine(JSON.stringify(failure(message.id, fullError(full))), false)
  }

  #write(text: string): void {
    if (this.#reserve(text) !== undefined) {
      this.#fail(unreadError())
      return
    }
    this.#writeLine(text, false)
    this.#updateReserved()
  }

  /** Writes one line. A droppable one is dropped while the reader is behind. */
  #writeLine(text: string, droppable: boolean): void {
    if (!this.#writingStopped && !(droppable && this.#behind !== undefined))
      this.#writer.add(`${asLine(text)}\n`)
  }

  #fallBehind(): void {
    const { streamQueueBytes } = this.#options.limits
    if (this.#writingStopped || this.#behind !== undefined || this.#writer.queued <= streamQueueBytes) return
    this.#behind = deferred()
    this.#watch.start()
    this.#lines.pause()
  }

  #catchUp(): void {
    if (this.#writingStopped || this.#behind === undefined) return
    this.#behind.resolve()
    this.#behind = undefined
    this.#watch.stop()
    this.#lines.resume()
  }

  /** Writes the rest of the queue; later lines are dropped. */
  #stopWriting(): void {
    if (this.#writingStopped) return
    this.#writingStopped = true
    this.#watch.stop()
    this.#writer.flushAll()
    this.#behind?.resolve()
  }

  /** The limit that one more unread line would exceed. The first 16 kB are not counted. */
  #reserve(text: string): FullBudget | undefined {
    const more = this.#writer.queued + text.length - freeBytes - this.#reservedBytes
    if (more <= 0) return undefined
    const full = this.#memory.reserve(more)
    if (full === undefined) this.#reservedBytes += more
    return full
  }

  /** Updates the account to the unread bytes. */
  #updateReserved(): void {
    const waiting = Math.max(0, this.#writer.queued - freeBytes)
    if (waiting === this.#reservedBytes) return
    this.#memory.add(waiting - this.#reservedBytes)
    this.#reservedBytes = waiting
  }

  /** The client closed its end. It may still read, so responses are still sent. */
  #finish(): void {
    this.#end(() => this.#connection.shutdown('The client closed the connection'))
  }

  /** The client is unreachable. */
  #fail(error: Error): void {
    if (this.#ending === undefined) this.#options.onError?.(error)
    this.#stopWriting()
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
    this.#stopWriting()
    this.#memory.release(this.#reservedBytes)
    this.#reservedBytes = 0
    this.#options.onOver({ stuck: this.#connection.running > 0 || this.#stalled, left: this.#closedByClient })
    this.#closed.resolve()
  }
}

/** Unread bytes that are not counted. */
const freeBytes = 16_384

function unreadError(): McpError {
  return new McpError('LIMIT', 'The client did not read its messages, so the connection was closed')
}
