import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { classify } from '../../jsonrpc/parse.ts'
import { Pending } from '../../jsonrpc/pending-requests.ts'
import { RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type {
  ClientCapabilities,
  LoggingLevel,
  ServerCapabilities,
  SubscriptionFilter,
} from '../../protocol/definitions.ts'
import {
  isAtLeast,
  isCapabilities,
  isImplementation,
  isLoggingLevel,
  isModern,
  keptIdentity,
  loggingLevels,
} from '../../protocol/meta.ts'
import type { ServerNotification } from '../../protocol/methods.ts'
import { latestLegacy, type Revision } from '../../protocol/revision.ts'
import { revisionOf, revisions } from '../../protocol/revisions.ts'
import { type Change, changesFor, type Subscriber } from '../../request/changes.ts'
import type {
  Caller,
  ClientSession,
  Exchange,
  HandlerRun,
  InputStrategy,
  Peer,
} from '../../request/exchange.ts'
import { type LiveRequest, liveInput } from '../../request/live-run.ts'
import type { Server } from '../../server/server.ts'
import { missingScopesError } from '../../server/visibility.ts'
import { type Calls, cancelCall } from './calls.ts'
import { fullError, type MemoryAccount } from './memory-budget.ts'
import { type Bounds, report } from './options.ts'
import {
  expectsResponse,
  failure,
  type Outlet,
  refusalOf,
  requireMethod,
  ServedRequest,
  type ServedResponse,
} from './served-request.ts'

/** Where messages about one request of a session go, questions among them. */
export interface SessionOutlet extends Outlet {
  /** Sends a question; false when it can never arrive. */
  request(message: JsonRpcRequest): boolean
}

/** What the questions of one session share. */
export interface SessionRequesterOptions {
  readonly pending: Pending
  /** Hears of a question before it is put, and gives it an id of its own. */
  next(requester: SessionRequester, method: string, params: JsonObject): RequestId
}

const requestOver = 'The request that asked is over'

/** How one request of a session asks, and what it has open. Nearly all of it is made with the first question. */
export class SessionRequester implements InputStrategy {
  readonly #requesterOptions: SessionRequesterOptions
  readonly #outlet: SessionOutlet
  #inputStrategy: InputStrategy | undefined
  #open: Map<RequestId, (error: Error) => void> | undefined
  #over = false

  constructor(requesterOptions: SessionRequesterOptions, outlet: SessionOutlet) {
    this.#requesterOptions = requesterOptions
    this.#outlet = outlet
  }

  begin(exchange: Exchange): HandlerRun {
    return this.#live().begin(exchange)
  }

  resume(exchange: Exchange): Promise<HandlerRun> {
    return this.#live().resume(exchange)
  }

  get relay(): LiveRequest {
    return (...question) => this.#ask(...question)
  }

  /** Whether an answer is being waited for. */
  get waiting(): boolean {
    return this.#open !== undefined && this.#open.size > 0
  }

  #live(): InputStrategy {
    this.#inputStrategy ??= liveInput(this.relay)
    return this.#inputStrategy
  }

  async #ask(...[method, params, { signal }]: Parameters<LiveRequest>): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#over) throw new McpError('CANCELLED', requestOver)
    const { pending } = this.#requesterOptions
    const id = this.#requesterOptions.next(this, method, params)
    const answered = pending.open(id)
    this.#open ??= new Map()
    const open = this.#open
    const withdrawn = new Promise<never>((_, reject) => open.set(id, reject))
    const onAbort = (): void => this.#withdraw(id, 'The request that asked was cancelled')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (!this.#outlet.request({ jsonrpc: '2.0', id, method, params })) {
        throw new McpError('CONNECTION_CLOSED', 'the connection was lost')
      }
      const response = await Promise.race([answered, withdrawn])
      if ('result' in response) return response.result
      throw new RpcError(response.error.code, response.error.message, response.error.data)
    } finally {
      signal.removeEventListener('abort', onAbort)
      pending.delete(id)
      open.delete(id)
      answered.catch(() => {})
    }
  }

  /** Takes back every question that is still open, and puts no more: nobody waits for the answer. */
  close(): void {
    this.#over = true
    if (this.#open === undefined) return
    for (const id of [...this.#open.keys()]) this.#withdraw(id, requestOver)
  }

  #withdraw(id: RequestId, reason: string): void {
    const reject = this.#open?.get(id)
    if (reject === undefined) return
    this.#open?.delete(id)
    this.#requesterOptions.pending.delete(id)
    const message: JsonRpcNotification = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id, reason },
    }
    this.#outlet.notify(message)
    reject(new McpError('CANCELLED', reason))
  }
}

