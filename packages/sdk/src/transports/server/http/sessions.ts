import { ErrorCode, internalError, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcRequest, RequestId } from '../../../jsonrpc/message.ts'
import { RotatingMap, RotatingSet } from '../../../jsonrpc/rotating-map.ts'
import { supports } from '../../../protocol/revision.ts'
import { randomText } from '../../../request/encoding.ts'
import { allows, type Caller } from '../../../request/exchange.ts'
import { type MemoryAccount, PrincipalQuota } from '../memory-budget.ts'
import { report, unref } from '../options.ts'
import { Calls, encodeMessage, failure } from '../served-request.ts'
import { Session, type SessionOptions } from '../session.ts'
import { EventStream, responseGraceMs } from './event-stream.ts'
import type { HttpReply } from './http-adapter.ts'
import { EventLog, ResumableStream } from './resumable-stream.ts'
import type { HttpServerState } from './server-state.ts'
import type { SharedCall } from './shared-call.ts'

/** The additional operations of a session that every node serves; see `SharedSessions`. */
export interface SessionSharing {
  readonly id: string
  /** The id of this node. */
  readonly node: string
  readonly questions: NonNullable<SessionOptions['questions']> & {
    /** Stops expecting responses to these questions: another node expects them. */
    stopExpecting(questions: readonly RequestId[]): void
  }
  /** The stored call of a stream's requests; `start` for a single request whose handler may run again. */
  call(ids: readonly RequestId[], start: CallStart | undefined): SharedCall
  /** Stores that a question is open, before it is sent. */
  ask(message: JsonRpcRequest): Promise<void>
  /** Called when the client's stream for messages outside of requests was closed on this node. */
  notified(): Promise<void>
}

/** The request and the caller with which a handler began. */
export interface CallStart {
  readonly request: JsonRpcRequest
  readonly caller: Caller
}

/** A failover of the store loses its newest events, so older ones are not verified. */
const verifiedMs = 60_000
/** Ends the id of the stream for messages outside of requests, on each node. */
const standaloneSuffix = '-0'

export function isStandalone(stream: string): boolean {
  return stream.endsWith(standaloneSuffix)
}

/** The error responses to requests whose node stopped before they were served. */
export function interruption(ids: readonly RequestId[]): string {
  const message =
    'The server process that ran this request stopped before its response. It is not known whether the request had an effect: ' +
    'check that before you repeat it'
  const error = internalError(message, { interrupted: true })
  const [first, ...rest] = ids.map((id) => failure(id, error))
  return JSON.stringify(rest.length === 0 ? first : [first, ...rest])
}

/** One session over HTTP, with its streams. */
export class HttpSession {
  /** 192 random bits as visible ASCII. */
  readonly id: string
  /** Undefined for a session that belongs to this process. */
  readonly sharing: SessionSharing | undefined
  /** The principal that began it, and the only one that may use it. */
  readonly principal: string | null
  readonly state: HttpServerState
  readonly session: Session
  readonly log: EventLog
  /** The stream for messages outside of requests, which GET opens. */
  readonly standalone: ResumableStream
  /** The caller that opened the connection of that stream. */
  listener: Caller
  /** The time of the last request, in milliseconds of the monotonic clock. */
  lastSeen: number = performance.now()
  readonly posts: RotatingSet<RunningResponse> = new RotatingSet()
  readonly #streams = new RotatingMap<string, ResumableStream>()
  readonly #connections = new RotatingSet<EventStream>()
  readonly #tag: string
  readonly #report = (error: unknown): void => report(this.state.server, error, 'event stream')
  #lastStream = 0
  #isHandedOver = false

