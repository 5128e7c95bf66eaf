import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification, RequestId } from '../../jsonrpc/message.ts'
import { isRequestId } from '../../jsonrpc/parse.ts'
import { RotatingMap, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import type { Server } from '../../server/server.ts'
import type { ServedRequest, ServedResponse } from './served-request.ts'

/** The limits on requests in flight that sessions and connections of one node share. */
export interface CallQuota {
  /** Counts one more request; the error for its response if a limit is reached. */
  take(): RpcError | undefined
  /** Counts one request less. */
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
  /** Cancelled requests whose handlers still run. */
  readonly #cancelled = new RotatingSet<ServedRequest>()
  #onIdle: (() => void)[] = []

  /** @param places limits shared with other sessions; a request counts until its handler ends */
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
   * Requires that a request may start.
   * @throws RpcError -32600 for an id in flight, or if there are too many requests in flight
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
  run(call: ServedRequest, server: Server): Promise<ServedResponse> {
    const busy = this.#places?.take()
    if (busy !== undefined) throw busy
    this.#byId.set(call.id, call)
    return call.serve(server, () => this.#forget(call))
  }

  #forget(call: ServedRequest): void {
    if (this.#byId.get(call.id) === call) this.#byId.delete(call.id)
    else this.#cancelled.delete(call)
    this.#places?.give()
    if (this.#onIdle.length === 0 || this.size > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Cancels a request; one that is not in flight is ignored. */
  cancel(id: RequestId, reason: unknown): void {
    const call = this.#byId.get(id)
    if (call === undefined) return
    this.#byId.delete(id)
    this.#cancelled.add(call)
    call.cancel(reason)
  }

  /** Aborts the signal of every handler; their responses are still sent. */
  abort(reason: unknown): void {
    for (const call of [...this.#byId.values(), ...this.#cancelled.values()]) call.abort(reason)
  }

  /** Cancels all requests. */
  cancelAll(reason: unknown): void {
    for (const call of this.#byId.values()) this.#cancelled.add(call)
    this.#byId.clear()
    for (const call of this.#cancelled.values()) call.cancel(reason)
  }

  /** Resolves when no handler runs and all responses are sent, or after `ms` milliseconds. */
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

/** Handles `notifications/cancelled`; other notifications are ignored. */
export function cancelCall(calls: Calls, { method, params }: JsonRpcNotification): void {
  if (method !== 'notifications/cancelled' || !isRequestId(params?.['requestId'])) return
  const reason = typeof params['reason'] === 'string' ? `: ${params['reason']}` : ''
  calls.cancel(params['requestId'], new McpError('CANCELLED', `The client cancelled the request${reason}`))
}
