import type { AskContext, Client, ProgressReport, Relay, ServerChange } from '../client/types.ts'
import { ErrorCode, internalError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities, LoggingLevel } from '../protocol/definitions.ts'
import { loggingLevels } from '../protocol/meta.ts'
import type { ServerNotifications } from '../protocol/methods.ts'
import type { Question } from '../protocol/server-requests.ts'
import { type Changes, createChanges } from '../request/changes.ts'
import { canonical } from '../request/encoding.ts'
import type { Caller, ClientSession, Exchange } from '../request/exchange.ts'
import { unref } from '../transports/server/options.ts'
import { canAnswerAny, parseQuestion } from './questions.ts'
import { Upstream, UpstreamSubscriptions } from './upstream.ts'

export type LogMessage = ServerNotifications['notifications/message']

/** One upstream request, with the callbacks of its client. */
export interface UpstreamRequest {
  readonly relay: Relay
  readonly signal: AbortSignal
  /** Minimum level of log messages; undefined for none. */
  readonly logLevel: LoggingLevel | undefined
  /** Sends an input request to the client; rejects with an RpcError for the upstream server. */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject>
  progress(report: ProgressReport): void
  log(message: LogMessage): void
}

/** What an upstream server sends on its own over a connection. */
export interface UpstreamConnectionEvents {
  answer(
    question: { readonly method: string; readonly params: JsonObject },
    context: AskContext,
  ): Promise<JsonObject>
  log(message: LogMessage): void
  elicitationComplete(id: string): void
}

interface UpstreamConnectionOptions {
  open(events: UpstreamConnectionEvents): Promise<Client>
  /** Whether several principals use it, so that messages must be attributed to a request. */
  shared: boolean
  /** Milliseconds one request may take. */
  totalMs: number
  /** Resources subscribed to. */
  watchedUris: number
  onWarning(text: string): void
  onTools(client: Client): void
}

/** An upstream connection with its requests, subscriptions and changes. */
export class UpstreamConnection {
  readonly upstream: Upstream
  readonly subscriptions: UpstreamSubscriptions
  readonly changes: Changes = createChanges()
  readonly #options: UpstreamConnectionOptions
  /** Requests in flight, oldest first, each with a signal for its end. */
  readonly #requests = new Map<UpstreamRequest, AbortController>()
  readonly #delivered = new WeakSet<LogMessage>()
  readonly #queued = new Map<string, ServerChange>()
  #level: { readonly client: Client; readonly level: LoggingLevel } | undefined

  constructor(options: UpstreamConnectionOptions) {
    this.#options = options
    const events: UpstreamConnectionEvents = {
      answer: (question, context) => this.#answer(question, context),
      // A message of unknown cause is passed to the newest request, unless it may belong to another principal.
      log: (message) => {
        if (options.shared) return
        queueMicrotask(() => {
          if (!this.#delivered.has(message)) [...this.#requests.keys()].at(-1)?.log(message)
        })
      },
      elicitationComplete: (id) => this.changes.publish({ type: 'elicitation', id }),
    }
    this.upstream = new Upstream(() => options.open(events))
    this.subscriptions = new UpstreamSubscriptions(this.upstream, options.watchedUris, (change) =>
      this.#queueChange(change),
    )
  }

  get idle(): boolean {
    return this.#requests.size === 0 && !this.subscriptions.inUse
  }

  async close(): Promise<void> {
    this.subscriptions.close()
    await this.upstream.close()
  }

  /** Sends a request and returns its result, with `resultType` if it is not complete. */
  async send(method: string, params: JsonObject, request: UpstreamRequest): Promise<JsonObject> {
    const { relay, signal, logLevel } = request
    const ended = new AbortController()
    this.#requests.set(request, ended)
    try {
      const client = await this.upstream.get()
      signal.throwIfAborted()
      await this.#setLevel(client, logLevel)
      return await client.request(method, params, {
        relay,
        signal,
        // The client decides how long it waits and cancels by itself; this is only an upper bound.
        timeoutMs: this.#options.totalMs,
        maxTotalMs: this.#options.totalMs,
        onProgress: (report) => request.progress(report),
        ...(logLevel && {
          logLevel,
          onLog: (message) => {
            this.#delivered.add(message)
            request.log(message)
          },
        }),
      })
    } finally {
      this.#requests.delete(request)
      ended.abort()
    }
  }

  /** On a session the log level belongs to the connection; a shared one uses the most verbose level requested. */
  async #setLevel(client: Client, wanted: LoggingLevel | undefined): Promise<void> {
    const { era, capabilities } = client.server
    if (wanted === undefined || era !== 'session' || capabilities.logging === undefined) return
    const level = this.#level?.client === client ? this.#level.level : undefined
    const isSufficient = this.#options.shared
      ? level !== undefined && loggingLevels.indexOf(level) <= loggingLevels.indexOf(wanted)
      : level === wanted
    if (isSufficient) return
    this.#level = { client, level: wanted }
    await client.setLogLevel(wanted).catch((error) => {
      this.#options.onWarning(`The upstream server rejected the log level ${wanted}: ${error}`)
    })
  }

