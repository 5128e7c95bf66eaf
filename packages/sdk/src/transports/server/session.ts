import {
  invalidParams,
  invalidRequest,
  McpError,
  methodNotFound,
  type RpcError,
} from '../../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { classify } from '../../jsonrpc/parse.ts'
import { PendingRequests } from '../../jsonrpc/pending-requests.ts'
import { dropOldest, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type {
  ClientCapabilities,
  LoggingLevel,
  ServerCapabilities,
  SubscriptionFilter,
} from '../../protocol/definitions.ts'
import {
  boundIdentity,
  isAtLeast,
  isCapabilities,
  isImplementation,
  isLoggingLevel,
  isStatelessRequest,
  loggingLevels,
} from '../../protocol/meta.ts'
import { latestSessionVersion } from '../../protocol/methods.ts'
import { revisionOf, revisions } from '../../protocol/revisions.ts'
import { type Change, changesFor, everyList, type Subscriber } from '../../request/changes.ts'
import type { Caller, ClientSession, Peer } from '../../request/exchange.ts'
import type { Server } from '../../server/server.ts'
import { notificationOf } from '../../server/subscriptions.ts'
import { missingScopesError } from '../../server/visibility.ts'
import { fullError, type MemoryAccount } from './memory-budget.ts'
import { type Bounds, report } from './options.ts'
import {
  type Calls,
  cancelCall,
  expectsResponse,
  failure,
  refusalOf,
  requireMethod,
  ServedRequest,
  type ServedResponse,
} from './served-request.ts'
import { type QuestionIds, type SessionOutlet, SessionRequester } from './session-requester.ts'

/**
 * Negotiates the revision and capabilities of a client that sends `initialize`.
 * @param offer selects the capabilities to declare from those that the server has on this revision
 * @returns the client, the result, and the characters of the stored client info and capabilities
 * @throws RpcError -32602 for invalid params
 */
export function initialize(
  server: Server,
  caller: Caller,
  params: JsonObject | undefined,
  offer: (capabilities: ServerCapabilities) => ServerCapabilities = (capabilities) => capabilities,
): { peer: Peer; result: JsonObject; chars: number } {
  const { protocolVersion, capabilities, clientInfo } = params ?? {}
  if (typeof protocolVersion !== 'string') throw invalidParams('"protocolVersion" must be a string')
  if (!isCapabilities(capabilities)) throw invalidParams('"capabilities" must be an object of objects')
  if (!isImplementation(clientInfo)) throw invalidParams('"clientInfo" must have a "name" and a "version"')
  const requested = revisionOf(protocolVersion)
  const revision = requested?.era === 'session' ? requested : revisions[latestSessionVersion]
  const bounded = boundIdentity(clientInfo, capabilities)
  const peer: Peer = {
    ...caller,
    revision,
    capabilities: bounded.capabilities,
    info: bounded.info,
    logLevel: defaultLogLevel(server),
  }
  const result: JsonObject = {
    protocolVersion: revision.version,
    capabilities: offer(offeredTo(server.capabilitiesOn(revision.version, caller), capabilities)),
    serverInfo: server.info,
  }
  if (server.instructions !== undefined) result['instructions'] = server.instructions
  return { peer, chars: bounded.chars, result: revision.result('initialize', result, server.info) }
}

/** The log level of a session without `logging/setLevel`; undefined without logging. */
export function defaultLogLevel(server: Server): LoggingLevel | undefined {
  return server.capabilities.logging === undefined ? undefined : 'info'
}

/**
 * The level of a `logging/setLevel` request.
 * @throws RpcError -32602 for any other value
 */
export function requireLoggingLevel(level: unknown): LoggingLevel {
  if (isLoggingLevel(level)) return level
  throw invalidParams(`"level" must be one of ${loggingLevels.join(', ')}`)
}

/** Session-based clients receive extensions only if they declare some. */
function offeredTo(offered: ServerCapabilities, client: ClientCapabilities): ServerCapabilities {
  if (client.extensions !== undefined) return offered
  const { extensions: _extensions, ...rest } = offered
  return rest
}

export interface SessionOptions {
  server: Server
  /** The requests in flight, including stateless ones on the same connection. */
  calls: Calls
  /** The client that began the session; a request may have a caller with other scopes. */
  caller: Caller
  bounds: Bounds
  /** The memory account of the session state. */
  memory: MemoryAccount
  /** The session id of the transport, if it has one. */
  id?: string
  /** The ids of requests to the client, for a session of several nodes. Default: counted. */
  questions?: {
    next(): RequestId
    /** Waits for the response to a request that another node sent. */
    reuse(id: string): void
    /** Called when a request was answered or withdrawn. */
    release(id: RequestId): void
  }
  /** Sends a notification outside of a request. Further changes wait until it resolves, and equal ones are merged. */
  send(message: JsonRpcNotification): void | Promise<void>
}

export interface InvalidMessage {
  readonly id: RequestId | undefined
  readonly error: RpcError
}

/** One session (revisions up to 2025-11-25), from `initialize` until it is closed. */
export class Session {
  readonly #options: SessionOptions
  readonly #server: Server
  readonly #pending = new PendingRequests()
  /** Requests in flight that sent requests to the client. */
  readonly #requesters = new RotatingSet<SessionRequester>()
  /** Subscribed resources, each with its release function. */
  readonly #subscribed = new Map<string, () => void>()
  /** Ids of URL elicitations without a completion notification, oldest first. */
  readonly #urlElicitations = new Set<string>()
  readonly #over = new AbortController()
  readonly #clientSession: ClientSession
  #peer: Peer | undefined
  /** The peer of the last request, reused for the same caller. */
  #caller: { readonly caller: Caller; readonly session: Peer; readonly peer: Peer } | undefined
  /** When the session began to watch changes, in milliseconds since 1970; undefined until then. */
  watchingSince: number | undefined
  #lastQuestion = 0
  /** Bytes of state that the account counts. */
  #stateBytes = 0

  constructor(options: SessionOptions) {
    this.#options = options
    this.#server = options.server
    this.#clientSession = {
      ended: this.#over.signal,
      ...(options.id === undefined ? {} : { id: options.id }),
    }
  }

  /** The client, after `initialize`. */
  get peer(): Peer | undefined {
    return this.#peer
  }

  /** Whether a handler runs that does not wait for a response of the client. */
  get working(): boolean {
    return this.#options.calls.size > this.waiting
  }

  /** Requests in flight whose handlers wait for responses of the client. */
  get waiting(): number {
    let waiting = 0
    for (const requester of this.#requesters.values()) if (requester.isWaiting) waiting++
    return waiting
  }

  /**
   * Serves one request and returns its response, or undefined if it was cancelled. State that later messages depend on (the
   * result of `initialize`, the log level, subscriptions, requests in flight) is set before the first `await`, so in the order
   * of the calls.
   * @throws RpcError for a request that was rejected before it began
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
    switch (message.method) {
      case 'logging/setLevel': {
        if (this.#server.capabilities.logging === undefined) throw methodNotFound(message.method)
        const logLevel = requireLoggingLevel(message.params?.['level'])
        if (this.#peer !== undefined) this.#peer = { ...this.#peer, logLevel }
        return result(message, {})
      }
      case 'resources/subscribe':
        return result(message, await this.#subscribe(message, peer))
      case 'resources/unsubscribe':
        this.#unsubscribe(this.#uriOf(message))
        return result(message, {})
    }
    const requester = new SessionRequester(this.#pending, this.#ids, outlet)
    const { bounds } = this.#options
    const call = new ServedRequest(message, peer, requester, outlet, bounds, this.#clientSession)
    return await calls.run(call, this.#server, (response) => {
      requester.close()
      this.#requesters.delete(requester)
      return response
    })
  }

  readonly #ids: QuestionIds = {
    next: (requester, method, params) => {
      this.#requesters.add(requester)
      const id = method === 'elicitation/create' ? params['elicitationId'] : undefined
      if (typeof id === 'string') this.expectCompletion(id)
      return this.#options.questions?.next() ?? ++this.#lastQuestion
    },
    reuse: (requester, id) => {
      this.#requesters.add(requester)
      this.#options.questions?.reuse(id)
    },
    release: (id) => this.#options.questions?.release(id),
  }

  /** Records a URL elicitation, of whose completion the client is notified. */
  expectCompletion(id: string): void {
    this.#urlElicitations.add(id)
    dropOldest(this.#urlElicitations, this.#options.bounds.subscribedUris)
  }

  /** Continues a session whose client sent `initialize` or `logging/setLevel` to another node. */
  restore(peer: Peer): void {
    this.#peer = peer
  }

  /** Notifies the client of changes from now on, and of these. */
  async notifyOfChanges(missed: readonly Change[] = []): Promise<void> {
    const peer = this.#peer
    if (peer === undefined) return
    if (this.watchingSince === undefined) {
      this.watchingSince = Date.now()
      this.#watch(peer).catch((error) => report(this.#server, error, 'changes'))
    }
    for (const change of missed) if (this.#wants(change)) await this.#notifyOf(change, peer)
  }

  /** Subscribes to exactly these resources, as the client did through other nodes. */
  async subscribeOnly(uris: readonly string[]): Promise<void> {
    for (const uri of this.#subscribed.keys()) if (!uris.includes(uri)) this.#unsubscribe(uri)
    const peer = this.#peer
    if (peer === undefined) return
    for (const uri of uris) if (!this.#subscribed.has(uri)) await this.#addSubscription(uri, peer)
  }

  /** Handles a notification; unknown ones are ignored. */
  notification(message: JsonRpcNotification): void {
    if (message.method !== 'notifications/initialized') cancelCall(this.#options.calls, message)
    else this.notifyOfChanges().catch((error) => report(this.#server, error, message.method))
  }

  /** Handles a response to a request of the server; an unexpected one is ignored. */
  response(message: JsonRpcResponse): void {
    this.#pending.settle(message)
  }

  /** Ends a request without a response: another node serves it. */
  abandon(id: RequestId): void {
    this.#options.calls.cancel(
      id,
      new McpError('CONNECTION_CLOSED', 'Another server process runs this request'),
    )
  }

  /** Handles an invalid message that gets no response: rejects the request that it belongs to, or reports it. */
  invalidMessage({ id, error }: InvalidMessage): void {
    const failure = new McpError('PROTOCOL', `the client sent an invalid response (${error.message})`)
    if (id === undefined || !this.#pending.reject(id, failure)) report(this.#server, error, 'a message')
  }

  /** Cancels requests in both directions and releases subscriptions. */
  close(reason: string): void {
    const error = new McpError('CONNECTION_CLOSED', reason)
    this.#over.abort(error)
    for (const release of this.#subscribed.values()) release()
    this.#subscribed.clear()
    this.#options.memory.release(this.#stateBytes)
    this.#stateBytes = 0
    this.#options.calls.cancelAll(error)
    this.#pending.rejectAll(error)
  }

  /** The session's client with the scopes of a caller. */
  #peerOf(caller: Caller): Peer {
    const session = this.#peer
    if (session === undefined) {
      throw invalidRequest('send "initialize" first, or put the protocol version into the request\'s _meta')
    }
    if (this.#caller?.caller !== caller || this.#caller.session !== session) {
      const { revision, capabilities, info, logLevel } = session
      this.#caller = { caller, session, peer: { ...caller, revision, capabilities, info, logLevel } }
    }
    return this.#caller.peer
  }

  #initialize(params: JsonObject | undefined): JsonObject {
    if (this.#peer !== undefined) {
      throw invalidRequest('this session is already initialized')
    }
    const { server, caller } = this.#options
    const { peer, result, chars } = initialize(server, caller, params)
    this.#reserve(chars)
    this.#peer = peer
    return result
  }

  /**
   * Counts bytes of session state.
   * @throws RpcError if they exceed a limit
   */
  #reserve(bytes: number): void {
    const full = this.#options.memory.reserve(bytes, 'state')
    if (full !== undefined) throw fullError(full)
    this.#stateBytes += bytes
  }

  async #subscribe(message: JsonRpcRequest, peer: Peer): Promise<JsonObject> {
    const { subscribedUris, uriChars } = this.#options.bounds
    const refused = missingScopesError(this.#server.scopesFor(message.method, message.params, uriChars), peer)
    if (refused !== undefined) throw refused
    const uri = this.#uriOf(message)
    if (this.#subscribed.has(uri)) return {}
    if (this.#subscribed.size >= subscribedUris) {
      throw invalidParams(`at most ${subscribedUris} resources can be subscribed to at once`)
    }
    await this.#addSubscription(uri, peer)
    return {}
  }

  async #addSubscription(uri: string, peer: Peer): Promise<void> {
    const mark = (): void => {}
    this.#reserve(subscriptionBytes(uri))
    this.#subscribed.set(uri, mark)
    try {
      const subscription = await this.#server.changes.subscribe?.(
        { resourceSubscriptions: [uri] },
        this.#subscriber(peer),
      )
      if (subscription === undefined) return
      if (this.#subscribed.get(uri) === mark) this.#subscribed.set(uri, () => subscription.release())
      else subscription.release()
      if (subscription.acknowledged.resourceSubscriptions?.includes(uri) === true) return
      throw invalidParams('this resource cannot be subscribed to')
    } catch (error) {
      this.#unsubscribe(uri)
      throw error
    }
  }

  #unsubscribe(uri: string): void {
    this.#subscribed.get(uri)?.()
    if (!this.#subscribed.delete(uri)) return
    this.#options.memory.release(subscriptionBytes(uri))
    this.#stateBytes -= subscriptionBytes(uri)
  }

  #uriOf({ method, params }: JsonRpcRequest): string {
    if (this.#server.capabilities.resources?.subscribe !== true) throw methodNotFound(method)
    const uri = params?.['uri']
    const { uriChars } = this.#options.bounds
    if (typeof uri !== 'string' || uri === '' || uri.length > uriChars || !URL.canParse(uri)) {
      throw invalidParams(`"uri" must be an absolute URI of at most ${uriChars} characters`)
    }
    return uri
  }

  async #watch(peer: Peer): Promise<void> {
    const { changes } = this.#server
    const listener = this.#subscriber(peer)
    const watching = changes.watch((change) => this.#wants(change), this.#over.signal, listener)
    const subscription = await changes.subscribe?.(everyList, listener)
    try {
      for await (const change of watching) {
        await this.#notifyOf(change, peer)
      }
    } finally {
      subscription?.release()
    }
  }

  async #notifyOf(change: Change, peer: Peer): Promise<void> {
    if (change.type === 'elicitation') this.#urlElicitations.delete(change.id)
    for (const one of changesFor(change, this.#filter())) {
      const notification = notificationOf(one)
      const wire = notification === undefined ? undefined : peer.revision.notification(notification)
      if (wire !== undefined) await this.#options.send({ jsonrpc: '2.0', ...wire })
    }
  }

  #subscriber(peer: Peer): Subscriber {
    return { peer, session: this.#clientSession }
  }

  #wants(change: Change): boolean {
    if (change.type === 'resource') return this.#subscribed.has(change.uri)
    if (change.type === 'elicitation') return this.#urlElicitations.has(change.id)
    if (change.type === 'anything') return true
    if (change.type === 'log') return isAtLeast(change.level, this.#peer?.logLevel)
    return this.#server.capabilities[change.type]?.listChanged === true
  }

  /** The changes that the client is notified of. */
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

/** Estimated bytes of a resource subscription. */
function subscriptionBytes(uri: string): number {
  return 512 + 2 * uri.length
}

function result({ id }: JsonRpcRequest, value: JsonObject): JsonRpcResponse {
  return { jsonrpc: '2.0', id, result: value }
}

/** Handles the messages of a batch: a session, or one POST without a session. */
export type BatchReceiver = Pick<Session, 'peer' | 'notification' | 'response' | 'invalidMessage'>

/**
 * Serves the messages of one batch (2025-03-26) concurrently.
 * @returns the responses; none for a batch without requests
 * @throws RpcError -32600 for an array that is not a valid batch on this revision
 */
export async function serveBatch(
  receiver: BatchReceiver,
  server: Server,
  values: readonly unknown[],
  max: number,
  serve: (message: JsonRpcRequest) => Promise<ServedResponse>,
): Promise<JsonRpcResponse[]> {
  if (receiver.peer?.revision.batches !== true) {
    throw invalidRequest(`batches are part of revision 2025-03-26 only, so send each message by itself`)
  }
  if (values.length === 0) throw invalidRequest('a batch must contain at least one message')
  if (values.length > max) throw invalidRequest(`a batch may contain at most ${max} messages`)
  const serveOne = async (value: unknown): Promise<ServedResponse> => {
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
        if (message.method === 'initialize' || isStatelessRequest(message.params)) {
          return failure(message.id, invalidRequest('this request may not be part of a batch'))
        }
        return serve(message).catch((error) => failure(message.id, refusalOf(error, message.method, server)))
      }
    }
  }
  const responses = await Promise.all(values.map(serveOne))
  return responses.filter((response) => response !== undefined)
}
