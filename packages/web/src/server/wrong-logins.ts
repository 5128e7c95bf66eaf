/** Wrong logins within a minute after which every login of the same origin is refused. */
export const maxWrongLogins = 5
const periodMs = 60_000
/** Origins that are counted; beyond these, the oldest is forgotten. */
const maxOrigins = 1_000

/** Counts wrong logins by their origin. */
export class WrongLogins {
  readonly #times = new Map<string, number[]>()

  /** Seconds until a login is possible again; undefined where it is possible now. */
  secondsToWait(origin: string): number | undefined {
    const now = Date.now()
    const times = (this.#times.get(origin) ?? []).filter((time) => now - time < periodMs)
    if (times.length === 0) this.#times.delete(origin)
    else this.#times.set(origin, times)
    const [oldest = now] = times
    return times.length < maxWrongLogins
      ? undefined
      : Math.max(1, Math.ceil((oldest + periodMs - now) / 1_000))
  }

  /** Adds a wrong login and returns how many its origin has; `secondsToWait` removes those older than a minute. */
  add(origin: string): number {
    const times = [...(this.#times.get(origin) ?? []), Date.now()]
    this.#times.delete(origin)
    this.#times.set(origin, times)
    const [oldest] = this.#times.keys()
    if (this.#times.size > maxOrigins && oldest !== undefined) this.#times.delete(oldest)
    return times.length
  }
}
