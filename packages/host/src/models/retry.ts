import type { ModelRequest } from '../types/index.ts'
import type { ModelError } from './model-error.ts'

const attempts = 4
const longestWaitMs = 60_000
const firstWaitMs = 1_000

/** How a provider is asked again. */
export interface RetryOptions {
  /** Waits, unless the signal ends it first. Default a timer. */
  sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/**
 * Asks up to four times while the provider is over its limit, out of order or not there, and nothing of an answer was
 * shown yet. It waits as long as the provider says, or 1, 2 and 4 seconds, and tells of every wait; what would take
 * longer than a minute is not waited for.
 */
export async function withRetries<T>(
  request: Pick<ModelRequest, 'signal' | 'onText' | 'onWait'>,
  work: (onText: ModelRequest['onText']) => Promise<T>,
  failure: (error: unknown) => ModelError,
  { sleep = wait }: RetryOptions = {},
): Promise<T> {
  const { signal } = request
  let shown = false
  const onText =
    request.onText === undefined
      ? undefined
      : (delta: string): void => {
          shown = true
          request.onText?.(delta)
        }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(onText)
    } catch (error) {
      signal?.throwIfAborted()
      const failed = failure(error)
      const forMs = failed.retryAfterMs ?? firstWaitMs * 2 ** (attempt - 1)
      const isWorthIt = failed.kind === 'limit' || failed.kind === 'unavailable'
      if (!isWorthIt || !failed.passes || shown || attempt === attempts || forMs > longestWaitMs) throw failed
      request.onWait?.({ forMs, why: failed.message, attempt, attempts })
      await sleep(forMs, signal)
    }
  }
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
