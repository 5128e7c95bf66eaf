/** The HTTP+SSE transport of a client (2024-11-05): `sse` of Jackfield behind the class of the official SDK. */
import { type ClientTransport, type HttpTransportOptions, sse, type Target } from '@jackfield/sdk/client'
import type { FetchLike } from '../shared/transport.ts'
import type { JSONRPCMessage } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { type ConnectingTransport, httpOptions } from './connecting.ts'

/** The event stream failed. */
export class SseError extends Error {
  readonly code: number | undefined
  readonly event: object

  constructor(code: number | undefined, message: string | undefined, event: object) {
    super(`SSE error: ${message}`)
    this.code = code
    this.event = event
  }
}

export type SSEClientTransportOptions = {
  /** Not covered: a value is refused. */
  authProvider?: object
  /** Not covered: a value is refused. */
  eventSourceInit?: object
  requestInit?: RequestInit
  fetch?: FetchLike
  redirectPolicy?: 'same-origin' | 'follow'
}

export class SSEClientTransport implements ConnectingTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #url: URL
  readonly #options: HttpTransportOptions
  #transport: ClientTransport | undefined

  constructor(url: URL, { eventSourceInit, ...opts }: SSEClientTransportOptions = {}) {
    if (eventSourceInit !== undefined) {
      throw new NotCoveredError(
        'eventSourceInit',
        'Give headers in requestInit, and a fetch function as "fetch"',
      )
    }
    this.#url = url
    this.#options = httpOptions(opts)
  }

  '~target'(): Target {
    const factory = sse(this.#url, this.#options)
    return () => {
      this.#transport = factory()
      return this.#transport
    }
  }

  setProtocolVersion(_version: string): void {}

  async finishAuth(_authorizationCode: string): Promise<void> {
    throw new NotCoveredError('finishAuth', 'Use oauth of @jackfield/sdk/client/auth')
  }

  async start(): Promise<void> {
    throw new NotCoveredError(
      'an SSEClientTransport without a client',
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
