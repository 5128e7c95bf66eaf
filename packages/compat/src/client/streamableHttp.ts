/** The Streamable HTTP transport of a client: `http` of Jackfield behind the class of the official SDK. */
import { type ClientTransport, type HttpTransportOptions, http, type Target } from '@jackfield/sdk/client'
import type { FetchLike } from '../shared/transport.ts'
import type { JSONRPCMessage } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { type ConnectingTransport, httpOptions } from './connecting.ts'

/** An HTTP response that the protocol does not define. */
export class StreamableHTTPError extends Error {
  readonly code: number | undefined

  constructor(code: number | undefined, message: string | undefined) {
    super(`Streamable HTTP error: ${message}`)
    this.code = code
  }
}

export interface StartSSEOptions {
  resumptionToken?: string
  onresumptiontoken?: (token: string) => void
  replayMessageId?: string | number
}

export interface StreamableHTTPReconnectionOptions {
  maxReconnectionDelay: number
  initialReconnectionDelay: number
  reconnectionDelayGrowFactor: number
  maxRetries: number
}

export type StreamableHTTPClientTransportOptions = {
  /** Not covered: a value is refused. */
  authProvider?: object
  /** Headers and other options of every request. */
  requestInit?: RequestInit
  fetch?: FetchLike
  /** `follow` is not covered: redirects to another origin are refused. */
  redirectPolicy?: 'same-origin' | 'follow'
  /** Has no effect: Jackfield reconnects with a backoff of its own. */
  reconnectionOptions?: StreamableHTTPReconnectionOptions
  /** Not covered: a value is refused. */
  sessionId?: string
}

export class StreamableHTTPClientTransport implements ConnectingTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  protocolVersion: string | undefined
  readonly #url: URL
  readonly #options: HttpTransportOptions
  #transport: ClientTransport | undefined

  constructor(url: URL, opts: StreamableHTTPClientTransportOptions = {}) {
    this.#url = url
    this.#options = httpOptions(opts)
  }

  get sessionId(): string | undefined {
    return this.#transport?.session
  }

  '~target'(): Target {
    const factory = http(this.#url, this.#options)
    const create = (): ClientTransport => {
      this.#transport = factory()
      return this.#transport
    }
    return create
  }

  setProtocolVersion(version: string): void {
    this.protocolVersion = version
  }

  /** Ends the session and the connection. */
  async terminateSession(): Promise<void> {
    await this.close()
  }

  async finishAuth(_authorizationCode: string): Promise<void> {
    throw new NotCoveredError('finishAuth', 'Use oauth of @jackfield/sdk/client/auth')
  }

  async resumeStream(_lastEventId: string): Promise<void> {
    throw new NotCoveredError('resumeStream', 'Leave it out: lost streams are resumed')
  }

  async start(): Promise<void> {
    throw new NotCoveredError(
      'a StreamableHTTPClientTransport without a client',
      'Give it to client.connect(transport)',
    )
  }

  async send(): Promise<void> {
    return this.start()
  }

  async close(): Promise<void> {
    await this.#transport?.close()
  }
}
