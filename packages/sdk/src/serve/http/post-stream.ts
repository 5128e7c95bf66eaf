import type { JsonRpcNotification, JsonRpcRequest } from '../../jsonrpc/message.ts'
import type { SessionOutlet } from '../asker.ts'
import { encodeMessage, isDroppable } from '../message.ts'
import { unref } from '../timers.ts'
import type { HttpReply, HttpRequest } from './face.ts'
import type { HttpSession } from './http-session.ts'
import type { ResumableStream } from './resumable.ts'

/** Milliseconds an answer may take before it becomes an event stream, which outlives its connection. */
const wholeAnswerMs = 100

/** The answer to the requests of one POST of a session. */
export class PostStream implements SessionOutlet {
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
  }

  headers(): Readonly<Record<string, string>> {
    return this.#request.headers()
  }

  /** Prepares for an answer that is not there yet. */
  awaited<A>(answer: A): A {
    if (answer instanceof Promise && this.#stream === undefined && !this.#over) {
      this.#wait = unref(setTimeout(() => this.#open(), wholeAnswerMs))
      this.#reply.onClose(() => this.#lost())
    }
    return answer
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

  /** Sends what the requests were answered with and ends; '' when every one was cancelled. */
  answer(status: number, body: string | Uint8Array<ArrayBuffer>): void {
    if (this.#stream === undefined && body !== '') {
      if (!this.#over) this.#reply.send(status, body)
    } else {
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
      this.#open()?.end(text === '' ? undefined : text)
    }
    this.#done()
  }

  /** Says that everything was taken and nothing wanted an answer. */
  accept(): void {
    if (this.#stream === undefined && !this.#over) this.#reply.send(202, '')
    else this.#stream?.end()
    this.#done()
  }

  /** Ends without an answer, because the session ended. */
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

  /** Turns the answer into an event stream; undefined when the connection broke before it was one. */
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

  /** The connection broke before anything was sent: nobody has an id to resume from. */
  #lost(): void {
    clearTimeout(this.#wait)
    this.#over = true
  }
}
