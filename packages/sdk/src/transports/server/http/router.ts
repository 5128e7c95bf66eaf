import { ErrorCode, excerpt, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonRpcRequest } from '../../../jsonrpc/message.ts'
import { classify, parseJson, requireDepth } from '../../../jsonrpc/parse.ts'
import { isModern } from '../../../protocol/meta.ts'
import { eraOf } from '../../../protocol/revision.ts'
import type { Caller } from '../../../request/exchange.ts'
import { type FullBudget, fullError, fullStatus, parsedBytes } from '../memory-budget.ts'
import { report, unref } from '../options.ts'
import { failure } from '../served-request.ts'
import type { Guard } from './guard.ts'
import {
  AcceptReader,
  type Body,
  type HeaderFields,
  type HttpReply,
  type HttpRequest,
  isCoded,
  isJson,
  isTransferCoded,
  sessionIdIn,
} from './http-adapter.ts'
import {
  type Authenticate,
  type AuthenticatedCaller,
  refusesScopes,
  type ServeHttpOptions,
  sendRefusal,
} from './options.ts'
import type { HttpServerState } from './server-state.ts'
import { type HttpExchange, SessionRequests } from './session-requests.ts'
import type { SseSessions } from './sse.ts'
import { serveStateless } from './stateless.ts'

/** Seconds after which a client may retry a request that exceeded a limit. */
const retryAfter = '10'
const documentPreflight: HeaderFields = {
  'Access-Control-Allow-Methods': 'GET',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '600',
}
// Created on first use: the runtime's module takes long to load.
let decoder: TextDecoder | undefined

/** Serves one parsed message of so many bytes. */
type Serve = (value: unknown, bytes: number) => Promise<void>

/** Checks and routes HTTP requests. */
export class Router {
  readonly #state: HttpServerState
  readonly #guard: Guard
  readonly #path: string
  /** The HTTP methods of the endpoint, for `Allow`. */
  readonly #methods: string
  readonly #authenticate: Authenticate | undefined
  readonly #accepts = new AcceptReader()
  readonly #mounts: boolean
  readonly #warn: (message: string) => void
  /** Whether the handler receives all requests of a port, with no framework in between. */
  ownsPort = false
  #isPublished = false
  /** Warnings that were given. */
  readonly #hinted = new Set<'metadata' | 'path'>()

  /** @param path of the endpoint; without `path` in the options also the path at which a framework mounts the handler */
  constructor(
    state: HttpServerState,
    guard: Guard,
    path: string,
    options: ServeHttpOptions,
    warn: (message: string) => void,
  ) {
    this.#state = state
    this.#guard = guard
    this.#path = path
    this.#methods = state.legacy instanceof SessionRequests ? 'POST, GET, DELETE' : 'POST'
    this.#authenticate = options.authenticate
    this.#mounts = options.path === undefined
    this.#warn = warn
  }

  /** Answers one request. Never throws. */
  handle(request: HttpRequest, reply: HttpReply): void {
    this.#serve(request, reply).catch((error) => this.#broken(error, request, reply))
  }

  async #serve(request: HttpRequest, reply: HttpReply): Promise<void> {
    if (!this.#admits(request, reply)) return
    const caller =
      this.#authenticate === undefined
        ? this.#state.anonymous(request)
        : await this.#identify(this.#authenticate, request, reply)
    if (caller === undefined) return
    const memory = this.#state.memory.account(caller.quotaKey)
    reply.memory = memory
    const exchange = { request, reply, caller, memory }
    const serve = this.#route(exchange)
    if (serve === undefined) return
    const body = await request.read(this.#state.messageBytes, memory)
    const message = this.#parse(exchange, body)
    if (message === undefined) return
    try {
      await serve(message.value, message.bytes)
    } finally {
      memory.give(message.bytes)
    }
  }

  /** Whether a request is admitted to authentication; otherwise its response was sent. */
  #admits(request: HttpRequest, reply: HttpReply): boolean {
    const repeated = request.repeatedSingleton()
    if (repeated !== undefined) {
      refuse(reply, 400, ErrorCode.InvalidRequest, `Invalid request: ${repeated} is given twice`)
      return false
    }
    if (isTransferCoded(request.header('transfer-encoding'))) {
      const text = errorText(ErrorCode.InvalidRequest, 'Transfer-Encoding must be chunked')
      reply.send(501, text, { Connection: 'close' })
      return false
    }
    const document = this.#document(request)
    if (document !== undefined) {
      this.#publish(request, reply, document)
      return false
    }
    const refused = this.#guard.refuses(request)
    if (refused !== undefined) {
      refuse(reply, 403, ErrorCode.InvalidRequest, refused)
      return false
    }
    reply.extra = this.#guard.corsFor(request)
    if (!this.#isEndpoint(request) && !this.#isOlder(request)) {
      if (request.method === 'POST') this.#hint('path', request)
      refuse(reply, 404, ErrorCode.InvalidRequest, `Not found: the endpoint is ${this.#path}`)
    } else if (this.#state.closing) {
      this.#closing(reply)
    } else if (request.method === 'OPTIONS') {
      this.#options(request, reply)
    } else if (request.method !== 'POST' && request.method !== 'GET' && request.method !== 'DELETE') {
      this.#wrongMethod(reply, this.#methods)
    } else {
      return true
    }
    return false
  }