/** What `initialize` established. */
export interface Initialized {
  readonly peer: Peer
  readonly result: JsonObject
  /** Characters of what is kept of the client's identity and capabilities. */
  readonly chars: number
}

/**
 * Negotiates the revision and capabilities of a client that sends `initialize`.
 * @param offer the capabilities to declare, of those that the server has on this revision
 * @throws RpcError -32602 for params that are not valid
 */
export function initialize(
  server: Server,
  caller: Caller,
  params: JsonObject | undefined,
  offer: (capabilities: ServerCapabilities) => ServerCapabilities = (capabilities) => capabilities,
): Initialized {
  const { protocolVersion, capabilities, clientInfo } = params ?? {}
  if (typeof protocolVersion !== 'string') throw invalidInitialize('"protocolVersion" must be a string')
  if (!isCapabilities(capabilities)) throw invalidInitialize('"capabilities" must be an object of objects')
  if (!isImplementation(clientInfo))
    throw invalidInitialize('"clientInfo" must have a "name" and a "version"')
  const revision = negotiated(protocolVersion)
  const kept = keptIdentity(clientInfo, capabilities)
  const peer: Peer = {
    ...caller,
    revision,
    capabilities: kept.capabilities,
    info: kept.info,
    logLevel: defaultLogLevel(server),
  }
  const result: JsonObject = {
    protocolVersion: revision.version,
    capabilities: offer(offeredTo(server.capabilitiesOn(revision.version, caller), capabilities)),
    serverInfo: server.info,
  }
  if (server.instructions !== undefined) result['instructions'] = server.instructions
  return { peer, chars: kept.chars, result: revision.result('initialize', result, server.info) }
}

/** Level of log messages for a client of an older revision that did not set one; undefined without logging. */
export function defaultLogLevel(server: Server): LoggingLevel | undefined {
  return server.capabilities.logging === undefined ? undefined : 'info'
}

/** Clients of older revisions are offered extensions only if they declare some themselves. */
function offeredTo(offered: ServerCapabilities, client: ClientCapabilities): ServerCapabilities {
  if (client.extensions !== undefined) return offered
  const { extensions: _extensions, ...rest } = offered
  return rest
}

/** The revision both sides will speak: the requested one if it has sessions, else the newest that does. */
function negotiated(requested: string): Revision {
  const revision = revisionOf(requested)
  return revision?.era === 'session' ? revision : revisions[latestLegacy]
}

function invalidInitialize(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}

export interface SessionOptions {
  server: Server
  /** What runs on this session; a connection that also serves stateless requests shares it with them. */
  calls: Calls
  /** Who began it; each request may come with what its sender is allowed by now. */
  caller: Caller
  bounds: Bounds
  /** The account that the state of the session is on, until it is closed. */
  memory: MemoryAccount
  /** What the transport calls it, where it has a name. */
  id?: string
  /** Sends a notice that belongs to no request. Changes wait until it was taken, and equal ones are told once. */
  send(message: JsonRpcNotification): void | Promise<void>
}

/** What is no valid message. */
export interface InvalidMessage {
  readonly id: RequestId | undefined
  readonly error: RpcError
}

/** One client of the legacy era, from `initialize` until it is gone. */
export class Session {
  readonly #options: SessionOptions
  readonly #server: Server
  readonly #pending = new Pending()
  /** Those that asked something. */
  readonly #requesters = new RotatingSet<SessionRequester>()
  readonly #requesterOptions: SessionRequesterOptions
  /** Subscribed resources, with how to let go of each. */
  readonly #subscribed = new Map<string, () => void>()
  /** URL visits this session was asked for and not told of yet, oldest first. */
  readonly #urlElicitations = new Set<string>()
  readonly #over = new AbortController()
  readonly #clientSession: ClientSession
  #peer: Peer | undefined
  /** The peer of the last request, for the next one of the same caller. */
  #caller: { readonly caller: Caller; readonly session: Peer; readonly peer: Peer } | undefined
  #watching = false
  #lastQuestion = 0
  /** Bytes of its state that are on its account. */
  #held = 0

