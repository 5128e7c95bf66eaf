import { ErrorCode, RpcError } from '../../../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../../jsonrpc/message.ts'
import type { ServerCapabilities } from '../../../protocol/definitions.ts'
import { eraOf } from '../../../protocol/revision.ts'
import { revisionOf, revisions } from '../../../protocol/revisions.ts'
import type { Caller, Peer } from '../../../request/exchange.ts'
import { cannotAsk } from '../../../request/live-run.ts'
import { Calls } from '../calls.ts'
import { fullError, fullStatus, type MemoryAccount } from '../memory-budget.ts'
import { report } from '../options.ts'
import {
  encodeMessage,
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
  type SessionOutlet,
  serveBatch,
} from '../session.ts'
import type { EventStream } from './event-stream.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import { refusesScopes } from './options.ts'
import { PostResponse, PostStream } from './post-response.ts'
import { parseEventId } from './resumable-stream.ts'
import type { HttpServerState } from './server-state.ts'
import { type HttpSession, Sessions } from './sessions.ts'

/** One HTTP request of the legacy era, with who sent it. */
export interface SessionHttpRequest {
  readonly request: HttpRequest
  readonly reply: HttpReply
  readonly caller: Caller
  /** The account that its bytes are on. */
  readonly memory: MemoryAccount
}

/** Serves the legacy era: the sessions of one mounted server, and the HTTP requests that belong to them. */
export class SessionRequests {
  readonly #state: HttpServerState
  readonly #sessions: Sessions

  constructor(state: HttpServerState) {
    this.#state = state
    this.#sessions = new Sessions(state)
  }

