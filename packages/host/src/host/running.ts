import { McpError } from '@jackfield/sdk'

/** What a host is doing, and the end of it all. */
export class Running {
  readonly #work = new Set<Promise<unknown>>()
  readonly #over = new AbortController()

  /** Aborted when the host closes. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The signal of one piece of work: its own, and the host's. */
  until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.signal : AbortSignal.any([this.signal, signal])
  }

  /** @throws McpError 'CONNECTION_CLOSED' once the host is closed */
  refuseWhenClosed(): void {
    if (this.signal.aborted) throw new McpError('CONNECTION_CLOSED', 'The host is closed')
  }

  /** Does something that the host's end waits for. */
  async track<T>(work: () => Promise<T>): Promise<T> {
    this.refuseWhenClosed()
    const running = work()
    this.#work.add(running)
    try {
      return await running
    } finally {
      this.#work.delete(running)
    }
  }

  /** Lets the host's end wait for what goes on after the call that began it. */
  follow(going: Promise<unknown>): void {
    const ended = going.finally(() => this.#work.delete(ended))
    this.#work.add(ended)
  }

  end(): void {
    this.#over.abort(new McpError('CANCELLED', 'The host was closed'))
  }

  /** Waits until all work is over, but no longer than this. */
  async settled(withinMs: number): Promise<void> {
    const patience = new Promise((resolve) => setTimeout(resolve, withinMs).unref())
    await Promise.race([Promise.allSettled(this.#work), patience])
  }
}