  constructor(options: SessionOptions) {
    this.#options = options
    this.#server = options.server
    this.#requesterOptions = { pending: this.#pending, next: (...question) => this.#next(...question) }
    this.#clientSession = { ended: this.#over.signal, ...(options.id === undefined ? {} : { id: options.id }) }
  }

  /** Who is on the other end, once `initialize` was answered. */
  get peer(): Peer | undefined {
    return this.#peer
  }

  /** Whether a handler runs that does not just wait for the client's answer. */
  get working(): boolean {
    let waiting = 0
    for (const requester of this.#requesters.values()) if (requester.waiting) waiting++
    return this.#options.calls.size > waiting
  }

  /**
   * Serves one request and returns its response, or undefined if it was cancelled. What the messages after it depend on (the
   * result of `initialize`, the log level, subscriptions, the place among the requests in flight) is set before the first
   * `await`, so in the order of the calls.
   * @throws RpcError for a request that was refused before it began
   */
  async request(
    message: JsonRpcRequest,
    outlet: SessionOutlet,
    caller: Caller = this.#options.caller,
  ): Promise<ServedResponse> {
    const { calls } = this.#options
    calls.admit(message.id)
    if (message.method === 'initialize') return result(message, this.#initialize(message.params))
    if (message.method === 'ping') return result(message, {})
    const peer = this.#peerOf(caller)
    requireMethod(this.#server, peer.revision, message.method)
    const refused = missingScopesError(
      this.#server.scopesFor(message.method, message.params, this.#options.bounds.uriChars),
      peer,
    )
    if (refused !== undefined) throw refused
    switch (message.method) {
      case 'logging/setLevel':
        this.#setLevel(message.params?.['level'])
        return result(message, {})
      case 'resources/subscribe':
        return result(message, await this.#subscribe(message, peer))
      case 'resources/unsubscribe':
        this.#unsubscribe(this.#uriOf(message))
        return result(message, {})
    }
    const requester = new SessionRequester(this.#requesterOptions, outlet)
    const call = new ServedRequest(message, peer, requester, outlet, this.#options.bounds, this.#clientSession)
    const response = await calls.run(call, this.#server)
    requester.close()
    this.#requesters.delete(requester)
    return response
  }

  /** Gives a question its id, and remembers URL visits so that their completion can be told. */
  #next(requester: SessionRequester, method: string, params: JsonObject): RequestId {
    this.#requesters.add(requester)
    const id = method === 'elicitation/create' ? params['elicitationId'] : undefined
    if (typeof id === 'string') {
      const [oldest] = this.#urlElicitations
      if (oldest !== undefined && this.#urlElicitations.size >= this.#options.bounds.subscribedUris)
        this.#urlElicitations.delete(oldest)
      this.#urlElicitations.add(id)
    }
    return ++this.#lastQuestion
  }

  /** Takes a notice; one that means nothing here is ignored. */
  notification(message: JsonRpcNotification): void {
    if (message.method === 'notifications/initialized') this.#watch()
    else cancelCall(this.#options.calls, message)
  }

  /** Takes the answer to a question; one that nobody waits for is ignored. */
  response(message: JsonRpcResponse): void {
    this.#pending.settle(message)
  }

  /** Takes what wants no answer and cannot be used. Whoever waits for it is told, or else the server's author. */
  invalidMessage({ id, error }: InvalidMessage): void {
    const why = new McpError('PROTOCOL', `the client's answer is no response (${error.message})`)
    if (id === undefined || !this.#pending.refuse(id, why)) report(this.#server, error, 'a message')
  }

  /** The client is gone: takes back what runs, settles what waits. */
  close(reason: string): void {
    const error = new McpError('CONNECTION_CLOSED', reason)
    this.#over.abort(error)
    for (const release of this.#subscribed.values()) release()
    this.#subscribed.clear()
    this.#options.memory.give(this.#held)
    this.#held = 0
    this.#options.calls.cancelAll(error)
    this.#pending.fail(error)
  }

  /** The error to answer a request with that was refused before it began. */
  refusal(error: unknown, method: string): RpcError {
    return refusalOf(error, method, this.#server)
  }

  /** The session's peer as one caller. */
  #peerOf(caller: Caller): Peer {
    const session = this.#peer
    if (session === undefined) {
      throw new RpcError(
        ErrorCode.InvalidRequest,
        'Invalid request: send "initialize" first, or put the protocol version into the request\'s _meta',
      )
    }
    if (this.#caller?.caller !== caller || this.#caller.session !== session) {
      const { revision, capabilities, info, logLevel } = session
      this.#caller = { caller, session, peer: { ...caller, revision, capabilities, info, logLevel } }
    }
    return this.#caller.peer
  }

  #initialize(params: JsonObject | undefined): JsonObject {
    if (this.#peer !== undefined) {
      throw new RpcError(ErrorCode.InvalidRequest, 'Invalid request: this session is already initialized')
    }
    const { server, caller } = this.#options
    const { peer, result, chars } = initialize(server, caller, params)
    this.#hold(chars)
    this.#peer = peer
    return result
  }

  /**
   * Counts bytes of the session's state.
   * @throws RpcError where there is no room for them
   */
  #hold(bytes: number): void {
    const full = this.#options.memory.keep(bytes)
    if (full !== undefined) throw fullError(full)
    this.#held += bytes
  }

  #setLevel(level: unknown): void {
    if (this.#server.capabilities.logging === undefined) throw notOffered('logging/setLevel')
    if (!isLoggingLevel(level)) throw invalid(`"level" must be one of ${loggingLevels.join(', ')}`)
    if (this.#peer !== undefined) this.#peer = { ...this.#peer, logLevel: level }
  }

  async #subscribe(message: JsonRpcRequest, peer: Peer): Promise<JsonObject> {
    const uri = this.#uriOf(message)
    const { subscribedUris } = this.#options.bounds
    if (this.#subscribed.has(uri)) return {}
    if (this.#subscribed.size >= subscribedUris) {
      throw invalid(`at most ${subscribedUris} resources can be subscribed to at once`)
    }
    const mark = (): void => {}
    this.#hold(subscriptionBytes(uri))
    this.#subscribed.set(uri, mark)
    try {
      const held = await this.#server.changes.subscribe?.(
        { resourceSubscriptions: [uri] },
        this.#listener(peer),
      )
      if (held === undefined) return {}
      if (this.#subscribed.get(uri) === mark) this.#subscribed.set(uri, () => held.release())
      else held.release()
      if (held.acknowledged.resourceSubscriptions?.includes(uri) === true) return {}
      throw invalid('this resource cannot be subscribed to')
    } catch (error) {
      this.#unsubscribe(uri)
      throw error
    }
  }

  #unsubscribe(uri: string): void {
    this.#subscribed.get(uri)?.()
    if (!this.#subscribed.delete(uri)) return
    this.#options.memory.give(subscriptionBytes(uri))
    this.#held -= subscriptionBytes(uri)
  }

  #uriOf({ method, params }: JsonRpcRequest): string {
    if (this.#server.capabilities.resources?.subscribe !== true) throw notOffered(method)
    const uri = params?.['uri']
    const { uriChars } = this.#options.bounds
    if (typeof uri !== 'string' || uri === '' || uri.length > uriChars || !URL.canParse(uri)) {
      throw invalid(`"uri" must be an absolute URI of at most ${uriChars} characters`)
    }
    return uri
  }

  #watch(): void {
    const peer = this.#peer
    if (peer === undefined || this.#watching) return
    this.#watching = true
    this.#tell(peer).catch((error) => report(this.#server, error, 'notifications/initialized'))
  }

  async #tell(peer: Peer): Promise<void> {
    const { changes } = this.#server
    const listener = this.#listener(peer)
    const watching = changes.watch((change) => this.#wants(change), this.#over.signal, listener)
    const held = await changes.subscribe?.(everyList, listener)
    try {
      for await (const change of watching) {
        if (change.type === 'elicitation') this.#urlElicitations.delete(change.id)
        for (const one of changesFor(change, this.#filter())) {
          const notification = notificationOf(one)
          const wire = notification === undefined ? undefined : peer.revision.notification(notification)
          if (wire !== undefined) await this.#options.send({ jsonrpc: '2.0', ...wire })
        }
      }
    } finally {
      held?.release()
    }
  }

  #listener(peer: Peer): Subscriber {
    return { peer, session: this.#clientSession }
  }

  #wants(change: Change): boolean {
    if (change.type === 'resource') return this.#subscribed.has(change.uri)
    if (change.type === 'elicitation') return this.#urlElicitations.has(change.id)
    if (change.type === 'anything') return true
    if (change.type === 'log') return isAtLeast(change.level, this.#peer?.logLevel)
    return this.#server.capabilities[change.type]?.listChanged === true
  }

  /** What its client hears of. */
  #filter(): SubscriptionFilter {
    const { tools, prompts, resources } = this.#server.capabilities
    return {
      toolsListChanged: tools?.listChanged === true,
      promptsListChanged: prompts?.listChanged === true,
      resourcesListChanged: resources?.listChanged === true,
      resourceSubscriptions: [...this.#subscribed.keys()],
    }
  }
}

/** What a subscription to a resource costs: its URI, and what leads from it to the session. */
function subscriptionBytes(uri: string): number {
  return 512 + 2 * uri.length
}

const everyList: SubscriptionFilter = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
}

function notificationOf(change: Change): ServerNotification | undefined {
  switch (change.type) {
    case 'resource':
      return { method: 'notifications/resources/updated', params: { uri: change.uri } }
    case 'elicitation':
      return { method: 'notifications/elicitation/complete', params: { elicitationId: change.id } }
    case 'log': {
      const { level, data, logger } = change
      return {
        method: 'notifications/message',
        params: { level, data, ...(logger === undefined ? {} : { logger }) },
      }
    }
    case 'anything':
      return undefined
    default:
      return { method: `notifications/${change.type}/list_changed`, params: {} }
  }
}

function result({ id }: JsonRpcRequest, value: JsonObject): JsonRpcResponse {
  return { jsonrpc: '2.0', id, result: value }
}

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}

function notOffered(method: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `Method not found: this server does not offer "${method}"`)
}

/** Handles the messages of a batch: a session, or one POST without one. */
export type BatchReceiver = Pick<Session, 'peer' | 'notification' | 'response' | 'invalidMessage' | 'refusal'>

type Serve = (message: JsonRpcRequest) => Promise<ServedResponse>

/**
 * Serves the messages of one batch (2025-03-26) at the same time.
 * @param serve serves one of its requests
 * @returns the responses, none when nothing in it wanted one
 * @throws RpcError -32600 for an array that is no batch here
 */
export async function serveBatch(
  receiver: BatchReceiver,
  values: readonly unknown[],
  max: number,
  serve: Serve,
): Promise<JsonRpcResponse[]> {
  requireBatch(receiver, values, max)
  const responses = await Promise.all(values.map((value) => serveOne(receiver, value, serve)))
  return responses.filter((response) => response !== undefined)
}

function requireBatch({ peer }: BatchReceiver, values: readonly unknown[], max: number): void {
  const revision = peer?.revision
  if (revision?.batches !== true) {
    throw refused(`batches are part of revision 2025-03-26 only, so send each message by itself`)
  }
  if (values.length === 0) throw refused('a batch must hold at least one message')
  if (values.length > max) throw refused(`a batch may hold at most ${max} messages`)
}

async function serveOne(
  receiver: BatchReceiver,
  value: unknown,
  serve: Serve,
): Promise<JsonRpcResponse | undefined> {
  const classified = classify(value)
  switch (classified.kind) {
    case 'invalid':
      if (expectsResponse(value)) return failure(classified.id, classified.error)
      receiver.invalidMessage(classified)
      return undefined
    case 'notification':
      receiver.notification(classified.message)
      return undefined
    case 'response':
      receiver.response(classified.message)
      return undefined
    case 'request': {
      const { message } = classified
      if (message.method === 'initialize' || isModern(message.params)) {
        return failure(message.id, refused('this request may not be part of a batch'))
      }
      try {
        return await serve(message)
      } catch (error) {
        return failure(message.id, receiver.refusal(error, message.method))
      }
    }
  }
}

function refused(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${why}`)
}
