import { McpError } from '../jsonrpc/error.ts'

const maxTimerMs = 2_147_483_647

export interface CallDeadlineOptions {
  /** What is being waited for, for the error's text. */
  what: string
  signal?: AbortSignal | undefined
  /** Milliseconds without a sign of life. */
  idleMs: number
  /** Milliseconds in all. */
  totalMs: number
}

/** The life of one call: its caller's signal and its two clocks, which stand still while a person is asked. */
export class CallDeadline {
  readonly signal: AbortSignal
  readonly #options: CallDeadlineOptions
  readonly #stop = new AbortController()
  #spentMs = 0
  #runningSince: number = performance.now()
  #idleSince = 0
  #pauses = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: CallDeadlineOptions) {
    this.#options = options
    this.signal = this.#stop.signal
    if (options.signal?.aborted) this.handleEvent()
    else options.signal?.addEventListener('abort', this, { once: true })
    this.#schedule()
  }

  /** Its caller gave up. */
  handleEvent(): void {
    this.#end(asError(this.#options.signal?.reason))
  }

  /** Milliseconds until one of the clocks runs out, if there is no sign of life before. */
  get leftMs(): number {
    const { idleMs, totalMs } = this.#options
    return Math.min(this.#idleSince + idleMs, totalMs) - this.#spent()
  }

  /** There was a sign of life: the idle clock begins anew. */
  touch(): void {
    this.#idleSince = this.#spent()
    this.#schedule()
  }

  /** Stops both clocks until the returned function is called. */
  pause(): () => void {
    if (this.#pauses === 0) {
      this.#spentMs = this.#spent()
      clearTimeout(this.#timer)
    }
    this.#pauses++
    let paused = true
    return () => {
      if (!paused) return
      paused = false
      if (--this.#pauses > 0) return
      this.#runningSince = performance.now()
      this.touch()
    }
  }

  /** The call is over; nothing of it stays behind. */
  close(): void {
    clearTimeout(this.#timer)
    this.#pauses = Number.POSITIVE_INFINITY
    this.#options.signal?.removeEventListener('abort', this)
  }

  #spent(): number {
    return this.#pauses > 0 ? this.#spentMs : this.#spentMs + performance.now() - this.#runningSince
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#pauses > 0 || this.signal.aborted) return
    const { idleMs, totalMs, what } = this.#options
    const left = this.leftMs
    if (left <= 0) {
      const idle = this.#spent() < totalMs
      this.#end(
        new McpError(
          'TIMEOUT',
          idle ? `No answer to ${what} for ${idleMs} ms` : `${what} took longer than ${totalMs} ms in all`,
          { details: { timeoutMs: idle ? idleMs : totalMs } },
        ),
      )
      return
    }
    this.#timer = setTimeout(() => this.#schedule(), Math.min(Math.ceil(left), maxTimerMs))
  }

  #end(error: McpError): void {
    this.close()
    this.#stop.abort(error)
  }
}

function asError(reason: unknown): McpError {
  if (reason instanceof McpError) return reason
  return new McpError('CANCELLED', 'The call was cancelled by its caller', { cause: reason })
}

/** A signal that aborts with its parent, or alone. Call `release` when it is no longer needed. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
  release(): void
}

export function linkedSignal(parent: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(parent.reason)
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => parent.removeEventListener('abort', abort),
  }
}

/** Waits for a promise, or rejects with the signal's reason; the promise is then left to itself. */
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