  /** Serves a request: `initialize` begins a session, everything else belongs to one. */
  async request(httpRequest: SessionHttpRequest, message: JsonRpcRequest): Promise<void> {
    if (message.method === 'initialize' && httpRequest.request.header('mcp-session-id') === undefined) {
      if (checkVersion(httpRequest, message.id)) await this.#begin(httpRequest, message)
      return
    }
    const owner = this.#find(httpRequest, message.id)
    const { reply, caller } = httpRequest
    if (owner === undefined || refusesScopes(this.#state, reply, caller, message)) return
    const post = new PostStream(owner, reply, httpRequest.request)
    try {
      const response = await owner.session.request(message, post, caller)
      post.answer(200, response === undefined ? '' : encodeResponse(response, this.#state.server))
    } catch (error) {
      const refusal = owner.session.refusal(error, message.method)
      post.answer(refusalStatus(refusal), JSON.stringify(failure(message.id, refusal)))
    }
  }

  /** Serves an array of messages, where the session's revision has such. */
  async batch(httpRequest: SessionHttpRequest, values: readonly unknown[]): Promise<void> {
    const owner = this.#find(httpRequest, undefined)
    const { reply, caller } = httpRequest
    if (owner === undefined || refusesScopes(this.#state, reply, caller, values)) return
    const { server, bounds } = this.#state
    const post = new PostStream(owner, reply, httpRequest.request)
    try {
      const responses = await serveBatch(owner.session, values, bounds.batch, (message) =>
        owner.session.request(message, post, caller),
      )
      if (responses.length === 0) post.accept()
      else post.answer(200, `[${responses.map((response) => encodeMessage(response, server)).join(',')}]`)
    } catch (error) {
      const refusal = refusalOf(error, 'batch', server)
      post.answer(refusalStatus(refusal), JSON.stringify(failure(undefined, refusal)))
    }
  }

  /** Takes a notice or the answer to a question. */
  other(httpRequest: SessionHttpRequest, message: JsonRpcNotification | JsonRpcResponse): void {
    const owner = this.#find(httpRequest, undefined)
    if (owner === undefined) return
    if ('method' in message) owner.session.notification(message)
    else owner.session.response(message)
    httpRequest.reply.send(202, '')
  }

  /** Opens the stream for what belongs to no request, or goes on with a stream that was lost. */
  get(httpRequest: SessionHttpRequest): void {
    const owner = this.#find(httpRequest, undefined)
    if (owner === undefined) return
    const { reply } = httpRequest
    const last = httpRequest.request.header('last-event-id')
    if (last !== undefined) {
      if (this.#refusesStream(owner, reply)) return
      resume(owner, httpRequest, last).catch((error) => {
        report(this.#state.server, error, 'GET')
        reply.send(
          500,
          JSON.stringify(failure(undefined, new RpcError(ErrorCode.InternalError, 'Internal error'))),
        )
      })
      return
    }
    const { standalone } = owner
    if (this.#refusesStream(owner, reply)) return
    if (standalone.connected) {
      refuse(reply, 409, undefined, 'this session already has an open stream')
      return
    }
    owner.listener = httpRequest.caller
    const connection = owner.connect(reply, standalone)
    connection.breathe()
    standalone.attach(connection)
  }

  /** Ends a session at its client's wish. */
  delete(httpRequest: SessionHttpRequest): void {
    const owner = this.#find(httpRequest, undefined)
    if (owner === undefined) return
    this.#sessions.end(owner, 'The client ended the session')
    httpRequest.reply.send(204, '')
  }

  /** Ends every session. */
  close(reason: string): void {
    this.#sessions.close(reason)
  }

  /** Refuses one more connection of a session that has as many as requests may be in flight. */
  #refusesStream(owner: HttpSession, reply: HttpReply): boolean {
    const { inFlight } = this.#state.bounds
    if (owner.connections < inFlight) return false
    const why = `Too many streams are open: a session may have ${inFlight} connections`
    const error = new RpcError(ErrorCode.InternalError, why)
    reply.send(429, JSON.stringify(failure(undefined, error)), { 'Retry-After': '10' })
    return true
  }

  async #begin({ reply, caller, memory }: SessionHttpRequest, message: JsonRpcRequest): Promise<void> {
    const owner = this.#sessions.begin(caller, memory)
    if (owner === undefined) {
      reply.send(
        503,
        JSON.stringify(
          failure(
            message.id,
            new RpcError(ErrorCode.InternalError, 'Too many sessions are open: try again later'),
          ),
        ),
        { 'Retry-After': '60' },
      )
      return
    }
    try {
      const response = await owner.session.request(message, nowhere)
      reply.send(200, JSON.stringify(response), { 'Mcp-Session-Id': owner.id })
    } catch (error) {
      const refusal = owner.session.refusal(error, message.method)
      reply.send(refusalStatus(refusal), JSON.stringify(failure(message.id, refusal)))
      this.#sessions.end(owner, refusal.message)
    }
  }

  /** The session a request names, or an answer that there is none. */
  #find(httpRequest: SessionHttpRequest, id: RequestId | undefined): HttpSession | undefined {
    if (!checkVersion(httpRequest, id)) return undefined
    const { request, reply, caller } = httpRequest
    const name = request.header('mcp-session-id')
    if (name === undefined) {
      refuse(
        reply,
        400,
        id,
        'send "initialize" first and its Mcp-Session-Id ever after, or put the protocol version into _meta',
      )
      return undefined
    }
    const owner = this.#sessions.find(name, caller.principal)
    if (owner === undefined) refuse(reply, 404, id, 'this session does not exist, or no longer')
    return owner
  }
}

/** `initialize` has nothing to say but its answer. */
const nowhere: SessionOutlet = { notify: () => {}, request: () => false }

async function resume(
  owner: HttpSession,
  { reply, caller, memory }: SessionHttpRequest,
  last: string,
): Promise<void> {
  const event = parseEventId(last)
  if (event !== undefined) {
    const stream = owner.stream(event.stream) ?? owner.ended(event.stream)
    const open = (): EventStream => {
      if (stream === owner.standalone) owner.listener = caller
      return owner.connect(reply, stream)
    }
    const resumed = await stream.resume(event.position, memory, open)
    if (resumed === true) return
    if (resumed !== false) {
      const text = JSON.stringify(failure(undefined, fullError(resumed)))
      reply.send(fullStatus(resumed), text, { 'Retry-After': '10' })
      return
    }
  }
  refuse(reply, 400, undefined, 'the event of Last-Event-ID is not known here, or no longer')
}

/** Any known revision with sessions will do: clients are known to name another than they agreed on. */
export function checkVersion({ request, reply }: SessionHttpRequest, id: RequestId | undefined): boolean {
  const version = request.header('mcp-protocol-version')
  if (version === undefined || eraOf(version) === 'session') return true
  reply.send(400, JSON.stringify(failure(id, unsupportedVersion(version))))
  return false
}

/** Clients take a status such as 404 for the loss of their session, so most refusals are plain answers. */
export function refusalStatus(refusal: RpcError): number {
  return refusal.code === ErrorCode.InvalidRequest ? 400 : 200
}

function refuse(reply: HttpReply, status: number, id: RequestId | undefined, why: string): void {
  const error = new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${why}`)
  reply.send(status, JSON.stringify(failure(id, error)))
}

/** The revision of a request without `MCP-Protocol-Version`, as the specification says. */
const assumedVersion = '2025-03-26'

const inputStrategy = cannotAsk(
  "this server is mounted with sessions: 'none', which lets it ask only clients of revision 2026-07-28. " +
    'Use such a client, or mount the server with sessions',
)

/** Requests that change the state of a session, and what to do without one. */
const needsSession: ReadonlyMap<string, string> = new Map([
  ['logging/setLevel', 'log messages of a call are sent from level info'],
  ['resources/subscribe', 'read the resource again, or use a client of revision 2026-07-28'],
  ['resources/unsubscribe', 'there are no subscriptions'],
])

/** Serves the legacy era without sessions: every POST by itself, on any instance. */
export class SessionlessRequests {
  readonly #state: HttpServerState

  constructor(state: HttpServerState) {
    this.#state = state
  }

  async request(httpRequest: SessionHttpRequest, message: JsonRpcRequest): Promise<void> {
    if (!checkVersion(httpRequest, message.id)) return
    if (refusesScopes(this.#state, httpRequest.reply, httpRequest.caller, message)) return
    await new SessionlessPost(this.#state, httpRequest).serve(message)
  }

  /** Serves an array of messages, where the revision has such. */
  async batch(httpRequest: SessionHttpRequest, values: readonly unknown[]): Promise<void> {
    if (!checkVersion(httpRequest, undefined)) return
    if (refusesScopes(this.#state, httpRequest.reply, httpRequest.caller, values)) return
    await new SessionlessPost(this.#state, httpRequest).serveAll(values)
  }

  /** Accepts a notification or response. Neither can concern another POST, since nothing links them. */
  other(httpRequest: SessionHttpRequest): void {
    if (checkVersion(httpRequest, undefined)) httpRequest.reply.send(202, '')
  }

  /** Nothing to close: every request ends by itself. */
  close(): void {}
}

/** The requests of one POST, and the answer to them. */
class SessionlessPost extends PostResponse implements BatchReceiver {
  readonly peer: Peer
  readonly #calls: Calls

  constructor(state: HttpServerState, { request, reply, caller }: SessionHttpRequest) {
    super(state, reply, request)
    this.peer = {
      ...caller,
      revision:
        revisionOf(request.header('mcp-protocol-version') ?? assumedVersion) ?? revisions[assumedVersion],
      capabilities: {},
      info: undefined,
      logLevel: defaultLogLevel(state.server),
    }
    this.#calls = new Calls(state.bounds.inFlight, state.callPlaces(caller.principal))
  }

  get principal(): string | null {
    return this.peer.principal
  }

  get method(): string {
    return 'POST'
  }

  async serve(message: JsonRpcRequest): Promise<void> {
    this.#begin()
    try {
      this.#finish(200, await this.#serve(message))
    } catch (error) {
      const refusal = this.refusal(error, message.method)
      this.#finish(refusalStatus(refusal), failure(message.id, refusal))
    }
  }

  async serveAll(values: readonly unknown[]): Promise<void> {
    this.#begin()
    try {
      const responses = await serveBatch(this, values, this.state.bounds.batch, (message) =>
        this.#serve(message),
      )
      this.#finish(responses.length === 0 ? 202 : 200, responses)
    } catch (error) {
      const refusal = this.refusal(error, 'batch')
      this.#finish(refusalStatus(refusal), failure(undefined, refusal))
    }
  }

  abort(reason: unknown): void {
    this.#calls.abort(reason)
  }

  protected cancel(reason: unknown): void {
    this.#calls.cancelAll(reason)
  }

  notification(): void {}

  response(): void {}

  invalidMessage({ error }: InvalidMessage): void {
    report(this.state.server, error, 'a message')
  }

  refusal(error: unknown, method: string): RpcError {
    return refusalOf(error, method, this.state.server)
  }

  /** @throws RpcError for a request that is refused before it begins */
  async #serve(message: JsonRpcRequest): Promise<ServedResponse> {
    const { server, bounds } = this.state
    const { id, method, params } = message
    this.#calls.admit(id)
    if (method === 'initialize') {
      return { jsonrpc: '2.0', id, result: initialize(server, this.peer, params, withoutSessions).result }
    }
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
    requireMethod(server, this.peer.revision, method)
    const instead = needsSession.get(method)
    if (instead !== undefined) throw sessionNeeded(method, instead)
    return this.#calls.run(new ServedRequest(message, this.peer, inputStrategy, this, bounds), server)
  }

  #begin(): void {
    this.state.begin(this, this.reply.sharesTimers)
    this.waitLater()
  }

  #finish(...answer: Parameters<PostResponse['finish']>): void {
    this.state.end(this)
    this.finish(...answer)
  }
}

/** The capabilities that do without a session: no resource subscriptions and no notifications of changes. */
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

function sessionNeeded(method: string, instead: string): RpcError {
  return new RpcError(
    ErrorCode.MethodNotFound,
    `Method not found: ${method} needs a session, and this server is mounted with sessions: 'none': ${instead}`,
  )
}
