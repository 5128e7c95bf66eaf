import { ErrorCode, excerpt, kindOf, RpcError } from '../../../jsonrpc/error.ts'
import { classify, isObject, parseJson, requireDepth } from '../../../jsonrpc/parse.ts'
import { isStatelessRequest } from '../../../protocol/meta.ts'
import { latestVersion } from '../../../protocol/methods.ts'
import type { Caller } from '../../../request/exchange.ts'
import { type FullBudget, fullError, fullStatus, parsedBytes } from '../memory-budget.ts'
import { report, unref } from '../options.ts'
import type { Guard } from './guard.ts'
import {
  type Body,
  type HeaderFields,
  type HttpReply,
  type HttpRequest,
  sendBusy,
  sendError,
  sessionIdIn,
} from './http-adapter.ts'
import type { Authenticate, AuthenticatedCaller, ServeHttpOptions } from './options.ts'
import { type HttpExchange, type HttpServerState, type Sender, sendRefusal } from './server-state.ts'
import type { SessionRequests } from './session-requests.ts'
import { StatelessResponse } from './stateless.ts'

const documentPreflight: HeaderFields = {
  'Access-Control-Allow-Methods': 'GET',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '600',
}
// Created on first use: the runtime's module takes long to load.
let decoder: TextDecoder | undefined

