import { encodeEvent } from '../../../jsonrpc/sse.ts'
import type { Backplane, LogEntry } from '../../../request/backplane.ts'
import type { FullBudget, MemoryAccount } from '../memory-budget.ts'
import { type Bounds, unref } from '../options.ts'
import type { EventStream } from './event-stream.ts'

/** Milliseconds for a client to wait before it reconnects. */
const retryMs = 1000
/** Milliseconds between attempts to store the end of a stream. */
const storeRetriesMs = [1_000, 4_000, 15_000, 60_000]

/** Another node that sends the events of a stream to the client. */
export interface StreamFollower {
  readonly node: string
  stored(position: string): void
  /** The client has opened another connection. */
  replaced(): void
}

/**
 * One stream of a session. Every event is stored before it is sent, so the stream outlives its connections. Storing, sending and
 * replaying are queued in order, so nothing is lost or sent twice when the connection changes.
 */
export class ResumableStream {
  readonly id: string
  readonly #log: EventLog
  readonly #bounds: Bounds
  readonly #report: (error: unknown) => void
  #tail: Promise<void> = Promise.resolve()
  #connection: EventStream | undefined
  /** A connection to which older events are being replayed. */
  #replaying: EventStream | undefined
  #onReady: (() => void)[] = []
  #unstored = 0
  /** Characters that were stored without a connection. */
  #unsent = 0
  #ended: boolean
  #hasStored: boolean
  /** The node that sends the events to the client, if it is another one. */
  #follower: StreamFollower | undefined

  /** @param state 'continued' if another node stored its first events, 'ended' if only its stored events remain */
  constructor(
    id: string,
    log: EventLog,
    bounds: Bounds,
    report: (error: unknown) => void,
    state: 'new' | 'continued' | 'ended' = 'new',
  ) {
    this.id = id
    this.#ended = state === 'ended'
    this.#hasStored = state === 'continued'
    this.#bounds = bounds
    this.#log = log
    this.#report = report
  }

  get connected(): boolean {
    return this.#connection !== undefined
  }

  attach(connection: EventStream): void {
    this.#follower?.replaced()
    this.#follower = undefined
    this.#connection?.end()
    this.#connection = connection
    this.#unsent = 0
    for (const resolve of this.#onReady.splice(0)) resolve()
  }

  /** Ends the connection here: another node reads the events and sends them. */
  follow(follower: StreamFollower): void {
    this.#enqueue(async () => {
      this.#connection?.end()
      this.#connection = undefined
      this.#replaying = undefined
      this.#unsent = 0
      if (this.#follower?.node !== follower.node) this.#follower?.replaced()
      this.#follower = follower
      await this.#verifyLog()
    })
  }

  /** Checks whether the store lost events, as in a failover: a client on another node must not wait for them. */
  verify(): void {
    this.#enqueue(() => this.#verifyLog())
  }

  /** Runs work after everything sent so far is stored, and before anything later is. A failure is reported. */
  queue(work: () => Promise<void>): void {
    this.#enqueue(() => work().catch(this.#report))
  }

  /** Sends an event without data, which gives the client an id to resume from. */
  prime(): void {
    this.#enqueue(() => this.#deliver('', false, retryMs))
  }

