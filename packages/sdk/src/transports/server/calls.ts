import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification, RequestId } from '../../jsonrpc/message.ts'
import { isRequestId } from '../../jsonrpc/parse.ts'
import { RotatingMap, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type { Server } from '../../server/server.ts'
import type { ServedRequest, ServedResponse } from './served-request.ts'

/** Room among all requests that a node serves, whichever session or connection they belong to. */
export interface CallQuota {
  /** Takes one place, or gives the error to answer with where there is none. */
  take(): RpcError | undefined
  /** Gives one back. */
  give(): void
}

/** Limits how much of something each principal has at once. Unauthenticated callers (`null`) are not limited by it. */
export class PrincipalQuota {
  readonly #most: number
  readonly #held = new RotatingMap<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Takes one more; false where there is no room for it. */
  take(principal: string | null): boolean {
    if (principal === null) return true
    const held = this.#held.get(principal) ?? 0
    if (held >= this.#most) return false
    this.#held.set(principal, held + 1)
    return true
  }

  /** Gives one back. */
  give(principal: string | null): void {
    if (principal === null) return
    const held = this.#held.get(principal) ?? 0
    if (held > 1) this.#held.set(principal, held - 1)
    else this.#held.delete(principal)
  }
}

/** The requests being served on one connection or session. */
export class Calls {
  readonly #max: number
  readonly #places: CallQuota | undefined
  readonly #byId = new RotatingMap<RequestId, ServedRequest>()
  /** Those that were taken back while their handlers go on. */
  readonly #cancelled = new RotatingSet<ServedRequest>()
  #onIdle: (() => void)[] = []

  /** @param places what they share with those of other sessions; a handler keeps its place until it ends */
  constructor(max: number, places?: CallQuota) {
    this.#max = max
    this.#places = places
  }

  get size(): number {
    return this.#byId.size + this.#cancelled.size
  }

  get isFull(): boolean {
    return this.size >= this.#max
  }

  /**
   * Refuses what may not start now.
   * @throws RpcError -32600 for an id that is in flight, or when too much is
   */
  admit(id: RequestId): void {
    if (this.#byId.has(id)) {
      throw new RpcError(ErrorCode.InvalidRequest, 'Invalid request: this id belongs to a request in flight')
    }
    if (this.isFull) {
      throw new RpcError(
        ErrorCode.InvalidRequest,
        `Too many requests in flight: wait for some of the ${this.#max} to finish`,
      )
    }
  }

  /**
   * Serves a request that was admitted. It counts as in flight from the call of this function on.
   * @throws RpcError where all sessions together, or those of its principal, have too many in flight
   */
  async run(call: ServedRequest, server: Server): Promise<ServedResponse> {
    const busy = this.#places?.take()
    if (busy !== undefined) throw busy
    this.#byId.set(call.id, call)
    const response = await call.serve(server)
    this.#forget(call)
    return response
  }

  #forget(call: ServedRequest): void {
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
