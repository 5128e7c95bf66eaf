import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { Peer } from '../request/exchange.ts'
import type { Middleware } from './server.ts'

/** How often one caller may be served. */
export interface RateLimit {
  /** Requests a minute, evenly refilled. */
  perMinute: number
  /** Requests that may come at once after a pause. Default: `perMinute`. */
  burst?: number
  /** What counts. Default: `tools/call` and `completion/complete`. */
  methods?: readonly string[]
}

const maxCallers = 10_000

/**
 * A layer for a server's `use` that refuses what a caller asks too often. A caller is a principal; all who are not
 * known count as one. Each server process counts for itself.
 * @throws RpcError -32600 with `data.retryAfterMs`, to the caller
 */
export function rateLimit(options: RateLimit): Middleware {
  const { perMinute, burst = perMinute, methods = ['tools/call', 'completion/complete'] } = options
  if (!(perMinute > 0) || !(burst >= 1)) {
    throw new TypeError('"perMinute" must be above 0 and "burst" at least 1')
  }
  const counted = new Set(methods)
  const msEach = 60_000 / perMinute
  // When each caller would have been served at an even pace; the burst is how far that may lie ahead.
  const dueAt = new Map<string, number>()

  /** Counts one request. Gives the milliseconds to wait where there is no room for it. */
  const take = ({ principal }: Peer): number => {
    const caller = principal === null ? '' : `as ${principal}`
    const now = performance.now()
    const due = Math.max(dueAt.get(caller) ?? now, now)
    const early = due - now - (burst - 1) * msEach
    // Set anew at the end, so that whoever was silent longest is forgotten first.
    dueAt.delete(caller)
    dueAt.set(caller, early > 0 ? due : due + msEach)
    for (const silent of dueAt.keys()) {
      if (dueAt.size <= maxCallers) break
      dueAt.delete(silent)
    }
    return early
  }

  return (exchange, next) => {
    const early = counted.has(exchange.method) ? take(exchange.peer) : 0
    if (early <= 0) return next(exchange)
    const retryAfterMs = Math.ceil(early)
    throw new RpcError(
      ErrorCode.InvalidRequest,
      `Too many requests: at most ${perMinute} a minute are served. Try again in ${retryAfterMs} ms.`,
      { retryAfterMs },
    )
  }
}
