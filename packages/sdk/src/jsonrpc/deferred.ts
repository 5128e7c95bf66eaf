/** A promise with the function that resolves it. `Promise.withResolvers` replaces it once Node 20 is not supported. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
}

/** Creates a promise with the function that resolves it. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/**
 * Milliseconds before another attempt: random, so that clients do not retry at the same time, up to a maximum that doubles with
 * each failure.
 * @param failures earlier failures, from 0
 */
export function retryDelay(failures: number, firstMs: number, longestMs: number): number {
  return Math.random() * Math.min(longestMs, firstMs * 2 ** failures)
}

/** Waits for a promise, at most this many milliseconds. */
export async function waitAtMost(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for a promise, or rejects with the signal's reason. The promise itself is not cancelled. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {})
  signal.throwIfAborted()
  let abort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
