const baseMs = 500
const floorMs = 100
const usualMs = 1_000
const capMs = 30_000
const maxTimerMs = 2_147_483_647

/**
 * When to try again: the server's own wish as a minimum, growing random waits after failures, and a budget. Attempts
 * that bring nothing are 20 in the first minute and 10 in each later one; those that bring what is waited for, 120 and 60.
 */
export class RetryBackoff {
  readonly #vain = new Budget(9, 6_000)
  readonly #all = new Budget(60, 1_000)
  #failures = 0
  #repaid = true

  /** Something useful came, so trouble is over. */
  useful(): void {
    this.#failures = 0
    this.#vain.fill()
  }

  /** A sign of life came. It ends the growing of waits, and pays for no further attempt. */
  heard(): void {
    this.#failures = 0
  }

  /** The last attempt brought what is waited for, so it was not made in vain. */
  advanced(): void {
    if (!this.#repaid) this.#vain.give()
    this.#repaid = true
  }

  /** Whether one more attempt may be made now; if so, it counts. */
  mayTry(): boolean {
    return this.#vain.takeNow()
  }

  /** Milliseconds to wait after the peer closed in good order. */
  afterClose(retryMs: number | undefined): number {
    return Math.max(floorMs, retryMs ?? between(usualMs / 2, usualMs * 1.5), this.#take())
  }

  /** Milliseconds to wait after a failure: a random time on top of what the peer asked for, so that not all come at once. */
  afterFailure(retryMs: number | undefined): number {
    const spread = between(floorMs, Math.min(capMs, baseMs * 2 ** this.#failures))
    this.#failures++
    return Math.max((retryMs ?? 0) + spread, this.#take())
  }

  /** Milliseconds until the budgets allow one more attempt, which is taken from them. */
  #take(): number {
    this.#repaid = false
    return Math.max(this.#vain.take(), this.#all.take())
  }
}

/** So many attempts at once, and another one whenever `refillMs` have passed. */
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

  fill(): void {
    this.#tokens = this.#burst
  }

  give(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /** Takes one attempt, and gives the milliseconds until it is due. */
  take(): number {
    this.#refill()
    this.#tokens--
    return this.#tokens >= 0 ? 0 : -this.#tokens * this.#refillMs
  }

  /** Takes one attempt if it is due now. */
  takeNow(): boolean {
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

function between(from: number, to: number): number {
  return from + Math.random() * (to - from)
}

/** Waits, or rejects with the signal's reason. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', abort)
        resolve()
      },
      Math.min(ms, maxTimerMs),
    )
    signal.addEventListener('abort', abort, { once: true })
  })
}
