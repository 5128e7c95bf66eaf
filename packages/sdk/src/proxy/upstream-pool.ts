import { linkedSignal } from '../client/call-deadline.ts'
import type { AskContext, Client, ProgressReport, Relay, ServerChange } from '../client/types.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities, LoggingLevel } from '../protocol/definitions.ts'
import { loggingLevels } from '../protocol/meta.ts'
import type { ServerNotifications } from '../protocol/methods.ts'
import type { Question } from '../protocol/server-requests.ts'
import { type Changes, createChanges } from '../request/changes.ts'
import { canonical } from '../request/encoding.ts'
import type { Caller, ClientSession, Exchange } from '../request/exchange.ts'
import { unref } from '../transports/server/options.ts'
import { answersAny, questionOf } from './questions.ts'
import { Upstream } from './upstream.ts'
import { Watches } from './watches.ts'

export type LogMessage = ServerNotifications['notifications/message']

/** One request on its way upstream, with who it is passed on for. */
export interface UpstreamRequest {
  readonly relay: Relay
  readonly signal: AbortSignal
  /** The least severe log messages wanted; undefined for none. */
  readonly logLevel: LoggingLevel | undefined
  /** Puts a question to the client; rejects with an RpcError that the upstream server gets. */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject>
  progress(report: ProgressReport): void
  log(message: LogMessage): void
}

/** What the upstream server of one seat says on its own. */
export interface UpstreamConnectionEvents {
  answer(
    question: { readonly method: string; readonly params: JsonObject },
    context: AskContext,
  ): Promise<JsonObject>
  log(message: LogMessage): void
  elicitationComplete(id: string): void
}

export interface UpstreamConnectionOptions {
  open(events: UpstreamConnectionEvents): Promise<Client>
  /** Whether those who use it must not hear of each other. */
  shared: boolean
  /** Milliseconds one request may take. */
  totalMs: number
  /** Resources watched at once. */
  watchedUris: number
  onWarning(text: string): void
  /** Hears that the tools are others now. */
  onTools(client: Client): void
}

/** One connection upstream, what travels on it, and what is heard on it. */
export class UpstreamConnection {
  readonly upstream: Upstream
  readonly watches: Watches
  /** The changes that are heard on it. */
  readonly changes: Changes = createChanges()
  readonly #options: UpstreamConnectionOptions
  /** What is on its way, the newest last, each with a way to say that it is over. */
  readonly #passages = new Map<UpstreamRequest, AbortController>()
  readonly #delivered = new WeakSet<LogMessage>()
  readonly #unread = new Map<string, ServerChange>()
  #level: { readonly client: Client; readonly level: LoggingLevel } | undefined

  constructor(options: UpstreamConnectionOptions) {
    this.#options = options
    const events: UpstreamConnectionEvents = {
      answer: (question, context) => this.#answer(question, context),
      log: (message) => this.#unattributed(message),
      elicitationComplete: (id) => this.changes.publish({ type: 'elicitation', id }),
    }
    this.upstream = new Upstream(() => options.open(events))
    this.watches = new Watches(this.upstream, options.watchedUris, (change) => this.#heard(change))
  }

  get idle(): boolean {
    return this.#passages.size === 0 && !this.watches.inUse
  }

  async close(): Promise<void> {
    this.watches.close()
    await this.upstream.close()
  }

  /** Sends a request and gives its result, with `resultType` where that is not complete. */
  async pass(method: string, params: JsonObject, passage: UpstreamRequest): Promise<JsonObject> {
    const { relay, signal, logLevel } = passage
    const over = new AbortController()
    this.#passages.set(passage, over)
    try {
      const client = await this.upstream.get()
      signal.throwIfAborted()
      await this.#setLevel(client, logLevel)
      return await client.request(method, params, {
        relay,
        signal,
        // Whoever waits for the answer says how long: this side only ends what nobody waits for any more.
        timeoutMs: this.#options.totalMs,
        maxTotalMs: this.#options.totalMs,
        onProgress: (report) => passage.progress(report),
        ...(logLevel === undefined
          ? {}
          : {
              logLevel,
              onLog: (message) => {
                this.#delivered.add(message)
                passage.log(message)
              },
            }),
      })
    } finally {
      this.#passages.delete(passage)
      over.abort()
    }
  }

  /** On a session the level belongs to the connection; the most talkative wish counts where several share it. */
  async #setLevel(client: Client, wanted: LoggingLevel | undefined): Promise<void> {
    const { era, capabilities } = client.server
    if (wanted === undefined || era !== 'session' || capabilities.logging === undefined) return
    const level = this.#level?.client === client ? this.#level.level : undefined
    const enough = this.#options.shared
      ? level !== undefined && loggingLevels.indexOf(level) <= loggingLevels.indexOf(wanted)
      : level === wanted
    if (enough) return
    this.#level = { client, level: wanted }
    await client.setLogLevel(wanted).catch((error) => {
      this.#options.onWarning(`The upstream server did not take the log level ${wanted}: ${error}`)
    })
  }

