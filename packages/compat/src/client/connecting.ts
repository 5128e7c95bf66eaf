/** How a transport of this package names its target to Jackfield's client, and how transports of others are adapted. */
import {
  type JsonRpcMessage,
  type JsonRpcResponse,
  McpError as LocalError,
  type RequestId,
} from '@jackfield/sdk'
import type {
  ClientTransport,
  ClientTransportEvents,
  HttpTransportOptions,
  Target,
  TransportRequestOptions,
} from '@jackfield/sdk/client'
import { createFetchWithInit, normalizeHeaders, type Transport } from '../shared/transport.ts'
import { JSONRPCMessageSchema } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import type { StreamableHTTPClientTransportOptions } from './streamableHttp.ts'

/** A transport of this package. Jackfield handles its messages: `onmessage` and `send` are not used. */
export interface ConnectingTransport extends Transport {
  /** What to connect to. `adopted` is called by the client with the negotiated revision. */
  '~target'(): Target
}

export function isConnecting(transport: Transport): transport is ConnectingTransport {
  return '~target' in transport
}

/** A transport that sends and receives whole messages, for Jackfield's client. */
export class MessageTransport implements ClientTransport {
  readonly kind = 'custom'
  readonly hasHeaders = false
  readonly closed: Promise<Error | undefined>
  readonly #transport: Transport
  readonly #pending = new Map<
    RequestId,
    { resolve(response: JsonRpcResponse): void; reject(error: unknown): void }
  >()
  #events: ClientTransportEvents | undefined
  #settle: (reason: Error | undefined) => void = () => {}
  #isClosed = false

  constructor(transport: Transport) {
    this.#transport = transport
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  async start(events: ClientTransportEvents): Promise<void> {
    this.#events = events
    const transport = this.#transport
    const { onclose, onerror } = transport
    transport.onmessage = (message) => this.#receive(JSON.parse(JSON.stringify(message)))
    transport.onerror = (error) => {
      onerror?.(error)
      events.warning(error.message)
    }
    transport.onclose = () => {
      onclose?.()
      this.#onTransportClosed()
    }
    await transport.start()
  }

  get session(): string | undefined {
    return this.#transport.sessionId
  }

  async request(
    message: Parameters<ClientTransport['request']>[0],
    { signal }: TransportRequestOptions = {},
  ): Promise<JsonRpcResponse> {
    signal?.throwIfAborted()
    const { id } = message
    const response = new Promise<JsonRpcResponse>((resolve, reject) =>
      this.#pending.set(id, { resolve, reject }),
    )
    const cancel = (): void => {
      this.#pending.get(id)?.reject(signal?.reason)
      if (message.method === 'initialize') return
      this.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }).catch(
        () => {},
      )
    }
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      await this.#send(message)
      return await response
    } finally {
      this.#pending.delete(id)
      response.catch(() => {})
      signal?.removeEventListener('abort', cancel)
    }
  }

  notify(message: Parameters<ClientTransport['notify']>[0]): Promise<void> {
    return this.#send(message)
  }

  respond(message: JsonRpcResponse): Promise<void> {
    return this.#send(message)
  }

  adopt(version: Parameters<ClientTransport['adopt']>[0]): void {
    this.#transport.setProtocolVersion?.(version)
  }

  async listen(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#settle(undefined)
    this.#rejectAll()
    await this.#transport.close()
  }

  async #send(message: JsonRpcMessage): Promise<void> {
    if (this.#isClosed) throw closedError()
    this.#events?.trace('sent', message)
    await this.#transport.send(JSONRPCMessageSchema.parse(message))
  }

  #receive(message: JsonRpcMessage): void {
    this.#events?.trace('received', message)
    if ('method' in message) this.#events?.message(message, undefined)
    else if (message.id !== undefined) this.#pending.get(message.id)?.resolve(message)
  }

  #onTransportClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#settle(closedError())
    this.#rejectAll()
  }

  #rejectAll(): void {
    for (const { reject } of this.#pending.values()) reject(closedError())
    this.#pending.clear()
  }
}

function closedError(): LocalError {
  return new LocalError('CONNECTION_CLOSED', 'Connection closed')
}

/** The options of Jackfield's HTTP transports. @throws NotCoveredError for an option that is not covered */
export function httpOptions({
  authProvider,
  requestInit,
  fetch: send,
  redirectPolicy,
  sessionId,
}: StreamableHTTPClientTransportOptions): HttpTransportOptions {
  if (authProvider !== undefined) {
    throw new NotCoveredError(
      'authProvider',
      'Connect with connect(http(url, { auth: oauth({ … }) })) of @jackfield/sdk/client and @jackfield/sdk/client/auth, or send a token in requestInit.headers',
    )
  }
  if (sessionId !== undefined)
    throw new NotCoveredError('sessionId', 'Connect without it: a new session begins')
  if (redirectPolicy === 'follow') throw new NotCoveredError("redirectPolicy: 'follow'", 'Use the final URL')
  const { headers, ...others } = requestInit ?? {}
  const base = createFetchWithInit(send, Object.keys(others).length === 0 ? undefined : others)
  return {
    ...(headers === undefined ? {} : { headers: normalizeHeaders(headers) }),
    ...(send === undefined && requestInit === undefined ? {} : { fetch: (url, init) => base(url, init) }),
  }
}
