import type { Caller } from '../../core/exchange.ts'
import type { Later } from '../../core/later.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcRequest } from '../../jsonrpc/message.ts'
import { classify, parseJson, requireDepth } from '../../jsonrpc/parse.ts'
import { isModern } from '../../protocol/client-meta.ts'
import { eraOf } from '../../protocol/eras.ts'
import { type FullBudget, fullError, fullStatus, type MemoryAccount, parsedBytes } from '../memory.ts'
import { failure } from '../message.ts'
import { report } from '../report.ts'
import type { Core } from './core.ts'
import type { Body, HeaderFields, HttpReply, HttpRequest } from './face.ts'
import type { Guard } from './guard.ts'
import type { Legacy, LegacyTrip } from './legacy.ts'
import { AcceptReader, isCoded, isJson, isTransferCoded } from './media.ts'
import { serveModern } from './modern.ts'
import type { Authenticate, HttpOptions, Identified } from './options.ts'
import { sessionIdIn } from './query.ts'
import { refusesScopes, sendRefusal } from './refusal.ts'
import type { Sessionless } from './sessionless.ts'

/** Seconds after which a client that found no room may try again. */
const retryAfter = '10'
const documentPreflight: HeaderFields = {
  'Access-Control-Allow-Methods': 'GET',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '600',
}
// Made when first needed: its module of the runtime takes long to load.
let decoder: TextDecoder | undefined

/** Takes HTTP requests of every runtime to where they are served. */
export class Router {
  readonly #core: Core
  readonly #guard: Guard
  readonly #path: string
  /** What the endpoint accepts. */
  readonly #methods: string
  readonly #authenticate: Authenticate | undefined
  readonly #accepts = new AcceptReader()
  readonly #mounts: boolean
  readonly #warn: (message: string) => void
  /** Whether all requests of a port come here, so that no framework can keep any from this handler. */
  ownsPort = false
  #isPublished = false
  /** What the operator was warned of. */
  readonly #hinted = new Set<'metadata' | 'path'>()

  /** Without `path` in the options, it is the one given, or the one that a framework mounted the handler at. */
  constructor(core: Core, guard: Guard, path: string, options: HttpOptions, warn: (message: string) => void) {
    this.#core = core
    this.#guard = guard
    this.#path = path
    this.#methods = core.sessionless !== undefined ? 'POST' : 'POST, GET, DELETE'
    this.#authenticate = options.authenticate
    this.#mounts = options.path === undefined
    this.#warn = warn
  }

  /** Answers one request. Never throws. */
  handle(request: HttpRequest, reply: HttpReply): void {
    try {
      this.#enter(request, reply)
    } catch (error) {
      this.#broken(error, request, reply)
    }
  }

