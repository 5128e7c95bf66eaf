import { invalid, McpError } from '../../jsonrpc/error.ts'
import { requireKnown } from '../../request/object-members.ts'

/** The part of `fetch` that transports use. It must not follow redirects by itself: `redirect` of `init` is `manual`. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

/** Headers for every request: fixed, or a function called for each request. */
export type HeaderSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

/** A request that the server refused with 401 or 403. */
export interface Refusal {
  /** The HTTP status code. */
  readonly status: number
  /** The headers of the response. */
  readonly headers: Headers
  /** The HTTP method of the request. */
  readonly method: string
  /** The URL of the request. */
  readonly url: URL
  /** The headers that `authorize` returned for the request. */
  readonly sent: Readonly<Record<string, string>>
  /** A background request: no login should be started for it. */
  readonly background: boolean
}

/** Supplies credentials for requests to one endpoint and renews them. */
export interface HttpAuth {
  /** Headers for one request. Called for every request, so it must be fast while a token is valid. */
  authorize(request: { method: string; url: URL }): Promise<Readonly<Record<string, string>>>
  /**
   * Handles a 401 or 403. Returns true to send the request again with new credentials, false to return the response.
   * Rejects with McpError 'UNAUTHORIZED' if no credentials can be obtained. The signal aborts with the request.
   */
  refused(refusal: Refusal, signal: AbortSignal): Promise<boolean>
  /** Called with the headers of every other response, such as `DPoP-Nonce`. */
  answered?(headers: Headers): void
}

/** Options of `http` and `sse`. All have defaults. */
export interface HttpTransportOptions {
  /** Headers for every request, such as `Authorization`: fixed, or a function called for each request. */
  headers?: HeaderSource
  /** Supplies and renews credentials, such as `oauth(…)`. Use one per server. */
  auth?: HttpAuth
  /** Sends the requests. Default: the global `fetch`, which on Node times out after 300 s without data. */
  fetch?: Fetch
  /** Maximum bytes of one response body or event. Default 4 MiB. */
  maxMessageBytes?: number
}

interface SendOptions {
  /** Pauses the caller's timeouts while credentials are obtained; returns the function that resumes them. */
  pause?: (() => () => void) | undefined
  /** A background request: no login should be started for it. */
  background?: boolean
}

const optionNames = Object.keys({
  headers: true,
  auth: true,
  fetch: true,
  maxMessageBytes: true,
} satisfies Record<keyof HttpTransportOptions, true>)

/** Options of other SDKs, with their equivalents. */
const insteadOf: ReadonlyMap<string, string> = new Map([
  [
    'requestInit',
    'headers for every request are "headers", and anything else is up to a "fetch" of your own',
  ],
  ['authProvider', 'credentials are supplied by "auth", such as oauth(…) of @jackfield/sdk/client/auth'],
  ['sessionId', 'connect begins a session where the server has sessions'],
])

const maxRedirects = 3
const maxRetries = 3
const redirects = new Set([301, 302, 307, 308])
/** Codes of connections that were not made, with what they mean. */
const unreachable: ReadonlyMap<string | undefined, string> = new Map([
  ['ECONNREFUSED', 'nothing listens on this port'],
  ['EHOSTUNREACH', 'the network has no route to it'],
  ['ENETUNREACH', 'the network has no route to it'],
  ['ENOTFOUND', 'there is no host of this name'],
  ['EAI_AGAIN', 'names cannot be resolved now'],
  ['UND_ERR_CONNECT_TIMEOUT', 'it does not respond'],
])

interface Sent {
  readonly response: Response
  readonly url: URL
  readonly supplied: Readonly<Record<string, string>>
}

/** Sends requests to one endpoint and refuses redirects to another origin. */
export class Endpoint {
  readonly url: URL
  readonly #options: HttpTransportOptions

  constructor(url: string | URL, options: HttpTransportOptions) {
    requireKnown('The options object of http', options, optionNames, (name) => insteadOf.get(name))
    this.url = endpointUrl(url)
    this.#options = options
  }