/** Routes HTTP requests: health checks, metadata, the endpoint, and HTTP+SSE. */
export class Router {
  readonly #state: HttpServerState
  readonly #guard: Guard
  readonly #path: string
  /** The HTTP methods of the endpoint, for `Allow`. */
  readonly #methods: string
  readonly #options: ServeHttpOptions
  /** The path of HTTP+SSE, where it is served. */
  readonly #sse: string | undefined
  readonly #accepts = new AcceptReader()
  readonly #warn: (message: string) => void
  /** Whether the handler receives all requests of a port, with no framework in between. */
  ownsPort = false
  #isPublished = false
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
    this.#methods = state.sessions !== undefined ? 'POST, GET, DELETE' : 'POST'
    this.#options = options
    this.#sse = options.sse
    this.#warn = warn
  }

  /** Answers one request. Never throws. */
  async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    try {
      const { health } = this.#options
      if (health !== undefined && this.#reportsHealth(health, request, reply)) return
      if (!this.#admits(request, reply)) return
      const sender =
        this.#options.authenticate === undefined
          ? this.#state.anonymous(request)
          : await this.#identify(this.#options.authenticate, request, reply)
      if (sender === undefined) return
      const { caller, memory } = sender
      reply.memory = memory
      const exchange = { request, reply, caller, memory }
      if (!this.#needsBody(exchange)) return
      const body = await request.read(this.#state.messageBytes, memory)
      const message = this.#parse(exchange, body)
      if (message === undefined) return
      try {
        await this.#message(exchange, message.value, message.bytes)
      } finally {
        memory.release(message.bytes)
      }
    } catch (error) {
      this.#failed(error, request, reply)
    }
  }

  /** Responds to a health check; false for any other request. */
  #reportsHealth(path: string, request: HttpRequest, reply: HttpReply): boolean {
    const isLive = request.isAt(`${path}/live`)
    if (!isLive && !request.isAt(`${path}/ready`)) return false
    const headers = { 'Cache-Control': 'no-store' }
    if (request.method !== 'GET' && request.method !== 'HEAD') this.#wrongMethod(reply, 'GET')
    else if (isLive) reply.send(200, '{"status":"live"}', headers)
    else {
      const { readiness } = this.#state
      reply.send(readiness === 'ready' ? 200 : 503, JSON.stringify({ status: readiness }), headers)
    }
    return true
  }

  /** Whether a request is admitted to authentication; otherwise its response was sent. */
  #admits(request: HttpRequest, reply: HttpReply): boolean {
    const repeated = request.repeatedSingleton()
    if (repeated !== undefined) {
      refuse(reply, 400, ErrorCode.InvalidRequest, `Invalid request: ${repeated} is sent twice`)
      return false
    }
    // The HTTP parser leaves other transfer codings in place (RFC 9112, section 6.1).
    const transferCoding = request.header('transfer-encoding')
    if (transferCoding !== undefined && transferCoding.toLowerCase() !== 'chunked') {
      refuse(reply, 501, ErrorCode.InvalidRequest, 'Transfer-Encoding must be chunked', {
        Connection: 'close',
      })
      return false
    }
    if (this.#options.authenticate?.documents !== undefined && this.#publish(request, reply)) return false
    const refused = this.#guard.refusal(request)
    if (refused !== undefined) {
      refuse(reply, 403, ErrorCode.InvalidRequest, refused)
      return false
    }
    reply.extra = this.#guard.corsFor(request)
    if (this.#state.draining && this.ownsPort) reply.extra = { ...reply.extra, Connection: 'close' }
    const isEndpoint =
      request.isAt(this.#path) || (this.#options.path === undefined && request.isMounted === true)
    if (!isEndpoint && !(this.#sse !== undefined && request.isAt(this.#sse))) {
      if (request.method === 'POST') this.#hint('path', request)
      refuse(reply, 404, ErrorCode.InvalidRequest, `Not found: the endpoint is ${this.#path}`)
    } else if (this.#state.closing) {
      this.#closing(reply)
    } else if (request.method === 'OPTIONS') {
      const headers = this.#guard.preflight(request)
      if (headers === undefined) this.#wrongMethod(reply, this.#methods)
      else reply.send(204, '', headers)
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
  ): Promise<Sender | undefined> {
    const caller = await authenticate(request)
    requireOutcome(caller)
    if (!('principal' in caller)) {
      if (caller.because !== undefined) report(this.#state.server, caller.because, request.method)
      sendRefusal(reply, caller)
      if (caller.status === 401) this.#hint('metadata', request)
      return undefined
    }
    if (caller.expires !== undefined || caller.stillCounts !== undefined) reply.validity = caller
    if (caller.headers !== undefined) reply.extra = { ...reply.extra, ...caller.headers }
    return this.#state.sender(callerOf(caller))
  }

  /** Sends the document at the path of a request, which is public and so readable from every origin; false if there is none. */
  #publish(request: HttpRequest, reply: HttpReply): boolean {
    for (const [path, document] of this.#options.authenticate?.documents ?? []) {
      if (!request.isAt(path)) continue
      const refused = this.#guard.hostRefusal(request)
      if (refused !== undefined) {
        refuse(reply, 403, ErrorCode.InvalidRequest, refused)
        return true
      }
      this.#isPublished = true
      reply.extra = { 'Access-Control-Allow-Origin': '*' }
      if (request.method === 'GET') reply.send(200, document, { 'Cache-Control': 'public, max-age=300' })
      else if (request.method === 'OPTIONS') reply.send(204, '', documentPreflight)
      else this.#wrongMethod(reply, 'GET')
      return true
    }
    return false
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
    const paths = [...(this.#options.authenticate?.documents?.keys() ?? [])]
    if (paths.length === 0) return
    // A client requests the metadata right after the 401; a framework may not route that request here.
    unref(
      setTimeout(() => {
        if (!this.#isPublished) this.#warn(metadataHint(name, paths))
      }, metadataWaitMs),
    )
  }

  /** Whether the body of a request is needed; otherwise its response was sent, or a stream was opened. */
  #needsBody(exchange: HttpExchange): boolean {
    const { request, reply, caller, memory } = exchange
    const { sessions, closing } = this.#state
    const accepted = this.#accepts.read(request.header('accept'))
    if (closing) {
      this.#closing(reply)
    } else if (this.#sse !== undefined && request.isAt(this.#sse)) {
      // The refusal of a POST without a session shows clients that this is not a Streamable HTTP endpoint.
      const isMessage = request.method === 'POST' && sessionIdIn(request) !== undefined
      if (isMessage && isJson(request.header('content-type'))) return true
      if (isMessage) this.#notJson(reply)
      else if (request.method !== 'GET') this.#wrongMethod(reply, 'GET')
      else if (accepted.events)
        this.#serveSession(exchange, async ({ sse }) => sse?.open(reply, caller, memory))
      else this.#notAcceptable(reply)
    } else if (request.method === 'POST') {
      const isAcceptable = accepted.json && accepted.events
      if (!isJson(request.header('content-type'))) this.#notJson(reply)
      else if (isAcceptable) return true
      else this.#notAcceptable(reply, 'application/json and text/event-stream')
    } else if (sessions === undefined || hasStatelessVersion(request)) {
      this.#wrongMethod(reply, 'POST')
    } else if (request.method === 'DELETE') {
      this.#serveSession(exchange, (sessions) => sessions.delete(exchange))
    } else if (accepted.events) {
      this.#serveSession(exchange, (sessions) => sessions.get(exchange))
    } else {
      this.#notAcceptable(reply)
    }
    return false
  }

  /** Serves a request without a body: opens a stream of a session, or ends the session. */
  #serveSession({ request, reply }: HttpExchange, serve: (sessions: SessionRequests) => Promise<void>): void {
    this.#state.sessions?.use(serve).catch((error) => this.#failed(error, request, reply))
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
        sendBusy(reply, fullStatus(body.full), fullError(body.full))
        return undefined
      case 'cut off':
        refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: its body ended early')
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
        // Intermediaries may decode it differently.
        if (!/^(?:identity)?$/i.test(request.header('content-encoding') ?? '')) {
          refuse(reply, 415, ErrorCode.InvalidRequest, 'The body must not be compressed', {
            'Accept-Encoding': 'identity',
          })
          return undefined
        }
        const text = decode(body.bytes)
        const bytes = parsedBytes(text, text.length < body.bytes.length)
        const full = memory.reserve(bytes, 'request')
        if (full !== undefined) {
          this.#full(full, bytes, reply)
          return undefined
        }
        try {
          return { value: parseJson(text, { depth: bounds.jsonDepth }), bytes }
        } catch (error) {
          memory.release(bytes)
          throw error
        }
      }
    }
  }

  /** Rejects a message that exceeds the memory limits now, or always. */
  #full(full: FullBudget, bytes: number, reply: HttpReply): void {
    const { requestBytes } = this.#state.memory
    if (bytes > requestBytes) {
      const message = `The message would take about ${bytes} bytes of memory, and one may have ${requestBytes}`
      refuse(reply, 413, ErrorCode.InvalidRequest, message)
    } else sendBusy(reply, fullStatus(full), fullError(full))
  }

  /** Serves a message: one with a version in `_meta` is stateless, any other belongs to a session. */
  #message(exchange: HttpExchange, value: unknown, bytes: number): Promise<void> | undefined {
    const { sessionEra: legacy } = this.#state
    const { request, reply } = exchange
    if (this.#sse !== undefined && request.isAt(this.#sse)) {
      return this.#state.sessions?.use(async ({ sse }) => sse?.message(exchange, value, bytes))
    }
    if (Array.isArray(value)) {
      if (!hasStatelessVersion(request)) return legacy.use((sessions) => sessions.batch(exchange, value))
      refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: send each message by itself')
      return undefined
    }
    const classified = classify(value)
    if (classified.kind === 'invalid') {
      sendError(reply, 400, classified.error, classified.id)
    } else if (classified.kind === 'request') {
      const { message } = classified
      return isStatelessRequest(message.params) || hasStatelessVersion(request)
        ? new StatelessResponse(this.#state, exchange, message.method).serve(exchange, message)
        : legacy.use((sessions) => sessions.request(exchange, message))
    } else if (!hasStatelessVersion(request)) {
      return legacy.use((sessions) => sessions.oneWay(exchange, classified.message))
    } else if (classified.kind === 'notification') {
      reply.send(202, '')
    } else {
      refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: no input was requested from this client')
    }
    return undefined
  }

  #notJson(reply: HttpReply): void {
    refuse(reply, 415, ErrorCode.InvalidRequest, 'Content-Type must be application/json, in UTF-8')
  }

  #notAcceptable(reply: HttpReply, types = 'text/event-stream'): void {
    refuse(reply, 406, ErrorCode.InvalidRequest, `Not acceptable: Accept must list ${types}`)
  }

  #closing(reply: HttpReply): void {
    refuse(reply, 503, ErrorCode.InternalError, 'The server is shutting down')
  }

  #wrongMethod(reply: HttpReply, allowed: string): void {
    refuse(reply, 405, ErrorCode.InvalidRequest, `Method not allowed: use ${allowed}`, { Allow: allowed })
  }

  /** Responds to a request that failed before its message was known. */
  #failed(error: unknown, request: HttpRequest, reply: HttpReply): void {
    if (error instanceof RpcError) {
      refuse(reply, 400, error.code, error.message)
      return
    }
    report(this.#state.server, error, request.method)
    refuse(reply, 500, ErrorCode.InternalError, 'Internal error')
  }
}

