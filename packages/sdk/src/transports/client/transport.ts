import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'

/** What a link tells the client that uses it. */
export interface ClientTransportEvents {
  /**
   * The server sent a request or a notice. `cause` is the request on whose own stream it came; undefined where the
   * transport has one channel for everything.
   */
  message(message: JsonRpcRequest | JsonRpcNotification, cause: RequestId | undefined): void
  /** Something was tolerated that should not have come. */
  warning(text: string): void
  /** The session turned out to be over while nothing was asked. Requests find that out by themselves. */
  sessionEnded?(): void
  /** A message crosses the wire. */
  trace(direction: 'sent' | 'received', message: JsonRpcMessage): void
}

/** What a link knows of one request besides its message. */
export interface TransportRequestOptions {
  /** Aborting tells the server, in the way its era has, that the answer is no longer wanted. */
  signal?: AbortSignal
  /** Further request headers, where the transport has any. */
  headers?: Readonly<Record<string, string>>
  /** Stops the caller's clocks while a person logs in; the link calls what it gives when that is over. */
  pause?: () => () => void
}

/**
 * The client's end of a transport: it knows bytes and correlation, not what the messages mean. Every failure is an
 * McpError, or the reason of the signal that was aborted.
 */
export interface ClientTransport {
  /** Names the transport in messages to people. */
  readonly kind: string
  /** Whether requests carry headers that mirror parts of the body. */
  readonly hasHeaders: boolean
  /** Whether each request has a connection of its own, so that one that breaks leaves the link standing. */
  readonly connectsEach?: true
  /** Id of the session the server began, where the transport has one. */
  readonly session?: string | undefined
  /** Settles when the connection is over, with the reason if nobody asked for it. */
  readonly closed: Promise<Error | undefined>
  /** Opens the connection. Called once, before anything else. */
  start(events: ClientTransportEvents): Promise<void>
  /** Sends a request and waits for its response; a JSON-RPC error is a response like any other. */
  request(message: JsonRpcRequest, options?: TransportRequestOptions): Promise<JsonRpcResponse>
  notify(message: JsonRpcNotification): Promise<void>
  /** Answers a request of the server (revisions up to 2025-11-25). */
  respond(message: JsonRpcResponse): Promise<void>
  /** Tells which revision was agreed, before anything else is sent in it. */
  adopt(version: ProtocolVersion): void
  /** Opens the way in for messages that belong to no request, where the transport has a separate one. */
  listen(): Promise<void>
  /** Ends the connection and everything it started. */
  close(): Promise<void>
}

/** Makes a fresh link to the same server. */
export interface ClientTransportFactory {
  (): ClientTransport
  /** Makes links of an older transport, to be tried where this one finds no endpoint. */
  readonly older?: ClientTransportFactory
}

/** The server ended the session (404); the client has to begin a new one. Never leaves the client. */
export class SessionEnded extends Error {
  override readonly name: string = 'SessionEnded'
  /** False when the server refused this very request, so that it never ran; undefined when nobody knows. */
  readonly ran: false | undefined

  constructor(ran: false | undefined) {
    super('The server ended the session')
    this.ran = ran
  }
}