  /** The caller of a request, or undefined if it was refused. */
  async #identify(
    authenticate: Authenticate,
    request: HttpRequest,
    reply: HttpReply,
  ): Promise<Caller | undefined> {
    const caller = await authenticate(request)
    if (!('principal' in caller)) {
      if (caller.because !== undefined) report(this.#state.server, caller.because, request.method)
      sendRefusal(reply, caller)
      if (caller.status === 401) this.#hint('metadata', request)
      return undefined
    }
    if (caller.expires !== undefined || caller.stillCounts !== undefined) reply.validity = caller
    if (caller.headers !== undefined) reply.extra = { ...reply.extra, ...caller.headers }
    return callerOf(caller)
  }

  /** The public document at the path of a request. */
  #document(request: HttpRequest): string | undefined {
    for (const [path, text] of this.#authenticate?.documents ?? []) if (request.isAt(path)) return text
    return undefined
  }

  /** Sends a document, which is public and so readable from every origin. */
  #publish(request: HttpRequest, reply: HttpReply, document: string): void {
    const refused = this.#guard.refusesHost(request)
    if (refused !== undefined) {
      refuse(reply, 403, ErrorCode.InvalidRequest, refused)
      return
    }
    this.#isPublished = true
    reply.extra = { 'Access-Control-Allow-Origin': '*' }
    if (request.method === 'GET') reply.send(200, document, { 'Cache-Control': 'public, max-age=300' })
    else if (request.method === 'OPTIONS') reply.send(204, '', documentPreflight)
    else this.#wrongMethod(reply, 'GET')
  }

  #isEndpoint(request: HttpRequest): boolean {
    return request.isAt(this.#path) || (this.#mounts && request.isMounted === true)
  }

  /** Warns once of a path that a framework does not route to this handler, or routes here unexpectedly. */
  #hint(what: 'metadata' | 'path', { url }: HttpRequest): void {
    if (this.ownsPort || this.#hinted.has(what)) return
    this.#hinted.add(what)
    const { name } = this.#state.server.info
    if (what === 'path') {
      this.#warn(pathHint(name, url, this.#path))
      return
    }
    const paths = [...(this.#authenticate?.documents?.keys() ?? [])]
    if (paths.length === 0) return
    // A client requests the metadata right after the 401; a framework may not route that request here.
    unref(
      setTimeout(() => {
        if (!this.#isPublished) this.#warn(metadataHint(name, paths))
      }, metadataWaitMs),
    )
  }

  #isOlder(request: HttpRequest): boolean {
    return this.#state.sse !== undefined && request.isAt(this.#state.sse.path)
  }

  /** The function for the message of a request; undefined if the response needs no body. */
  #route(exchange: HttpExchange): Serve | undefined {
    const { request, reply } = exchange
    const { sse, legacy, closing } = this.#state
    if (closing) this.#closing(reply)
    else if (sse !== undefined && this.#isOlder(request)) return this.#older(sse, exchange)
    else if (request.method === 'POST') return this.#post(exchange)
    else if (!(legacy instanceof SessionRequests) || namesStateless(request)) this.#wrongMethod(reply, 'POST')
    else if (request.method === 'DELETE') legacy.delete(exchange)
    else if (this.#accepts.read(request.header('accept')).events) legacy.get(exchange)
    else this.#notAcceptable(reply)
    return undefined
  }

  #post(exchange: HttpExchange): Serve | undefined {
    const { request, reply } = exchange
    if (!isJson(request.header('content-type'))) {
      this.#notJson(reply)
      return undefined
    }
    const { json, events } = this.#accepts.read(request.header('accept'))
    if (json && events) return (value) => this.#message(exchange, value)
    const why = 'Not acceptable: Accept must list application/json and text/event-stream'
    refuse(reply, 406, ErrorCode.InvalidRequest, why)
    return undefined
  }

  /** HTTP+SSE. Clients detect by a POST without a session that this is not Streamable HTTP. */
  #older(sessions: SseSessions, { request, reply, caller, memory }: HttpExchange): Serve | undefined {
    if (request.method === 'GET') {
      if (this.#accepts.read(request.header('accept')).events) sessions.open(reply, caller, memory)
      else this.#notAcceptable(reply)
      return undefined
    }
    if (request.method !== 'POST' || sessionIdIn(request) === undefined) {
      this.#wrongMethod(reply, 'GET')
      return undefined
    }
    if (!isJson(request.header('content-type'))) {
      this.#notJson(reply)
      return undefined
    }
    return async (value, bytes) => {
      const session = sessions.find(request, caller)
      if (session === undefined) {
        refuse(reply, 404, ErrorCode.InvalidRequest, 'This session does not exist, or no longer')
      } else if (!refusesScopes(this.#state, reply, caller, value)) {
        sessions.accept(session, reply, value, caller, bytes)
      }
    }
  }

  /**
   * The value of a body with its estimated bytes, which the account counts from then on; undefined if it was rejected.
   */
  #parse(
    { request, reply, memory }: HttpExchange,
    body: Body,
  ): { readonly value: unknown; readonly bytes: number } | undefined {
    const { messageBytes, bounds, closing } = this.#state
    if (closing) {
      this.#closing(reply)
      return undefined
    }
    switch (body.type) {
      case 'too large':
        refuse(reply, 413, ErrorCode.InvalidRequest, `A message may have at most ${messageBytes} bytes`)
        return undefined
      case 'no room':
        reply.send(fullStatus(body.full), errorTextOf(fullError(body.full)), { 'Retry-After': retryAfter })
        return undefined
      case 'cut off':
        refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: its body broke off before its end')
        return undefined
      case 'consumed':
        throw new Error(
          'The body was already read before this handler saw the request. ' +
            'Mount the handler before any body parser, or let a parser of JSON, such as express.json(), leave its value in ' +
            'request.body: express.text() and express.raw() leave text and bytes.',
        )
      case 'value':
        requireDepth(body.value, bounds.jsonDepth)
        return { value: body.value, bytes: 0 }
      case 'bytes': {
        if (isCoded(request.header('content-encoding'))) {
          const text = errorText(ErrorCode.InvalidRequest, 'The body must not be compressed')
          reply.send(415, text, { 'Accept-Encoding': 'identity' })
          return undefined
        }
        const text = decode(body.bytes)
        const bytes = parsedBytes(text, text.length < body.bytes.length)
        const full = memory.admit(bytes)
        if (full !== undefined) {
          this.#full(full, bytes, reply)
          return undefined
        }
        try {
          return { value: parseJson(text, { depth: bounds.jsonDepth }), bytes }
        } catch (error) {
          memory.give(bytes)
          throw error
        }
      }
    }
  }

  /** Rejects a message that exceeds the memory limits now, or always. */
  #full(full: FullBudget, bytes: number, reply: HttpReply): void {
    const { requestBytes } = this.#state.memory
    if (bytes > requestBytes) {
      const why = `The message would take about ${bytes} bytes of memory, and one may have ${requestBytes}`
      refuse(reply, 413, ErrorCode.InvalidRequest, why)
    } else reply.send(fullStatus(full), errorTextOf(fullError(full)), { 'Retry-After': retryAfter })
  }

  /** Serves a message: one with a version in `_meta` is stateless, any other belongs to a session. */
  #message(exchange: HttpExchange, value: unknown): Promise<void> {
    const { legacy } = this.#state
    const { request, reply, caller } = exchange
    if (Array.isArray(value)) {
      if (!namesStateless(request)) return legacy.batch(exchange, value)
      refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: send each message by itself')
      return Promise.resolve()
    }
    const classified = classify(value)
    if (classified.kind === 'invalid') {
      reply.send(400, JSON.stringify(failure(classified.id, classified.error)))
    } else if (classified.kind === 'request') {
      const { message } = classified
      return isStateless(request, message)
        ? serveStateless(this.#state, request, reply, caller, message)
        : legacy.request(exchange, message)
    } else if (!namesStateless(request)) {
      legacy.other(exchange, classified.message)
    } else if (classified.kind === 'notification') {
      reply.send(202, '')
    } else {
      refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: nothing was asked of this client')
    }
    return Promise.resolve()
  }

  #notJson(reply: HttpReply): void {
    refuse(reply, 415, ErrorCode.InvalidRequest, 'Content-Type must be application/json, in UTF-8')
  }

  #notAcceptable(reply: HttpReply): void {
    refuse(reply, 406, ErrorCode.InvalidRequest, 'Not acceptable: Accept must list text/event-stream')
  }

  #closing(reply: HttpReply): void {
    refuse(reply, 503, ErrorCode.InternalError, 'The server is shutting down')
  }

  #options(request: HttpRequest, reply: HttpReply): void {
    const headers = this.#guard.preflight(request)
    if (headers === undefined) this.#wrongMethod(reply, this.#methods)
    else reply.send(204, '', headers)
  }

  #wrongMethod(reply: HttpReply, allowed: string): void {
    const text = errorText(ErrorCode.InvalidRequest, `Method not allowed: use ${allowed}`)
    reply.send(405, text, { Allow: allowed })
  }

  /** Responds to a request that failed before its message was known. */
  #broken(error: unknown, request: HttpRequest, reply: HttpReply): void {
    if (error instanceof RpcError) {
      refuse(reply, 400, error.code, error.message)
      return
    }
    report(this.#state.server, error, request.method)
    refuse(reply, 500, ErrorCode.InternalError, 'Internal error')
  }
}

