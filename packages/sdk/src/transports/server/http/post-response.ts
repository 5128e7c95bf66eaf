import { McpError } from '../../../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../../../jsonrpc/message.ts'
import { encodeEvent } from '../../../jsonrpc/sse.ts'
import { unref } from '../options.ts'
import {
  encodeMessage,
  encodeResponse,
  isDroppable,
  type Outlet,
  type ServedResponse,
} from '../served-request.ts'
import type { SessionOutlet } from '../session.ts'
import { answerPatienceMs, EventStream } from './event-stream.ts'
import type { HttpReply, HttpRequest } from './http-adapter.ts'
import type { ResumableStream } from './resumable-stream.ts'
import type { HttpServerState, PendingResponse, SlowAnswer } from './server-state.ts'
import type { HttpSession } from './sessions.ts'

/** The method whose response is a stream that stays open. */
export const listenMethod = 'subscriptions/listen'

/**
 * The response to a POST without a session: one JSON text, or an event stream after the first notification or a long wait. It
 * cannot be resumed, so a client that disconnects cancels its requests.
 */
export abstract class PostResponse implements Outlet, SlowAnswer, PendingResponse {
  readonly transport = 'tcp'
  protected readonly state: HttpServerState
  protected readonly reply: HttpReply
  readonly #request: HttpRequest
  #stream: EventStream | undefined
  #ticks = 0
  #long: ReturnType<typeof setTimeout> | undefined
  #over = false

  constructor(state: HttpServerState, reply: HttpReply, request: HttpRequest) {
    this.state = state
    this.reply = reply
    this.#request = request
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  /** Calls `wait` when this turn of the event loop is over; at once on runtimes that bind timers to a request. */
  protected waitLater(): void {
    if (this.reply.sharesTimers) this.state.afterTurn(this)
    else this.wait()
  }

  abstract readonly principal: string | null
  abstract readonly method: string
  abstract abort(reason: unknown): void
  protected abstract cancel(reason: unknown): void

  notify(message: JsonRpcNotification): void {
    const text = encodeMessage(message, this.state.server)
    if (text !== undefined) {
      this.#open().send(encodeEvent({ event: 'message', data: text }), isDroppable(message.method))
    }
  }

  /** A slow response becomes a stream, so that proxies do not close the connection as idle. */
  tick(): void {
    if (++this.#ticks === 2) this.#showLife()
  }

  abandon(reason: unknown): void {
    if (this.#over) return
    this.#end()
    this.cancel(reason)
    if (this.#stream !== undefined) this.#stream.cut()
    else this.reply.send(503, '')
  }

  wait(): void {
    if (this.#over) return
    if (!this.reply.sharesTimers) {
      this.#long = unref(setTimeout(() => this.#showLife(), this.state.bounds.keepAliveMs))
    }
    this.reply.onClose(() => this.#gone())
  }

  /**
   * Sends a response, or those of a batch, and ends. If there is none because the request was cancelled, a stream is ended.
   * @param status the HTTP status, unless the response is a stream
   */
  protected finish(status: number, answer: ServedResponse | readonly JsonRpcResponse[]): void {
    if (this.#over) return
    this.#end()
    if (answer === undefined) {
      this.#stream?.end()
      return
    }
    const { server } = this.state
    if (this.#stream === undefined) {
      this.reply.send(
        status,
        'jsonrpc' in answer ? encodeResponse(answer, server) : this.#encodeBatch(answer),
      )
      return
    }
    const data = 'jsonrpc' in answer ? (encodeMessage(answer, server) ?? '') : this.#encodeBatch(answer)
    if (data !== '') this.#stream.send(encodeEvent({ event: 'message', data }), false)
    this.#stream.end()
  }

  /** A batch without requests has no responses, and so no body. */
  #encodeBatch(responses: readonly JsonRpcResponse[]): string {
    if (responses.length === 0) return ''
    return `[${responses.map((response) => encodeMessage(response, this.state.server)).join(',')}]`
  }

  #showLife(): void {
    if (this.#stream === undefined && !this.#over) this.#open().breathe()
  }

  #open(): EventStream {
    if (this.#stream === undefined) {
      const patienceMs = this.method === listenMethod ? 0 : answerPatienceMs
      this.#stream = new EventStream(this.reply, this.state.bounds, patienceMs)
    }
    return this.#stream
  }

  #end(): void {
    this.#over = true
    clearTimeout(this.#long)
  }

  /** The client disconnected, which cancels its requests. */
  #gone(): void {
    this.#stream?.closed()
    clearTimeout(this.#long)
    if (this.#over) return
    const why =
      this.#stream?.expired === true
        ? 'The credentials of the request expired or were revoked'
        : 'The client closed the connection'
    this.cancel(new McpError('CANCELLED', why))
  }
}

/** Milliseconds until a response becomes an event stream, which outlives its connection. */
const wholeAnswerMs = 100

/** The response to a POST of a session. */
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
    if (reply.sharesTimers) owner.state.afterTurn(this)
    else this.wait()
  }

  wait(): void {
    if (this.#over || this.#stream !== undefined) return
    this.#wait = unref(setTimeout(() => this.#open(), wholeAnswerMs))
    this.#reply.onClose(() => this.#lost())
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

  /** Accepts a batch without requests. */
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
    const text = encodeMessage(message, this.#owner.server)
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

  /** The client disconnected before anything was sent, so it has no event id to resume from. */
  #lost(): void {
    clearTimeout(this.#wait)
    this.#over = true
  }
}
