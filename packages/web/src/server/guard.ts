import type { IncomingMessage } from 'node:http'

/** Why a request is refused before its path is read. */
export interface Refusal {
  readonly status: 403 | 421
  /** Text for the user; empty for a wrong `Host`, which gets no explanation. */
  readonly message: string
}

/**
 * Checks `Host`, `Origin` and `Sec-Fetch-Site` of requests, so that no page of another origin reaches the server, not even one
 * whose name resolves to this machine (DNS rebinding).
 */
export class Guard {
  readonly #host: string
  /** The origin of the page. */
  readonly origin: string

  /** `origin`: that of the page, such as `http://127.0.0.1:7411`. */
  constructor(origin: string) {
    this.origin = origin
    this.#host = new URL(origin).host
  }

  /**
   * Why a request is refused; undefined if it is allowed. `fromOtherSites`: pages of other sites may link or redirect to this address,
   * which must have no effect without a secret. `fromPrograms`: programs, which send no `Origin`, may send the request.
   */
  refusal(
    request: IncomingMessage,
    {
      fromOtherSites = false,
      fromPrograms = false,
    }: { fromOtherSites?: boolean; fromPrograms?: boolean } = {},
  ): Refusal | undefined {
    if (singleHeader(request, 'host') !== this.#host) return { status: 421, message: '' }
    const origin = request.headersDistinct['origin']
    // Browsers send no Origin with a GET of their own page, but always with a POST, a PUT and the handshake of a WebSocket.
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const needsOrigin = (!isRead && !fromPrograms) || request.headers.upgrade !== undefined
    if (origin === undefined ? needsOrigin : origin.length !== 1 || origin[0] !== this.origin)
      return { status: 403, message: `Only the page at ${this.origin} may send this request.` }
    const site = request.headersDistinct['sec-fetch-site']?.join()
    if (site === undefined || site === 'same-origin' || fromOtherSites) return undefined
    // `none`: the person typed the address, or another program opened it. No page can send it.
    if (site === 'none' && !needsOrigin) return undefined
    return { status: 403, message: 'Pages of other sites cannot use this server.' }
  }

  /** Whether a request is for this server under the name `localhost`. */
  isLocalhost(request: IncomingMessage): boolean {
    const name = singleHeader(request, 'host')?.toLowerCase()
    return name?.replace(/^localhost:/, '127.0.0.1:') === this.#host && name !== this.#host
  }
}

/** The value of a header that occurs once; undefined if it is missing or repeated. */
function singleHeader(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name]
  return values?.length === 1 ? values[0] : undefined
}
