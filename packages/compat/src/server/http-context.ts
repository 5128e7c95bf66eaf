/** The HTTP request that is being served, for the handlers that run in its asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthInfo, IsomorphicHeaders } from '../types.ts'

export interface ServedHttpRequest {
  /** All headers, including credentials: the program received them itself. */
  readonly headers: IsomorphicHeaders
  readonly url: URL | undefined
  readonly authInfo: AuthInfo | undefined
  /** The web request, where the transport was given one. */
  readonly request?: Request
}

export const httpRequest: AsyncLocalStorage<ServedHttpRequest> = new AsyncLocalStorage()

/** Requests whose Host was allowed by middleware. */
export const checkedHosts: WeakSet<IncomingMessage> = new WeakSet()

/** Whether the Host of a request is one of these names, on any port. Otherwise responds with 403. */
export function allowsHost(
  request: IncomingMessage,
  response: ServerResponse,
  allowed: readonly string[],
): boolean {
  const { host } = request.headers
  const name =
    host !== undefined && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined
  if (name !== undefined && allowed.includes(name)) {
    checkedHosts.add(request)
    return true
  }
  const message = host === undefined ? 'Missing Host header' : `Invalid Host: ${name ?? 'no host name'}`
  response.writeHead(403, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }))
  return false
}

/** The host names of the loopback interface. */
export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']
