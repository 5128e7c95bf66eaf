export interface PulseOptions {
  /** Milliseconds between looks; 0 for none. */
  everyMs: number
  /** Nothing was heard for that long. */
  onSilence: () => void
  /** The machine slept, or its clock was set. */
  onJump: () => void
  /** Milliseconds since the last message; undefined while nothing stands. */
  quietMs: () => number | undefined
}

const tickMs = 5_000
const jumpMs = 15_000

/** Looks now and then whether a connection that says nothing is still there, and whether the machine slept. */
export class Pulse {
  readonly #options: PulseOptions
  readonly #timer: NodeJS.Timeout
  #wallMs = Date.now()
  #clockMs = performance.now()

  constructor(options: PulseOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), Math.min(tickMs, options.everyMs)).unref()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const { everyMs, quietMs, onSilence, onJump } = this.#options
    const wallMs = Date.now()
    const clockMs = performance.now()
    const jumped = Math.abs(wallMs - this.#wallMs - (clockMs - this.#clockMs)) > jumpMs
    this.#wallMs = wallMs
    this.#clockMs = clockMs
    if (jumped) onJump()
    else if ((quietMs() ?? 0) >= everyMs) onSilence()
  }
}
