import type { Writable } from 'node:stream'
import { McpError } from '../../jsonrpc/error.ts'
import { InvalidInput } from '../../jsonrpc/invalid-input.ts'
import { asLine } from '../../jsonrpc/line-reader.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { PendingRequests } from '../../jsonrpc/pending-requests.ts'
import { RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { limits } from '../../request/limits.ts'
import { messagesIn, notUtf8, Tolerance, tooMuchInvalid } from './inbound.ts'
import type { ClientTransport, ClientTransportEvents, TransportRequestOptions } from './transport.ts'

/** An ordered two-way channel of JSON texts. */
export interface Channel {
  /** Hands over one text. Rejects with an McpError when it cannot be delivered. */
  send(text: string): Promise<void>
  /** Ends the channel and everything behind it. Called once, also after the far end was lost. */
  close(): Promise<void>
}

export interface ChannelEvents {
  text(text: string): void
  /** Bytes came that no text can be made of. */
  unreadable(bytes: number): void
  warning(text: string): void
  /** The far end is gone; nothing more comes. */
  lost(error: McpError): void
}

/** Opens a channel; the signal aborts when it is no longer wanted, opened or not. */
export type OpenChannel = (events: ChannelEvents, signal: AbortSignal) => Promise<Channel>

const rememberedIds = 256

/** The client's end of an ordered two-way channel: one for stdio, memory and sockets. */
export class DuplexTransport implements ClientTransport {
  readonly kind: string
  readonly hasHeaders = false
  readonly closed: Promise<Error | undefined>
  readonly #open: OpenChannel
  readonly #pending = new PendingRequests()
  readonly #dropped = new Set<RequestId>()
  readonly #stop = new AbortController()
  #channel: Channel | undefined
  #events: ClientTransportEvents | undefined
  readonly #invalid = new InvalidInput(limits)
  #tolerance = new Tolerance(() => {})
  #version: ProtocolVersion | undefined
  #over: McpError | undefined
  #closing: Promise<void> | undefined
  #settle: (reason: Error | undefined) => void = () => {}

  constructor(kind: string, open: OpenChannel) {
    this.kind = kind
    this.#open = open
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  async start(events: ClientTransportEvents): Promise<void> {
    this.#events = events
    this.#tolerance = new Tolerance((text) => events.warning(text))
    const inbound: ChannelEvents = {
      text: (text) => this.#take(text),
      unreadable: (bytes) => {
        this.#tolerance.report(notUtf8)
        this.#wasInvalid(bytes)
      },
      warning: (text) => this.#tolerance.report(text),
      lost: (error) => this.#lost(error),
    }
    this.#channel = await this.#open(inbound, this.#stop.signal)
    if (this.#over !== undefined) {
      await this.#channel.close()
      throw this.#over
    }
  }

  async request(message: JsonRpcRequest, options: TransportRequestOptions = {}): Promise<JsonRpcResponse> {
    const { signal } = options
    signal?.throwIfAborted()
    if (this.#over !== undefined) throw this.#over
    const answer = this.#pending.open(message.id)
    let abort = (): void => {}
    const aborted = new Promise<never>((_, reject) => {
      abort = () => {
        this.#drop(message, signal?.reason)
        reject(signal?.reason)
      }
    })
    signal?.addEventListener('abort', abort, { once: true })
    const sent = this.#send(message).then(
      () => answer,
      (error) => {
        this.#pending.delete(message.id)
        throw error
      },
    )
    try {
      return await Promise.race([sent, answer, aborted])
    } finally {
      signal?.removeEventListener('abort', abort)
      sent.catch(() => {})
      answer.catch(() => {})
    }
  }

  notify(message: JsonRpcNotification): Promise<void> {
    return this.#send(message)
  }

  respond(message: JsonRpcResponse): Promise<void> {
    return this.#send(message)
  }

  adopt(version: ProtocolVersion): void {
    this.#version = version
  }

  async listen(): Promise<void> {}

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    const asked = this.#over === undefined
    this.#over ??= new McpError('CONNECTION_CLOSED', 'The connection was closed by this client')
    this.#pending.rejectAll(this.#over)
    this.#stop.abort(this.#over)
    await this.#channel?.close()
    if (asked) this.#settle(undefined)
  }

  async #send(message: JsonRpcMessage): Promise<void> {
    if (this.#over !== undefined) throw this.#over
    if (this.#channel === undefined) throw new McpError('CONNECTION_CLOSED', 'The link is not open yet')
    this.#events?.trace('sent', message)
    await this.#channel.send(JSON.stringify(message))
  }

  #drop(message: JsonRpcRequest, reason: unknown): void {
    this.#pending.delete(message.id)
    this.#dropped.add(message.id)
    for (const oldest of this.#dropped) {
      if (this.#dropped.size <= rememberedIds) break
      this.#dropped.delete(oldest)
    }
    if (message.method === 'initialize') return
    this.#send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: message.id, reason: reason instanceof Error ? reason.message : 'Cancelled' },
    }).catch(() => {})
  }

  #take(text: string): void {
    const failed = (id: RequestId, error: McpError): boolean => this.#pending.reject(id, error)
    const messages = messagesIn(text, { version: this.#version, tolerance: this.#tolerance, failed })
    if (messages.length === 0) this.#wasInvalid(text.length)
    else this.#invalid.reset()
    for (const message of messages) {
      this.#events?.trace('received', message)
      if ('method' in message) this.#events?.message(message, undefined)
      else if (!this.#pending.settle(message)) this.#unasked(message)
    }
  }

  #wasInvalid(bytes: number): void {
    if (this.#invalid.add(bytes)) this.#lost(tooMuchInvalid(this.#invalid))
  }

  #unasked(message: JsonRpcResponse): void {
    if (message.id !== undefined && this.#dropped.delete(message.id)) return
    this.#tolerance.report(
      message.id === undefined && 'error' in message
        ? `The server could not read a message: ${message.error.message}`
        : `Ignored a response to no request in flight: id ${JSON.stringify(message.id)}`,
    )
  }

  #lost(error: McpError): void {
    if (this.#over !== undefined) return
    this.#over = error
    this.#pending.rejectAll(error)
    this.#settle(error)
    this.close().catch(() => {})
  }
}

/** Sends lines to a server that may not be reading, and refuses more than may wait. */
export class LineSender {
  readonly #output: Writable
  readonly #maxQueued: number
  readonly #unsent = new RotatingSet<(error: McpError) => void>()
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
