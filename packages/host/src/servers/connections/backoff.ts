const minDelayMs = 200
const maxDelayMs = 30_000
const windowMs = 60_000
const maxFailures = 5

/** Milliseconds to wait before an attempt, counted from 1: random, up to a bound that doubles. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const upperMs = Math.min(maxDelayMs, minDelayMs * 2 ** attempt)
  return Math.round(minDelayMs + random() * (upperMs - minDelayMs))
}

/** Opens after too many failures within one minute. */
export class Breaker {
  #failures: number[] = []

  /** Records a failure; true when the breaker is open. */
  recordFailure(now: number = performance.now()): boolean {
    this.#failures = [...this.#failures.filter((at) => now - at < windowMs), now]
    return this.#failures.length >= maxFailures
  }

  /** Failures of the last minute, including the newest. */
  get recent(): number {
    return this.#failures.length
  }

  reset(): void {
    this.#failures = []
  }
}
