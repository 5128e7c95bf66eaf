import { ErrorCode, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcRequest } from '../../../jsonrpc/message.ts'
import { RotatingMap, RotatingSet } from '../../../jsonrpc/rotating-map.ts'
import { supports } from '../../../protocol/revision.ts'
import { randomText } from '../../../request/encoding.ts'
import { allows, type Caller } from '../../../request/exchange.ts'
import type { MemoryAccount } from '../memory-budget.ts'
import { report, unref } from '../options.ts'
import { PrincipalQuota } from '../principal-quota.ts'
import { Calls, encodeMessage, failure, isDroppable } from '../served-request.ts'
import { Session, type SessionOutlet } from '../session.ts'
import { answerPatienceMs, EventStream } from './event-stream.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import { EventLog, ResumableStream } from './resumable-stream.ts'
import type { HttpServerState, SlowAnswer } from './server-state.ts'

/** One session over HTTP, with its streams. */
export class HttpSession {
  /** 192 random bits as visible ASCII. */
  readonly id: string = randomText(24)
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
  readonly posts: RotatingSet<PostStream> = new RotatingSet()
  readonly #streams = new RotatingMap<string, ResumableStream>()
  readonly #connections = new RotatingSet<EventStream>()
  readonly #tag: string = randomText(6)
  readonly #report = (error: unknown): void => report(this.state.server, error, 'event stream')
  #lastStream = 0

