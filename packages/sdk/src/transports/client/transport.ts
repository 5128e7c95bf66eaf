import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'

/** Callbacks of a transport, which `start` gets. */
export interface ClientTransportEvents {
  /**
   * A request or notification of the server. `cause` is the request on whose stream it arrived; undefined if the
   * transport has one channel for all messages.
   */
  message(message: JsonRpcRequest | JsonRpcNotification, cause: RequestId | undefined): void
  /** A tolerated fault of the server. */
  warning(text: string): void
  /** The session ended while no request was in flight. A request in flight rejects with `SessionEnded`. */
  sessionEnded?(): void
  /** A message is sent or received. */
  trace(direction: 'sent' | 'received', message: JsonRpcMessage): void
}

/** Options of one request. */
export interface TransportRequestOptions {
  /** Aborting cancels the request: by closing its HTTP stream (2026-07-28), else by `notifications/cancelled`. */
  signal?: AbortSignal
  /** Further request headers, for transports with headers. */
  headers?: Readonly<Record<string, string>>
  /** Pauses the caller's timeouts while the user logs in; returns the function that resumes them. */
  pause?: () => () => void
}

/**
 * The client's end of a transport: it sends and receives messages and matches responses with requests. Every failure is
 * an McpError, or the reason of the aborted signal.
 */
export interface ClientTransport {
  /** The transport's name in error messages and telemetry. */
  readonly kind: string
  /** Whether requests carry headers that mirror parts of the body. */
  readonly hasHeaders: boolean
  /** Whether each request has a connection of its own, so that a broken one does not close the transport. */
  readonly connectsEach?: true
  /** Id of the session, for transports with sessions. */
  readonly session?: string | undefined
  /** Resolves when the connection closed: with the reason, or undefined after `close()`. */
  readonly closed: Promise<Error | undefined>
  /** Opens the connection. Called once, before all other methods. */
  start(events: ClientTransportEvents): Promise<void>
  /** Sends a request and resolves with its response, which may be a JSON-RPC error. */
  request(message: JsonRpcRequest, options?: TransportRequestOptions): Promise<JsonRpcResponse>
  /** Sends a notification. */
  notify(message: JsonRpcNotification): Promise<void>
  /** Sends the response to a request of the server (revisions up to 2025-11-25). */
  respond(message: JsonRpcResponse): Promise<void>
  /** Sets the negotiated revision, before anything else is sent in it. */
  adopt(version: ProtocolVersion): void
  /** Opens the stream for messages that belong to no request, for transports with a separate one. */
  listen(): Promise<void>
  /** Closes the connection and everything it started. */
  close(): Promise<void>
}

/** Returns a new transport to the same server with each call, so that `connect` can reconnect. */
export interface ClientTransportFactory {
  (): ClientTransport
  /** A fallback for servers without an endpoint of this transport. */
  readonly older?: ClientTransportFactory
}

/** The server ended the session (404), so the client has to start a new one. Internal: never thrown to callers. */
export class SessionEnded extends Error {
  override readonly name: string = 'SessionEnded'
  /** False if the server rejected this request, so that it did not run; undefined if unknown. */
  readonly ran: false | undefined

  constructor(ran: false | undefined) {
    super('The server ended the session')
    this.ran = ran
  }
}
