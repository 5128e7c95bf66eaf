import type { Context, Exchange, Question } from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'
import { askLive, HeldCall } from '@jackfield/sdk/compose'
import type { JsonRecord } from '../json.ts'

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
export class ClientCall<T> extends HeldCall<T, Request> {
  readonly subject: Subject
  /** Its activity row, once it is known. */
  row: number | undefined
  #request: Request

  constructor(subject: Subject, request: Request) {
    super(request.context.peer.principal)
    this.subject = subject
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
    const { relay } = exchange.asking
    if (relay === undefined) return super.ask(question, signal)
    return askLive(exchange, relay, question, AbortSignal.any([signal, this.signal]))
  }

  progress({ progress, total, message }: ProgressReport): void {
    this.listener?.context.progress(progress, total, message)
  }

  /** Waits on behalf of its client until it is over or asks something. */
  again(request: Request): ReturnType<HeldCall<T, Request>['next']> {
    this.#request = request
    return this.next(request.context.signal, request)
  }
}
