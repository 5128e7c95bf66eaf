import { encodeEvent } from '../../jsonrpc/sse.ts'
import type { Bounds } from '../bounds.ts'
import type { EventLog, StoredEvent } from './event-log.ts'
import type { EventStream } from './stream.ts'

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
  }

  /**
   * Goes on after an event the client has: on a connection that is opened only if that event is known.
   * @returns whether it is
   */
  resume(position: number, open: () => EventStream): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#then(async () => {
        try {
          const events = await this.#log.after(this.id, position)
          if (events !== undefined) this.#replay(events, open())
          resolve(events !== undefined)
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

  #replay(events: readonly StoredEvent[], connection: EventStream): void {
    for (const { position, data } of events) connection.send(this.#event(position, data), false)
    connection.breathe()
    this.attach(connection)
    // Its last message may still stand in the line.
    if (this.#ended) this.detach()
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

/** The stream and place an event id names; undefined for what is none. */
export function parseEventId(id: string): { stream: string; position: number } | undefined {
  const match = /^([\w-]{1,64})_(\d{1,15})$/.exec(id)
  const [, stream, position] = match ?? []
  return stream === undefined || position === undefined ? undefined : { stream, position: Number(position) }
}
