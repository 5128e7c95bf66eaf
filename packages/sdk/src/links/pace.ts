const baseMs = 500
const floorMs = 100
const usualMs = 1_000
const capMs = 30_000
const burst = 9
const refillMs = 6_000
const maxTimerMs = 2_147_483_647

/** When to try again: the server's own wish as a minimum, growing random waits after failures, ten a minute at most. */
export class Pace {
  #failures = 0
  #tokens: number = burst
  #filledAt: number = performance.now()

  /** Something useful came, so trouble is over. */
  useful(): void {
    this.#failures = 0
    this.#tokens = burst
  }

  /** Whether one more attempt may be made now; if so, it counts. */
  mayTry(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
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

  /** Milliseconds until the budget allows one more attempt, which is taken from it. */
  #take(): number {
    this.#refill()
    this.#tokens--
    return this.#tokens >= 0 ? 0 : -this.#tokens * refillMs
  }

  #refill(): void {
    const now = performance.now()
    this.#tokens = Math.min(burst, this.#tokens + (now - this.#filledAt) / refillMs)
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
