import { encodeEvent } from '../../../jsonrpc/sse.ts'
import type { Backplane, LogEntry } from '../../../request/backplane.ts'
import { unref } from '../options.ts'
import type { EventStream } from './event-stream.ts'
import type { HttpObserver } from './observer.ts'
import { eventOf, eventsKey, eventText, type StoredEvent } from './resumable-stream.ts'
import type { HttpExchange } from './server-state.ts'
import type { HttpSession } from './sessions.ts'
import type { StreamPart } from './shared-call.ts'

/** Milliseconds between two reads of the store, in case the message that announces an event was lost. */
const pollMs = 2_000

/** The access of a followed stream to the other nodes. */
export interface OtherNodes {
  readonly backplane: Backplane
  readonly observer: HttpObserver | undefined
  /**
   * What follows a part of the stream whose last event is at `until`: 'running' while its node runs, the part of the node that
   * took the call over, or the responses of an interrupted call, undefined where it has none. 'stopping' where another node has to
   * continue, because this one stops.
   */
  after(
    part: StreamPart,
    until: string,
  ): Promise<'running' | 'stopping' | StreamPart | { interrupted: string | undefined }>
  report(error: unknown): void
}

/** Sends the events of a stream that other nodes store to the client here. */
export class FollowedStream {
  readonly #session: HttpSession
  readonly #stream: string
  readonly #memory: HttpExchange['memory']
  readonly #otherNodes: OtherNodes
  #connection: EventStream | undefined
  /** The newest position that the node of the last part announced. */
  #newest: string | undefined
  /** The node of the part that is being sent. */
  #node: string | undefined
  /** Whether to read the store without waiting for a message. */
  #isWoken = true
  #resume: () => void = () => {}
  #onClosed: () => void = () => {}

  constructor(session: HttpSession, stream: string, memory: HttpExchange['memory'], others: OtherNodes) {
    this.#session = session
    this.#stream = stream
    this.#memory = memory
    this.#otherNodes = others
  }

  /** Uses a connection; resolves when it is closed. */
  open(connection: EventStream): Promise<void> {
    this.#connection = connection
    connection.sendKeepAlive()
    return new Promise((resolve) => {
      this.#onClosed = resolve
    })
  }

  /** Reads what was stored; `newest` is the position that a node stored last. */
  wake(newest?: { node: string; position: string }): void {
    // A node whose call was taken over may announce events that are not part of the stream any more.
    if (newest !== undefined && newest.node === this.#node) this.#newest = newest.position
    this.#isWoken = true
    this.#resume()
  }

  lost(): void {
    this.#connection = undefined
    this.#resume()
    this.#onClosed()
  }

  end(): void {
    this.#connection?.end()
  }

  /**
   * @param entries the entry of the event that the client has, and those after it
   * @param parts of the stream
   * @param at the part of these entries
   */
  async run(entries: readonly LogEntry[], parts: readonly StreamPart[], at: number): Promise<void> {
    const known = [...parts]
    let [part, remaining, last] = [known[at], entries, '']
    this.#node = part?.node
    /** Continues with the next part; false if the store lost its beginning. */
    const next = async (): Promise<boolean> => {
      part = known[++at]
      this.#node = part?.node
      last = part?.from ?? ''
      this.#newest = undefined
      this.#isWoken = true
      const read = part && (await this.#read(part, last))
      remaining = read ?? []
      return read !== undefined
    }
    while (this.#connection !== undefined && part !== undefined) {
      remaining = upTo(remaining, part.until)
      const isOver = await this.#send(remaining, at)
      last = remaining.at(-1)?.position ?? last
      if (isOver) break
      try {
        if (at + 1 < known.length) {
          if (await next()) continue
          break
        }
        const isWoken = await this.#wait()
        const read = await this.#read(part, last, this.#newest)
        // The store lost events, so later ones must not be sent.
        if (read === undefined) break
        remaining = read
        if (remaining.length > 1) {
          if (!isWoken) this.#otherNodes.observer?.event({ type: 'wakeMissed' })
          continue
        }
        const after = await this.#otherNodes.after(part, last)
        if (after === 'running') continue
        if (after === 'stopping') break
        if ('node' in after) {
          known[at] = { ...part, until: last }
          known.push(after)
          if (await next()) continue
          break
        }
        remaining = (await this.#read(part, last)) ?? []
        if (remaining.length > 1) continue
        this.#otherNodes.observer?.event({ type: 'takeover', outcome: 'interrupted' })
        if (after.interrupted !== undefined)
          this.#connection?.send(encodeEvent({ event: 'message', data: after.interrupted }), false)
        break
      } catch (error) {
        // Read again when the store is available.
        if (remaining.length > 0) this.#otherNodes.report(error)
        remaining = []
      }
    }
    this.end()
  }

  #read({ node }: StreamPart, last: string, newest?: string): Promise<LogEntry[] | undefined> {
    return this.#otherNodes.backplane.read(eventsKey(this.#session.id, node), last, newest)
  }

  /** Sends events; whether there will be no more. */
  async #send(entries: readonly LogEntry[], part: number): Promise<boolean> {
    const chars = entries.reduce((sum, { entry }) => sum + entry.length, 0)
    if (this.#memory.reserve(chars) !== undefined) return true
    try {
      for (const { position, data, isLast } of eventsAfter(this.#stream, entries)) {
        if (data !== '')
          this.#connection?.send(eventText(this.#stream, position, data, undefined, part), false)
        if (isLast) return true
        if (this.#connection?.isBehind() === true) await this.#connection.drained()
      }
      return false
    } finally {
      this.#memory.release(chars)
    }
  }

  /** Resolves after a message, with true, or a while without one, with false. */
  async #wait(): Promise<boolean> {
    if (!this.#isWoken && this.#connection !== undefined) {
      await new Promise<void>((resolve) => {
        const timer = unref(setTimeout(resolve, pollMs))
        this.#resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    const isWoken = this.#isWoken
    this.#isWoken = false
    return isWoken
  }
}

/** The entries up to a position; all of them where it is absent. */
function upTo(entries: readonly LogEntry[], until: string | undefined): readonly LogEntry[] {
  if (until === undefined) return entries
  const end = entries.findIndex(({ position }) => position === until)
  return end < 0 ? entries : entries.slice(0, end + 1)
}

/** The events of a stream after the first entry, which is the one that the client has. */
export function eventsAfter(stream: string, entries: readonly LogEntry[]): StoredEvent[] {
  return entries
    .slice(1)
    .map((entry) => eventOf(stream, entry))
    .filter((event) => event !== undefined)
}
