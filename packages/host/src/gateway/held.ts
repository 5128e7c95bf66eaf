import type { Context, Exchange, Question } from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'
import { askLive, SuspendedCall } from '@jackfield/sdk/internal'
import type { JsonRecord } from '../json.ts'

/** By how much progress increases where only its message is new. */
const step = 1e-6
/** Milliseconds between two notices that a person is still asked, so that a client that counts them does not time out. */
const repeatMs = 15_000

/** What a request is about, and for whom. */
export interface Subject {
  readonly server: string
  /** The tool or prompt by the server's own name, or the URI. */
  readonly target: string
  readonly conversation: string
}

/** A client's request, with what carries it. */
export interface Request {
  readonly context: Context
  readonly exchange: Exchange
}

/** One request of a gateway's client that goes on at its server. */
export class ClientCall<T> extends SuspendedCall<T, Request> {
  readonly subject: Subject
  /** The session of its client, on revisions that have sessions. Without one, every request counts as a client of its own. */
  readonly session: Exchange['session']
  /** Its activity row, once it is known. */
  row: number | undefined
  #request: Request
  /** The last progress that its client was sent, and the last that the server reported. */
  #progress = Number.NEGATIVE_INFINITY
  #reported = Number.NEGATIVE_INFINITY
  /** Progress messages to its client while a person is asked, by question. */
  readonly #waiting = new Map<string, string>()
  #repeating: NodeJS.Timeout | undefined

  constructor(subject: Subject, request: Request) {
    super(request.context.peer.principal)
    this.subject = subject
    this.session = request.exchange.session
    this.#request = request
  }

  /** Whether its client can be asked this. */
  get can(): Context['can'] {
    return this.#request.context.can
  }

  /** Who its client says it is. */
  get client(): string {
    return this.#request.context.peer.info?.name ?? 'a client'
  }

  /** On a live connection the question goes out at once, and is taken back there when it is no longer wanted. */
  override ask(question: Question, signal: AbortSignal): Promise<JsonRecord> {
    const { exchange } = this.#request
    const { relay } = exchange.inputStrategy
    if (relay === undefined) return super.ask(question, signal)
    return askLive(exchange, relay, question, AbortSignal.any([signal, this.signal]))
  }

  progress({ progress, total, message }: ProgressReport): void {
    if (!(progress > this.#reported)) return
    this.#reported = progress
    // Progress must increase, also after a notice of this gateway.
    this.#progress = Math.max(progress, this.#progress + step)
    this.listener?.context.progress(this.#progress, total, message)
  }

  /** Notifies its client that a person is asked, now and from time to time until the question is settled. */
  waitsFor(question: string, message: string): void {
    if (this.#waiting.has(question)) return
    this.#waiting.set(question, message)
    this.#notice(message)
    this.#repeating ??= setInterval(() => this.#repeat(), repeatMs).unref()
  }

  /** A question is settled, or with none given the whole call is. */
  settled(question?: string): void {
    if (question === undefined) this.#waiting.clear()
    else this.#waiting.delete(question)
    if (this.#waiting.size > 0) return
    clearInterval(this.#repeating)
    this.#repeating = undefined
  }

  /** Waits on behalf of its client until it is over or asks something. */
  again(request: Request): ReturnType<SuspendedCall<T, Request>['next']> {
    this.#request = request
    const next = this.next(request.context.signal, request)
    this.#repeat()
    return next
  }

  #repeat(): void {
    const message = [...this.#waiting.values()].at(-1)
    if (message !== undefined) this.#notice(message)
  }

  #notice(message: string): void {
    this.#progress = this.#progress === Number.NEGATIVE_INFINITY ? 0 : this.#progress + step
    this.listener?.context.progress(this.#progress, undefined, message)
  }
}
