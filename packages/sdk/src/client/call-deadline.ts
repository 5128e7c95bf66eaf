import { McpError } from '../jsonrpc/error.ts'
import { maxTimerMs } from '../jsonrpc/promises.ts'

interface CallDeadlineOptions {
  /** Names the operation in error messages. */
  label: string
  signal?: AbortSignal | undefined
  /** Milliseconds without a response or progress. */
  idleMs: number
  /** Milliseconds in total. */
  totalMs: number
}

/** The idle and total timeouts of one call, combined with its caller's signal. Both pause while a handler runs. */
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

  /** The caller's signal aborted. */
  handleEvent(): void {
    const cause: unknown = this.#options.signal?.reason
    const cancelled = 'The call was cancelled by its caller'
    this.#end(cause instanceof McpError ? cause : new McpError('CANCELLED', cancelled, { cause }))
  }

  /** Milliseconds until the earlier of the two timeouts. */
  get leftMs(): number {
    const { idleMs, totalMs } = this.#options
    return Math.min(this.#idleSince + idleMs, totalMs) - this.#spent()
  }

  /** Restarts the idle timeout. */
  touch(): void {
    this.#idleSince = this.#spent()
    this.#schedule()
  }

  /** Pauses both timeouts until the returned function is called. */
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
    const { idleMs, totalMs, label } = this.#options
    const left = this.leftMs
    if (left <= 0) {
      const [timeoutMs, message] =
        this.#spent() < totalMs
          ? [idleMs, `No response to ${label} for ${idleMs} ms`]
          : [totalMs, `${label} took longer than ${totalMs} ms in total`]
      this.#end(new McpError('TIMEOUT', message, { details: { timeoutMs } }))
      return
    }
    this.#timer = setTimeout(() => this.#schedule(), Math.min(Math.ceil(left), maxTimerMs))
  }

  #end(error: McpError): void {
    this.close()
    this.#stop.abort(error)
  }
}

/** Runs work under a deadline of its own, with the same idle and total timeout. */
export async function withDeadline<T>(
  label: string,
  ms: number,
  signal: AbortSignal | undefined,
  work: (deadline: CallDeadline) => Promise<T>,
): Promise<T> {
  const deadline = new CallDeadline({ label, signal, idleMs: ms, totalMs: ms })
  try {
    return await work(deadline)
  } finally {
    deadline.close()
  }
}
