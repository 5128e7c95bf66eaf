/** The HTTP request that is being served, for the handlers that run in its asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import type { AuthInfo, IsomorphicHeaders } from '../types.ts'

export interface ServedHttpRequest {
  /** All headers, credentials included: the program received them itself. */
  readonly headers: IsomorphicHeaders
  readonly url: URL | undefined
  readonly authInfo: AuthInfo | undefined
  /** The web request, where the transport was given one. */
  readonly request?: Request
}

export const httpRequest: AsyncLocalStorage<ServedHttpRequest> = new AsyncLocalStorage()

/** Requests whose Host was allowed by middleware. */
export const checkedHosts: WeakSet<IncomingMessage> = new WeakSet()
