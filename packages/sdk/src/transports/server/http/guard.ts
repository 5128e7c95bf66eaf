import { kindOf } from '../../../jsonrpc/error.ts'
import type { HeaderFields, HttpRequest } from './http-adapter.ts'
import type { ServeHttpOptions } from './options.ts'

interface Authority {
  readonly host: string
  readonly port: string | undefined
}

const authority = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_])?)(?::(\d{1,5}))?$/i
const webOrigin = /^https?:\/\/([^/?#@\\]+)$/i
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
const corsMethods = 'POST, GET, DELETE'
const corsHeaders: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'dpop',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
])

/**
 * Checks the Host and Origin of requests, so that web sites cannot use servers on the machine or network of their visitors (DNS
 * rebinding).
 */
export class Guard {
  readonly #hosts = new Set<string>()
  readonly #origins: ReadonlySet<string>
  readonly #options: ServeHttpOptions
  #lastHost: string | undefined

  /** @throws TypeError for an invalid host or origin */
  constructor(options: ServeHttpOptions) {
    this.#options = options
    const { allowedHosts = [], allowedOrigins = [] } = options
    requireList('allowedHosts', allowedHosts, 'mcp.example.com')
    requireList('allowedOrigins', allowedOrigins, 'https://app.example.com')
    for (const host of allowedHosts) this.allowHost(host)
    this.#origins = new Set(allowedOrigins.map(originOf))
  }

  /**
   * Allows another host, on any port unless it has one.
   * @throws TypeError for an invalid host
   */
  allowHost(entry: string): void {
    const parsed = parseAuthority(entry)
    if (parsed === undefined) {
      throw new TypeError(`allowedHosts: "${entry}" is not a host name, with or without a port`)
    }
    this.#hosts.add(keyOf(parsed.host, parsed.port))
  }

  /** Why a request is refused; undefined if it is allowed. */
  refusal(request: HttpRequest): string | undefined {
    const wrongHost = this.hostRefusal(request)
    if (wrongHost !== undefined) return wrongHost
    const origin = request.header('origin')
    // Browsers send no Origin for images and frames, but `Sec-Fetch-Site`.
    const isAllowed =
      origin === undefined
        ? this.#options.dangerouslyAllowAnyOrigin === true ||
          request.header('sec-fetch-site') !== 'cross-site'
        : this.#allowsOrigin(origin)
    return isAllowed
      ? undefined
      : 'Forbidden: pages of this Origin may not use this server. Its operator can add the Origin to the allowed origins'
  }

  /** As `refusal`, for documents that every origin may read. */
  hostRefusal({ host }: HttpRequest): string | undefined {
    if (host !== undefined && (host === this.#lastHost || this.#allowsHost(host))) return undefined
    return 'Forbidden: the Host header is not one this server answers to. Its operator can add the host to the allowed hosts'
  }

  /** CORS headers for allowed origins. Loopback origins have to be listed for them. */
  corsFor(request: HttpRequest): HeaderFields | undefined {
    if (this.#origins.size === 0) return undefined
    const origin = request.header('origin')
    if (origin === undefined || !this.#origins.has(origin)) return { Vary: 'Origin' }
    return {
      Vary: 'Origin',
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Expose-Headers': 'Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce',
    }
  }

  /** The headers of a CORS preflight response; undefined if the origin is not listed. */
  preflight(request: HttpRequest): HeaderFields | undefined {
    const origin = request.header('origin')
    if (origin === undefined || !this.#origins.has(origin)) return undefined
    const wanted = (request.header('access-control-request-headers') ?? '').toLowerCase().split(',')
    const known = wanted
      .map((name) => name.trim())
      .filter((name) => corsHeaders.has(name) || /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
    return {
      'Access-Control-Allow-Methods': corsMethods,
      'Access-Control-Allow-Headers': known.join(', '),
      'Access-Control-Max-Age': '600',
    }
  }

  #allowsHost(host: string): boolean {
    if (this.#options.dangerouslyAllowAnyHost === true) return true
    const parsed = parseAuthority(host)
    if (parsed === undefined) return false
    const allowed =
      loopback.has(parsed.host) ||
      this.#hosts.has(parsed.host) ||
      this.#hosts.has(keyOf(parsed.host, parsed.port))
    if (allowed) this.#lastHost = host
    return allowed
  }

  #allowsOrigin(origin: string): boolean {
    if (this.#options.dangerouslyAllowAnyOrigin === true || this.#origins.has(origin)) return true
    const host = webOrigin.exec(origin)?.[1]
    if (host === undefined) return false
    const parsed = parseAuthority(host)
    return parsed !== undefined && loopback.has(parsed.host)
  }
}

function parseAuthority(text: string): Authority | undefined {
  const match = authority.exec(text)
  const host = match?.[1]
  if (host === undefined) return undefined
  const port = match?.[2]
  return port !== undefined && Number(port) > 65_535 ? undefined : { host: host.toLowerCase(), port }
}

function keyOf(host: string, port: string | undefined): string {
  return port === undefined ? host : `${host}:${port}`
}

/** An origin as browsers serialize it. Those of other schemes (extensions, editors) are not changed. */
function originOf(entry: string): string {
  if (/^https?:/i.test(entry) && URL.canParse(entry)) {
    const { origin, pathname, search, hash } = new URL(entry)
    if (pathname === '/' && search === '' && hash === '') return origin
  } else if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+$/i.test(entry)) {
    return entry
  }
  throw new TypeError(`allowedOrigins: "${entry}" is not an origin such as https://app.example.com`)
}

function requireList(option: string, value: unknown, example: string): void {
  if (Array.isArray(value)) return
  const what =
    typeof value === 'string'
      ? `one string: write ${option}: ['${value}']`
      : `${kindOf(value)}: write ${option}: ['${example}']`
  throw new TypeError(`"${option}" must be a list, not ${what}`)
}
