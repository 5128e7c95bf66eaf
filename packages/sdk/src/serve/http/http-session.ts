import { toBase64Url } from '../../core/base64url.ts'
import type { Caller } from '../../core/exchange.ts'
import { allows } from '../../core/scopes.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification } from '../../jsonrpc/message.ts'
import { TransientMap, TransientSet } from '../../jsonrpc/transient.ts'
import type { Server } from '../../server/server.ts'
import type { Bounds } from '../bounds.ts'
import { Calls } from '../calls.ts'
import type { MemoryAccount } from '../memory.ts'
import { encodeMessage, failure } from '../message.ts'
import { report } from '../report.ts'
import { Session } from '../session.ts'
import type { Core } from './core.ts'
import { EventLog } from './event-log.ts'
import type { HttpReply } from './face.ts'
import type { PostStream } from './post-stream.ts'
import { ResumableStream } from './resumable.ts'
import { answerPatienceMs, EventStream } from './stream.ts'

/** One session over HTTP: the session proper, and the streams its messages travel on. */
export class HttpSession {
  /** 192 random bits as visible ASCII. */
  readonly id: string = randomText(24)
  /** Who began it, and alone may use it. */
  readonly principal: string | null
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
  readonly posts: TransientSet<PostStream> = new TransientSet()
  readonly #bounds: Bounds
  readonly #streams = new TransientMap<string, ResumableStream>()
  readonly #connections = new TransientSet<EventStream>()
  readonly #tag: string = randomText(6)
  readonly #report = (error: unknown): void => report(this.server, error, 'event stream')
  #lastStream = 0

  constructor(core: Core, caller: Caller, memory: MemoryAccount) {
    const { server, bounds, backplane } = core
    this.server = server
    this.principal = caller.principal
    this.listener = caller
    this.#bounds = bounds
    this.log = new EventLog(backplane, this.id, bounds)
    this.standalone = this.#newStream()
    this.session = new Session({
      server,
      calls: new Calls(bounds.inFlight, core.callPlaces(caller.principal)),
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
