import { ErrorCode, invalid, RpcError } from '../jsonrpc/error.ts'
import { withTimeout } from '../jsonrpc/promises.ts'
import { type Backplane, type TokenBucket, TokenBuckets } from '../request/backplane.ts'
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
  /**
   * Counts the requests of all nodes together, such as `redisBackplane`. Default: each process counts separately. While it is
   * unavailable, each node counts separately, with the limit divided by the number of nodes that were known last.
   */
  backplane?: Backplane
}

/**
 * Middleware for a server's `use` that limits the rate of requests per caller. A caller is a principal or, without
 * authentication, a network address; requests without either count as one caller.
 * @throws RpcError -32600 with `data.retryAfterMs`, to the caller
 * @throws TypeError for a rate that allows nothing
 * @throws McpError 'INVALID' for a backplane that cannot count
 */
export function rateLimit(options: RateLimit): Middleware {
  const { perMinute, burst = perMinute, methods = ['tools/call', 'completion/complete'], backplane } = options
  if (!(perMinute > 0) || !(burst >= 1)) {
    throw new TypeError('"perMinute" must be above 0 and "burst" at least 1')
  }
  const counted = new Set(methods)
  const bucket = { refillMs: 60_000 / perMinute, capacity: burst }
  const name = `rate:${[...counted].sort().join(',')}:${perMinute}/${burst}`
  const counter = backplane === undefined ? new TokenBuckets() : new SharedCounter(backplane, name)

  const requireAllowed = (waitMs: number): void => {
    if (waitMs <= 0) return
    const retryAfterMs = Math.ceil(waitMs)
    throw new RpcError(
      ErrorCode.InvalidRequest,
      `Too many requests: at most ${perMinute} a minute are served. Try again in ${retryAfterMs} ms.`,
      { retryAfterMs },
    )
  }
  return (exchange, next) => {
    if (!counted.has(exchange.method)) return next(exchange)
    const waitMs = counter.spend(callerOf(exchange.peer), 1, bucket)
    if (typeof waitMs === 'number') {
      requireAllowed(waitMs)
      return next(exchange)
    }
    return waitMs.then((ms) => {
      requireAllowed(ms)
      return next(exchange)
    })
  }
}

function callerOf({ principal, quotaKey = '' }: Peer): string {
  return principal === null ? quotaKey : `as ${principal}`
}

/** Milliseconds that a request waits for the backplane before it is counted here. */
const timeoutMs = 1000
/** Milliseconds without another attempt after the backplane failed. */
const pauseMs = 1000
/** Milliseconds between announcements of a node that counts; others forget it after three times as long. */
const announceMs = 5000
const maxNodes = 10_000

/** Token buckets in a backplane. While it is unavailable, buckets of this node with a share of the limit. */
class SharedCounter {
  readonly #backplane: Backplane
  readonly #spend: NonNullable<Backplane['spend']>
  readonly #name: string
  readonly #own = new TokenBuckets()
  /** Created on first use: workers have no randomness before the first request. */
  #id = ''
  /** Other nodes, with the time of their last message. */
  readonly #nodes = new Map<string, number>()
  #retryAt = 0
  #usedAt = 0
  #announcing: ReturnType<typeof setInterval> | undefined
  #subscribed = false

  constructor(backplane: Backplane, name: string) {
    const { spend } = backplane
    if (spend === undefined) {
      throw invalid('rateLimit: this backplane cannot count. Use one with "spend", such as redisBackplane')
    }
    this.#backplane = backplane
    this.#spend = spend.bind(backplane)
    this.#name = name
  }

  async spend(caller: string, cost: number, bucket: TokenBucket): Promise<number> {
    const now = performance.now()
    this.#usedAt = now
    this.#id ||= crypto.randomUUID()
    this.#announce()
    if (now < this.#retryAt) return this.#spendOwn(caller, cost, bucket)
    try {
      return await withTimeout(this.#spend(`${this.#name}:${caller}`, cost, bucket), timeoutMs)
    } catch {
      this.#retryAt = performance.now() + pauseMs
      return this.#spendOwn(caller, cost, bucket)
    }
  }

  #spendOwn(caller: string, cost: number, { refillMs, capacity }: TokenBucket): number {
    const nodes = this.#nodes.size + 1
    const share = { refillMs: refillMs * nodes, capacity: Math.max(cost, capacity / nodes) }
    return this.#own.spend(caller, cost, share)
  }

  /** Announces this node to the others for as long as it counts. */
  #announce(): void {
    if (this.#announcing !== undefined) return
    const announce = async (): Promise<void> => {
      if (!this.#subscribed) {
        await this.#backplane.subscribe(this.#name, (id) => this.#receive(id))
        this.#subscribed = true
      }
      await this.#backplane.publish(this.#name, this.#id)
    }
    const timer = setInterval(() => {
      if (performance.now() - this.#usedAt > 3 * announceMs) {
        clearInterval(timer)
        this.#announcing = undefined
        return
      }
      announce().catch(() => {})
    }, announceMs)
    if (typeof timer === 'object') timer.unref()
    this.#announcing = timer
    announce().catch(() => {})
  }

  #receive(id: string): void {
    const now = performance.now()
    if (id !== this.#id) {
      const isNew = !this.#nodes.has(id)
      if (this.#nodes.size < maxNodes) this.#nodes.set(id, now)
      // A node that just started to count does not know this one yet.
      if (isNew) this.#backplane.publish(this.#name, this.#id).catch(() => {})
      return
    }
    // Only when a message arrives: while the backplane is unavailable, the known nodes are kept.
    for (const [node, at] of this.#nodes) if (now - at > 3 * announceMs) this.#nodes.delete(node)
  }
}
