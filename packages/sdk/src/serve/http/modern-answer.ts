import { ErrorCode } from '../../jsonrpc/error.ts'
import { type Answered, type Call, failure } from '../message.ts'
import { PostAnswer } from './post-answer.ts'

/** The answer to one request of 2026-07-28. */
export class ModernAnswer extends PostAnswer {
  #call: Call | undefined

  /** Serves a call, and gives a promise of the end of its handler where that is not now. */
  serve(call: Call): Promise<void> | undefined {
    this.#call = call
    const busy = this.core.admit(this, this.reply.sharesTimers)
    if (busy !== undefined) {
      this.reply.send(busy.status, JSON.stringify(failure(call.id, busy.error)), { 'Retry-After': '10' })
      return undefined
    }
    const response = call.serve(this.core.server)
    if (!(response instanceof Promise)) {
      this.#answered(response)
      return undefined
    }
    this.wait()
    return response.then((later) => this.#answered(later))
  }

  get principal(): string | null {
    return this.#call?.peer.principal ?? null
  }

  get method(): string {
    return this.#call?.method ?? ''
  }

  abort(reason: unknown): void {
    this.#call?.abort(reason)
  }

  protected cancel(reason: unknown): void {
    this.#call?.cancel(reason)
  }

  #answered(response: Answered): void {
    this.core.done(this)
    const status = response !== undefined && 'error' in response ? answerStatus(response.error.code) : 200
    this.finish(status, response)
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
