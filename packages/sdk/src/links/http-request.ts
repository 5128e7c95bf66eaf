import { requireKnown } from '../core/known-members.ts'
import { McpError } from '../jsonrpc/error.ts'

/** The part of `fetch` a link needs. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

/** Headers for every request: fixed, or found anew each time. */
export type HeaderSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

/** A request the server refused with 401 or 403. */
export interface Refusal {
  readonly status: number
  /** The headers of the answer. */
  readonly headers: Headers
  readonly method: string
  readonly url: URL
  /** What `authorize` had supplied for the refused request. */
  readonly sent: Readonly<Record<string, string>>
  /** Nobody waits for this request, so no person should be bothered for it. */
  readonly background: boolean
}

/** Supplies credentials for requests to one endpoint, and finds new ones when they are refused. */
export interface HttpAuth {
  /** Headers for one request; called for every one, so it must be cheap when a good token is at hand. */
  authorize(request: { method: string; url: URL }): Promise<Readonly<Record<string, string>>>
  /**
   * The server answered 401 or 403. True: credentials changed, send the request again. False: the answer stands.
   * Rejects with McpError 'UNAUTHORIZED' saying why not. The signal aborts when the request is given up.
   */
  refused(refusal: Refusal, signal: AbortSignal): Promise<boolean>
  /** Sees the headers of every other answer, e.g. for `DPoP-Nonce`. */
  answered?(headers: Headers): void
}

/** What a client sends along over HTTP, and how much of an answer it takes. All of it has defaults. */
export interface HttpOptions {
  /** Headers for every request, such as `Authorization`: fixed, or a function asked each time. */
  headers?: HeaderSource
  /** Supplies credentials and renews them: what `oauth` and its siblings make. Use one for one server. */
  auth?: HttpAuth
  /** What sends the requests. Default: the global `fetch`. Node's own gives up after 300 s of silence. */
  fetch?: Fetch
  /** Bytes of one answer or event. Default 4 MiB. */
  maxMessageBytes?: number
}

/** What the sender of one request says about it. */
export interface SendOptions {
  /** Stops the sender's clocks while credentials are looked for; call what it gives when that is over. */
  pause?: (() => () => void) | undefined
  /** Nobody waits for this request, so no person should be bothered for it. */
  background?: boolean
}

const optionNames = Object.keys({
  headers: true,
  auth: true,
  fetch: true,
  maxMessageBytes: true,
} satisfies Record<keyof HttpOptions, true>)

/** Options of other SDKs, and what to write here. */
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
const unreachable = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

interface Sent {
  readonly response: Response
  readonly url: URL
  readonly supplied: Readonly<Record<string, string>>
}

/** Sends requests to one endpoint and never follows it to another origin. */
export class Endpoint {
  readonly url: URL
  readonly #fetch: Fetch
  readonly #headers: HeaderSource
  readonly #auth: HttpAuth | undefined

  static from(url: string | URL, options: HttpOptions): Endpoint {
    requireKnown('The options object of http', options, optionNames, (name) => insteadOf.get(name))
    const send = options.fetch ?? ((to, init) => fetch(to, init))
    return new Endpoint(url, options.headers ?? {}, send, options.auth)
  }

  constructor(url: string | URL, headers: HeaderSource, fetch: Fetch, auth?: HttpAuth) {
    this.url = endpointUrl(url)
    this.#headers = headers
    this.#fetch = fetch
    this.#auth = auth
  }

  /** Another place of the same server, with the same headers and credentials. */
  at(url: URL): Endpoint {
    return new Endpoint(url, this.#headers, this.#fetch, this.#auth)
  }

  /**
   * Sends a request, again with other credentials where those are refused. Rejects with an McpError when no answer
   * came or none could be had, or with the signal's reason when it was aborted.
   */
  async send(
    method: 'POST' | 'GET' | 'DELETE',
    own: Readonly<Record<string, string>>,
    body: string | undefined,
    signal: AbortSignal,
    options: SendOptions = {},
  ): Promise<Response> {
    const configured = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    const headers = joined(configured, own)
    const init: RequestInit = { method, signal, redirect: 'manual' }
    if (body !== undefined) init.body = body
    for (let retry = 0; ; retry++) {
      const sent = await this.#follow(method, headers, init, signal)
      if (this.#auth === undefined) return sent.response
      const last = retry === maxRetries || method === 'DELETE'
      if (!(await this.#changes(this.#auth, sent, method, last, signal, options))) return sent.response
      sent.response.body?.cancel().catch(() => {})
    }
  }

  /** Whether an answer is a refusal that other credentials may overcome, and those are at hand now. */
  async #changes(
    auth: HttpAuth,
    { response, url, supplied }: Sent,
    method: string,
    last: boolean,
    signal: AbortSignal,
    { pause, background = false }: SendOptions,
  ): Promise<boolean> {
    const { status, headers } = response
    if (status !== 401 && status !== 403) {
      auth.answered?.(headers)
      return false
    }
    if (last) return false
    const resume = pause?.()
    try {
      return await auth.refused({ status, headers, method, url, sent: supplied, background }, signal)
    } catch (error) {
      response.body?.cancel().catch(() => {})
      throw error
    } finally {
      resume?.()
    }
  }

  /** Sends a request and follows where it is redirected. */
  async #follow(method: string, headers: Headers, init: RequestInit, signal: AbortSignal): Promise<Sent> {
    let url = this.url
    for (let hop = 0; ; hop++) {
      const supplied = this.#auth === undefined ? {} : ((await this.#auth.authorize({ method, url })) ?? {})
      const all = this.#auth === undefined ? headers : new Headers(headers)
      for (const [name, value] of Object.entries(supplied)) all.set(name, value)
      signal.throwIfAborted()
      const response = await this.#once(url, { ...init, headers: all }, signal)
      const next = target(response, url)
      if (next === undefined) return { response, url, supplied }
      response.body?.cancel().catch(() => {})
      if (hop === maxRedirects) {
        throw new McpError('HTTP', `${this.url} redirects more than ${maxRedirects} times`)
      }
      url = next
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

/** The headers somebody configured, and over them those of a request itself. */
function joined(
  configured: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Headers {
  try {
    const headers = new Headers({ ...configured })
    for (const name in own) headers.set(name, own[name] ?? '')
    return headers
  } catch (error) {
    throw new McpError('INVALID', 'A request header has a name or value that HTTP does not allow', {
      cause: error,
    })
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
        `The connection to ${url.origin} failed before the answer came (${code ?? rootOf(error)})${portHint(error, url)}`,
        { cause: error, details: code === undefined ? {} : { code } },
      )
}

/** What to do where `fetch` connects to no server on the port, whoever listens there. */
function portHint(error: unknown, { port }: URL): string {
  if (rootOf(error) !== 'bad port') return ''
  return `. Browsers and fetch never connect to port ${port}, which belongs to another protocol. Let the server listen on another port`
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
