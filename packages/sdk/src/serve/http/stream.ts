import { keepAlive } from '../../jsonrpc/sse.ts'
import type { Bounds } from '../bounds.ts'
import { unref } from '../timers.ts'
import type { HttpReply, Pipe } from './face.ts'
import { type Lease, LeaseWatch } from './lease.ts'

/** Milliseconds the answer to a request may be given later than what its caller showed counts. */
export const answerPatienceMs = 60_000

/**
 * One event stream to one client. It keeps quiet streams open, leaves out what may be left out while its reader is
 * slow, cuts a reader that takes nothing at all for too long, and ends when what opened it counts no longer.
 */
export class EventStream {
  readonly #pipe: Pipe
  readonly #lease: LeaseWatch | undefined
  readonly #bounds: Bounds
  #quiet: ReturnType<typeof setTimeout>
  #stall: ReturnType<typeof setTimeout> | undefined
  #written = 0
  #open = true
  #expired = false

  /** @param patienceMs how much longer than what opened it the stream may last */
  constructor(reply: HttpReply, bounds: Bounds, patienceMs: number) {
    this.#pipe = reply.open()
    this.#bounds = bounds
    this.#quiet = unref(setInterval(() => this.breathe(), bounds.keepAliveMs))
    this.#lease = reply.lease && new LeaseWatch(reply.lease, patienceMs, () => this.#expire())
  }

  /** Whether it ended because what opened it counts no longer. */
  get expired(): boolean {
    return this.#expired
  }

  /** Goes on with what its client showed since. */
  renew(lease: Lease | undefined): void {
    if (lease !== undefined) this.#lease?.renew(lease)
  }

  /** Whether more waits for the reader than it should. From then on it is watched, and cut if it takes nothing. */
  isBehind(): boolean {
    const behind = this.#open && this.#pipe.queued > this.#bounds.streamQueueBytes
    if (behind) this.#watch()
    return behind
  }

  /** Sends a comment: the least that shows a stream is alive. */
  breathe(): void {
    if (this.#open && !this.isBehind()) this.#write(keepAlive)
  }

  /** Sends text in the event-stream format. */
  send(text: string, droppable: boolean): void {
    if (!this.#open) return
    if (this.isBehind()) {
      if (droppable) return
      if (this.#pipe.queued > this.#bounds.streamQueueBytes + this.#bounds.messageBytes) {
        this.cut()
        return
      }
    }
    this.#write(text)
  }

  /** Ends the stream after what was sent. */
  end(): void {
    if (!this.#open) return
    this.#open = false
    clearInterval(this.#quiet)
    this.#lease?.stop()
    this.#pipe.end()
    if (this.#pipe.queued > 0) this.#watch()
  }

  cut(): void {
    this.closed()
    this.#pipe.cut()
  }

  /** The connection is over. */
  closed(): void {
    this.#open = false
    clearInterval(this.#quiet)
    clearTimeout(this.#stall)
    this.#lease?.stop()
  }

  #expire(): void {
    this.#expired = true
    this.end()
  }

  #write(text: string): void {
    this.#written += text.length
    this.#pipe.write(text)
  }

  #watch(): void {
    if (this.#stall !== undefined) return
    const taken = this.#taken()
    this.#stall = unref(
      setTimeout(() => {
        this.#stall = undefined
        if (this.#open ? this.#pipe.queued <= this.#bounds.streamQueueBytes : this.#pipe.queued === 0) return
        if (this.#taken() === taken) this.cut()
        else this.#watch()
      }, this.#bounds.streamStallMs),
    )
  }

  #taken(): number {
    return this.#written - this.#pipe.queued
  }
}
