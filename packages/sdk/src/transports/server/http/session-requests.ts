import { ErrorCode, internalError, invalidRequest, RpcError } from '../../../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../../jsonrpc/message.ts'
import { isObject, isRequestId } from '../../../jsonrpc/parse.ts'
import { OnDemand } from '../../../jsonrpc/promises.ts'
import type { ServerCapabilities } from '../../../protocol/definitions.ts'
import { assumedHttpVersion } from '../../../protocol/revision.ts'
import { revisionOf, revisions } from '../../../protocol/revisions.ts'
import type { Caller, Peer } from '../../../request/exchange.ts'
import { cannotAsk } from '../../../request/live-run.ts'
import { fullError, fullStatus } from '../memory-budget.ts'
import { report, unref } from '../options.ts'
import {
  Calls,
  encodeBatch,
  encodeResponse,
  failure,
  refusalOf,
  requireMethod,
  ServedRequest,
  type ServedResponse,
  unsupportedVersion,
} from '../served-request.ts'
import {
  type BatchReceiver,
  defaultLogLevel,
  type InvalidMessage,
  initialize,
  requireLoggingLevel,
  serveBatch,
} from '../session.ts'
import type { SessionOutlet } from '../session-requester.ts'
import type { EventStream } from './event-stream.ts'
import { type HttpReply, sendBusy, sendError, sendUnavailable } from './http-adapter.ts'
import { parseEventId } from './resumable-stream.ts'
import type { HttpExchange, HttpServerState } from './server-state.ts'
import { SessionPostResponse } from './session-responses.ts'
import { type HttpSession, Sessions } from './sessions.ts'
import type { SharedSessions } from './shared-sessions.ts'
import { SseSessions } from './sse.ts'
import { PostResponse } from './stateless.ts'

const maxRetryMs = 5_000

/** Serves the HTTP requests of sessions (revisions up to 2025-11-25). */
export class SessionRequests {
  /** The sessions of HTTP+SSE; undefined where it is not served. */
  readonly sse: SseSessions | undefined
  readonly #state: HttpServerState
  readonly #sessions: Sessions
  readonly #shared: OnDemand<SharedSessions>

