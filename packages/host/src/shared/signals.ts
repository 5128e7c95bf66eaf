/** A signal that aborts with the first of two, until it is released. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  /** Removes its listeners. Call it when the work has ended. */
  release(): void
}

/**
 * Combines two signals for work with a known end. `AbortSignal.any` takes several times as long and is released only by the
 * garbage collector.
 */
export function linkSignals(first: AbortSignal, second: AbortSignal | undefined): LinkedSignal {
  if (second === undefined || first.aborted) return { signal: first, release: () => {} }
  if (second.aborted) return { signal: second, release: () => {} }
  const both = new AbortController()
  const abort = ({ target }: Event): void =>
    both.abort(target instanceof AbortSignal ? target.reason : undefined)
  first.addEventListener('abort', abort)
  second.addEventListener('abort', abort)
  return {
    signal: both.signal,
    release() {
      first.removeEventListener('abort', abort)
      second.removeEventListener('abort', abort)
    },
  }
}

/** The result of work; rejects with the reason of the signal if that aborts first. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Waits so many milliseconds, or until the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    if (signal?.aborted) finish()
    else signal?.addEventListener('abort', finish, { once: true })
  })
}