  /** Sends one message. A droppable one is dropped while the reader is behind or disconnected. */
  send(data: string, droppable: boolean): void {
    if (this.#ended || (droppable && this.#isBehind())) return
    this.#unstored += data.length
    this.#enqueue(() => this.#deliver(data, droppable))
  }

  /** Sends the last message and ends the stream. Resolves when everything is stored. */
  end(data?: string): Promise<void> {
    if (!this.#ended) {
      this.#ended = true
      if (data !== undefined) this.#unstored += data.length
      // If nothing was stored, no client has an event id to resume from.
      if (data !== undefined || (this.#log.spansNodes && this.#hasStored))
        this.#enqueue(() => this.#deliver(data ?? '', false, undefined, true))
      this.detach()
      for (const resolve of this.#onReady.splice(0)) resolve()
    }
    return this.#tail
  }

  /** Closes the connection after what was sent so far; the stream stays open. */
  detach(): void {
    this.#enqueue(async () => {
      this.#connection?.end()
      this.#connection = undefined
    })
  }

  /** Stores nothing more, and closes the connection after `released`: another node continues the stream. */
  release(released: Promise<void>): Promise<void> {
    this.#ended = true
    this.#enqueue(async () => {
      await released
      this.#connection?.end()
      this.#connection = undefined
      if (this.#log.newest !== undefined) this.#follower?.stored(this.#log.newest)
    })
    return this.#tail
  }

  lost(connection: EventStream): void {
    if (this.#connection === connection) this.#connection = undefined
    if (this.#replaying === connection) this.#replaying = undefined
  }

  /**
   * Replays the events after one that the client received, and sends later ones to the same connection, which is opened only if
   * that event is known.
   * @returns whether the event is known, or the limit that the events after it exceed
   */
  resume(position: string, memory: MemoryAccount, open: () => EventStream): Promise<boolean | FullBudget> {
    return new Promise((resolve, reject) => {
      this.#enqueue(async () => {
        try {
          const events = await this.#log.after(this.id, position)
          const full = events === undefined ? undefined : memory.reserve(charsOf(events))
          if (events === undefined || full !== undefined) resolve(full ?? false)
          else {
            const connection = open()
            connection.sendKeepAlive()
            resolve(true)
            this.#replay(events, position, connection, memory)
          }
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** Resolves when there is a connection, or the stream has ended. */
  ready(): Promise<void> | undefined {
    if (this.#connection !== undefined || this.#ended) return undefined
    return new Promise((resolve) => this.#onReady.push(resolve))
  }

  #isBehind(): boolean {
    const { streamQueueBytes } = this.#bounds
    return this.#connection?.isBehind() === true || this.#unstored + this.#unsent > streamQueueBytes
  }

  /**
   * Sends stored events as fast as the client reads them. The connection is attached after the last of them.
   * @param events counted by the account already
   */
  #replay(
    events: readonly StoredEvent[],
    after: string,
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
      memory.release(charsOf(events) - charsOf(rest))
      drained.then(() => {
        if (this.#replaying === connection) this.#replay(rest, last, connection, memory)
        else memory.release(charsOf(rest))
      })
      return
    }
    memory.release(charsOf(events))
    this.#enqueue(() => this.#catchUp(last, connection, memory))
  }

  /** Sends what was stored while older events were replayed. */
  async #catchUp(after: string, connection: EventStream, memory: MemoryAccount): Promise<void> {
    if (this.#replaying !== connection) return
    let events: StoredEvent[] | undefined
    try {
      events = await this.#log.after(this.id, after)
    } catch (error) {
      this.#report(error)
    }
    if (events === undefined || memory.reserve(charsOf(events)) !== undefined) {
      this.#replaying = undefined
      connection.end()
    } else if (events.length > 0) this.#replay(events, after, connection, memory)
    else {
      memory.release(charsOf(events))
      this.#replaying = undefined
      this.attach(connection)
      // Its last message may still be queued.
      if (this.#ended) this.detach()
    }
  }

  async #deliver(data: string, droppable: boolean, retry?: number, isLast = false): Promise<void> {
    let text: string
    try {
      this.#hasStored = true
      const position = await this.#log.append(this.id, data, isLast)
      text = this.#event(position, data, retry)
      this.#follower?.stored(position)
    } catch (error) {
      this.#report(error)
      if (isLast && this.#log.spansNodes) this.#storeLater(() => this.#log.append(this.id, data, true))
      else if (this.#follower !== undefined) this.#storeLater(() => this.#storeGap())
      // Without an id an event without data has no purpose.
      if (data === '') return
      text = encodeEvent({ event: 'message', data })
    }
    this.#unstored -= data.length
    if (this.#connection === undefined) this.#unsent += this.#follower === undefined ? data.length : 0
    else this.#connection.send(text, droppable)
  }

  async #verifyLog(): Promise<void> {
    await this.#log.verify().catch(this.#report)
    await this.#storeGap()
    if (this.#log.newest !== undefined) this.#follower?.stored(this.#log.newest)
  }

  /** Starts the log anew if an event could not be stored: a client on another node must not wait for lost events. */
  async #storeGap(): Promise<void> {
    if (this.#log.lacksEvents) await this.#log.append(this.id, '', false).catch(this.#report)
  }

  /** Stores something when the store is available again, because another node may wait for it. */
  async #storeLater(store: () => Promise<unknown>): Promise<void> {
    for (const ms of storeRetriesMs) {
      await new Promise((resolve) => unref(setTimeout(resolve, ms)))
      try {
        await store()
        if (this.#log.lacksEvents) continue
        if (this.#log.newest !== undefined) this.#follower?.stored(this.#log.newest)
        return
      } catch {
        // Reported before.
      }
    }
  }

  #event(position: string, data: string, retry?: number): string {
    return eventText(this.id, position, data, retry)
  }

  #enqueue(work: () => Promise<void>): void {
    this.#tail = this.#tail.then(work)
  }
}

function charsOf(events: readonly StoredEvent[]): number {
  return events.reduce((sum, { data }) => sum + data.length, 0)
}

/**
 * An event with its id, in the event-stream format.
 * @param part of the stream, counted from 0: several nodes may have stored its events, each in a log with positions of its own
 */
export function eventText(stream: string, position: string, data: string, retry?: number, part = 0): string {
  const id = `${stream}${part === 0 ? '' : `-p${part}`}_${position}`
  if (data !== '') return encodeEvent({ id, event: 'message', data })
  return retry === undefined ? encodeEvent({ id, data }) : encodeEvent({ id, retry, data })
}

/** The stream, its part and the position of an event id; undefined for an invalid one. */
export function parseEventId(id: string): { stream: string; part: number; position: string } | undefined {
  const match = /^([\w-]{1,64}?)(?:-p(\d))?_(\d[\d-]{0,39})$/.exec(id)
  const [, stream, part = '0', position] = match ?? []
  return stream === undefined || position === undefined ? undefined : { stream, part: Number(part), position }
}

/** A stored event: its position in the session's log, and its data. */
export interface StoredEvent {
  readonly position: string
  readonly data: string
  /** Whether it ends its stream. */
  readonly isLast: boolean
}

/** An entry of a log as an event of a stream; undefined if it belongs to another stream. */
export function eventOf(stream: string, { position, entry }: LogEntry): StoredEvent | undefined {
  const mark = entry[stream.length]
  if (!entry.startsWith(stream) || (mark !== ' ' && mark !== '.')) return undefined
  return { position, data: entry.slice(stream.length + 1), isLast: mark === '.' }
}

/** Maximum stored bytes of one session, as a multiple of the largest message. */
const storedMessages = 4

/** The key of the events that a session stores; on several nodes each of them has a log, whose only writer it is. */
export function eventsKey(session: string, node?: string): string {
  return node === undefined ? `events:${session}` : `events:${session}:${node}`
}

/** A position that no event has. */
const noPosition = '0'

/** Stores the newest events of a session's streams for resumption (`Last-Event-ID`). */
export class EventLog {
  readonly #backplane: Backplane
  readonly #key: string
  readonly #bounds: Bounds
  readonly #sizes: number[] = []
  #bytes = 0
  /** The position of the newest event. */
  #newest: string | undefined
  #newestAt = Number.NEGATIVE_INFINITY
  /** The last event that is being stored. */
  #appending: Promise<void> | undefined
  #state: 'unused' | 'used' | 'dropped' = 'unused'
  readonly spansNodes: boolean

  /** @param node the node that writes it, where other nodes read it, too */
  constructor(backplane: Backplane, session: string, bounds: Bounds, node?: string) {
    this.#backplane = backplane
    this.#key = eventsKey(session, node)
    this.#bounds = bounds
    this.spansNodes = node !== undefined
  }

  get newest(): string | undefined {
    return this.#newest
  }

  /** Milliseconds since the newest event was stored. */
  get ageMs(): number {
    return performance.now() - this.#newestAt
  }

  /** Checks whether the store still has the newest event, which a failover may lose. Rejects if the store fails. */
  async verify(): Promise<void> {
    const newest = this.#newest
    if (newest === undefined || this.lacksEvents) return
    const entries = await this.#backplane.read(this.#key, newest)
    if (entries === undefined && this.#newest === newest) this.#newest = noPosition
  }

  /** Whether the newest event could not be stored, or was lost. */
  get lacksEvents(): boolean {
    return this.#newest === noPosition
  }

  /**
   * Stores one event of a stream and returns its position. After an event that was not stored, or that the store lost, the log
   * starts anew, so that no stream is resumed with a gap.
   */
  async append(stream: string, data: string, isLast: boolean): Promise<string> {
    if (this.#state === 'dropped') return noPosition
    this.#state = 'used'
    this.#sizes.push(data.length)
    this.#bytes += data.length
    while (
      this.#sizes.length > this.#bounds.storedEvents ||
      (this.#bytes > storedMessages * this.#bounds.messageBytes && this.#sizes.length > 1)
    ) {
      this.#bytes -= this.#sizes.shift() ?? 0
    }
    const { storedEventsMs } = this.#bounds
    const keep = this.#sizes.length
    const append = (): Promise<string> =>
      this.#backplane.append(
        this.#key,
        `${stream}${isLast ? '.' : ' '}${data}`,
        keep,
        storedEventsMs,
        this.#newest,
      )
    // One at a time, because each append names the position of the one before.
    const stored = this.#appending === undefined ? append() : this.#appending.then(append)
    const settled = (position: string): void => {
      this.#newest = position
      this.#newestAt = performance.now()
      if (this.#appending === appending) this.#appending = undefined
    }
    const appending = stored.then(settled, () => settled(noPosition))
    this.#appending = appending
    return stored
  }

  /** The events of a stream after one of its own; undefined if that one is not stored, or the store lost events. */
  async after(stream: string, position: string): Promise<StoredEvent[] | undefined> {
    // On several nodes the log may be older than this object.
    if (this.#newest === undefined && !this.spansNodes) return undefined
    const [first, ...later] = (await this.#backplane.read(this.#key, position, this.#newest)) ?? []
    if (first === undefined || eventOf(stream, first) === undefined) return undefined
    return later.map((entry) => eventOf(stream, entry)).filter((event) => event !== undefined)
  }

  /** Deletes everything, and stores nothing more. */
  async drop(): Promise<void> {
    const used = this.#state === 'used'
    this.#state = 'dropped'
    if (used) await this.#backplane.delete(this.#key)
  }
}
