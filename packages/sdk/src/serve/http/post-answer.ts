import { McpError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcResponse } from '../../jsonrpc/message.ts'
import { encodeEvent } from '../../jsonrpc/sse.ts'
import { type Answered, encodeAnswer, encodeMessage, isDroppable, type Outlet } from '../message.ts'
import { unref } from '../timers.ts'
import type { Core, Serving } from './core.ts'
import type { HttpReply, HttpRequest } from './face.ts'
import { answerPatienceMs, EventStream } from './stream.ts'

/** The request whose answer is a stream that stays open. */
export const listening = 'subscriptions/listen'

/**
 * The answer to a POST that belongs to no session: one JSON text, or an event stream from the first notification or long
 * wait on. It cannot be resumed, so a client that disconnects cancels what it asked for.
 */
export abstract class PostAnswer implements Outlet, Serving {
  readonly transport = 'tcp'
  protected readonly core: Core
  protected readonly reply: HttpReply
  readonly #request: HttpRequest
  #stream: EventStream | undefined
  #ticks = 0
  #long: ReturnType<typeof setTimeout> | undefined
  #over = false

  constructor(core: Core, reply: HttpReply, request: HttpRequest) {
    this.core = core
    this.reply = reply
    this.#request = request
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  abstract readonly principal: string | null
  abstract readonly method: string
  abstract abort(reason: unknown): void
  protected abstract cancel(reason: unknown): void

  notify(message: JsonRpcNotification): void {
    const text = encodeMessage(message, this.core.server)
    if (text !== undefined) {
      this.#open().send(encodeEvent({ event: 'message', data: text }), isDroppable(message.method))
    }
  }

  /** An answer that takes long becomes a stream, so that no proxy on the way closes the connection as idle. */
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

  /** Prepares for an answer that is not there yet. */
  protected wait(): void {
    if (!this.reply.sharesTimers) {
      this.#long = unref(setTimeout(() => this.#showLife(), this.core.bounds.keepAliveMs))
    }
    this.reply.onClose(() => this.#gone())
  }

  /**
   * Sends a response, or those of a batch, and ends. Without one, because it was cancelled, only a stream is ended.
   * @param status the HTTP status of an answer that is not a stream
   */
  protected finish(status: number, answer: Answered | readonly JsonRpcResponse[]): void {
    if (this.#over) return
    this.#end()
    if (answer === undefined) {
      this.#stream?.end()
      return
    }
    const { server } = this.core
    if (this.#stream === undefined) {
      this.reply.send(status, 'jsonrpc' in answer ? encodeAnswer(answer, server) : this.#encodeBatch(answer))
      return
    }
    const data = 'jsonrpc' in answer ? (encodeMessage(answer, server) ?? '') : this.#encodeBatch(answer)
    if (data !== '') this.#stream.send(encodeEvent({ event: 'message', data }), false)
    this.#stream.end()
  }

  /** A batch without requests has no responses, and so no body. */
  #encodeBatch(responses: readonly JsonRpcResponse[]): string {
    if (responses.length === 0) return ''
    return `[${responses.map((response) => encodeMessage(response, this.core.server)).join(',')}]`
  }

  #showLife(): void {
    if (this.#stream === undefined && !this.#over) this.#open().breathe()
  }

  #open(): EventStream {
    if (this.#stream === undefined) {
      const patienceMs = this.method === listening ? 0 : answerPatienceMs
      this.#stream = new EventStream(this.reply, this.core.bounds, patienceMs)
    }
    return this.#stream
  }

  #end(): void {
    this.#over = true
    clearTimeout(this.#long)
  }

  /** The client disconnected, which is how it cancels; after the answer it has no effect. */
  #gone(): void {
    this.#stream?.closed()
    clearTimeout(this.#long)
    if (this.#over) return
    const why =
      this.#stream?.expired === true
        ? 'The access it was allowed with is over'
        : 'The client closed the connection'
    this.cancel(new McpError('CANCELLED', why))
  }
}
