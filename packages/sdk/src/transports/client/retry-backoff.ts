import { maxTimerMs, orAborted, retryDelay } from '../../jsonrpc/promises.ts'

const baseMs = 500
const floorMs = 100
const usualMs = 1_000
const capMs = 30_000

/**
 * When to retry: exponential backoff with jitter, the server's `Retry-After` or `retry` as a minimum, and a budget: 20
 * attempts without progress in the first minute and 10 in each later one, with progress 120 and 60.
 */
export class RetryBackoff {
  readonly #withoutProgress = new Budget(9, 6_000)
  readonly #all = new Budget(60, 1_000)
  #failures = 0
  #refunded = true

  /** The operation succeeded: resets the backoff and the budget of attempts without progress. */
  reset(): void {
    this.#failures = 0
    this.#withoutProgress.reset()
  }

  /** A message arrived: resets the backoff, but not the budget. */
  received(): void {
    this.#failures = 0
  }

  /** The last attempt made progress: returns it to the budget. */
  refund(): void {
    if (!this.#refunded) this.#withoutProgress.refund()
    this.#refunded = true
  }

  /** Reserves an attempt in the budget; false if none is left. */
  tryAttempt(): boolean {
    return this.#withoutProgress.tryReserve()
  }

  /** Milliseconds to wait after the server closed the stream regularly. */
  afterClose(retryMs: number | undefined): number {
    return Math.max(floorMs, retryMs ?? usualMs * (0.5 + Math.random()), this.#reserve())
  }

  /** Milliseconds to wait after a failure: the server's `retryMs` plus jitter, so that clients do not retry at the same time. */
  afterFailure(retryMs: number | undefined): number {
    const spread = Math.max(floorMs, retryDelay(this.#failures, baseMs, capMs))
    this.#failures++
    return Math.max((retryMs ?? 0) + spread, this.#reserve())
  }

  /** Reserves an attempt in both budgets and returns the milliseconds until it may be made. */
  #reserve(): number {
    this.#refunded = false
    return Math.max(this.#withoutProgress.reserve(), this.#all.reserve())
  }
}

/** A token bucket: `burst` attempts, and one more every `refillMs`. */
class Budget {
  readonly #burst: number
  readonly #refillMs: number
  #tokens: number
  #filledAt: number = performance.now()

  constructor(burst: number, refillMs: number) {
    this.#burst = burst
    this.#refillMs = refillMs
    this.#tokens = burst
  }

  reset(): void {
    this.#tokens = this.#burst
  }

  refund(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /** Reserves one attempt and returns the milliseconds until it may be made. */
  reserve(): number {
    this.#refill()
    this.#tokens--
    return this.#tokens >= 0 ? 0 : -this.#tokens * this.#refillMs
  }

  /** Reserves one attempt if one is available now. */
  tryReserve(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  #refill(): void {
    const now = performance.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#filledAt) / this.#refillMs)
    this.#filledAt = now
  }
}

/** Waits this many milliseconds, or rejects with the signal's reason. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, maxTimerMs))
  })
  try {
    await orAborted(elapsed, signal)
  } finally {
    clearTimeout(timer)
  }
}
