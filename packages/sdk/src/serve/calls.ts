import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonRpcResponse, RequestId } from '../jsonrpc/message.ts'
import type { Server } from '../server/server.ts'
import type { Call } from './message.ts'

/** The requests being served on one connection or session. */
export class Calls {
  readonly #max: number
  readonly #running = new Set<Call>()
  readonly #byId = new Map<RequestId, Call>()
  #onIdle: (() => void)[] = []

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#running.size
  }

  /**
   * Refuses what may not start now.
   * @throws RpcError -32600 for an id that is in flight, or when too much is
   */
  admit(id: RequestId): void {
    if (this.#byId.has(id)) {
      throw new RpcError(ErrorCode.InvalidRequest, 'Invalid request: this id belongs to a request in flight')
    }
    if (this.#running.size >= this.#max) {
      throw new RpcError(
        ErrorCode.InvalidRequest,
        `Too many requests in flight: wait for some of the ${this.#max} to finish`,
      )
    }
  }

  /** Serves a request that was admitted. Never rejects. */
  run(call: Call, server: Server): Promise<JsonRpcResponse | undefined> {
    this.#running.add(call)
    this.#byId.set(call.id, call)
    return call.answer(server, this.#forget)
  }

  readonly #forget = (call: Call): void => {
    this.#running.delete(call)
    if (this.#byId.get(call.id) === call) this.#byId.delete(call.id)
    if (this.#running.size > 0 || this.#onIdle.length === 0) return
    for (const tell of this.#onIdle.splice(0)) tell()
  }

  /** The peer takes a request back. One that is not in flight is nobody's fault. */
  cancel(id: RequestId, reason: unknown): void {
    const call = this.#byId.get(id)
    if (call === undefined) return
    this.#byId.delete(id)
    call.cancel(reason)
  }

  /** Asks every handler to stop; what they still give is their answer. */
  abort(reason: unknown): void {
    for (const call of this.#running) call.abort(reason)
  }

  /** Takes everything back. */
  cancelAll(reason: unknown): void {
    this.#byId.clear()
    for (const call of this.#running) call.cancel(reason)
  }

  /** Settles when nothing runs any more and what was answered is sent, or after so many milliseconds. */
  idle(ms: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#onIdle.push(() => {
        clearTimeout(timer)
        setTimeout(resolve, 0)
      })
    })
  }
}