  /** Another URL of the same server, with the same headers and credentials. */
  at(url: URL): Endpoint {
    return new Endpoint(url, this.#options)
  }

  /**
   * Sends a request, and again with new credentials if they are refused. Rejects with an McpError if there is no
   * response, or with the reason of the aborted signal.
   */
  async send(
    method: 'POST' | 'GET' | 'DELETE',
    own: Readonly<Record<string, string>>,
    body: string | undefined,
    signal: AbortSignal,
    { pause, background = false }: SendOptions = {},
  ): Promise<Response> {
    const { auth, headers: source = {} } = this.#options
    const configured = typeof source === 'function' ? await source() : source
    const headers = mergeHeaders(configured, own)
    const init: RequestInit = { method, signal, redirect: 'manual' }
    if (body !== undefined) init.body = body
    for (let retry = 0; ; retry++) {
      const { response, url, supplied } = await this.#follow(method, headers, init, signal)
      if (auth === undefined) return response
      const { status, headers: received } = response
      if (status !== 401 && status !== 403) {
        auth.answered?.(received)
        return response
      }
      if (retry === maxRetries || method === 'DELETE') return response
      const resume = pause?.()
      try {
        const refusal = { status, headers: received, method, url, sent: supplied, background }
        if (!(await auth.refused(refusal, signal))) return response
        response.body?.cancel().catch(() => {})
      } catch (error) {
        response.body?.cancel().catch(() => {})
        throw error
      } finally {
        resume?.()
      }
    }
  }

  async #follow(method: string, headers: Headers, init: RequestInit, signal: AbortSignal): Promise<Sent> {
    const { auth } = this.#options
    let url = this.url
    for (let hop = 0; ; hop++) {
      const supplied = (await auth?.authorize({ method, url })) ?? {}
      const all = auth === undefined ? headers : new Headers(headers)
      for (const [name, value] of Object.entries(supplied)) all.set(name, value)
      signal.throwIfAborted()
      const response = await this.#fetchOnce(url, { ...init, headers: all }, signal)
      const next = redirectTarget(response, url)
      if (next === undefined) return { response, url, supplied }
      response.body?.cancel().catch(() => {})
      if (hop === maxRedirects) {
        throw new McpError('HTTP', `${this.url} redirects more than ${maxRedirects} times`)
      }
      url = next
    }
  }

  async #fetchOnce(url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    try {
      return await (this.#options.fetch ?? fetch)(url, init)
    } catch (error) {
      throw fetchError(error, signal, url)
    }
  }
}

/** The configured headers, overridden by those of the request. */
function mergeHeaders(
  configured: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Headers {
  try {
    const headers = new Headers({ ...configured })
    for (const name in own) headers.set(name, own[name] ?? '')
    return headers
  } catch (error) {
    throw invalid('A request header has a name or value that HTTP does not allow', { cause: error })
  }
}

/** The error for a failure of `fetch` or of reading its body. */
export function fetchError(error: unknown, signal: AbortSignal, url: URL): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof McpError) return error
  const code = codeOf(error)
  const reason = unreachable.get(code)
  return reason !== undefined
    ? new McpError('CONNECT_FAILED', `Could not reach ${url.origin}: ${reason} (${code})`, {
        cause: error,
        details: { code },
      })
    : new McpError(
        'CONNECTION_CLOSED',
        `The connection to ${url.origin} failed before the response arrived (${reasonOf(error, code)})${connectionHint(error, code, url)}`,
        { cause: error, details: code === undefined ? {} : { code } },
      )
}

/** The code of Node's fetch for a closed connection has no meaning for readers. */
function reasonOf(error: unknown, code: string | undefined): string {
  return code === 'UND_ERR_SOCKET' ? 'the server closed the connection' : (code ?? rootMessage(error))
}

/** A hint for https to a port without TLS, and for ports that `fetch` blocks. */
function connectionHint(error: unknown, code: string | undefined, { port }: URL): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return '. If this port has no TLS, write http:// instead of https://'
  if (rootMessage(error) !== 'bad port') return ''
  return `. Browsers and fetch block port ${port}, which is reserved for another protocol. Use another port for the server`
}

function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code
    if (at instanceof AggregateError) return codeOf(at.errors[0])
  }
  return undefined
}

/** The message of the innermost error; that of `fetch` itself is not specific. */
function rootMessage(error: unknown): string {
  let at = error
  for (let depth = 0; depth < 4 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause
  return at instanceof Error ? at.message : String(at)
}

function endpointUrl(url: string | URL): URL {
  if (!URL.canParse(url)) {
    const text = String(url)
    const hint = /^[\w-]+\.[\w.-]+(?::\d+)?(?:\/|$)/.test(text)
      ? `: write http://${text} or https://${text}`
      : ''
    throw invalid(
      `${JSON.stringify(text)} is not a URL${hint}. To start a program, pass stdio({ command }) to connect.`,
    )
  }
  const parsed = new URL(url)
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    const isHostAndPort = /^\d{1,5}(?:\/|$)/.test(parsed.pathname)
    const hint = isHostAndPort ? `: write http://${parsed.href}` : `, not ${parsed.protocol}`
    throw invalid(`The URL must start with http:// or https://${hint}`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw invalid('The URL contains credentials. Give them in the option "headers" instead')
  }
  return parsed
}

function redirectTarget(response: Response, from: URL): URL | undefined {
  if (response.type === 'opaqueredirect') {
    throw new McpError('HTTP', `${from} redirects, and this runtime hides the target. Use the final URL.`)
  }
  const location = response.headers.get('location')
  if (!redirects.has(response.status) || location === null || !URL.canParse(location, from)) return undefined
  const next = new URL(location, from)
  if (next.origin === from.origin) return next
  response.body?.cancel().catch(() => {})
  throw new McpError(
    'HTTP',
    `${from.origin} redirects to ${next.origin}, another origin, to which credentials must not be sent. If you trust it, use its URL.`,
    { details: { status: response.status } },
  )
}
