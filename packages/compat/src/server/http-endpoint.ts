/**
 * The Streamable HTTP endpoint of one transport: `serveHttp` of Jackfield, created at the first request, which shows the path
 * and whether callers are authenticated. Session ids are those of `sessionIdGenerator`, in place of Jackfield's.
 */
import { randomBytes } from 'node:crypto'
import { type AuthenticatedCaller, type HttpHandler, type HttpRefusal, serveHttp } from '@jackfield/sdk/http'
import type { AuthInfo, JSONRPCMessage } from '../types.ts'
import { httpRequest } from './http-context.ts'
import type { ConnectedServer } from './serving.ts'

export type StreamId = string
export type EventId = string

/** A store of events. It is not used: Jackfield stores the events of its sessions itself. */
export interface EventStore {
  storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId>
  getStreamIdForEventId?(eventId: EventId): Promise<StreamId | undefined>
  replayEventsAfter(
    lastEventId: EventId,
    { send }: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId>
}

export interface WebStandardStreamableHTTPServerTransportOptions {
  /** Generates a session id. Without it, the server has no sessions. */
  sessionIdGenerator?: (() => string) | undefined
  onsessioninitialized?: (sessionId: string) => void | Promise<void>
  onsessionclosed?: (sessionId: string) => void | Promise<void>
  /** Has no effect: a response is JSON unless the server sends messages before it, or it takes longer than 100 ms. */
  enableJsonResponse?: boolean
  /** Has no effect: events are stored by Jackfield. */
  eventStore?: EventStore
  /** Host names of this server. Loopback names are always allowed. */
  allowedHosts?: string[]
  /** Origins whose pages may use this server. Loopback origins are always allowed. */
  allowedOrigins?: string[]
  /** `false` allows any Host and any Origin, for a server behind a check of its own. Default: both are checked. */
  enableDnsRebindingProtection?: boolean
  /** Has no effect. */
  retryInterval?: number
  /** Has no effect. */
  keepAliveMs?: number
  /** Maximum bytes of one message. Default 4 MiB. */
  maxRequestBodySize?: number
}

/** One request, as the two transports pass it on. */
export interface EndpointRequest {
  readonly path: string
  readonly authInfo: AuthInfo | undefined
  /** Whether middleware checked the Host. */
  readonly isHostChecked: boolean
}

/** Encrypts the state of requests for all transports of this process, because each may serve only one request. */
const processKey = randomBytes(32)

export class HttpEndpoint {
  readonly #options: WebStandardStreamableHTTPServerTransportOptions
  #server: ConnectedServer | undefined
  #handler: HttpHandler | undefined
  /** The id of Jackfield's session, which the client does not see. */
  #sdkSessionId: string | undefined
  #sessionId: string | undefined
  #isAuthenticated = false
  #isClosed = false

  constructor(options: WebStandardStreamableHTTPServerTransportOptions) {
    this.#options = options
  }

  get sessionId(): string | undefined {
    return this.#sessionId
  }

  get server(): ConnectedServer | undefined {
    return this.#server
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** @throws Error if the transport serves a server already */
  serve(server: ConnectedServer): void {
    if (this.#server !== undefined) throw new Error('Transport already started')
    this.#server = server
  }

  /** The handler for a request. @throws Error if no server is connected */
  handlerFor({ path, authInfo, isHostChecked }: EndpointRequest): HttpHandler {
    const server = this.#server
    if (server === undefined)
      throw new Error('Connect a server before requests are handled: await server.connect(transport)')
    if (this.#handler !== undefined) return this.#handler
    const { sessionIdGenerator, allowedHosts, allowedOrigins, maxRequestBodySize } = this.#options
    const isUnchecked = this.#options.enableDnsRebindingProtection === false
    this.#isAuthenticated = authInfo !== undefined
    this.#handler = serveHttp(server.engine.toServer(), {
      path,
      keys: [processKey],
      // A call that waits for input is continued once, by its id in this process.
      acceptUnknownStates: true,
      dangerouslyAllowAnyHost: isUnchecked || isHostChecked,
      dangerouslyAllowAnyOrigin: isUnchecked,
      ...(sessionIdGenerator === undefined ? { sessions: 'none' } : {}),
      ...(allowedHosts === undefined ? {} : { allowedHosts: allowedHosts.filter((entry) => entry !== '') }),
      ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
      ...(maxRequestBodySize === undefined ? {} : { limits: { messageBytes: maxRequestBodySize } }),
      ...(this.#isAuthenticated
        ? { authenticate: async () => authenticatedCaller(httpRequest.getStore()?.authInfo) }
        : {}),
    })
    return this.#handler
  }

  /** Jackfield's session id for the session id of a request. */
  sdkSessionIdFor(sessionId: string | null | undefined): string | undefined {
    return sessionId === this.#sessionId && sessionId !== undefined
      ? this.#sdkSessionId
      : (sessionId ?? undefined)
  }

  /** Starts the session with Jackfield's id, and returns the session id for the client. */
  async startSession(sdkSessionId: string): Promise<string> {
    if (sdkSessionId === this.#sdkSessionId && this.#sessionId !== undefined) return this.#sessionId
    this.#sdkSessionId = sdkSessionId
    const id = this.#options.sessionIdGenerator?.() ?? sdkSessionId
    this.#sessionId = id
    await this.#notify(() => this.#options.onsessioninitialized?.(id))
    return id
  }

  /** Ends the session on request of the client. */
  async endSession(): Promise<void> {
    const id = this.#sessionId
    if (id !== undefined) await this.#notify(() => this.#options.onsessionclosed?.(id))
    await this.close()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#handler?.close()
    this.#server?.onClose()
  }

  async #notify(call: () => void | Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#server?.onError(error)
    }
  }
}

/** The caller of a validated token: tokens of one client and one subject are the same principal. */
function authenticatedCaller(authInfo: AuthInfo | undefined): AuthenticatedCaller | HttpRefusal {
  if (authInfo === undefined) {
    return {
      status: 401,
      because: new Error('An earlier request of this transport had auth, and this one has none'),
    }
  }
  const { clientId, scopes, expiresAt, extra = {} } = authInfo
  const subject = [extra['sub'], extra['userId']].find((one) => typeof one === 'string') ?? ''
  return {
    principal: JSON.stringify([clientId, subject]),
    clientId,
    scopes,
    ...(expiresAt === undefined ? {} : { expires: expiresAt * 1_000 }),
  }
}
