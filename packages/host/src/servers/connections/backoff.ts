const floorMs = 200
const capMs = 30_000
const windowMs = 60_000
const tolerated = 5

/** Milliseconds to wait before the given attempt, counted from 1: any time up to a bound that doubles. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const bound = Math.min(capMs, floorMs * 2 ** attempt)
  return Math.round(floorMs + random() * (bound - floorMs))
}

/** Opens when too many failures fall into one minute. */
export class Breaker {
  #failures: number[] = []

  /** Notes a failure; true when the breaker is open. */
  fail(now: number = performance.now()): boolean {
    this.#failures = [...this.#failures.filter((at) => now - at < windowMs), now]
    return this.#failures.length >= tolerated
  }

  /** Failures of the minute before the last of them, itself among them. */
  get recent(): number {
    return this.#failures.length
  }

  reset(): void {
    this.#failures = []
  }
}

/** Waits so many milliseconds, or until the signal is aborted. */
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
