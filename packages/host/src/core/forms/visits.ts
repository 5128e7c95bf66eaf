/** Visits under way that one server may say are over, by the id that it gave them (2025-11-25). */
export class Visits {
  readonly #open = new Map<string, AbortController>()

  /** Follows a visit; the signal is aborted once the server says that it is over. Call `end` when nobody waits. */
  begin(id: string | undefined): { over: AbortSignal; end(): void } {
    const control = new AbortController()
    if (id !== undefined) this.#open.set(id, control)
    return {
      over: control.signal,
      end: () => {
        if (id !== undefined && this.#open.get(id) === control) this.#open.delete(id)
      },
    }
  }

  /** The server says so. */
  finished(id: string): void {
    this.#open.get(id)?.abort()
  }
}
