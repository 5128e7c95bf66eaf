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
export function retryDelay(failures: number, firstMs: number, maxMs: number): number {
  return Math.random() * Math.min(maxMs, firstMs * 2 ** failures)
}

/** The longest delay of a timer, in milliseconds. */
export const maxTimerMs = 2_147_483_647

/** The timeout of `withTimeout`. */
export class TimeoutError extends Error {}

/** Settles like a promise, or rejects with `TimeoutError` after `ms` milliseconds. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no answer within ${Math.round(ms)} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
    promise.catch(() => {})
  }
}

/** Waits for a promise, at most this many milliseconds. */
export async function waitAtMost(promise: Promise<unknown>, ms: number): Promise<void> {
  await withTimeout(promise, ms).catch((error) => {
    if (!(error instanceof TimeoutError)) throw error
  })
}

/** A value whose code is loaded at its first use, because not every program needs it and loading takes milliseconds. */
export class OnDemand<T> {
  readonly #create: () => Promise<T>
  #loading: Promise<T> | undefined
  /** The value, once it was loaded. */
  value: T | undefined

  constructor(create: () => Promise<T>) {
    this.#create = create
  }

  /** Whether it was loaded, or is loading. */
  get isUsed(): boolean {
    return this.#loading !== undefined
  }

  load(): Promise<T> {
    this.#loading ??= this.#create().then((value) => {
      this.value = value
      return value
    })
    return this.#loading
  }

  /** Calls a function with the value: at once if it is loaded. */
  use<R>(call: (value: T) => Promise<R>): Promise<R> {
    return this.value === undefined ? this.load().then(call) : call(this.value)
  }
}

/** A function that does its work once: every call returns the promise of the first. */
export function runOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined
  return () => {
    started ??= work()
    return started
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

const newline = 10
/** Smaller pieces slow down large messages, larger ones block the event loop longer on many small lines. */
const pieceBytes = 16_384
const sliceMs = 10

/** Where the piece of a chunk that starts at `from` ends: after a newline, or at the end of the chunk. */
export function pieceEnd(chunk: Uint8Array, from: number): number {
  if (chunk.length - from <= pieceBytes) return chunk.length
  const at = chunk.indexOf(newline, from + pieceBytes - 1)
  return at === -1 ? chunk.length : at + 1
}

/** Measures how long work has run since it last yielded to the event loop. */
export class TimeSlice {
  #spentMs = 0
  #since = 0

  begin(): void {
    this.#since = performance.now()
  }

  /** Ends one unit of work. Returns true, and resets, when the caller must yield to the event loop before the next. */
  end(): boolean {
    const now = performance.now()
    this.#spentMs += now - this.#since
    this.#since = now
    if (this.#spentMs < sliceMs) return false
    this.#spentMs = 0
    return true
  }
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