/** @throws TypeError for what `authenticate` must not return */
function requireOutcome(outcome: unknown): void {
  let got = kindOf(outcome)
  if (isObject(outcome)) {
    const { principal, status } = outcome
    if (typeof principal === 'string' || (!('principal' in outcome) && typeof status === 'number')) return
    got = 'principal' in outcome ? `a principal that is ${kindOf(principal)}` : 'an object with neither'
  }
  throw new TypeError(
    `"authenticate" must return { principal } with a text, or a refusal such as { status: 401 }; it returned ${got}`,
  )
}

function callerOf({ principal, scopes = [], clientId, claims = {} }: AuthenticatedCaller): Caller {
  const caller = { principal, quotaKey: principal, scopes: new Set(scopes), claims }
  return clientId === undefined ? caller : { ...caller, clientId }
}

function hasStatelessVersion(request: HttpRequest): boolean {
  return request.header('mcp-protocol-version') === latestVersion
}

function decode(bytes: Uint8Array): string {
  decoder ??= new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    return decoder.decode(bytes)
  } catch {
    throw new RpcError(ErrorCode.ParseError, 'Parse error: the body is not valid UTF-8')
  }
}

const json = /^application\/json[\t ]*(;[^,]*)?$/i
const otherCharset = /;[\t ]*charset=(?!"?utf-?8"?[\t ]*(?:;|$))/i