  /** @param ssePath the path of HTTP+SSE, if it is served */
  constructor(state: HttpServerState, ssePath: string | undefined) {
    this.#state = state
    if (ssePath !== undefined) this.sse = new SseSessions(ssePath, state, this)
    this.#shared = new OnDemand(async () => {
      const { SharedSessions } = await import('./shared-sessions.ts')
      return new SharedSessions(state, this.#sessions)
    })
    this.#sessions = new Sessions(state, (session) => {
      const ended = this.#shared.value?.end(session, 'The session was idle and was closed to make room')
      ended?.catch((error) => report(state.server, error, 'session'))
    })
  }

  /** Joins the other nodes, which share the sessions; resolves when that succeeded, or failed and will be retried. */
  async join(): Promise<void> {
    if (this.#state.closing) return
    try {
      const { nodes } = await this.#shared.load()
      if (!this.#state.closing) await nodes.open()
    } catch (error) {
      report(this.#state.server, error, 'sessions of several nodes')
      unref(setTimeout(() => this.join(), Math.random() * maxRetryMs))
    }
  }

  /** Whether this node serves the sessions of others. */
  get hasJoined(): boolean {
    return this.#shared.value?.nodes.isOpen === true
  }

  /** The load of this node, for metrics. */
  load(): { sessions: number; connections: number; waiting: number; leaseAgeMs: number | undefined } {
    const sessions = this.#sessions.values()
    return {
      sessions: sessions.length,
      connections: sessions.reduce((sum, { connections }) => sum + connections, 0),
      waiting: sessions.reduce((sum, { session }) => sum + session.waiting, 0),
      leaseAgeMs: this.#shared.value?.nodes.leaseAgeMs,
    }
  }

  /** The sessions of several nodes; undefined where sessions belong to this process. */
  get shared(): Promise<SharedSessions> | undefined {
    return this.#state.sharesSessions ? this.#shared.load() : undefined
  }

  /** Serves a request: `initialize` begins a session, everything else belongs to one. */
  async request(exchange: HttpExchange, message: JsonRpcRequest): Promise<void> {
    if (message.method === 'initialize' && exchange.request.header('mcp-session-id') === undefined) {
      if (checkVersion(exchange, message.id)) await this.#begin(exchange, message)
      return
    }
    const lookup = this.#find(exchange, message.id)
    const owner = lookup instanceof Promise ? await lookup : lookup
    const { reply, caller } = exchange
    if (owner === undefined || this.#state.refusesScopes(reply, caller, message)) return
    const post = new SessionPostResponse(owner, reply, exchange.request, [message.id], {
      request: message,
      caller,
    })
    try {
      const response = await this.#serve(owner, message, post, caller)
      post.answer(200, response === undefined ? '' : encodeResponse(response, this.#state.server))
    } catch (error) {
      const refusal = refusalOf(error, message.method, this.#state.server)
      post.answer(refusalStatus(refusal), JSON.stringify(failure(message.id, refusal)))
    }
  }

  /** Serves a batch, if the session's revision has batches. */
  async batch(exchange: HttpExchange, values: readonly unknown[]): Promise<void> {
    const owner = await this.#find(exchange, undefined)
    const { reply, caller } = exchange
    if (owner === undefined || this.#state.refusesScopes(reply, caller, values)) return
    const { server, bounds } = this.#state
    const ids = values.flatMap((value) =>
      isObject(value) && isRequestId(value['id']) && 'method' in value ? value['id'] : [],
    )
    const post = new SessionPostResponse(owner, reply, exchange.request, ids)
    try {
      const serve = (message: JsonRpcRequest) => this.#serve(owner, message, post, caller)
      const responses = await serveBatch(this.#receiver(owner), server, values, bounds.batch, serve)
      if (responses.length === 0) post.accept()
      else post.answer(200, encodeBatch(responses, server))
    } catch (error) {
      const refusal = refusalOf(error, 'batch', server)
      post.answer(refusalStatus(refusal), JSON.stringify(failure(undefined, refusal)))
    }
  }

  async oneWay(exchange: HttpExchange, message: JsonRpcNotification | JsonRpcResponse): Promise<void> {
    const owner = await this.#find(exchange, undefined)
    if (owner === undefined) return
    if ('method' in message) this.#receiver(owner).notification(message)
    else if (this.#shared.value === undefined) owner.session.response(message)
    else {
      try {
        await this.#shared.value.response(owner, message)
      } catch (error) {
        this.#unavailable(exchange.reply, error)
        return
      }
    }
    exchange.reply.send(202, '')
  }

  /** Opens the stream for messages outside of requests, or resumes a stream. */
  async get(exchange: HttpExchange): Promise<void> {
    const owner = await this.#find(exchange, undefined)
    if (owner === undefined) return
    const { reply } = exchange
    const last = exchange.request.header('last-event-id')
    if (last !== undefined) {
      if (!this.#refusesStream(owner, reply)) await resume(owner, exchange, last, this.#shared.value)
      return
    }
    const { standalone } = owner
    if (this.#refusesStream(owner, reply)) return
    if (standalone.connected) {
      refuse(reply, 409, undefined, 'this session already has an open stream')
      return
    }
    owner.listener = exchange.caller
    const connection = owner.connect(reply, standalone)
    connection.sendKeepAlive()
    standalone.attach(connection)
    this.#shared.value?.listen(owner)
  }

  async delete(exchange: HttpExchange): Promise<void> {
    const owner = await this.#find(exchange, undefined)
    if (owner === undefined) return
    const reason = 'The client ended the session'
    if (this.#shared.value === undefined) this.#sessions.end(owner, reason)
    else {
      try {
        await this.#shared.value.end(owner, reason)
      } catch (error) {
        this.#unavailable(exchange.reply, error)
        return
      }
    }
    exchange.reply.send(204, '')
  }

  /** Releases the calls that wait for responses, if another node may run them again. */
  async release(): Promise<void> {
    await Promise.all(this.#sessions.values().flatMap((session) => session.releaseCalls('waiting')))
  }

  async close(reason: string): Promise<void> {
    const left = this.#sessions.close(reason)
    await this.sse?.close(reason)
    if (this.#shared.value === undefined) return
    await left
    await this.#shared.value.close()
  }

  /** Serves a request, and stores what it changed in a session that every node serves. */
  #serve(
    owner: HttpSession,
    message: JsonRpcRequest,
    post: SessionPostResponse,
    caller: Caller,
  ): Promise<ServedResponse> {
    const served = owner.session.request(message, post, caller)
    const shared = this.#shared.value
    if (shared?.isSaved(message.method) !== true) return served
    return served.then(async (response) => {
      if (response !== undefined && 'result' in response) await shared.save(owner, message)
      return response
    })
  }

  /** Handles the messages of a session that are not requests. */
  #receiver(owner: HttpSession): BatchReceiver {
    const { session } = owner
    const shared = this.#shared.value
    if (shared === undefined) return session
    return {
      peer: session.peer,
      notification: (message) => shared.notification(owner, message),
      response: (message) => {
        shared.response(owner, message).catch((error) => report(this.#state.server, error, 'session'))
      },
      invalidMessage: (message) => session.invalidMessage(message),
    }
  }

  #unavailable(reply: HttpReply, error: unknown, id?: RequestId): void {
    report(this.#state.server, error, 'session')
    sendUnavailable(reply, id)
  }

  /** Refuses another connection of a session that has as many as `limits.inFlight`. */
  #refusesStream(owner: HttpSession, reply: HttpReply): boolean {
    const { inFlight } = this.#state.bounds
    if (owner.connections < inFlight) return false
    const message = `Too many streams are open: a session may have ${inFlight} connections`
    sendBusy(reply, 429, internalError(message))
    return true
  }

  async #begin({ reply, caller, memory }: HttpExchange, message: JsonRpcRequest): Promise<void> {
    const shared = this.#state.sharesSessions ? await this.#shared.load() : undefined
    const owner = this.#sessions.begin(caller, memory, shared?.sharing())
    if (owner === undefined) {
      const full = internalError('Too many sessions are open: try again later')
      sendBusy(reply, 503, full, message.id, 60)
      return
    }
    try {
      const response = await owner.session.request(message, nowhere)
      try {
        await shared?.begin(owner)
      } catch (error) {
        this.#unavailable(reply, error, message.id)
        this.#sessions.end(owner, 'The session could not be stored')
        return
      }
      reply.send(200, JSON.stringify(response), { 'Mcp-Session-Id': owner.id })
    } catch (error) {
      const refusal = refusalOf(error, message.method, this.#state.server)
      sendError(reply, refusalStatus(refusal), refusal, message.id)
      this.#sessions.end(owner, refusal.message)
    }
  }

  /** The session of a request; undefined if the error response was sent. A promise only where nodes share sessions. */
  #find(
    exchange: HttpExchange,
    id: RequestId | undefined,
  ): HttpSession | undefined | Promise<HttpSession | undefined> {
    if (!checkVersion(exchange, id)) return undefined
    const { request, reply, caller } = exchange
    const name = request.header('mcp-session-id')
    if (name === undefined) {
      refuse(
        reply,
        400,
        id,
        'send "initialize" first, and its Mcp-Session-Id with every later request, or put the protocol version into _meta',
      )
      return undefined
    }
    if (this.#state.sharesSessions) return this.#findShared(name, exchange, id)
    const owner = this.#sessions.find(name, caller.principal)
    if (owner === undefined) refuse(reply, 404, id, noSession)
    return owner
  }

  async #findShared(
    name: string,
    exchange: HttpExchange,
    id: RequestId | undefined,
  ): Promise<HttpSession | undefined> {
    try {
      const shared = this.#shared.value ?? (await this.#shared.load())
      const owner = await shared.find(name, exchange)
      if (owner === undefined) refuse(exchange.reply, 404, id, noSession)
      return owner
    } catch (error) {
      this.#unavailable(exchange.reply, error, id)
      return undefined
    }
  }
}

const noSession = 'this session does not exist or has ended'

/** The outlet of `initialize`, which sends only its response. */
const nowhere: SessionOutlet = { notify: () => {}, request: () => false }

async function resume(
  owner: HttpSession,
  exchange: HttpExchange,
  last: string,
  shared: SharedSessions | undefined,
): Promise<void> {
  const { reply, caller, memory } = exchange
  const event = parseEventId(last)
  // Another node may have continued a stream that this node does not have.
  if (event !== undefined && shared !== undefined && (await shared.isElsewhere(owner, event.stream))) {
    if (await shared.resume(owner, exchange, event)) return
  } else if (event !== undefined) {
    const stream = owner.stream(event.stream) ?? owner.endedStream(event.stream)
    const open = (): EventStream => {
      if (stream === owner.standalone) {
        owner.listener = caller
        shared?.listen(owner)
      }
      return owner.connect(reply, stream)
    }
    const resumed = await stream.resume(event.position, memory, open)
    if (resumed === true) return
    if (resumed !== false) {
      sendBusy(reply, fullStatus(resumed), fullError(resumed))
      return
    }
  }
  refuse(reply, 400, undefined, 'the event of Last-Event-ID is not stored, or not any more')
}

/** Checks `MCP-Protocol-Version`. Any revision with sessions is accepted, because some clients do not send the negotiated one. */
function checkVersion({ request, reply }: HttpExchange, id: RequestId | undefined): boolean {
  const version = request.header('mcp-protocol-version')
  if (version === undefined || revisionOf(version)?.era === 'session') return true
  sendError(reply, 400, unsupportedVersion(version), id)
  return false
}

/** The HTTP status of an error. Clients interpret 404 as the end of their session, so most errors are sent with 200. */
export function refusalStatus(refusal: RpcError): number {
  return refusal.code === ErrorCode.InvalidRequest ? 400 : 200
}

function refuse(reply: HttpReply, status: number, id: RequestId | undefined, reason: string): void {
  sendError(reply, status, invalidRequest(reason), id)
}

const inputStrategy = cannotAsk(
  "this server is mounted with sessions: 'none', which lets it ask only clients of revision 2026-07-28. " +
    'Use such a client, or mount the server with sessions',
)

/** Methods that require a session, with the alternative. */
const needsSession: ReadonlyMap<string, string> = new Map([
  ['resources/subscribe', 'read the resource again, or use a client of revision 2026-07-28'],
  ['resources/unsubscribe', 'there are no subscriptions'],
])

/** Serves revisions up to 2025-11-25 without sessions: every POST is independent, on any instance. */
export class SessionlessRequests {
  readonly #state: HttpServerState

  constructor(state: HttpServerState) {
    this.#state = state
  }

  async request(exchange: HttpExchange, message: JsonRpcRequest): Promise<void> {
    if (!checkVersion(exchange, message.id)) return
    if (this.#state.refusesScopes(exchange.reply, exchange.caller, message)) return
    await new SessionlessPost(this.#state, exchange).serve(message)
  }

  /** Serves a batch, if the revision has batches. */
  async batch(exchange: HttpExchange, values: readonly unknown[]): Promise<void> {
    if (!checkVersion(exchange, undefined)) return
    if (this.#state.refusesScopes(exchange.reply, exchange.caller, values)) return
    await new SessionlessPost(this.#state, exchange).serveAll(values)
  }

  /** Accepts a notification or response. Neither can concern another POST, since nothing links them. */
  async oneWay(exchange: HttpExchange): Promise<void> {
    if (checkVersion(exchange, undefined)) exchange.reply.send(202, '')
  }
}

class SessionlessPost extends PostResponse implements BatchReceiver {
  readonly peer: Peer
  readonly #calls: Calls

  constructor(state: HttpServerState, exchange: HttpExchange) {
    super(state, exchange, 'POST')
    const { request, caller } = exchange
    this.peer = {
      ...caller,
      revision:
        revisionOf(request.header('mcp-protocol-version') ?? assumedHttpVersion) ??
        revisions[assumedHttpVersion],
      capabilities: {},
      info: undefined,
      logLevel: defaultLogLevel(state.server),
    }
    const calls = new Calls(state.bounds.inFlight, state)
    this.#calls = calls
    this.running = {
      abort: (reason) => calls.abort(reason),
      cancel: (reason) => calls.cancelAll(reason),
    }
  }

  serve(message: JsonRpcRequest): Promise<void> {
    return this.#respond(message.id, message.method, async () => this.finish(200, await this.#serve(message)))
  }

  serveAll(values: readonly unknown[]): Promise<void> {
    const { server, bounds } = this.state
    return this.#respond(undefined, 'batch', async () => {
      const serve = (message: JsonRpcRequest) => this.#serve(message)
      const responses = await serveBatch(this, server, values, bounds.batch, serve)
      this.finish(responses.length === 0 ? 202 : 200, responses)
    })
  }

  async #respond(id: RequestId | undefined, method: string, respond: () => Promise<void>): Promise<void> {
    this.state.begin(this, this.reply)
    try {
      await respond()
    } catch (error) {
      const refusal = refusalOf(error, method, this.state.server)
      this.finish(refusalStatus(refusal), failure(id, refusal))
    } finally {
      this.state.end(this)
    }
  }

  notification(): void {}

  response(): void {}

  invalidMessage({ error }: InvalidMessage): void {
    report(this.state.server, error, 'a message')
  }

  /** @throws RpcError for a request that is rejected before it begins */
  async #serve(message: JsonRpcRequest): Promise<ServedResponse> {
    const { server, bounds } = this.state
    const { id, method, params } = message
    this.#calls.admit(id)
    if (method === 'initialize') {
      return { jsonrpc: '2.0', id, result: initialize(server, this.peer, params, withoutSessions).result }
    }
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
    requireMethod(server, this.peer.revision, method)
    if (method === 'logging/setLevel' && server.capabilities.logging !== undefined) {
      // Clients send it when they connect to a server with the capability "logging". It does not affect later requests.
      requireLoggingLevel(params?.['level'])
      return { jsonrpc: '2.0', id, result: {} }
    }
    const instead = needsSession.get(method)
    if (instead !== undefined) {
      const reason = `${method} needs a session, and this server is mounted with sessions: 'none': ${instead}`
      throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${reason}`)
    }
    const call = new ServedRequest(message, this.peer, inputStrategy, this, bounds)
    return this.#calls.run(call, server, (response) => response)
  }
}

/** The capabilities without a session: no resource subscriptions and no change notifications. */
function withoutSessions(offered: ServerCapabilities): ServerCapabilities {
  const { tools, prompts, resources, ...rest } = offered
  return {
    ...rest,
    ...(tools && { tools: without(tools, 'listChanged') }),
    ...(prompts && { prompts: without(prompts, 'listChanged') }),
    ...(resources && { resources: without(resources, 'listChanged', 'subscribe') }),
  }
}

function without(capability: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(capability).filter(([name]) => !names.includes(name)))
}
