import type { Change, Listener } from '../core/changes.ts'
import type { Caller, ClientSession, Peer } from '../core/exchange.ts'
import { changesFor } from '../core/hub.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../jsonrpc/message.ts'
import { Pending } from '../jsonrpc/pending.ts'
import { TransientSet } from '../jsonrpc/transient.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import { isAtLeast } from '../protocol/meta.ts'
import type { ServerNotification } from '../protocol/methods.ts'
import { lacking } from '../server/scopes.ts'
import type { Server } from '../server/server.ts'
import { Asker, type Inquiry, type SessionOutlet } from './asker.ts'
import type { Bounds } from './bounds.ts'
import type { Calls } from './calls.ts'
import { cancelCall } from './cancel.ts'
import { initialize, requireLoggingLevel } from './initialize.ts'
import { fullError, type MemoryAccount } from './memory.ts'
import { type Answered, Call, refusalOf, requireMethod } from './message.ts'
import { report } from './report.ts'

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
export interface Unusable {
  readonly id: RequestId | undefined
  readonly error: RpcError
}

/** One client of the legacy era, from `initialize` until it is gone. */
export class Session {
  readonly #options: SessionOptions
  readonly #server: Server
  readonly #pending = new Pending()
  /** Those that asked something. */
  readonly #askers = new TransientSet<Asker>()
  readonly #inquiry: Inquiry
  /** Subscribed resources, with how to let go of each. */
  readonly #subscribed = new Map<string, () => void>()
  /** URL visits this session was asked for and not told of yet, oldest first. */
  readonly #visits = new Set<string>()
  readonly #over = new AbortController()
  readonly #shown: ClientSession
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
    this.#inquiry = { pending: this.#pending, next: (...question) => this.#next(...question) }
    this.#shown = { ended: this.#over.signal, ...(options.id === undefined ? {} : { id: options.id }) }
  }

  /** Who is on the other end, once `initialize` was answered. */
  get peer(): Peer | undefined {
    return this.#peer
  }

  /** Whether a handler runs that does not just wait for the client's answer. */
  get working(): boolean {
    let waiting = 0
    for (const asker of this.#askers.values()) if (asker.waiting) waiting++
    return this.#options.calls.size > waiting
  }

  /**
   * Serves one request. Gives its response, or undefined once it was cancelled: at once where nothing had to be waited for.
   * @throws RpcError for a request that was refused before it began; a promise rejects with it
   */
  request(
    message: JsonRpcRequest,
    outlet: SessionOutlet,
    caller: Caller = this.#options.caller,
  ): Answered | Promise<Answered> {
    const { calls } = this.#options
    calls.admit(message.id)
    if (message.method === 'initialize') return this.#result(message, this.#initialize(message.params))
    if (message.method === 'ping') return this.#result(message, {})
    const peer = this.#peerOf(caller)
    requireMethod(this.#server, peer.revision, message.method)
    const refused = lacking(
      this.#server.scopesFor(message.method, message.params, this.#options.bounds.uriChars),
      peer,
    )
    if (refused !== undefined) throw refused
    const own = this.#own(message, peer)
    if (own instanceof Promise) return own.then((result) => this.#result(message, result))
    if (own !== undefined) return this.#result(message, own)

    const asker = new Asker(this.#inquiry, outlet)
    const call = new Call(message, peer, asker, outlet, this.#options.bounds, this.#shown)
    const response = calls.run(call, this.#server)
    if (!(response instanceof Promise)) return this.#answered(asker, response)
    return response.then((later) => this.#answered(asker, later))
  }

  #answered(asker: Asker, response: Answered): Answered {
    asker.close()
    this.#askers.delete(asker)
    return response
  }

  /** Gives a question its id, and remembers URL visits so that their completion can be told. */
  #next(asker: Asker, method: string, params: JsonObject): RequestId {
    this.#askers.add(asker)
    const id = method === 'elicitation/create' ? params['elicitationId'] : undefined
    if (typeof id === 'string') {
      const [oldest] = this.#visits
      if (oldest !== undefined && this.#visits.size >= this.#options.bounds.subscribedUris)
        this.#visits.delete(oldest)
      this.#visits.add(id)
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
  unusable({ id, error }: Unusable): void {
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

  #result(message: JsonRpcRequest, result: JsonObject): JsonRpcResponse {
    return { jsonrpc: '2.0', id: message.id, result }
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

  /** What the session itself answers; undefined for what the server does. */
  #own(message: JsonRpcRequest, peer: Peer): JsonObject | Promise<JsonObject> | undefined {
    switch (message.method) {
      case 'logging/setLevel':
        this.#setLevel(message.params?.['level'])
        return {}
      case 'resources/subscribe':
        return this.#subscribe(message, peer)
      case 'resources/unsubscribe':
        this.#unsubscribe(this.#uriOf(message))
        return {}
      default:
        return undefined
    }
  }

  #setLevel(level: unknown): void {
    if (this.#server.capabilities.logging === undefined) throw notOffered('logging/setLevel')
    const logLevel = requireLoggingLevel(level)
    if (this.#peer !== undefined) this.#peer = { ...this.#peer, logLevel }
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
      const held = await this.#server.changes.hold?.({ resourceSubscriptions: [uri] }, this.#listener(peer))
      if (held === undefined) return {}
      if (this.#subscribed.get(uri) === mark) this.#subscribed.set(uri, () => held.release())
      else held.release()
      if (held.honored.resourceSubscriptions?.includes(uri) === true) return {}
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
    const held = await changes.hold?.(everyList, listener)
    try {
      for await (const change of watching) {
        if (change.type === 'elicitation') this.#visits.delete(change.id)
        for (const one of changesFor(change, this.#filter())) {
          const notice = noticeOf(one)
          const wire = notice === undefined ? undefined : peer.revision.notification(notice)
          if (wire !== undefined) await this.#options.send({ jsonrpc: '2.0', ...wire })
        }
      }
    } finally {
      held?.release()
    }
  }

  #listener(peer: Peer): Listener {
    return { peer, session: this.#shown }
  }

  #wants(change: Change): boolean {
    if (change.type === 'resource') return this.#subscribed.has(change.uri)
    if (change.type === 'elicitation') return this.#visits.has(change.id)
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

function noticeOf(change: Change): ServerNotification | undefined {
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

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}

function notOffered(method: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `Method not found: this server does not offer "${method}"`)
}
