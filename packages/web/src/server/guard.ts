import type { IncomingMessage } from 'node:http'

/** Why a request is refused before anything looks at its path. */
export interface Refusal {
  readonly status: 403 | 421
  /** For a person; empty for a wrong `Host`, which gets no explanation. */
  readonly message: string
}

/**
 * Checks `Host`, `Origin` and `Sec-Fetch-Site` of requests, so that no page of another origin reaches the server, not even one
 * whose name resolves to this machine (DNS rebinding).
 */
export class Guard {
  readonly #port: number
  /** The only origin that the server has. */
  readonly origin: string

  constructor(port: number) {
    this.#port = port
    this.origin = `http://127.0.0.1:${port}`
  }

  /** Why a request is refused; undefined where it is not. */
  refusal(request: IncomingMessage): Refusal | undefined {
    if (only(request, 'host') !== `127.0.0.1:${this.#port}`) return { status: 421, message: '' }
    const origin = request.headersDistinct['origin']
    // Browsers send no Origin with a GET of their own page, but always with a POST, a PUT and the handshake of a WebSocket.
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const needsOrigin = !isRead || request.headers.upgrade !== undefined
    if (origin === undefined ? needsOrigin : origin.length !== 1 || origin[0] !== this.origin)
      return { status: 403, message: `Only the page at ${this.origin} may send this request.` }
    const site = request.headersDistinct['sec-fetch-site']?.join()
    if (site === undefined || site === 'same-origin') return undefined
    // `none`: the person typed the address, or another program opened it. No page can send it.
    if (site === 'none' && !needsOrigin) return undefined
    return { status: 403, message: 'Pages of other sites cannot use this server.' }
  }

  /** Whether a request is for this server under the name `localhost`. */
  isLocalhost(request: IncomingMessage): boolean {
    return only(request, 'host')?.toLowerCase() === `localhost:${this.#port}`
  }
}

/** The value of a header that comes once; undefined where it is missing or repeated. */
function only(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name]
  return values?.length === 1 ? values[0] : undefined
}