  /**
   * Forwards a question to the client of the request that caused it. If that is unknown, the newest request is used, as all
   * are of one principal; if that request ends first, the question moves to another.
   */
  async #answer(
    { method, params }: { readonly method: string; readonly params: JsonObject },
    { cause, signal }: AskContext,
  ): Promise<JsonObject> {
    const question = parseQuestion(method, params)
    for (;;) {
      const requests = [...this.#requests]
      const about = cause?.relay && requests.find(([{ relay }]) => relay === cause.relay)
      const entry = about ?? (this.#options.shared ? undefined : requests.at(-1))
      if (entry === undefined) {
        throw new RpcError(ErrorCode.InvalidRequest, 'The input request belongs to no request in flight')
      }
      const [request, { signal: ended }] = entry
      try {
        return await request.ask(question, AbortSignal.any([signal, ended]))
      } catch (error) {
        if (!ended.aborted || signal.aborted) throw error
      }
    }
  }

  #queueChange(change: ServerChange): void {
    const { current } = this.upstream
    if (change.type === 'tools' && current !== undefined) this.#options.onTools(current)
    // The same change may arrive on several subscriptions.
    if (this.#queued.size === 0) {
      queueMicrotask(() => {
        const changes = [...this.#queued.values()]
        this.#queued.clear()
        for (const change of changes) this.changes.publish(change)
      })
    }
    this.#queued.set(JSON.stringify(change), change)
  }
}

interface UpstreamPoolOptions {
  /** The proxy's own connection, which declares no input capabilities. */
  base: UpstreamConnection
  hasSessions: () => boolean
  /** Whether each principal has its own upstream credentials. */
  perPrincipal: boolean
  /** Uses the proxy's own connection for all requests. */
  sharedConnection: boolean
  open(caller: Caller, capabilities: ClientCapabilities, events: UpstreamConnectionEvents): Promise<Client>
  create(open: (events: UpstreamConnectionEvents) => Promise<Client>, shared: boolean): UpstreamConnection
  /** Maximum connections besides the proxy's own. */
  max: number
  /** Maximum of these for one principal. */
  maxPerPrincipal: number
}

/** A connection acquired for one request. */
export interface PooledConnection {
  readonly connection: UpstreamConnection
  release(): void
}

type Requester = Pick<Exchange, 'peer' | 'session'>

const idleMs = 60_000

/**
 * Assigns requests to upstream connections. Capabilities are declared once per session, and input requests on it may not name
 * the request they belong to, so two clients never share a session on which one could get the other's input requests:
 * - a downstream session has its own connections, one for each set of permissions;
 * - stateless requests of the same identified principal with the same capabilities share one;
 * - an unidentified request that can be asked gets one exclusively; all others share the proxy's own.
 * Servers without sessions need none of this: every request declares its own capabilities.
 */
export class UpstreamPool {
  readonly #options: UpstreamPoolOptions
  readonly #ofSession = new WeakMap<ClientSession, Map<string, UpstreamConnection>>()
  readonly #ofPrincipal = new Map<string, UpstreamConnection>()
  readonly #idle = new Map<
    UpstreamConnection,
    { readonly key: string; readonly timer: ReturnType<typeof setTimeout> }
  >()
  readonly #all = new Map<UpstreamConnection, string | null>()

  constructor(options: UpstreamPoolOptions) {
    this.#options = options
  }

  /** All connections besides the proxy's own. */
  get all(): Iterable<UpstreamConnection> {
    return this.#all.keys()
  }

  /**
   * Acquires a connection for one request.
   * @throws RpcError when there are too many connections
   */
  acquire(requester: Requester, capabilities: ClientCapabilities, asks: boolean): PooledConnection {
    const { hasSessions, sharedConnection } = this.#options
    const { peer, session } = requester
    const isExclusive = hasSessions() && !sharedConnection && session === undefined && !isIdentified(peer)
    if (isExclusive && asks && canAnswerAny(capabilities)) return this.#exclusive(peer, capabilities)
    return { connection: this.connectionFor(requester, capabilities), release: () => {} }
  }

  /** The connection for everything that needs no exclusive one, changes included. */
  connectionFor({ session, peer }: Requester, capabilities: ClientCapabilities): UpstreamConnection {
    const { base, sharedConnection, hasSessions, perPrincipal } = this.#options
    if (sharedConnection) return base
    if (hasSessions() && session !== undefined) return this.#forSession(session, peer, capabilities)
    if (!hasSessions()) return perPrincipal ? this.#forPrincipal(peer, {}, true) : base
    if (isIdentified(peer) && canAnswerAny(capabilities)) return this.#forPrincipal(peer, capabilities, false)
    return peer.principal === null && !perPrincipal ? base : this.#forPrincipal(peer, {}, true)
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#all.keys(), (connection) => this.#end(connection)))
  }

  #forSession(session: ClientSession, caller: Caller, capabilities: ClientCapabilities): UpstreamConnection {
    const key = canonical(this.#rights(caller))
    const connections = this.#ofSession.get(session) ?? new Map<string, UpstreamConnection>()
    const existing = connections.get(key)
    if (existing !== undefined) return existing
    const connection = this.#create(caller, capabilities, false)
    this.#ofSession.set(session, connections.set(key, connection))
    const end = (): void => void this.#end(connection)
    if (session.ended.aborted) end()
    else session.ended.addEventListener('abort', end, { once: true })
    return connection
  }

  #forPrincipal(caller: Caller, capabilities: ClientCapabilities, shared: boolean): UpstreamConnection {
    const key = canonical([caller.principal, capabilities, this.#rights(caller)])
    const connection = this.#ofPrincipal.get(key) ?? this.#create(caller, capabilities, shared)
    this.#ofPrincipal.delete(key)
    this.#ofPrincipal.set(key, connection)
    return connection
  }

  /** What a connection with the caller's credentials depends on, besides the principal. */
  #rights({ scopes, clientId }: Caller): readonly unknown[] {
    return this.#options.perPrincipal ? [clientId, scopes === 'any' ? scopes : [...scopes].toSorted()] : []
  }

  #exclusive(caller: Caller, capabilities: ClientCapabilities): PooledConnection {
    const key = canonical(capabilities)
    const [idle] = [...this.#idle].find(([, entry]) => entry.key === key) ?? []
    const connection = idle ?? this.#create(caller, capabilities, false)
    clearTimeout(this.#idle.get(connection)?.timer)
    this.#idle.delete(connection)
    return {
      connection,
      release: () => {
        if (!this.#all.has(connection) || this.#idle.has(connection)) return
        const timer = setTimeout(() => void this.#end(connection), idleMs)
        this.#idle.set(connection, { key, timer: unref(timer) })
      },
    }
  }

  #create(caller: Caller, capabilities: ClientCapabilities, shared: boolean): UpstreamConnection {
    const { principal, scopes, clientId, claims } = caller
    const { max, maxPerPrincipal, open, create } = this.#options
    const isFull = this.#all.size >= max && !this.#makeRoom([...this.#all.keys()])
    const ofCaller = principal === null ? [] : [...this.#all].filter(([, owner]) => owner === principal)
    const own = ofCaller.map(([connection]) => connection)
    if (isFull || (own.length >= maxPerPrincipal && !this.#makeRoom(own))) {
      throw internalError('Too many connections to the upstream server are in use. Try again later.')
    }
    const owner: Caller = { principal, scopes, claims, ...(clientId === undefined ? {} : { clientId }) }
    const connection = create((events) => open(owner, capabilities, events), shared)
    this.#all.set(connection, principal)
    return connection
  }

  /** Closes the least recently used idle connection that belongs to no session. Returns false if there is none. */
  #makeRoom(candidates: readonly UpstreamConnection[]): boolean {
    const idle = [...this.#idle.keys()].find((connection) => candidates.includes(connection))
    const unused =
      idle ??
      [...this.#ofPrincipal.values()].find((connection) => connection.idle && candidates.includes(connection))
    if (unused === undefined) return false
    void this.#end(unused)
    return true
  }

  async #end(connection: UpstreamConnection): Promise<void> {
    this.#all.delete(connection)
    clearTimeout(this.#idle.get(connection)?.timer)
    this.#idle.delete(connection)
    for (const [key, existing] of this.#ofPrincipal)
      if (existing === connection) this.#ofPrincipal.delete(key)
    await connection.close().catch(() => {})
  }
}

/** Whether all requests of this caller have the same sender: an authenticated one, or the owner of both ends. */
function isIdentified({ principal, scopes }: Caller): boolean {
  return principal !== null || scopes === 'any'
}
