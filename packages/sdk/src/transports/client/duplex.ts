import { McpError } from '../../jsonrpc/error.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { InvalidInput } from '../../jsonrpc/parse.ts'
import { PendingRequests } from '../../jsonrpc/pending-requests.ts'
import { type Deferred, deferred, orAborted, runOnce } from '../../jsonrpc/promises.ts'
import { dropOldest } from '../../jsonrpc/rotating-map.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { limits } from '../../request/limits.ts'
import {
  limitedWarnings,
  notUtf8Warning,
  parseMessages,
  tooMuchInvalidInput,
  type Warn,
} from './parse-messages.ts'
import type { ClientTransport, ClientTransportEvents, TransportRequestOptions } from './transport.ts'

/** An ordered two-way channel of JSON texts. */
export interface Channel {
  /** Sends one text. Rejects with an McpError if it cannot be sent. */
  send(text: string): Promise<void>
  /** Closes the channel and everything behind it. Called once, also after `lost`. */
  close(): Promise<void>
}

export interface ChannelEvents {
  text(text: string): void
  /** Received bytes that are not valid UTF-8. */
  unreadable(bytes: number): void
  warning(text: string): void
  /** The channel closed; nothing more is received. */
  lost(error: McpError): void
}

/** Opens a channel; the signal aborts when the transport closes, opened or not. */
type OpenChannel = (events: ChannelEvents, signal: AbortSignal) => Promise<Channel>

const maxCancelledIds = 256

/** A transport over an ordered two-way channel: stdio, sockets, HTTP+SSE and memory. */
export class DuplexTransport implements ClientTransport {
  readonly kind: string
  readonly hasHeaders = false
  readonly #closed: Deferred<Error | undefined> = deferred()
  readonly #open: OpenChannel
  readonly #pending = new PendingRequests()
  readonly #cancelled = new Set<RequestId>()
  readonly #stop = new AbortController()
  #channel: Channel | undefined
  #events: ClientTransportEvents | undefined
  readonly #invalid = new InvalidInput(limits)
  #warn: Warn = () => {}
  #version: ProtocolVersion | undefined
  #closeReason: McpError | undefined
  readonly close: () => Promise<void> = runOnce(() => this.#end())

  constructor(kind: string, open: OpenChannel) {
    this.kind = kind
    this.#open = open
  }

  get closed(): Promise<Error | undefined> {
    return this.#closed.promise
  }

  async start(events: ClientTransportEvents): Promise<void> {
    this.#events = events
    this.#warn = limitedWarnings((text) => events.warning(text))
    const channelEvents: ChannelEvents = {
      text: (text) => this.#receiveText(text),
      unreadable: (bytes) => {
        this.#warn(notUtf8Warning)
        this.#countInvalid(bytes)
      },
      warning: (text) => this.#warn(text),
      lost: (error) => this.#onLost(error),
    }
    this.#channel = await this.#open(channelEvents, this.#stop.signal)
    if (this.#closeReason !== undefined) {
      await this.#channel.close()
      throw this.#closeReason
    }
  }

  async request(message: JsonRpcRequest, options: TransportRequestOptions = {}): Promise<JsonRpcResponse> {
    const { signal } = options
    signal?.throwIfAborted()
    if (this.#closeReason !== undefined) throw this.#closeReason
    const answer = this.#pending.open(message.id)
    const cancel = (): void => this.#cancel(message, signal?.reason)
    const sent = this.#send(message).then(
      () => answer,
      (error) => {
        this.#pending.delete(message.id)
        throw error
      },
    )
    const received = Promise.race([sent, answer])
    if (signal === undefined) return received
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return await orAborted(received, signal)
    } finally {
      signal.removeEventListener('abort', cancel)
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

  async #end(): Promise<void> {
    const isRequested = this.#closeReason === undefined
    this.#closeReason ??= closedByClient()
    this.#pending.rejectAll(this.#closeReason)
    this.#stop.abort(this.#closeReason)
    await this.#channel?.close()
    if (isRequested) this.#closed.resolve(undefined)
  }

  async #send(message: JsonRpcMessage): Promise<void> {
    if (this.#closeReason !== undefined) throw this.#closeReason
    if (this.#channel === undefined) throw new McpError('CONNECTION_CLOSED', 'The transport is not open yet')
    this.#events?.trace('sent', message)
    await this.#channel.send(JSON.stringify(message))
  }

  #cancel(message: JsonRpcRequest, reason: unknown): void {
    this.#pending.delete(message.id)
    this.#cancelled.add(message.id)
    dropOldest(this.#cancelled, maxCancelledIds)
    if (message.method === 'initialize') return
    this.#send(cancelledNotification(message, reason)).catch(() => {})
  }

  #receiveText(text: string): void {
    const failRequest = (id: RequestId, error: McpError): boolean => this.#pending.reject(id, error)
    const messages = parseMessages(text, { version: this.#version, warn: this.#warn, failRequest })
    if (messages.length === 0) this.#countInvalid(text.length)
    else this.#invalid.reset()
    for (const message of messages) {
      this.#events?.trace('received', message)
      if ('method' in message) this.#events?.message(message, undefined)
      else if (!this.#pending.settle(message)) this.#warnUnmatched(message)
    }
  }

  #countInvalid(bytes: number): void {
    if (this.#invalid.add(bytes)) this.#onLost(tooMuchInvalidInput(this.#invalid))
  }

  #warnUnmatched(message: JsonRpcResponse): void {
    if (message.id !== undefined && this.#cancelled.delete(message.id)) return
    this.#warn(
      message.id === undefined && 'error' in message
        ? `The server could not read a message: ${message.error.message}`
        : `Ignored a response to no request in flight: id ${JSON.stringify(message.id)}`,
    )
  }

  #onLost(error: McpError): void {
    if (this.#closeReason !== undefined) return
    this.#closeReason = error
    this.#pending.rejectAll(error)
    this.#closed.resolve(error)
    this.close().catch(() => {})
  }
}

export function cancelledNotification({ id }: JsonRpcRequest, cause: unknown): JsonRpcNotification {
  const reason = cause instanceof Error ? cause.message : 'Cancelled'
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } }
}

/** The error of everything that is in flight when the client closes its connection. */
export function closedByClient(): McpError {
  return new McpError('CONNECTION_CLOSED', 'The connection was closed by this client')
}