  constructor(state: HttpServerState, caller: Caller, memory: MemoryAccount, sharing?: SessionSharing) {
    const { server, bounds, backplane } = state
    this.state = state
    this.id = sharing?.id ?? randomText(24)
    this.sharing = sharing
    this.principal = caller.principal
    this.listener = caller
    this.#tag = sharing === undefined ? randomText(6) : `${sharing.node}-${randomText(6)}`
    this.log = new EventLog(backplane, this.id, bounds, sharing?.node)
    this.standalone = this.#newStream()
    this.session = new Session({
      server,
      calls: new Calls(bounds.inFlight, state),
      memory,
      caller,
      bounds,
      id: this.id,
      ...(sharing === undefined ? {} : { questions: sharing.questions }),
      send: async (message) => {
        await this.standalone.ready()
        if (!this.#isForListener(message)) return
        const text = encodeMessage(message, server)
        if (text !== undefined) this.standalone.send(text, false)
      },
    })
  }

  /** Whether the session must not be evicted: it has a connection, or a handler runs. */
  get isBusy(): boolean {
    return (
      this.#connections.size > 0 ||
      this.session.working ||
      (this.sharing !== undefined && this.posts.size > 0)
    )
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Whether its client supports polling (SEP-1699, since 2025-11-25). */
  get supportsPolling(): boolean {
    const version = this.session.peer?.revision.version
    return version !== undefined && supports(version, 'ssePolling')
  }

  /** @param call of a session of several nodes: what the stream responds to */
  openStream(reply: HttpReply, call: SharedCall | undefined): ResumableStream {
    const stream = this.#newStream()
    if (call !== undefined) stream.queue(() => call.begin(stream.id))
    stream.attach(this.connect(reply, stream, responseGraceMs))
    if (this.supportsPolling) stream.prime()
    return stream
  }

  /** Opens an event stream as the connection of a stream. */
  connect(reply: HttpReply, stream: { lost(connection: EventStream): void }, patienceMs = 0): EventStream {
    const connection = new EventStream(reply, this.state.bounds, patienceMs)
    this.#connections.add(connection)
    reply.onClose(() => {
      connection.closed()
      this.#connections.delete(connection)
      this.lastSeen = performance.now()
      stream.lost(connection)
      if (stream === this.standalone && !this.#isHandedOver) this.sharing?.notified()
    })
    return connection
  }

  stream(id: string): ResumableStream | undefined {
    return this.#streams.get(id)
  }

  /** Continues a stream of another node. */
  continueStream(id: string): ResumableStream {
    const stream = new ResumableStream(id, this.log, this.state.bounds, this.#report, 'continued')
    this.#streams.set(id, stream)
    return stream
  }

  endedStream(id: string): ResumableStream {
    return new ResumableStream(id, this.log, this.state.bounds, this.#report, 'ended')
  }

  /** Ends a stream; only its stored events remain. */
  endStream(stream: ResumableStream, call: SharedCall | undefined): void {
    stream.end().then(() => {
      this.#streams.delete(stream.id)
      call?.end().catch(this.#report)
    })
  }

  /** Closes a stream without an end after `released`, so that another node continues it. */
  release(stream: ResumableStream, released: Promise<void>): Promise<void> {
    this.#streams.delete(stream.id)
    return stream.release(released)
  }

  /** Closes the session: cancels requests, ends streams, and deletes stored events. */
  close(reason: string): void {
    this.session.close(reason)
    const text = JSON.stringify(failure(undefined, new RpcError(ErrorCode.InvalidRequest, reason)))
    for (const post of this.posts.values()) post.abandon(text)
    for (const stream of this.#streams.values()) stream.end()
    this.#streams.clear()
    for (const connection of this.#connections.values()) connection.end()
    this.log.drop().catch((error) => report(this.state.server, error, 'session'))
  }

  /**
   * Releases the session to the other nodes: releases the requests that another node may run again, and responds to the others
   * that they were interrupted. Resolves when that is stored.
   */
  async handOver(reason: string): Promise<void> {
    this.#isHandedOver = true
    const stored = this.releaseCalls('all')
    for (const post of this.posts.values()) post.interrupt()
    stored.push(...[...this.#streams.values()].map((stream) => stream.end()))
    if (this.standalone.connected && this.sharing !== undefined) stored.push(this.sharing.notified())
    this.session.close(reason)
    await Promise.all(stored)
    for (const connection of this.#connections.values()) connection.end()
  }

  /** Releases requests that another node may run again: all of them, or those that wait for responses. */
  releaseCalls(which: 'all' | 'waiting'): Promise<void>[] {
    return this.posts.values().flatMap((post) => post.release(which) ?? [])
  }

  /** Abandons requests that another node took over while this one did not renew its lease. Rejects if the store fails. */
  async verifyCalls(): Promise<void> {
    await Promise.all(this.posts.values().map((post) => post.verify()))
  }

  /** Checks whether the store lost events of the last minute, also of streams that have ended. */
  verifyLog(): void {
    if (this.log.ageMs < verifiedMs) this.standalone.verify()
  }

  /** Whether the caller of the standalone stream may receive a notification: that of the subscription may have had more scopes. */
  #isForListener({ method, params }: JsonRpcNotification): boolean {
    if (method !== 'notifications/resources/updated') return true
    return allows(this.listener, this.state.server.scopesFor('resources/subscribe', params))
  }

  #newStream(): ResumableStream {
    const id = `${this.#tag}-${this.#lastStream++}`
    const stream = new ResumableStream(id, this.log, this.state.bounds, this.#report)
    this.#streams.set(id, stream)
    return stream
  }
}

/** Responds to requests of a session. */
export interface RunningResponse {
  /** Releases the request, so that another node runs its handler again; undefined if that is not possible. */
  release(which: 'all' | 'waiting'): Promise<void> | undefined
  /** Abandons the request if another node took it over. Rejects if the store fails. */
  verify(): Promise<void>
  /** Responds that this node stops and the requests may have had effects. */
  interrupt(): void
  /** Ends without a response, because the session ended. */
  abandon(text: string): void
}

const sweepMs = 60_000

/** The sessions of one node. Idle ones are closed after a timeout, or the least recently used one to make room. */
export class Sessions {
  readonly #state: HttpServerState
  readonly #byId = new RotatingMap<string, HttpSession>()
  readonly #quota: PrincipalQuota
  /** When the sessions that began here did, on the monotonic clock. They count for the limits of this node. */
  readonly #begun = new WeakMap<HttpSession, number>()
  readonly #onEvicted: (session: HttpSession) => void
  #sweep: ReturnType<typeof setTimeout> | undefined

  /** @param onEvicted called with a session of several nodes that began here and was evicted */
  constructor(state: HttpServerState, onEvicted: (session: HttpSession) => void) {
    this.#state = state
    this.#onEvicted = onEvicted
    this.#quota = new PrincipalQuota(state.bounds.sessionsPerPrincipal)
  }

  /** Begins a session; undefined if a limit is reached and no session is idle. */
  begin(caller: Caller, memory: MemoryAccount, sharing?: SessionSharing): HttpSession | undefined {
    if (!this.#reservePlace(caller.principal)) return undefined
    const session = new HttpSession(this.#state, caller, memory, sharing)
    this.#begun.set(session, performance.now())
    this.#state.observer?.event({ type: 'sessionBegun' })
    this.#byId.set(session.id, session)
    this.#schedule()
    return session
  }

  /** Serves a session that began on another node. */
  adopt(caller: Caller, memory: MemoryAccount, sharing: SessionSharing): HttpSession {
    if (this.#byId.size >= this.#state.bounds.sessions) this.#makeRoom(() => true)
    const session = new HttpSession(this.#state, caller, memory, sharing)
    this.#byId.set(session.id, session)
    this.#schedule()
    return session
  }

  /** A session by its id, whoever may use it. */
  get(id: string): HttpSession | undefined {
    return this.#byId.get(id)
  }

  values(): HttpSession[] {
    return this.#byId.values()
  }

  /** A session by its id, for its own principal only. */
  find(id: string, principal: string | null): HttpSession | undefined {
    const session = this.#byId.get(id)
    if (session === undefined || session.principal !== principal) return undefined
    session.lastSeen = performance.now()
    return session
  }

  end(session: HttpSession, reason: string): void {
    if (this.#remove(session)) session.close(reason)
  }

  /** Closes the sessions of this process, and releases shared ones to the other nodes. */
  async close(reason: string): Promise<void> {
    clearTimeout(this.#sweep)
    this.#sweep = undefined
    const left = this.#byId.values().map((session) => this.#closeOrHandOver(session, reason))
    await Promise.all(left)
  }

  #remove(session: HttpSession): boolean {
    if (!this.#byId.delete(session.id)) return false
    const begun = this.#begun.get(session)
    if (begun === undefined) return true
    this.#quota.release(session.principal)
    this.#state.observer?.event({ type: 'sessionEnded', durationMs: performance.now() - begun })
    return true
  }

  async #closeOrHandOver(session: HttpSession, reason: string): Promise<void> {
    if (session.sharing === undefined) this.end(session, reason)
    else if (this.#remove(session)) await session.handOver(reason)
  }

  /** Makes room for a session of a principal, by closing an idle session of the same principal if it has reached its limit. */
  #reservePlace(principal: string | null): boolean {
    const quota = this.#quota
    if (!quota.reserve(principal)) {
      return this.#makeRoom((session) => session.principal === principal) && quota.reserve(principal)
    }
    if (this.#byId.size < this.#state.bounds.sessions || this.#makeRoom(() => true)) return true
    quota.release(principal)
    return false
  }

  #makeRoom(among: (session: HttpSession) => boolean): boolean {
    let oldest: HttpSession | undefined
    for (const session of this.#byId.values()) {
      const isOlder = oldest === undefined || session.lastSeen < oldest.lastSeen
      if (isOlder && among(session) && !session.isBusy) oldest = session
    }
    if (oldest === undefined) return false
    if (oldest.sharing !== undefined && this.#begun.has(oldest)) this.#onEvicted(oldest)
    this.#release(oldest, 'The session was idle and was closed to make room')
    return true
  }

  #release(session: HttpSession, reason: string): void {
    this.#closeOrHandOver(session, reason).catch((error) => report(this.#state.server, error, 'session'))
  }

  #schedule(): void {
    if (this.#sweep !== undefined) return
    const after = Math.min(sweepMs, this.#state.bounds.sessionIdleMs)
    this.#sweep = unref(
      setTimeout(() => {
        this.#sweep = undefined
        const oldest = performance.now() - this.#state.bounds.sessionIdleMs
        for (const session of this.#byId.values()) {
          if (session.lastSeen <= oldest && !session.isBusy)
            this.#release(session, 'The session was idle for too long')
        }
        if (this.#byId.size > 0) this.#schedule()
      }, after),
    )
  }
}
