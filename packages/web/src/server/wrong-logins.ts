/** Wrong logins within `periodMs` after which every login of the same origin is refused. */
export const maxWrong = 5
const periodMs = 60_000
/** Origins that are counted; beyond these, the oldest is forgotten. */
const maxOrigins = 1_000

/** Counts wrong logins by where they come from. */
export class WrongLogins {
  readonly #times = new Map<string, number[]>()

  /** Seconds until a login is possible again; undefined where it is possible now. */
  secondsToWait(from: string): number | undefined {
    const now = Date.now()
    const times = (this.#times.get(from) ?? []).filter((time) => now - time < periodMs)
    if (times.length === 0) this.#times.delete(from)
    else this.#times.set(from, times)
    const [oldest = now] = times
    return times.length < maxWrong ? undefined : Math.max(1, Math.ceil((oldest + periodMs - now) / 1_000))
  }

  /** Counts one more, and gives how many there are within the minute. */
  add(from: string): number {
    const times = [...(this.#times.get(from) ?? []), Date.now()]
    this.#times.delete(from)
    this.#times.set(from, times)
    const [oldest] = this.#times.keys()
    if (this.#times.size > maxOrigins && oldest !== undefined) this.#times.delete(oldest)
    return times.length
  }
}
