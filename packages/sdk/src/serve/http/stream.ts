import { keepAlive } from '../../jsonrpc/sse.ts'
import type { Bounds } from '../bounds.ts'
import { unref } from '../timers.ts'
import type { Pipe } from './face.ts'

/**
 * One event stream to one client. It keeps quiet streams open, leaves out what may be left out while its reader is
 * slow, and cuts a reader that takes nothing at all for too long.
 */
export class EventStream {
  readonly #pipe: Pipe
  readonly #bounds: Bounds
  #quiet: ReturnType<typeof setTimeout>
  #stall: ReturnType<typeof setTimeout> | undefined
  #written = 0
  #open = true

  constructor(pipe: Pipe, bounds: Bounds) {
    this.#pipe = pipe
    this.#bounds = bounds
    this.#quiet = unref(setInterval(() => this.breathe(), bounds.keepAliveMs))
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
