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
  readonly #host: string
  /** The only origin that the server has. */
  readonly origin: string

  /** `origin`: that of the page, such as `http://127.0.0.1:7411`. */
  constructor(origin: string) {
    this.origin = origin
    this.#host = new URL(origin).host
  }

  /**
   * Why a request is refused; undefined where it is not. `fromOtherSites`: a page of another site may lead to this address, which
   * has to have no effect without a secret of its own. `fromPrograms`: so may programs, which send no Origin.
   */
  refusal(
    request: IncomingMessage,
    {
      fromOtherSites = false,
      fromPrograms = false,
    }: { fromOtherSites?: boolean; fromPrograms?: boolean } = {},
  ): Refusal | undefined {
    if (only(request, 'host') !== this.#host) return { status: 421, message: '' }
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
    const name = only(request, 'host')?.toLowerCase()
    return name?.replace(/^localhost:/, '127.0.0.1:') === this.#host && name !== this.#host
  }
}

/** The value of a header that comes once; undefined where it is missing or repeated. */
function only(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name]
  return values?.length === 1 ? values[0] : undefined
}
