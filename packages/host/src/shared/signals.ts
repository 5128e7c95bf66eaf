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
export function linkSignals(one: AbortSignal, other: AbortSignal | undefined): LinkedSignal {
  if (other === undefined || one.aborted) return { signal: one, release: () => {} }
  if (other.aborted) return { signal: other, release: () => {} }
  const both = new AbortController()
  const abort = ({ target }: Event): void =>
    both.abort(target instanceof AbortSignal ? target.reason : undefined)
  one.addEventListener('abort', abort)
  other.addEventListener('abort', abort)
  return {
    signal: both.signal,
    release() {
      one.removeEventListener('abort', abort)
      other.removeEventListener('abort', abort)
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
