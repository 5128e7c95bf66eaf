import { ErrorCode, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonRpcNotification } from '../../../jsonrpc/message.ts'
import { RotatingMap, RotatingSet } from '../../../jsonrpc/rotating-map.ts'
import { toBase64Url } from '../../../request/encoding.ts'
import { allows, type Caller } from '../../../request/exchange.ts'
import type { Server } from '../../../server/server.ts'
import { Calls, PrincipalQuota } from '../calls.ts'
import type { MemoryAccount } from '../memory-budget.ts'
import { type Bounds, report, unref } from '../options.ts'
import { encodeMessage, failure } from '../served-request.ts'
import { Session } from '../session.ts'
import { answerPatienceMs, EventStream } from './event-stream.ts'
import type { HttpReply } from './http-adapter.ts'
import type { PostStream } from './post-response.ts'
import { EventLog, ResumableStream } from './resumable-stream.ts'
import type { HttpServerState } from './server-state.ts'

/** One session over HTTP: the session proper, and the streams its messages travel on. */
export class HttpSession {
  /** 192 random bits as visible ASCII. */
  readonly id: string = randomText(24)
  /** Who began it, and alone may use it. */
  readonly principal: string | null
  readonly state: HttpServerState
  readonly server: Server
  readonly session: Session
  readonly log: EventLog
  /** Carries what belongs to no request, on the connection a GET opened. */
  readonly standalone: ResumableStream
  /** Who opened the connection of that stream. */
  listener: Caller
  /** When the last request came, by the clock that nobody sets. */
  lastSeen: number = performance.now()
  /** Answers that are still owed. */
  readonly posts: RotatingSet<PostStream> = new RotatingSet()
  readonly #bounds: Bounds
  readonly #streams = new RotatingMap<string, ResumableStream>()
  readonly #connections = new RotatingSet<EventStream>()
  readonly #tag: string = randomText(6)
  readonly #report = (error: unknown): void => report(this.server, error, 'event stream')
  #lastStream = 0

