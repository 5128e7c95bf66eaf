import { randomUUID } from 'node:crypto'

/** A name for one question, unlike any other. */
export function questionId(): string {
  return randomUUID()
}

/** Waits for a person's answer no longer than it is wanted, even if the surface does not listen to the signal. */
export function answered<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    Promise.resolve()
      .then(() => ask(signal))
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}

/** The answer, if it is a yes or a no. Throws for anything else, which is not the person's will. */
export function yesOrNo<T extends { verdict: 'allow' | 'deny' }>(answer: T, surface: string): T {
  const verdict: unknown = answer?.verdict
  if (verdict !== 'allow' && verdict !== 'deny') throw new Error(`${surface} gave no valid answer`)
  return answer
}
