import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification, RequestId } from '../../jsonrpc/message.ts'
import { isRequestId } from '../../jsonrpc/parse.ts'
import { RotatingMap, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type { Server } from '../../server/server.ts'
import type { ServedRequest, ServedResponse } from './served-request.ts'

/** Room among all requests that a node serves, whichever session or connection they belong to. */
export interface CallPlaces {
  /** Takes one place, or gives the error to answer with where there is none. */
  take(): RpcError | undefined
  /** Gives one back. */
  give(): void
}

/** The requests being served on one connection or session. */
export class Calls {
  readonly #max: number
  readonly #places: CallPlaces | undefined
  readonly #byId = new RotatingMap<RequestId, ServedRequest>()
  /** Those that were taken back while their handlers go on. */
  readonly #cancelled = new RotatingSet<ServedRequest>()
  #onIdle: (() => void)[] = []

  /** @param places what they share with those of other sessions; a handler keeps its place until it ends */
  constructor(max: number, places?: CallPlaces) {
    this.#max = max
    this.#places = places
  }

  get size(): number {
    return this.#byId.size + this.#cancelled.size
  }

  /**
   * Refuses what may not start now.
   * @throws RpcError -32600 for an id that is in flight, or when too much is
   */
  admit(id: RequestId): void {
    if (this.#byId.has(id)) {
      throw new RpcError(ErrorCode.InvalidRequest, 'Invalid request: this id belongs to a request in flight')
    }
    if (this.size >= this.#max) {
      throw new RpcError(
        ErrorCode.InvalidRequest,
        `Too many requests in flight: wait for some of the ${this.#max} to finish`,
      )
    }
  }

  /**
   * Serves a request that was admitted, as `Call.serve` does.
   * @throws RpcError where all sessions together, or those of its principal, have too many in flight
   */
  run(call: ServedRequest, server: Server): ServedResponse | Promise<ServedResponse> {
    const busy = this.#places?.take()
    if (busy !== undefined) throw busy
    this.#byId.set(call.id, call)
    return call.serve(server, this.#forget)
  }

  readonly #forget = (call: ServedRequest): void => {
    if (this.#byId.get(call.id) === call) this.#byId.delete(call.id)
    else this.#cancelled.delete(call)
    this.#places?.give()
    if (this.#onIdle.length === 0 || this.size > 0) return
    for (const tell of this.#onIdle.splice(0)) tell()
  }

  /** The peer takes a request back. One that is not in flight is nobody's fault. */
  cancel(id: RequestId, reason: unknown): void {
    const call = this.#byId.get(id)
    if (call === undefined) return
    this.#byId.delete(id)
    this.#cancelled.add(call)
    call.cancel(reason)
  }

  /** Asks every handler to stop; what they still give is their answer. */
  abort(reason: unknown): void {
    for (const call of [...this.#byId.values(), ...this.#cancelled.values()]) call.abort(reason)
  }

  /** Takes everything back. */
  cancelAll(reason: unknown): void {
    for (const call of this.#byId.values()) this.#cancelled.add(call)
    this.#byId.clear()
    for (const call of this.#cancelled.values()) call.cancel(reason)
  }

  /** Settles when nothing runs any more and what was answered is sent, or after so many milliseconds. */
  idle(ms: number): Promise<void> {
    if (this.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#onIdle.push(() => {
        clearTimeout(timer)
        setTimeout(resolve, 0)
      })
    })
  }
}

/** Takes back the request a notice names, where the notice does that. One that is not in flight is nobody's fault. */
export function cancelCall(calls: Calls, { method, params }: JsonRpcNotification): void {
  if (method !== 'notifications/cancelled' || !isRequestId(params?.['requestId'])) return
  const reason = typeof params['reason'] === 'string' ? `: ${params['reason']}` : ''
  calls.cancel(params['requestId'], new McpError('CANCELLED', `The client cancelled the request${reason}`))
}
