import { ErrorCode, type InputRequired, inputRequired, RpcError } from '@jackfield/sdk'
import { SuspendedCalls } from '@jackfield/sdk/internal'
import { isRecord } from '../json.ts'
import { ClientCall, type Request, type Subject } from './held.ts'

const most = 256
const mostOfOne = 32

/** Requests of one kind that are under way, and those that wait for answers. */
export class Passing<T> {
  /** Everything under way, the newest last. */
  readonly calls: Set<ClientCall<unknown>>
  readonly #held: SuspendedCalls<ClientCall<T>>

  constructor(calls: Set<ClientCall<unknown>>, heldMs: number) {
    this.calls = calls
    this.#held = new SuspendedCalls({
      suspended: most,
      suspendedPerPrincipal: mostOfOne,
      suspendedMs: heldMs,
    })
  }

  /**
   * Runs a request, or goes on with it where its client comes back with answers. Gives its result, or what its client
   * is to be asked first.
   */
  async pass(
    request: Request,
    subject: Subject,
    run: (call: ClientCall<T>) => Promise<T>,
  ): Promise<T | InputRequired> {
    const { state, answers } = request.context
    const call = state === undefined ? this.#begin(request, subject, run) : this.#again(request)
    call.answer(answers)
    const next = await call.again(request)
    if ('result' in next) return next.result
    this.#held.suspend(call)
    return inputRequired({ requests: next.asked, state: { held: call.id } })
  }

  close(): void {
    this.#held.close()
  }

  #begin(request: Request, subject: Subject, run: (call: ClientCall<T>) => Promise<T>): ClientCall<T> {
    const call = new ClientCall<T>(subject, request)
    this.calls.add(call)
    call.begin(() =>
      run(call).finally(() => {
        this.calls.delete(call)
        call.settled()
      }),
    )
    return call
  }

  #again({ context: { state, peer } }: Request): ClientCall<T> {
    const call = this.#held.resume(isRecord(state) ? state['held'] : undefined, peer.principal)
    if (call !== undefined) return call
    throw new RpcError(
      ErrorCode.InternalError,
      'The request that asked no longer waits: the answer took too long, or the gateway was started anew. It was not ' +
        'run again. Whether it had an effect is not known: look before you repeat it.',
    )
  }
}
