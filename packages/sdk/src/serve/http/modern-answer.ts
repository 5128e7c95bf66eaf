import { ErrorCode, McpError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification } from '../../jsonrpc/message.ts'
import { encodeEvent } from '../../jsonrpc/sse.ts'
import {
  type Answered,
  type Call,
  encodeAnswer,
  encodeMessage,
  failure,
  isDroppable,
  type Outlet,
} from '../message.ts'
import { unref } from '../timers.ts'
import { type Core, listening, type Serving } from './core.ts'
import type { HttpReply, HttpRequest } from './face.ts'
import { answerPatienceMs, EventStream } from './stream.ts'

/** The answer to one stateless request: one JSON text, or an event stream from the first notice or long wait on. */
export class ModernAnswer implements Outlet, Serving {
  readonly transport = 'tcp'
  readonly #core: Core
  readonly #reply: HttpReply
  readonly #request: HttpRequest
  #call: Call | undefined
  #stream: EventStream | undefined
  #ticks = 0
  #long: ReturnType<typeof setTimeout> | undefined
  #over = false

  constructor(core: Core, reply: HttpReply, request: HttpRequest) {
    this.#core = core
    this.#reply = reply
    this.#request = request
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  /** Serves a call, and gives a promise of the end of its handler where that is not now. */
  serve(call: Call): Promise<void> | undefined {
    const { sharesTimers } = this.#reply
    this.#call = call
    const busy = this.#core.admit(this, sharesTimers)
    if (busy !== undefined) {
      this.#reply.send(busy.status, JSON.stringify(failure(call.id, busy.error)), { 'Retry-After': '10' })
      return undefined
    }
    const response = call.serve(this.#core.server)
    if (!(response instanceof Promise)) {
      this.#answered(response)
      return undefined
    }
    if (!sharesTimers) {
      this.#long = unref(setTimeout(() => this.#showLife(), this.#core.bounds.keepAliveMs))
    }
    this.#reply.onClose(() => this.#gone())
    return response.then((later) => this.#answered(later))
  }

  get principal(): string | null {
    return this.#call?.peer.principal ?? null
  }

  get method(): string {
    return this.#call?.method ?? ''
  }

  notify(message: JsonRpcNotification): void {
    const text = encodeMessage(message, this.#core.server)
    if (text !== undefined) {
      this.#open().send(encodeEvent({ event: 'message', data: text }), isDroppable(message.method))
    }
  }

  abort(reason: unknown): void {
    this.#call?.abort(reason)
  }

  /** An answer that takes long becomes a stream, so that nobody on the way takes the connection for dead. */
  tick(): void {
    if (++this.#ticks === 2) this.#showLife()
  }

  abandon(reason: unknown): void {
    if (this.#over) return
    this.#end()
    this.#call?.cancel(reason)
    if (this.#stream !== undefined) this.#stream.cut()
    else this.#reply.send(503, '')
  }

  #showLife(): void {
    if (this.#stream === undefined && !this.#over) this.#open().breathe()
  }

  #open(): EventStream {
    if (this.#stream === undefined) {
      const patienceMs = this.method === listening ? 0 : answerPatienceMs
      this.#stream = new EventStream(this.#reply, this.#core.bounds, patienceMs)
    }
    return this.#stream
  }

  #answered(response: Answered): void {
    this.#core.done(this)
    if (this.#over) return
    this.#end()
    if (response === undefined) {
      this.#stream?.end()
      return
    }
    const { server } = this.#core
    if (this.#stream === undefined) {
      const status = 'error' in response ? answerStatus(response.error.code) : 200
      this.#reply.send(status, encodeAnswer(response, server))
      return
    }
    this.#stream.send(encodeEvent({ event: 'message', data: encodeMessage(response, server) ?? '' }), false)
    this.#stream.end()
  }

  #end(): void {
    this.#over = true
    clearTimeout(this.#long)
  }

  /** The client stopped waiting, which is how it cancels; after the answer it means nothing. */
  #gone(): void {
    this.#stream?.closed()
    clearTimeout(this.#long)
    if (this.#over) return
    const why =
      this.#stream?.expired === true
        ? 'The access it was allowed with is over'
        : 'The client closed the connection'
    this.#call?.cancel(new McpError('CANCELLED', why))
  }
}

/** The HTTP status of an error a request was refused with before it ran. */
export function refusalStatus(code: number): number {
  if (code === ErrorCode.MethodNotFound) return 404
  return code === ErrorCode.InternalError ? 500 : 400
}

/** The HTTP status of an error a request was answered with. */
function answerStatus(code: number): number {
  switch (code) {
    case ErrorCode.MethodNotFound:
      return 404
    case ErrorCode.HeaderMismatch:
    case ErrorCode.MissingRequiredClientCapability:
    case ErrorCode.UnsupportedProtocolVersion:
      return 400
    default:
      return 200
  }
}