  constructor(state: HttpServerState, caller: Caller, memory: MemoryAccount) {
    const { server, bounds, backplane } = state
    this.state = state
    this.server = server
    this.principal = caller.principal
    this.listener = caller
    this.#bounds = bounds
    this.log = new EventLog(backplane, this.id, bounds)
    this.standalone = this.#newStream()
    this.session = new Session({
      server,
      calls: new Calls(bounds.inFlight, state.callPlaces(caller.principal)),
      memory,
      caller,
      bounds,
      id: this.id,
      send: async (message) => {
        await this.standalone.ready()
        if (!this.#isForListener(message)) return
        const text = encodeMessage(message, server)
        if (text !== undefined) this.standalone.send(text, false)
      },
    })
  }

  /** Whether the session must be kept: somebody is connected, or a handler works. */
  get busy(): boolean {
    return this.#connections.size > 0 || this.session.working
  }

  /** How many event streams are open. */
  get connections(): number {
    return this.#connections.size
  }

  /** Whether its client knows that a stream may close and be polled for the rest. */
  get polls(): boolean {
    const version = this.session.peer?.revision.version
    return version !== undefined && version >= '2025-11-25'
  }

  /** Makes an answer a stream of its own. */
  openStream(reply: HttpReply): ResumableStream {
    const stream = this.#newStream()
    stream.attach(this.connect(reply, stream, answerPatienceMs))
    if (this.polls) stream.prime()
    return stream
  }

  /** Opens the event stream of an answer as the connection of a stream. */
  connect(reply: HttpReply, stream: ResumableStream, patienceMs = 0): EventStream {
    const connection = new EventStream(reply, this.#bounds, patienceMs)
    this.#connections.add(connection)
    reply.onClose(() => {
      connection.closed()
      this.#connections.delete(connection)
      this.lastSeen = performance.now()
      stream.lost(connection)
    })
    return connection
  }

  /** A stream that is not over, by its id. */
  stream(id: string): ResumableStream | undefined {
    return this.#streams.get(id)
  }

  /** What is left of a stream that is over: its stored events. */
  ended(id: string): ResumableStream {
    const stream = new ResumableStream(id, this.log, this.#bounds, this.#report)
    stream.end()
    return stream
  }

  /** Ends a stream: once all of it is stored, its stored events are all that is left of it. */
  forget(stream: ResumableStream): void {
    stream.end().then(() => this.#streams.delete(stream.id))
  }

  /** Ends the session: stops what runs, closes every stream, forgets what was stored. */
  close(reason: string): void {
    this.session.close(reason)
    const text = JSON.stringify(failure(undefined, new RpcError(ErrorCode.InvalidRequest, reason)))
    for (const post of this.posts.values()) post.abandon(text)
    for (const stream of this.#streams.values()) stream.end()
    this.#streams.clear()
    for (const connection of this.#connections.values()) connection.end()
    this.log.drop().catch((error) => report(this.server, error, 'session'))
  }

  /** Whether a notice may go to whoever listens: the token of a subscription may have allowed more. */
  #isForListener({ method, params }: JsonRpcNotification): boolean {
    if (method !== 'notifications/resources/updated') return true
    return allows(this.listener, this.server.scopesFor('resources/subscribe', params))
  }

  #newStream(): ResumableStream {
    const id = `${this.#tag}-${this.#lastStream++}`
    const stream = new ResumableStream(id, this.log, this.#bounds, this.#report)
    this.#streams.set(id, stream)
    return stream
  }
}

function randomText(bytes: number): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(bytes)))
}

const sweepMs = 60_000

/** The sessions of one node, least recently used first. Idle ones go after a while, or when room is needed. */
export class Sessions {
  readonly #bounds: Bounds
  readonly #state: HttpServerState
  readonly #byId = new RotatingMap<string, HttpSession>()
  readonly #quota: PrincipalQuota
  #sweep: ReturnType<typeof setTimeout> | undefined

  constructor(state: HttpServerState) {
    this.#bounds = state.bounds
    this.#state = state
    this.#quota = new PrincipalQuota(state.bounds.sessionsPerPrincipal)
  }

  get size(): number {
    return this.#byId.size
  }

  /** Begins a session; undefined when there is no room, or the principal has its share, and none is idle. */
  begin(caller: Caller, memory: MemoryAccount): HttpSession | undefined {
    if (!this.#takePlace(caller.principal)) return undefined
    const session = new HttpSession(this.#state, caller, memory)
    this.#byId.set(session.id, session)
    this.#schedule()
    return session
  }

  /** A session by its id, as its own principal: for anybody else it does not exist. */
  find(id: string, principal: string | null): HttpSession | undefined {
    const session = this.#byId.get(id)
    if (session === undefined || session.principal !== principal) return undefined
    session.lastSeen = performance.now()
    this.#byId.delete(id)
    this.#byId.set(id, session)
    return session
  }

  end(session: HttpSession, reason: string): void {
    if (!this.#byId.delete(session.id)) return
    this.#quota.give(session.principal)
    session.close(reason)
  }

  close(reason: string): void {
    clearTimeout(this.#sweep)
    this.#sweep = undefined
    for (const session of this.#byId.values()) this.end(session, reason)
  }

  /** Takes a place for a principal; one whose share is full takes that of a session of its own. */
  #takePlace(principal: string | null): boolean {
    const quota = this.#quota
    if (!quota.take(principal)) {
      return this.#makeRoom((session) => session.principal === principal) && quota.take(principal)
    }
    if (this.#byId.size < this.#bounds.sessions || this.#makeRoom(() => true)) return true
    quota.give(principal)
    return false
  }

  #makeRoom(among: (session: HttpSession) => boolean): boolean {
    for (const session of this.#byId.values()) {
      if (!among(session) || session.busy) continue
      this.end(session, 'The session was idle and its place was needed')
      return true
    }
    return false
  }

  #schedule(): void {
    if (this.#sweep !== undefined) return
    const after = Math.min(sweepMs, this.#bounds.sessionIdleMs)
    this.#sweep = unref(
      setTimeout(() => {
        this.#sweep = undefined
        this.#endIdle()
        if (this.#byId.size > 0) this.#schedule()
      }, after),
    )
  }

  #endIdle(): void {
    const oldest = performance.now() - this.#bounds.sessionIdleMs
    for (const session of this.#byId.values()) {
      if (session.lastSeen <= oldest && !session.busy) this.end(session, 'The session was idle for too long')
    }
  }
}
