import { keepAlive } from '../../jsonrpc/sse.ts'
import type { Bounds } from '../bounds.ts'
import { StallWatch } from '../stall.ts'
import { unref } from '../timers.ts'
import type { HttpReply, Pipe } from './face.ts'
import { type Lease, LeaseWatch } from './lease.ts'

/** Milliseconds the answer to a request may be given later than what its caller showed counts. */
export const answerPatienceMs = 60_000
/** Over how many moments the first signs of life are spread: Node keeps a list for each duration that timers have. */
const moments = 64

/**
 * One event stream to one client. It keeps quiet streams open, leaves out what may be left out while its reader is
 * slow, cuts a reader that takes nothing at all for too long, and ends when what opened it counts no longer.
 */
export class EventStream {
  readonly #pipe: Pipe
  readonly #lease: LeaseWatch | undefined
  readonly #bounds: Bounds
  #quiet: ReturnType<typeof setTimeout>
  #stall: StallWatch | undefined
  #written = 0
  #open = true
  #expired = false

  /** @param patienceMs how much longer than what opened it the stream may last */
  constructor(reply: HttpReply, bounds: Bounds, patienceMs: number) {
    this.#pipe = reply.open()
    this.#bounds = bounds
    // Streams that were opened in one moment, as after a restart, must not all be written to in one moment ever after.
    const part = Math.ceil(Math.random() * moments) / moments
    this.#quiet = unref(setTimeout(() => this.#breatheOn(), part * bounds.keepAliveMs))
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
    this.#stall?.stop()
    this.#lease?.stop()
  }

  #breatheOn(): void {
    this.#quiet = unref(setInterval(() => this.breathe(), this.#bounds.keepAliveMs))
    this.breathe()
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
    this.#stall ??= new StallWatch(
      {
        taken: () => this.#taken(),
        isBehind: () => this.#pipe.queued > (this.#open ? this.#bounds.streamQueueBytes : 0),
      },
      this.#bounds.streamStallMs,
      () => this.cut(),
    )
    this.#stall.start()
  }

  #taken(): number {
    return this.#written - this.#pipe.queued
  }
}