  constructor(state: HttpServerState, caller: Caller, memory: MemoryAccount) {
    const { server, bounds, backplane } = state
    this.state = state
    this.principal = caller.principal
    this.listener = caller
    this.log = new EventLog(backplane, this.id, bounds)
    this.standalone = this.#newStream()
    this.session = new Session({
      server,
      calls: new Calls(bounds.inFlight, state),
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

  /** Whether the session must not be evicted: it has a connection, or a handler runs. */
  get busy(): boolean {
    return this.#connections.size > 0 || this.session.working
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Whether its client supports polling (SEP-1699, since 2025-11-25). */
  get polls(): boolean {
    const version = this.session.peer?.revision.version
    return version !== undefined && supports(version, 'ssePolling')
  }

  openStream(reply: HttpReply): ResumableStream {
    const stream = this.#newStream()
    stream.attach(this.connect(reply, stream, answerPatienceMs))
    if (this.polls) stream.prime()
    return stream
  }

  /** Opens an event stream as the connection of a stream. */
  connect(reply: HttpReply, stream: ResumableStream, patienceMs = 0): EventStream {
    const connection = new EventStream(reply, this.state.bounds, patienceMs)
    this.#connections.add(connection)
    reply.onClose(() => {
      connection.closed()
      this.#connections.delete(connection)
      this.lastSeen = performance.now()
      stream.lost(connection)
    })
    return connection
  }

  stream(id: string): ResumableStream | undefined {
    return this.#streams.get(id)
  }

  ended(id: string): ResumableStream {
    const stream = new ResumableStream(id, this.log, this.state.bounds, this.#report)
    stream.end()
    return stream
  }

  /** Ends a stream; only its stored events remain. */
  forget(stream: ResumableStream): void {
    stream.end().then(() => this.#streams.delete(stream.id))
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

/** Milliseconds until a response becomes an event stream, which outlives its connection. */
const wholeAnswerMs = 100

export class PostStream implements SlowAnswer, SessionOutlet {
  readonly transport = 'tcp'
  readonly #owner: HttpSession
  readonly #reply: HttpReply
  readonly #request: HttpRequest
  #wait: ReturnType<typeof setTimeout> | undefined
  #stream: ResumableStream | undefined
  #over = false

  constructor(owner: HttpSession, reply: HttpReply, request: HttpRequest) {
    this.#owner = owner
    this.#reply = reply
    this.#request = request
    owner.posts.add(this)
    owner.state.afterTurn(this, reply)
  }

  wait(): void {
    if (this.#over || this.#stream !== undefined) return
    this.#wait = unref(setTimeout(() => this.#open(), wholeAnswerMs))
    // Nothing was sent, so a client that disconnects has no event id to resume from.
    this.#reply.onClose(() => {
      clearTimeout(this.#wait)
      this.#over = true
    })
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  notify(message: JsonRpcNotification): void {
    this.#send(message, isDroppable(message.method))
  }

  request(message: JsonRpcRequest): boolean {
    return this.#send(message, false)
  }

  detach(): void {
    if (this.#owner.polls) this.#open()?.detach()
  }

  /** Sends the responses and ends; '' if all requests were cancelled. */
  answer(status: number, body: string | Uint8Array<ArrayBuffer>): void {
    if (this.#stream === undefined && body !== '') {
      if (!this.#over) this.#reply.send(status, body)
    } else {
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
      this.#open()?.end(text === '' ? undefined : text)
    }
    this.#done()
  }

  accept(): void {
    if (this.#stream === undefined && !this.#over) this.#reply.send(202, '')
    else this.#stream?.end()
    this.#done()
  }

  /** Ends without a response, because the session ended. */
  abandon(text: string): void {
    if (this.#stream !== undefined) this.#stream.end()
    else if (!this.#over) this.#reply.send(404, text)
    this.#done()
  }

  #send(message: JsonRpcNotification | JsonRpcRequest, droppable: boolean): boolean {
    const stream = this.#open()
    const text = encodeMessage(message, this.#owner.state.server)
    if (stream === undefined || text === undefined) return false
    stream.send(text, droppable)
    return true
  }

  /** Turns the response into an event stream; undefined if the client disconnected before. */
  #open(): ResumableStream | undefined {
    if (this.#stream === undefined && !this.#over) {
      clearTimeout(this.#wait)
      this.#stream = this.#owner.openStream(this.#reply)
    }
    return this.#stream
  }

  #done(): void {
    clearTimeout(this.#wait)
    this.#over = true
    this.#owner.posts.delete(this)
    if (this.#stream !== undefined) this.#owner.forget(this.#stream)
  }
}

const sweepMs = 60_000

/** The sessions of one node, least recently used first. Idle ones are closed after a timeout, or to make room. */
export class Sessions {
  readonly #state: HttpServerState
  readonly #byId = new RotatingMap<string, HttpSession>()
  readonly #quota: PrincipalQuota
  #sweep: ReturnType<typeof setTimeout> | undefined

  constructor(state: HttpServerState) {
    this.#state = state
    this.#quota = new PrincipalQuota(state.bounds.sessionsPerPrincipal)
  }

  get size(): number {
    return this.#byId.size
  }

  /** Begins a session; undefined if a limit is reached and no session is idle. */
  begin(caller: Caller, memory: MemoryAccount): HttpSession | undefined {
    if (!this.#takePlace(caller.principal)) return undefined
    const session = new HttpSession(this.#state, caller, memory)
    this.#byId.set(session.id, session)
    this.#schedule()
    return session
  }

  /** A session by its id, for its own principal only. */
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

  /** Makes room for a session of a principal, by closing an idle session of the same principal if it has reached its limit. */
  #takePlace(principal: string | null): boolean {
    const quota = this.#quota
    if (!quota.take(principal)) {
      return this.#makeRoom((session) => session.principal === principal) && quota.take(principal)
    }
    if (this.#byId.size < this.#state.bounds.sessions || this.#makeRoom(() => true)) return true
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
    const after = Math.min(sweepMs, this.#state.bounds.sessionIdleMs)
    this.#sweep = unref(
      setTimeout(() => {
        this.#sweep = undefined
        const oldest = performance.now() - this.#state.bounds.sessionIdleMs
        for (const session of this.#byId.values()) {
          if (session.lastSeen <= oldest && !session.busy)
            this.end(session, 'The session was idle for too long')
        }
        if (this.#byId.size > 0) this.#schedule()
      }, after),
    )
  }
}
