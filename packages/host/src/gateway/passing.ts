import { type Context, ErrorCode, type InputRequired, inputRequired, RpcError } from '@jackfield/sdk'
import { isRecord } from '../json.ts'
import { HeldCall, HeldCalls, type Subject } from './held.ts'

/** Requests of one kind that are under way, and those that wait for answers. */
export class Passing<T> {
  /** Everything under way, the newest last. */
  readonly calls: Set<HeldCall<unknown>>
  readonly #held: HeldCalls<T>

  constructor(calls: Set<HeldCall<unknown>>, heldMs: number) {
    this.calls = calls
    this.#held = new HeldCalls(heldMs)
  }

  /**
   * Runs a request, or goes on with it where its client comes back with answers. Gives its result, or what its client
   * is to be asked first.
   */
  async pass(
    context: Context,
    subject: Subject,
    run: (call: HeldCall<T>) => Promise<T>,
  ): Promise<T | InputRequired> {
    const call = context.state === undefined ? this.#begin(context, subject, run) : this.#again(context)
    call.answer(context.answers)
    const next = await call.next(context)
    if ('result' in next) return next.result
    this.#held.keep(call)
    return inputRequired({ requests: next.asked, state: { held: call.id } })
  }

  close(): void {
    this.#held.close()
  }

  #begin(context: Context, subject: Subject, run: (call: HeldCall<T>) => Promise<T>): HeldCall<T> {
    return new HeldCall(subject, context, async (call: HeldCall<T>): Promise<T> => {
      this.calls.add(call)
      try {
        return await run(call)
      } finally {
        this.calls.delete(call)
      }
    })
  }

  #again({ state, peer }: Context): HeldCall<T> {
    const call = this.#held.take(isRecord(state) ? state['held'] : undefined, peer.principal)
    if (call !== undefined) return call
    throw new RpcError(
      ErrorCode.InternalError,
      'The request that asked no longer waits: the answer took too long, or the gateway was started anew. It was not ' +
        'run again. Whether it had an effect is not known: look before you repeat it.',
    )
  }
}
