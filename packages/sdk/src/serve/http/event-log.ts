import type { Backplane } from '../../core/backplane.ts'
import type { Bounds } from '../bounds.ts'

/** One event as it was stored: its place in the session's log and its data. */
export interface StoredEvent {
  readonly position: number
  readonly data: string
}

/** Stored bytes of one session, as a multiple of the largest message. */
const storedMessages = 4

/** Remembers the newest events of one session's streams, so that a client that lost its connection gets the rest. */
export class EventLog {
  readonly #backplane: Backplane
  readonly #key: string
  readonly #bounds: Bounds
  readonly #sizes: number[] = []
  #bytes = 0
  /** Where the newest event stands, and where those stood that are not in the present log of the backplane. */
  #last = 0
  #before = 0
  #state: 'unused' | 'used' | 'dropped' = 'unused'

  constructor(backplane: Backplane, session: string, bounds: Bounds) {
    this.#backplane = backplane
    this.#key = `events:${session}`
    this.#bounds = bounds
  }

  /** Stores one event of a stream and gives its place in the log. */
  async append(stream: string, data: string): Promise<number> {
    if (this.#state === 'dropped') return 0
    this.#state = 'used'
    this.#sizes.push(data.length)
    this.#bytes += data.length
    while (
      this.#sizes.length > this.#bounds.storedEvents ||
      (this.#bytes > storedMessages * this.#bounds.messageBytes && this.#sizes.length > 1)
    ) {
      this.#bytes -= this.#sizes.shift() ?? 0
    }
    const position = await this.#backplane.append(
      this.#key,
      `${stream} ${data}`,
      this.#sizes.length,
      this.#bounds.storedEventsMs,
    )
    // A log that expired, or had to go, begins anew; a place that a client knows must not be given twice.
    if (position === 1) this.#before = this.#last
    this.#last = this.#before + position
    return this.#last
  }

  /** The events of a stream after one of its own; undefined when that one is not known (any more). */
  async after(stream: string, position: number): Promise<StoredEvent[] | undefined> {
    const before = this.#before
    if (position <= before) return undefined
    const entries = await this.#backplane.after(this.#key, position - before - 1)
    // Where the log began anew meanwhile, those are entries of another one.
    if (this.#before !== before) return undefined
    const first = entries?.[0]
    const prefix = `${stream} `
    if (entries === undefined || first?.entry.startsWith(prefix) !== true) return undefined
    return entries
      .slice(1)
      .filter(({ entry }) => entry.startsWith(prefix))
      .map(({ position, entry }) => ({ position: before + position, data: entry.slice(prefix.length) }))
  }

  /** Forgets everything, and stores nothing more. */
  async drop(): Promise<void> {
    const used = this.#state === 'used'
    this.#state = 'dropped'
    if (used) await this.#backplane.delete(this.#key)
  }
}
