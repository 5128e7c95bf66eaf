import { type JsonBody, textOfBody } from '../../../jsonrpc/cached-json.ts'
import type { JsonRpcNotification, JsonRpcRequest, RequestId } from '../../../jsonrpc/message.ts'
import { report, unref } from '../options.ts'
import { encodeMessage, isDroppable } from '../served-request.ts'
import type { SessionOutlet } from '../session-requester.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import type { ResumableStream } from './resumable-stream.ts'
import type { SlowResponse } from './server-state.ts'
import { type CallStart, type HttpSession, interruption, type RunningResponse } from './sessions.ts'
import type { SharedCall } from './shared-call.ts'

/** Milliseconds until a response becomes an event stream, which outlives its connection. */
const jsonResponseMs = 100

/** Sends the messages of the requests of a stream. */
abstract class SessionResponse implements SessionOutlet, RunningResponse {
  protected readonly owner: HttpSession
  #call: SharedCall | undefined
  protected stream: ResumableStream | undefined
  /** Whether nothing can be sent any more. */
  protected isOver = false
  #isReleased = false
  /** Requests to the client that are being stored. */
  #storing = 0

  constructor(owner: HttpSession) {
    this.owner = owner
    owner.posts.add(this)
  }

  /** The stored call; undefined for a session of this process, and before there is a stream. */
  protected get call(): SharedCall | undefined {
    return this.#call
  }

  protected set call(call: SharedCall | undefined) {
    this.#call = call
    if (call !== undefined) call.onTakenOver = () => this.#handOver(call, Promise.resolve())
  }

  get memory(): SharedCall | undefined {
    return this.call?.call === undefined ? undefined : this.call
  }

  notify(message: JsonRpcNotification): void {
    this.#send(message, isDroppable(message.method))
  }

  request(message: JsonRpcRequest): boolean {
    return this.#send(message, false)
  }

  release(which: 'all' | 'waiting'): Promise<void> | undefined {
    const { call, stream, owner } = this
    if (!owner.posts.has(this) || stream === undefined || call?.isReleasable !== true) return undefined
    // Other clients do not resume a stream that ends without their response.
    if (!owner.supportsPolling) return undefined
    if (which === 'waiting' && call.waitingFor.length === 0) return undefined
    // Another node cannot wait for the answer to a question that is not stored.
    if (this.#storing > 0 && (which === 'waiting' || call.call?.takeover !== 'always')) return undefined
    const released = call.release().catch((error) => report(owner.state.server, error, 'session'))
    return this.#handOver(call, released)
  }

  async verify(): Promise<void> {
    await this.call?.verify()
  }

  abstract interrupt(): void
  abstract abandon(text: string): void
  /** The stream of the response; undefined if its client disconnected before there was one. */
  protected abstract open(): ResumableStream | undefined

  /** Ends the stream, if there is one. */
  protected done(): void {
    this.isOver = true
    if (this.#isReleased) return
    this.owner.posts.delete(this)
    if (this.stream !== undefined) this.owner.endStream(this.stream, this.call)
  }

  protected get isReleased(): boolean {
    return this.#isReleased
  }

  /** Ends the handler, and closes the stream after `released`, so that another node continues it. */
  #handOver(call: SharedCall, released: Promise<void>): Promise<void> | undefined {
    if (this.#isReleased) return undefined
    this.#isReleased = true
    this.isOver = true
    const { owner, stream } = this
    owner.posts.delete(this)
    owner.sharing?.questions.stopExpecting(call.waitingFor)
    for (const id of call.ids) owner.session.abandon(id)
    return stream === undefined ? undefined : owner.release(stream, released)
  }

  #send(message: JsonRpcNotification | JsonRpcRequest, droppable: boolean): boolean {
    if (this.#isReleased) return false
    const stream = this.open()
    const text = encodeMessage(message, this.owner.state.server)
    if (stream === undefined || text === undefined) return false
    const { sharing } = this.owner
    if (sharing !== undefined && 'id' in message) {
      this.#storing++
      stream.queue(async () => {
        const stored = [sharing.ask(message), this.call?.asked(message.id, this.owner.log.newest)]
        await Promise.all(stored).finally(() => this.#storing--)
      })
    }
    stream.send(text, droppable)
    return true
  }
}

/** The response to a POST of a session: JSON if it is ready within 100 ms, otherwise an event stream. */
export class SessionPostResponse extends SessionResponse implements SlowResponse {
  readonly transport = 'tcp'
  readonly #reply: HttpReply
  readonly #request: HttpRequest
  readonly #ids: readonly RequestId[]
  readonly #start: CallStart | undefined
  #wait: ReturnType<typeof setTimeout> | undefined

  /**
   * @param ids of the requests that it responds to
   * @param start the request, if it is one
   */
  constructor(
    owner: HttpSession,
    reply: HttpReply,
    request: HttpRequest,
    ids: readonly RequestId[],
    start?: CallStart,
  ) {
    super(owner)
    this.#ids = ids
    this.#start = start
    this.#reply = reply
    this.#request = request
    owner.state.afterTurn(this, reply)
  }

  override get memory(): SharedCall | undefined {
    this.call ??= this.owner.sharing?.call(this.#ids, this.#start)
    return super.memory
  }

  onSlow(): void {
    if (this.isOver || this.stream !== undefined) return
    this.#wait = unref(setTimeout(() => this.open(), jsonResponseMs))
    // Nothing was sent, so a client that disconnects has no event id to resume from.
    this.#reply.onClose(() => {
      clearTimeout(this.#wait)
      this.isOver = true
    })
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  detach(): void {
    if (this.owner.supportsPolling) this.open()?.detach()
  }

  /** Sends the responses and ends; '' if all requests were cancelled. */
  answer(status: number, body: JsonBody): void {
    if (this.isReleased) return
    if (this.stream === undefined && body !== '') {
      if (!this.isOver) this.#reply.send(status, body)
    } else {
      const text = textOfBody(body)
      this.open()?.end(text === '' ? undefined : text)
    }
    this.done()
  }

  accept(): void {
    if (this.stream === undefined && !this.isOver) this.#reply.send(202, '')
    else this.stream?.end()
    this.done()
  }

  interrupt(): void {
    if (this.#ids.length === 0) this.accept()
    else this.answer(200, interruption(this.#ids))
  }

  abandon(text: string): void {
    if (this.stream !== undefined) this.stream.end()
    else if (!this.isOver) this.#reply.send(404, text)
    this.done()
  }

  /** Turns the response into an event stream; undefined if the client disconnected before. */
  protected open(): ResumableStream | undefined {
    if (this.stream === undefined && !this.isOver) {
      clearTimeout(this.#wait)
      this.call ??= this.owner.sharing?.call(this.#ids, this.#start)
      this.stream = this.owner.openStream(this.#reply, this.call)
    }
    return this.stream
  }

  protected override done(): void {
    clearTimeout(this.#wait)
    super.done()
  }
}

/** Responds to a call that this node took over, on the stream that another node opened. */
export class TakenOverCall extends SessionResponse {
  constructor(owner: HttpSession, call: SharedCall, stream: ResumableStream) {
    super(owner)
    this.call = call
    this.stream = stream
  }

  /** Ends with the response; undefined if the call was cancelled. */
  answer(response: string | undefined): void {
    if (!this.isReleased) this.stream?.end(response)
    this.done()
  }

  interrupt(): void {
    this.answer(interruption(this.call?.ids ?? []))
  }

  abandon(): void {
    this.answer(undefined)
  }

  protected open(): ResumableStream | undefined {
    return this.stream
  }
}
