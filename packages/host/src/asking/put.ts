import { randomUUID } from 'node:crypto'

/** A name for one question, unlike any other. */
export function questionId(): string {
  return randomUUID()
}

/** Waits for work no longer than it is wanted, even if it does not listen to the signal. */
export function whileWanted<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    Promise.resolve()
      .then(() => work(signal))
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