function callerOf({ principal, scopes = [], clientId, claims = {} }: AuthenticatedCaller): Caller {
  const caller = { principal, quotaKey: principal, scopes: new Set(scopes), claims }
  return clientId === undefined ? caller : { ...caller, clientId }
}

function isStateless(request: HttpRequest, message: JsonRpcRequest): boolean {
  return isModern(message.params) || namesStateless(request)
}

function namesStateless(request: HttpRequest): boolean {
  const version = request.header('mcp-protocol-version')
  return version !== undefined && eraOf(version) === 'stateless'
}

function decode(bytes: Uint8Array): string {
  decoder ??= new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    return decoder.decode(bytes)
  } catch {
    throw new RpcError(ErrorCode.ParseError, 'Parse error: the body is not valid UTF-8')
  }
}

function refuse(reply: HttpReply, status: number, code: number, why: string): void {
  reply.send(status, errorText(code, why))
}

function errorText(code: number, why: string): string {
  return errorTextOf(new RpcError(code, why))
}

function errorTextOf(error: RpcError): string {
  return JSON.stringify(failure(undefined, error))
}

/** Milliseconds for a client to request the metadata after a 401. */
const metadataWaitMs = 5_000

function metadataHint(name: string, paths: readonly string[]): string {
  const routes = paths.map((path) => `app.all('${path}', handler.node)`).join(' and ')
  return (
    `${name}: a request was answered 401, and no client asked for the metadata that says where to get a token. ` +
    `Clients look for it at ${paths.join(' and ')}. If a framework routes only the endpoint to this handler, route that ` +
    `path to it too, in Express with ${routes}.`
  )
}

function pathHint(name: string, url: string, path: string): string {
  const requested = excerpt(url.split('?', 1)[0] ?? '')
  return (
    `${name}: a POST to ${requested} was answered 404, because the endpoint of this handler is ${path}. If a framework ` +
    `routes that path to it, give serveHttp the same one in "path".`
  )
}
