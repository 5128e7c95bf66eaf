/** Express middleware that checks the Host header. Transports do not check it again. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkedHosts } from '../http-context.ts'

type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/** Allows requests for these host names, on any port. Others get 403. IPv6 addresses have brackets: `[::1]`. */
export function hostHeaderValidation(allowedHostnames: string[]): Middleware {
  return (request, response, next) => {
    const { host } = request.headers
    const name =
      host !== undefined && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined
    if (name !== undefined && allowedHostnames.includes(name)) {
      checkedHosts.add(request)
      next()
      return
    }
    const why = host === undefined ? 'Missing Host header' : `Invalid Host: ${name ?? 'no host name'}`
    response.writeHead(403, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message: why }, id: null }))
  }
}

/** As `hostHeaderValidation`, for the names of this machine. */
export function localhostHostValidation(): Middleware {
  return hostHeaderValidation(['localhost', '127.0.0.1', '[::1]'])
}
