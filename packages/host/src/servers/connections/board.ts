import type { ConnectionState } from '../../types/index.ts'
import type { Standing } from './states.ts'

export interface BoardOptions {
  /** A state without secrets, for everybody to see. */
  shown: (state: ConnectionState) => ConnectionState
  /** Hears every change, after `state` has it. */
  told: (state: ConnectionState) => void
  /** From when this is aborted on nothing changes any more. */
  signal: AbortSignal
}

/** Where the state of one connection stands, and changes of it can be waited for. */
export class Board {
  readonly #options: BoardOptions
  readonly #waiting = new Set<() => void>()
  #state: ConnectionState

  constructor(first: Standing, options: BoardOptions) {
    this.#options = options
    this.#state = { ...first, sinceMs: Date.now() }
  }

  get state(): ConnectionState {
    return this.#state
  }

  put(state: Standing): void {
    const { shown, told, signal } = this.#options
    if (signal.aborted) return
    this.#state = shown({ ...state, sinceMs: Date.now() })
    for (const wake of this.#waiting) wake()
    told(this.#state)
  }

  /** The last state, which nobody is told of. */
  end(state: Standing): void {
    this.#state = { ...state, sinceMs: Date.now() }
  }

  /** Resolves with the next change, or when the signal is aborted. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