  /**
   * Has a question answered by the client of the request it is about. Where nobody knows which one that is, the newest
   * will do, as all of them are of one person; when that is over first, the question moves on to another.
   */
  async #answer(
    { method, params }: { readonly method: string; readonly params: JsonObject },
    { cause, signal }: AskContext,
  ): Promise<JsonObject> {
    const question = questionOf(method, params)
    for (;;) {
      const passages = [...this.#passages]
      const about = cause?.relay && passages.find(([{ relay }]) => relay === cause.relay)
      const found = about ?? (this.#options.shared ? undefined : passages.at(-1))
      if (found === undefined) {
        throw new RpcError(ErrorCode.InvalidRequest, 'There is no request that this question could be about')
      }
      const [passage, { signal: over }] = found
      const asking = linkedSignal(signal)
      const moveOn = (): void => asking.abort(over.reason)
      over.addEventListener('abort', moveOn, { once: true })
      try {
        return await passage.ask(question, asking.signal)
      } catch (error) {
        if (!over.aborted || signal.aborted) throw error
      } finally {
        over.removeEventListener('abort', moveOn)
        asking.release()
      }
    }
  }

  /** A message of which nobody knows the request is told to the newest, unless it may be somebody else's. */
  #unattributed(message: LogMessage): void {
    if (this.#options.shared) return
    queueMicrotask(() => {
      if (!this.#delivered.has(message)) [...this.#passages.keys()].at(-1)?.log(message)
    })
  }

  #heard(change: ServerChange): void {
    const { current } = this.upstream
    if (change.type === 'tools' && current !== undefined) this.#options.onTools(current)
    // The same change may be heard on several ways at once.
    if (this.#unread.size === 0) queueMicrotask(() => this.#tell())
    this.#unread.set(JSON.stringify(change), change)
  }

  #tell(): void {
    const changes = [...this.#unread.values()]
    this.#unread.clear()
    for (const change of changes) this.changes.publish(change)
  }
}

export interface UpstreamPoolOptions {
  /** The proxy's own connection, which can be asked nothing. */
  base: UpstreamConnection
  /** Whether the upstream server keeps sessions, which are then not shared by those who must not meet in one. */
  sessions: () => boolean
  /** Whether each principal is somebody of their own upstream. */
  separate: boolean
  /** Uses the proxy's own connection for everybody. */
  one: boolean
  open(caller: Caller, capabilities: ClientCapabilities, events: UpstreamConnectionEvents): Promise<Client>
  seat(open: (events: UpstreamConnectionEvents) => Promise<Client>, shared: boolean): UpstreamConnection
  /** Connections besides the proxy's own. */
  max: number
  /** Those of one principal among them. */
  maxOfOne: number
}

/** A seat for one request. */
export interface PooledConnection {
  readonly seat: UpstreamConnection
  release(): void
}

type Traveller = Pick<Exchange, 'peer' | 'session'>

const idleMs = 60_000

/**
 * Who travels on which connection upstream, where the server keeps sessions. What a connection declares it declares
 * once, and a question on it may not say which request it is about, so nobody may share one who must not be asked in
 * another's place:
 * - a session downstream has one of its own, for as long as it lasts, and another where its caller has other rights;
 * - requests that stand alone share one where they are known to be of one person who can answer the same;
 * - where nobody knows who sends them, each that may be asked something has one to itself while it runs, and all others
 *   share the proxy's own.
 * A server without sessions needs none of this: every request says by itself who can answer what.
 */
export class UpstreamPool {
  readonly #options: UpstreamPoolOptions
  readonly #ofSession = new WeakMap<ClientSession, Map<string, UpstreamConnection>>()
  readonly #ofPerson = new Map<string, UpstreamConnection>()
  readonly #free = new Map<
    UpstreamConnection,
    { readonly key: string; readonly timer: ReturnType<typeof setTimeout> }
  >()
  readonly #all = new Map<UpstreamConnection, string | null>()

  constructor(options: UpstreamPoolOptions) {
    this.#options = options
  }

  /** Every connection there is besides the proxy's own. */
  get all(): Iterable<UpstreamConnection> {
    return this.#all.keys()
  }

  /**
   * A seat for one request.
   * @throws RpcError where there are too many connections
   */
  take(traveller: Traveller, capabilities: ClientCapabilities, asks: boolean): PooledConnection {
    const { sessions, one } = this.#options
    const { peer, session } = traveller
    const alone = sessions() && !one && session === undefined && !isKnown(peer)
    if (alone && asks && answersAny(capabilities)) return this.#alone(peer, capabilities)
    return { seat: this.home(traveller, capabilities), release: () => {} }
  }

  /** Where whatever is not taken alone belongs, changes among it. */
  home({ session, peer }: Traveller, capabilities: ClientCapabilities): UpstreamConnection {
    const { base, one, sessions, separate } = this.#options
    if (one) return base
    if (sessions() && session !== undefined) return this.#dedicated(session, peer, capabilities)
    if (!sessions()) return separate ? this.#person(peer, {}, true) : base
    if (isKnown(peer) && answersAny(capabilities)) return this.#person(peer, capabilities, false)
    return peer.principal === null && !separate ? base : this.#person(peer, {}, true)
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#all.keys(), (seat) => this.#end(seat)))
  }

  #dedicated(session: ClientSession, caller: Caller, capabilities: ClientCapabilities): UpstreamConnection {
    const key = canonical(this.#rights(caller))
    const seats = this.#ofSession.get(session) ?? new Map<string, UpstreamConnection>()
    const known = seats.get(key)
    if (known !== undefined) return known
    const seat = this.#new(caller, capabilities, false)
    this.#ofSession.set(session, seats.set(key, seat))
    const end = (): void => void this.#end(seat)
    if (session.ended.aborted) end()
    else session.ended.addEventListener('abort', end, { once: true })
    return seat
  }

  #person(caller: Caller, capabilities: ClientCapabilities, shared: boolean): UpstreamConnection {
    const key = canonical([caller.principal, capabilities, this.#rights(caller)])
    const seat = this.#ofPerson.get(key) ?? this.#new(caller, capabilities, shared)
    this.#ofPerson.delete(key)
    this.#ofPerson.set(key, seat)
    return seat
  }

  /** What a connection with credentials of a caller's own may depend on, besides who they are. */
  #rights({ scopes, clientId }: Caller): readonly unknown[] {
    return this.#options.separate ? [clientId, scopes === 'any' ? scopes : [...scopes].toSorted()] : []
  }

  #alone(caller: Caller, capabilities: ClientCapabilities): PooledConnection {
    const key = canonical(capabilities)
    const [free] = [...this.#free].find(([, place]) => place.key === key) ?? []
    const seat = free ?? this.#new(caller, capabilities, false)
    clearTimeout(this.#free.get(seat)?.timer)
    this.#free.delete(seat)
    return {
      seat,
      release: () => {
        if (!this.#all.has(seat) || this.#free.has(seat)) return
        const timer = setTimeout(() => void this.#end(seat), idleMs)
        this.#free.set(seat, { key, timer: unref(timer) })
      },
    }
  }

  #new(caller: Caller, capabilities: ClientCapabilities, shared: boolean): UpstreamConnection {
    const { principal, scopes, clientId, claims } = caller
    const { max, maxOfOne } = this.#options
    const isFull = this.#all.size >= max && !this.#makeRoom([...this.#all.keys()])
    const own = principal === null ? [] : this.#of(principal)
    if (isFull || (own.length >= maxOfOne && !this.#makeRoom(own))) {
      throw new RpcError(
        ErrorCode.InternalError,
        'Too many connections to the upstream server are in use: try again later',
      )
    }
    const { open, seat: make } = this.#options
    const who: Caller = { principal, scopes, claims, ...(clientId === undefined ? {} : { clientId }) }
    const seat = make((events) => open(who, capabilities, events), shared)
    this.#all.set(seat, principal)
    return seat
  }

  #of(principal: string): UpstreamConnection[] {
    return [...this.#all].filter(([, whose]) => whose === principal).map(([seat]) => seat)
  }

  /** Ends one of these that is not in use and stands for nobody's session, the longest unused first. */
  #makeRoom(among: readonly UpstreamConnection[]): boolean {
    const free = [...this.#free.keys()].find((seat) => among.includes(seat))
    const unused = free ?? [...this.#ofPerson.values()].find((seat) => seat.idle && among.includes(seat))
    if (unused === undefined) return false
    void this.#end(unused)
    return true
  }

  async #end(seat: UpstreamConnection): Promise<void> {
    this.#all.delete(seat)
    clearTimeout(this.#free.get(seat)?.timer)
    this.#free.delete(seat)
    for (const [key, known] of this.#ofPerson) if (known === seat) this.#ofPerson.delete(key)
    await seat.close().catch(() => {})
  }
}

/** Whether all requests of this caller are known to be of one person: who authenticated, or owns both ends. */
function isKnown({ principal, scopes }: Caller): boolean {
  return principal !== null || scopes === 'any'
}
