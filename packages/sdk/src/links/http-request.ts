import { McpError } from '../jsonrpc/error.ts'

/** The part of `fetch` a link needs. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

/** Headers for every request: fixed, or found anew each time. */
export type HeaderSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

export interface HttpOptions {
  /** Headers for every request, such as `Authorization`: fixed, or a function asked each time. */
  headers?: HeaderSource
  /** What sends the requests. Default: the global `fetch`. Node's own gives up after 300 s of silence. */
  fetch?: Fetch
  /** Bytes of one answer or event. Default 4 MiB. */
  maxMessageBytes?: number
}

const maxRedirects = 3
const redirects = new Set([301, 302, 307, 308])
const unreachable = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Sends requests to one endpoint and never follows it to another origin. */
export class Endpoint {
  readonly url: URL
  readonly #fetch: Fetch
  readonly #headers: HeaderSource

  static from(url: string | URL, options: HttpOptions): Endpoint {
    return new Endpoint(url, options.headers ?? {}, options.fetch ?? ((to, init) => fetch(to, init)))
  }

  constructor(url: string | URL, headers: HeaderSource, fetch: Fetch) {
    this.url = endpointUrl(url)
    this.#headers = headers
    this.#fetch = fetch
  }

  /** Another place of the same server, with the same headers. */
  at(url: URL): Endpoint {
    return new Endpoint(url, this.#headers, this.#fetch)
  }

  /** Rejects with an McpError when no answer came, or with the signal's reason when it was aborted. */
  async send(
    method: 'POST' | 'GET' | 'DELETE',
    own: Readonly<Record<string, string>>,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const headers = await this.#all(own)
    const init: RequestInit = { method, headers, signal, redirect: 'manual' }
    if (body !== undefined) init.body = body
    let url = this.url
    for (let hop = 0; ; hop++) {
      const response = await this.#once(url, init, signal)
      const next = target(response, url)
      if (next === undefined) return response
      response.body?.cancel().catch(() => {})
      if (hop === maxRedirects) {
        throw new McpError('HTTP', `${this.url} redirects more than ${maxRedirects} times`)
      }
      url = next
    }
  }

  async #all(own: Readonly<Record<string, string>>): Promise<Headers> {
    const configured = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    try {
      const headers = new Headers({ ...configured })
      for (const [name, value] of Object.entries(own)) headers.set(name, value)
      return headers
    } catch (error) {
      throw new McpError('INVALID', 'A request header has a name or value that HTTP does not allow', {
        cause: error,
      })
    }
  }

  async #once(url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    try {
      return await this.#fetch(url, init)
    } catch (error) {
      throw lostBy(error, signal, url)
    }
  }
}

/** What a failure of `fetch`, or of reading its body, means. */
export function lostBy(error: unknown, signal: AbortSignal, url: URL): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof McpError) return error
  const code = codeOf(error)
  return code !== undefined && unreachable.has(code)
    ? new McpError('CONNECT_FAILED', `Could not reach ${url.origin} (${code})`, {
        cause: error,
        details: { code },
      })
    : new McpError(
        'CONNECTION_CLOSED',
        `The connection to ${url.origin} failed before the answer came (${code ?? rootOf(error)})`,
        { cause: error, details: code === undefined ? {} : { code } },
      )
}

function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code
    if (at instanceof AggregateError) return codeOf(at.errors[0])
  }
  return undefined
}

/** What the innermost error says; `fetch` itself only says that it failed. */
function rootOf(error: unknown): string {
  let at = error
  for (let depth = 0; depth < 4 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause
  return at instanceof Error ? at.message : String(at)
}

function endpointUrl(url: string | URL): URL {
  if (!URL.canParse(url)) {
    throw new McpError(
      'INVALID',
      `${JSON.stringify(String(url))} is not a URL. To start a program, give connect what "stdio" makes.`,
    )
  }
  const parsed = new URL(url)
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new McpError('INVALID', `An MCP server's URL begins with http: or https:, not ${parsed.protocol}`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new McpError('INVALID', 'Give credentials in the "headers" option, not in the URL')
  }
  return parsed
}

function target(response: Response, from: URL): URL | undefined {
  if (response.type === 'opaqueredirect') {
    throw new McpError('HTTP', `${from} redirects, and this runtime hides where to. Give the final URL.`)
  }
  const location = response.headers.get('location')
  if (!redirects.has(response.status) || location === null || !URL.canParse(location, from)) return undefined
  const next = new URL(location, from)
  if (next.origin === from.origin) return next
  response.body?.cancel().catch(() => {})
  throw new McpError(
    'HTTP',
    `${from.origin} redirects to ${next.origin}, another origin, where this request's credentials must not go. If you trust it, give its URL.`,
    { details: { status: response.status } },
  )
}
