import { dropOldest } from '../jsonrpc/rotating-map.ts'

/** How much may be spent: a bucket that refills evenly. */
export interface TokenBucket {
  /** Milliseconds in which one token is refilled. */
  readonly refillMs: number
  /** Tokens in a full bucket. */
  readonly capacity: number
}

const maxBuckets = 10_000

/** Token buckets in memory, by key. Of more than 10 000, those used longest ago are forgotten. */
export class TokenBuckets {
  /** When each bucket is full again (GCRA), on the monotonic clock. */
  readonly #fullAt = new Map<string, number>()

  /** Takes tokens; returns 0, or the milliseconds to wait if there are too few. */
  spend(key: string, cost: number, { refillMs, capacity }: TokenBucket): number {
    const now = performance.now()
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now)
    const after = fullAt + cost * refillMs
    const waitMs = after - now - capacity * refillMs
    // Reinserted at the end, so that the least recently used is forgotten first.
    this.#fullAt.delete(key)
    this.#fullAt.set(key, waitMs > 0 ? fullAt : after)
    dropOldest(this.#fullAt, maxBuckets)
    return Math.max(0, waitMs)
  }
}
