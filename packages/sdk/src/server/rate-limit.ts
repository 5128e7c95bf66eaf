import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { dropOldest } from '../jsonrpc/rotating-map.ts'
import type { Peer } from '../request/exchange.ts'
import type { Middleware } from './server.ts'

/** The rate limit of one caller. */
export interface RateLimit {
  /** Requests per minute, refilled evenly. */
  perMinute: number
  /** Maximum burst after a pause, in requests. Default: `perMinute`. */
  burst?: number
  /** The methods that count. Default: `tools/call` and `completion/complete`. */
  methods?: readonly string[]
}

const maxCallers = 10_000

/**
 * Middleware for a server's `use` that limits the rate of requests per caller. A caller is a principal or, without
 * authentication, a network address; requests without either count as one caller. Each server process counts separately.
 * @throws RpcError -32600 with `data.retryAfterMs`, to the caller
 */
export function rateLimit(options: RateLimit): Middleware {
  const { perMinute, burst = perMinute, methods = ['tools/call', 'completion/complete'] } = options
  if (!(perMinute > 0) || !(burst >= 1)) {
    throw new TypeError('"perMinute" must be above 0 and "burst" at least 1')
  }
  const counted = new Set(methods)
  const msEach = 60_000 / perMinute
  // The theoretical arrival time of each caller (GCRA); the burst is how far it may lie ahead.
  const dueAt = new Map<string, number>()

  /** Counts one request; the milliseconds to wait if it exceeds the limit. */
  const take = ({ principal, quotaKey = '' }: Peer): number => {
    const caller = principal === null ? quotaKey : `as ${principal}`
    const now = performance.now()
    const due = Math.max(dueAt.get(caller) ?? now, now)
    const early = due - now - (burst - 1) * msEach
    // Reinserted at the end, so that the least recent caller is evicted first.
    dueAt.delete(caller)
    dueAt.set(caller, early > 0 ? due : due + msEach)
    dropOldest(dueAt, maxCallers)
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