export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType !== undefined && json.test(contentType) && !otherCharset.test(contentType)
}

/** The media types that a client accepts. */
export interface Accepted {
  readonly json: boolean
  readonly events: boolean
}

const nothing: Accepted = { json: false, events: false }

/** Reads Accept headers, and remembers the last: clients send the same one every time. */
export class AcceptReader {
  #header: string | undefined
  #accepted = nothing

  /** The media types that a header accepts; none without the header, which is required. */
  read(header: string | undefined): Accepted {
    if (header === undefined) return nothing
    if (header !== this.#header) {
      this.#accepted = parseAccept(header)
      this.#header = header
    }
    return this.#accepted
  }
}

function parseAccept(header: string): Accepted {
  const ranges = new Map<string, boolean>()
  for (const range of header.toLowerCase().split(',')) {
    const [type = '', ...params] = range.split(';').map((part) => part.trim())
    const wanted = !params.some((param) => /^q[\t ]*=[\t ]*0(?:\.0*)?$/.test(param))
    ranges.set(type, wanted || ranges.get(type) === true)
  }
  // The most specific range takes precedence.
  const accepts = (type: string, group: string): boolean =>
    ranges.get(type) ?? ranges.get(group) ?? ranges.get('*/*') ?? false
  return {
    json: accepts('application/json', 'application/*'),
    events: accepts('text/event-stream', 'text/*'),
  }
}

function refuse(
  reply: HttpReply,
  status: number,
  code: number,
  reason: string,
  headers?: HeaderFields,
): void {
  sendError(reply, status, new RpcError(code, reason), undefined, headers)
}

/** Milliseconds for a client to request the metadata after a 401. */
const metadataWaitMs = 5_000

function metadataHint(name: string, paths: readonly string[]): string {
  const routes = paths.map((path) => `app.all('${path}', handler.node)`).join(' and ')
  return (
    `${name}: a request got 401, and no client requested the metadata that names the authorization server. ` +
    `Clients request it at ${paths.join(' and ')}. If a framework routes only the endpoint to this handler, route that ` +
    `path to it too, in Express with ${routes}.`
  )
}

function pathHint(name: string, url: string, path: string): string {
  const requested = excerpt(url.split('?', 1)[0] ?? '')
  return (
    `${name}: a POST to ${requested} got 404, because the endpoint of this handler is ${path}. If a framework ` +
    `routes that path to it, set the option "path" of serveHttp to the same path.`
  )
}