  #enter(request: HttpRequest, reply: HttpReply): void {
    const repeated = request.repeatedSingleton()
    if (repeated !== undefined) {
      refuse(reply, 400, ErrorCode.InvalidRequest, `Invalid request: ${repeated} is given twice`)
      return
    }
    if (isTransferCoded(request.header('transfer-encoding'))) {
      const text = errorText(ErrorCode.InvalidRequest, 'Transfer-Encoding must be chunked')
      reply.send(501, text, { Connection: 'close' })
      return
    }
    const document = this.#document(request)
    if (document !== undefined) {
      this.#publish(request, reply, document)
      return
    }
    const refused = this.#guard.refuses(request)
    if (refused !== undefined) {
      refuse(reply, 403, ErrorCode.InvalidRequest, refused)
      return
    }
    reply.extra = this.#guard.corsFor(request)
    if (!this.#isEndpoint(request) && !this.#isOlder(request)) {
      if (request.method === 'POST') this.#hint('path', request)
      refuse(reply, 404, ErrorCode.InvalidRequest, `Not found: the endpoint is ${this.#path}`)
    } else if (this.#core.closing) {
      this.#closing(reply)
    } else if (request.method === 'OPTIONS') {
      this.#options(request, reply)
    } else if (request.method !== 'POST' && request.method !== 'GET' && request.method !== 'DELETE') {
      this.#wrongMethod(reply, this.#methods)
    } else if (this.#authenticate === undefined) {
      this.#route(request, reply, this.#core.anonymous(request))
    } else {
      this.#identify(this.#authenticate, request, reply).catch((error) => this.#broken(error, request, reply))
    }
  }

  async #identify(authenticate: Authenticate, request: HttpRequest, reply: HttpReply): Promise<void> {
    const caller = await authenticate(request)
    if (!('principal' in caller)) {
      if (caller.because !== undefined) report(this.#core.server, caller.because, request.method)
      sendRefusal(reply, caller)
      if (caller.status === 401) this.#hint('metadata', request)
      return
    }
    if (caller.expires !== undefined || caller.stillCounts !== undefined) reply.lease = caller
    if (caller.headers !== undefined) reply.extra = { ...reply.extra, ...caller.headers }
    this.#route(request, reply, callerOf(caller))
  }

  /** What anybody may read at the path of a request. */
  #document(request: HttpRequest): string | undefined {
    for (const [path, text] of this.#authenticate?.documents ?? []) if (request.isAt(path)) return text
    return undefined
  }

  /** Answers with a document, to any page too: it says nothing that is not for everybody. */
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

  /** Warns once of a path that a framework does not route here, or routes here and this handler does not expect. */
  #hint(what: 'metadata' | 'path', { url }: HttpRequest): void {
    if (this.ownsPort || this.#hinted.has(what)) return
    this.#hinted.add(what)
    const mounting = {
      name: this.#core.server.info.name,
      path: this.#path,
      url,
      documents: this.#authenticate?.documents,
      isPublished: () => this.#isPublished,
    }
    import('./mount-hints.ts').then(
      ({ hint }) => hint(what, mounting, this.#warn),
      () => {},
    )
  }

  #isOlder(request: HttpRequest): boolean {
    return this.#core.sse !== undefined && request.isAt(this.#core.sse.path)
  }

  #route(request: HttpRequest, reply: HttpReply, caller: Caller): void {
    const memory = this.#core.memory.account(caller.quotaKey)
    reply.memory = memory
    if (this.#isOlder(request)) this.#older(request, reply, caller, memory)
    else if (request.method === 'POST') this.#post(request, reply, caller, memory)
    else if (this.#core.sessionless !== undefined || namesStateless(request)) this.#wrongMethod(reply, 'POST')
    else if (request.method === 'DELETE') {
      const trip = { request, reply, caller, memory }
      this.#loaded(this.#core.legacy, request, reply, (legacy) => legacy.delete(trip))
    } else if (this.#accepts.read(request.header('accept')).events) {
      const trip = { request, reply, caller, memory }
      this.#loaded(this.#core.legacy, request, reply, (legacy) => legacy.get(trip))
    } else {
      this.#notAcceptable(reply)
    }
  }

  #post(request: HttpRequest, reply: HttpReply, caller: Caller, memory: MemoryAccount): void {
    if (!isJson(request.header('content-type'))) {
      this.#notJson(reply)
      return
    }
    const { json, events } = this.#accepts.read(request.header('accept'))
    if (!json || !events) {
      const why = 'Not acceptable: Accept must list application/json and text/event-stream'
      refuse(reply, 406, ErrorCode.InvalidRequest, why)
      return
    }
    this.#read(request, reply, memory, (value) => this.#message({ request, reply, caller, memory }, value))
  }

  /** HTTP+SSE. A POST without a session is how clients find out that this is not Streamable HTTP. */
  #older(request: HttpRequest, reply: HttpReply, caller: Caller, memory: MemoryAccount): void {
    const { sse } = this.#core
    if (sse === undefined) return
    if (request.method === 'GET') {
      if (this.#accepts.read(request.header('accept')).events) {
        this.#loaded(sse.sessions, request, reply, (sessions) => sessions.open(reply, caller, memory))
      } else this.#notAcceptable(reply)
    } else if (request.method !== 'POST' || sessionIdIn(request) === undefined) {
      this.#wrongMethod(reply, 'GET')
    } else if (!isJson(request.header('content-type'))) {
      this.#notJson(reply)
    } else {
      this.#read(request, reply, memory, (value, bytes) => {
        const sessions = sse.sessions.value
        const session = sessions?.find(request, caller)
        if (sessions !== undefined && session !== undefined) {
          if (!refusesScopes(this.#core, reply, caller, value))
            sessions.take(session, reply, value, caller, bytes)
        } else refuse(reply, 404, ErrorCode.InvalidRequest, 'This session does not exist, or no longer')
      })
    }
  }

  /**
   * Reads the one JSON text of a request.
   * @param take serves its value, which holds so many bytes; gives a promise of the end where that takes longer
   */
  #read(
    request: HttpRequest,
    reply: HttpReply,
    memory: MemoryAccount,
    take: (value: unknown, bytes: number) => Promise<void> | void,
  ): void {
    const { messageBytes } = this.#core
    request.read(messageBytes, memory, (body) => {
      try {
        if (this.#core.closing) {
          this.#closing(reply)
        } else if (body.type === 'too large') {
          refuse(reply, 413, ErrorCode.InvalidRequest, `A message may have at most ${messageBytes} bytes`)
        } else if (body.type === 'no room') {
          const { full } = body
          reply.send(fullStatus(full), errorTextOf(fullError(full)), { 'Retry-After': retryAfter })
        } else if (body.type === 'cut off') {
          refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: its body broke off before its end')
        } else if (body.type === 'bytes' && isCoded(request.header('content-encoding'))) {
          const text = errorText(ErrorCode.InvalidRequest, 'The body must not be compressed')
          reply.send(415, text, { 'Accept-Encoding': 'identity' })
        } else {
          this.#parse(body, reply, memory, take)
        }
      } catch (error) {
        this.#broken(error, request, reply)
      }
    })
  }

  #parse(
    body: Exclude<Body, { type: 'too large' | 'no room' | 'cut off' }>,
    reply: HttpReply,
    memory: MemoryAccount,
    take: (value: unknown, bytes: number) => Promise<void> | void,
  ): void {
    switch (body.type) {
      case 'bytes': {
        const text = decode(body.bytes)
        const bytes = parsedBytes(text, text.length < body.bytes.length)
        const full = memory.admit(bytes)
        if (full !== undefined) {
          this.#full(full, bytes, reply)
          return
        }
        this.#counted(bytes, memory, () =>
          take(parseJson(text, { depth: this.#core.bounds.jsonDepth }), bytes),
        )
        return
      }
      case 'value':
        requireDepth(body.value, this.#core.bounds.jsonDepth)
        take(body.value, 0)
        return
      case 'consumed':
        throw new Error(
          'The body was already read before this handler saw the request. ' +
            'Mount the handler before any body parser, or let a parser of JSON, such as express.json(), leave its value in ' +
            'request.body: express.text() and express.raw() leave text and bytes.',
        )
    }
  }

  /** Serves what holds so many bytes, and gives them back when that is over. */
  #counted(bytes: number, memory: MemoryAccount, serve: () => Promise<void> | void): void {
    let over: Promise<void> | void
    try {
      over = serve()
    } catch (error) {
      memory.give(bytes)
      throw error
    }
    if (over === undefined) memory.give(bytes)
    else over.then(() => memory.give(bytes))
  }

  /** Refuses a message for which there is no room, or never will be. */
  #full(full: FullBudget, bytes: number, reply: HttpReply): void {
    const { requestBytes } = this.#core.memory
    if (bytes > requestBytes) {
      const why = `The message would take about ${bytes} bytes of memory, and one may have ${requestBytes}`
      refuse(reply, 413, ErrorCode.InvalidRequest, why)
    } else reply.send(fullStatus(full), errorTextOf(fullError(full)), { 'Retry-After': retryAfter })
  }

  /**
   * The era of a message: one that names its version in `_meta` is stateless, anything else is of a session.
   * @returns a promise of the end where that is not now
   */
  #message(trip: LegacyTrip, value: unknown): Promise<void> | void {
    const core = this.#core
    const { request, reply, caller } = trip
    if (Array.isArray(value)) {
      if (!namesStateless(request)) return this.#legacy(trip, (legacy) => legacy.batch(trip, value))
      refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: send each message by itself')
      return
    }
    const classified = classify(value)
    switch (classified.kind) {
      case 'invalid':
        reply.send(400, JSON.stringify(failure(classified.id, classified.error)))
        return
      case 'request':
        return isStateless(request, classified.message)
          ? serveModern(core, request, reply, caller, classified.message)
          : this.#legacy(trip, (legacy) => legacy.request(trip, classified.message))
      case 'notification':
        if (namesStateless(request)) reply.send(202, '')
        else this.#legacy(trip, (legacy) => legacy.other(trip, classified.message))
        return
      case 'response':
        if (namesStateless(request)) {
          refuse(reply, 400, ErrorCode.InvalidRequest, 'Invalid request: nothing was asked of this client')
        } else {
          this.#legacy(trip, (legacy) => legacy.other(trip, classified.message))
        }
    }
  }

  #legacy(
    trip: LegacyTrip,
    serve: (legacy: Pick<Legacy, keyof Sessionless>) => Promise<void> | void,
  ): Promise<void> | void {
    const { sessionless, legacy } = this.#core
    return sessionless === undefined
      ? this.#loaded(legacy, trip.request, trip.reply, serve)
      : this.#loaded(sessionless, trip.request, trip.reply, serve)
  }

  /**
   * Serves with what may have to be loaded first, unless the server closes meanwhile.
   * @returns a promise of the end where that is not now
   */
  #loaded<T>(
    later: Later<T>,
    request: HttpRequest,
    reply: HttpReply,
    serve: (loaded: T) => Promise<void> | void,
  ): Promise<void> | void {
    const present = later.waiting === 0 ? later.value : undefined
    if (present !== undefined) return this.#core.closing ? this.#closing(reply) : serve(present)
    return new Promise((resolve) => {
      later.use(
        (loaded) => resolve(this.#core.closing ? this.#closing(reply) : serve(loaded)),
        (error) => {
          this.#broken(error, request, reply)
          resolve()
        },
      )
    })
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

  /** Answers what failed before it was known to be a request. */
  #broken(error: unknown, request: HttpRequest, reply: HttpReply): void {
    if (error instanceof RpcError) {
      refuse(reply, 400, error.code, error.message)
      return
    }
    report(this.#core.server, error, request.method)
    refuse(reply, 500, ErrorCode.InternalError, 'Internal error')
  }
}

function callerOf({ principal, scopes = [], clientId, claims = {} }: Identified): Caller {
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
