const floorMs = 200
const capMs = 30_000
const windowMs = 60_000
const tolerated = 5

/** Milliseconds to wait before an attempt, counted from 1: random, up to a bound that doubles. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const bound = Math.min(capMs, floorMs * 2 ** attempt)
  return Math.round(floorMs + random() * (bound - floorMs))
}

/** Opens after too many failures within one minute. */
export class Breaker {
  #failures: number[] = []

  /** Records a failure; true when the breaker is open. */
  fail(now: number = performance.now()): boolean {
    this.#failures = [...this.#failures.filter((at) => now - at < windowMs), now]
    return this.#failures.length >= tolerated
  }

  /** Failures of the last minute, including the newest. */
  get recent(): number {
    return this.#failures.length
  }

  reset(): void {
    this.#failures = []
  }
}

/** Waits so many milliseconds, or until the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
