import { encodeEvent } from '../../../jsonrpc/sse.ts'
import type { Backplane } from '../../../request/backplane.ts'
import type { FullBudget, MemoryAccount } from '../memory-budget.ts'
import type { Bounds } from '../options.ts'
import type { EventStream } from './event-stream.ts'

/** Milliseconds a client waits before it reconnects. */
const retryMs = 1000

/**
 * One stream of a session: every event is stored before it is sent, so the stream outlives its connections. What is
 * sent, stored and replayed stands in one line, so nothing is lost or told twice where a connection changes.
 */
export class ResumableStream {
  readonly id: string
  readonly #log: EventLog
  readonly #bounds: Bounds
  readonly #report: (error: unknown) => void
  #line: Promise<void> = Promise.resolve()
  #connection: EventStream | undefined
  /** A connection that older events are still sent on. */
  #replaying: EventStream | undefined
  #waiting: (() => void)[] = []
  #unstored = 0
  /** Characters that were stored while there was no connection to send them on. */
  #unsent = 0
  #ended = false

  constructor(id: string, log: EventLog, bounds: Bounds, report: (error: unknown) => void) {
    this.id = id
    this.#bounds = bounds
    this.#log = log
    this.#report = report
  }

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Takes a connection that begins where the stream stands now. */
  attach(connection: EventStream): void {
    this.#connection?.end()
    this.#connection = connection
    this.#unsent = 0
    for (const tell of this.#waiting.splice(0)) tell()
  }

  /** Sends an event without data, which only gives the client an id to resume from. */
  prime(): void {
    this.#then(() => this.#deliver('', false, retryMs))
  }

  /** Sends one message. A droppable one is left out while the reader is behind, or was away for long. */
  send(data: string, droppable: boolean): void {
    if (this.#ended || (droppable && this.#isBehind())) return
    this.#unstored += data.length
    this.#then(() => this.#deliver(data, droppable))
  }

  /** Sends the last message and ends the stream. Settles when all of it is stored and can still be replayed. */
  end(data?: string): Promise<void> {
    if (!this.#ended) {
      if (data !== undefined) this.send(data, false)
      this.#ended = true
      this.detach()
      for (const tell of this.#waiting.splice(0)) tell()
    }
    return this.#line
  }

  /** Closes the connection after what was sent so far; the stream goes on. */
  detach(): void {
    this.#then(async () => {
      this.#connection?.end()
      this.#connection = undefined
    })
  }

  /** A connection broke. */
  lost(connection: EventStream): void {
    if (this.#connection === connection) this.#connection = undefined
    if (this.#replaying === connection) this.#replaying = undefined
  }

  /**
   * Replays the events after one that the client has, on a connection that is opened only if that event is known, and sends
   * what comes later on it too.
   * @returns whether the event is known, or which limit leaves no room for what follows it
   */
  resume(position: number, memory: MemoryAccount, open: () => EventStream): Promise<boolean | FullBudget> {
    return new Promise((resolve, reject) => {
      this.#then(async () => {
        try {
          const events = await this.#log.after(this.id, position)
          const full = events === undefined ? undefined : memory.take(charsOf(events))
          if (events === undefined || full !== undefined) resolve(full ?? false)
          else {
            const connection = open()
            connection.breathe()
            resolve(true)
            this.#replay(events, position, connection, memory)
          }
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** Settles when there is a connection to send on, or the stream is over. */
  ready(): Promise<void> | undefined {
    if (this.#connection !== undefined || this.#ended) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #isBehind(): boolean {
    const { streamQueueBytes } = this.#bounds
    return this.#connection?.isBehind() === true || this.#unstored + this.#unsent > streamQueueBytes
  }

  /**
   * Sends stored events as fast as the client reads them. The connection becomes the stream's own once it has all of them.
   * @param events on the account already
   */
  #replay(
    events: readonly StoredEvent[],
    after: number,
    connection: EventStream,
    memory: MemoryAccount,
  ): void {
    const previous = this.#replaying
    this.#replaying = connection
    if (previous !== connection) previous?.end()
    let next = 0
    for (const { position, data } of events) {
      if (connection.isBehind()) break
      connection.send(this.#event(position, data), false)
      next++
    }
    const rest = events.slice(next)
    const last = events[next - 1]?.position ?? after
    const drained = rest.length === 0 ? undefined : connection.drained()
    if (drained !== undefined) {
      memory.give(charsOf(events) - charsOf(rest))
      drained.then(() => {
        if (this.#replaying === connection) this.#replay(rest, last, connection, memory)
        else memory.give(charsOf(rest))
      })
      return
    }
    memory.give(charsOf(events))
    this.#then(() => this.#catchUp(last, connection, memory))
  }

  /** Sends what was stored while older events were replayed. */
  async #catchUp(after: number, connection: EventStream, memory: MemoryAccount): Promise<void> {
    if (this.#replaying !== connection) return
    let events: StoredEvent[] | undefined
    try {
      events = await this.#log.after(this.id, after)
    } catch (error) {
      this.#report(error)
    }
    if (events === undefined || memory.take(charsOf(events)) !== undefined) {
      this.#replaying = undefined
      connection.end()
    } else if (events.length > 0) this.#replay(events, after, connection, memory)
    else {
      memory.give(charsOf(events))
      this.#replaying = undefined
      this.attach(connection)
      // Its last message may still be in the line.
      if (this.#ended) this.detach()
    }
  }

  async #deliver(data: string, droppable: boolean, retry?: number): Promise<void> {
    let text: string
    try {
      text = this.#event(await this.#log.append(this.id, data), data, retry)
    } catch (error) {
      this.#report(error)
      // Without an id there is nothing to resume from, so an event that only gives one has nothing to say.
      if (data === '') return
      text = encodeEvent({ event: 'message', data })
    }
    this.#unstored -= data.length
    if (this.#connection === undefined) this.#unsent += data.length
    else this.#connection.send(text, droppable)
  }

  #event(position: number, data: string, retry?: number): string {
    const id = `${this.id}_${position}`
    if (data !== '') return encodeEvent({ id, event: 'message', data })
    return retry === undefined ? encodeEvent({ id, data }) : encodeEvent({ id, retry, data })
  }

  #then(work: () => Promise<void>): void {
    this.#line = this.#line.then(work)
  }
}

function charsOf(events: readonly StoredEvent[]): number {
  return events.reduce((sum, { data }) => sum + data.length, 0)
}

/** The stream and place an event id names; undefined for what is none. */
export function parseEventId(id: string): { stream: string; position: number } | undefined {
  const match = /^([\w-]{1,64})_(\d{1,15})$/.exec(id)
  const [, stream, position] = match ?? []
  return stream === undefined || position === undefined ? undefined : { stream, position: Number(position) }
}

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
