import { maxTimerMs } from '../../../jsonrpc/promises.ts'
import { keepAlive } from '../../../jsonrpc/sse.ts'
import { StallDetector } from '../backpressure-writer.ts'
import type { MemoryAccount } from '../memory-budget.ts'
import { type Bounds, unref } from '../options.ts'
import type { HttpReply, Pipe } from './http-adapter.ts'
import type { AuthenticatedCaller } from './options.ts'

/** How long the credentials of a caller are valid. */
export type CredentialValidity = Pick<AuthenticatedCaller, 'expires' | 'stillCounts'>

/** The method whose response is a stream that stays open. */
export const listenMethod = 'subscriptions/listen'

const checkMs = 30_000
/** Consecutive checks that may fail before the credentials count as invalid. */
const toleratedFailures = 1

/** Watches the credentials of an open stream, and calls back once when they are no longer valid. */
class CredentialWatch {
  readonly #graceMs: number
  readonly #over: () => void
  #validity: CredentialValidity
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #stopped = false

  /** @param patienceMs how much longer the stream may stay open, unless the credentials are revoked */
  constructor(validity: CredentialValidity, patienceMs: number, over: () => void) {
    this.#validity = validity
    this.#graceMs = patienceMs
    this.#over = over
    this.#wait()
  }

  /** Continues with other credentials, unless they expire earlier. */
  renew(validity: CredentialValidity): void {
    if (this.#stopped || endOf(validity) < endOf(this.#validity)) return
    this.#validity = validity
    this.#failures = 0
    this.#wait()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #wait(): void {
    clearTimeout(this.#timer)
    const left = endOf(this.#validity) + this.#graceMs - Date.now()
    const ms = Math.min(left, this.#validity.stillCounts === undefined ? left : checkMs)
    if (ms === Number.POSITIVE_INFINITY) return
    this.#timer = unref(setTimeout(() => this.#check(), Math.min(ms, maxTimerMs)))
  }

  #check(): void {
    const validity = this.#validity
    const now = Date.now()
    if (now >= endOf(validity) + this.#graceMs || this.#failures > toleratedFailures) {
      this.#end()
      return
    }
    this.#wait()
    if (validity.stillCounts === undefined || now >= endOf(validity)) return
    // A check counts as failed until it resolves, so that one that never settles counts too.
    this.#failures++
    validity.stillCounts().then(
      (counts) => {
        if (validity !== this.#validity) return
        this.#failures = 0
        if (!counts && Date.now() < endOf(validity)) this.#end()
      },
      () => {
        if (validity === this.#validity && this.#failures > toleratedFailures) this.#end()
      },
    )
  }

  #end(): void {
    if (this.#stopped) return
    this.stop()
    this.#over()
  }
}

function endOf({ expires = Number.POSITIVE_INFINITY }: CredentialValidity): number {
  return expires
}

/** Milliseconds that the response to a request may be sent after its credentials expired. */
export const responseGraceMs = 60_000
/** Unread bytes that are not counted: the number of streams is limited. */
const freeBytes = 16_384
/** Number of different delays of the first keep-alive: Node keeps a list per timer duration. */
const keepAliveDelays = 64

/**
 * One event stream to one client. Sends keep-alive comments, drops droppable messages while its reader is slow, disconnects a
 * stalled reader, and ends when the credentials that opened it are no longer valid.
 */
export class EventStream {
  readonly #pipe: Pipe
  readonly #validity: CredentialWatch | undefined
  readonly #bounds: Bounds
  readonly #memory: MemoryAccount | undefined
  /** Unread bytes that the account counts. */
  #reserved = 0
  #onDrained: (() => void)[] = []
  #keepAliveTimer: ReturnType<typeof setTimeout>
  #stall: StallDetector | undefined
  #written = 0
  #open = true
  #expired = false

  /** @param patienceMs how much longer than its credentials the stream may stay open */
  constructor(reply: HttpReply, bounds: Bounds, patienceMs: number) {
    this.#pipe = reply.open()
    this.#pipe.onDrained = () => this.#drained()
    this.#bounds = bounds
    this.#memory = reply.memory
    // Spreads the keep-alives of streams that were opened at the same time, as after a restart.
    const part = Math.ceil(Math.random() * keepAliveDelays) / keepAliveDelays
    this.#keepAliveTimer = unref(setTimeout(() => this.#startKeepAlive(), part * bounds.keepAliveMs))
    this.#validity =
      reply.validity &&
      new CredentialWatch(reply.validity, patienceMs, () => {
        this.#expired = true
        this.end()
      })
  }

  get expired(): boolean {
    return this.#expired
  }

  /** Continues with the credentials of a later request. */
  renew(validity: CredentialValidity | undefined): void {
    if (validity !== undefined) this.#validity?.renew(validity)
  }

  /** Whether the reader is behind. It is then watched, and disconnected if it stalls. */
  isBehind(): boolean {
    const behind = this.#open && this.#pipe.queued > this.#bounds.streamQueueBytes
    if (behind) this.#watch()
    return behind
  }

  sendKeepAlive(): void {
    if (this.#open && !this.isBehind()) this.#write(keepAlive)
  }

  /** Resolves when the reader received everything, or the stream is closed; undefined if nothing is unread. */
  drained(): Promise<void> | undefined {
    if (!this.#open || this.#pipe.queued === 0) return undefined
    return new Promise((resolve) => this.#onDrained.push(resolve))
  }

  /** Sends text in the event-stream format. If it exceeds a limit it is dropped if it may be, or the stream is disconnected. */
  send(text: string, droppable: boolean): void {
    if (!this.#open) return
    if (this.isBehind()) {
      if (droppable) return
      if (this.#pipe.queued > this.#bounds.streamQueueBytes + this.#bounds.messageBytes) {
        this.disconnect()
        return
      }
    }
    const more = this.#pipe.queued + text.length - freeBytes - this.#reserved
    if (more > 0) {
      if (this.#memory?.reserve(more) !== undefined) {
        if (!droppable) this.disconnect()
        return
      }
      this.#reserved += more
    }
    this.#write(text)
  }

  /** Ends the stream after what was sent. */
  end(): void {
    if (!this.#open) return
    this.#open = false
    clearInterval(this.#keepAliveTimer)
    this.#validity?.stop()
    this.#pipe.end()
    if (this.#pipe.queued > 0) this.#watch()
    else this.#drained()
  }

  disconnect(): void {
    this.closed()
    this.#pipe.disconnect()
  }

  closed(): void {
    this.#open = false
    clearInterval(this.#keepAliveTimer)
    this.#stall?.stop()
    this.#validity?.stop()
    this.#drained()
  }

  #drained(): void {
    if (this.#reserved > 0) this.#memory?.release(this.#reserved)
    this.#reserved = 0
    for (const settle of this.#onDrained.splice(0)) settle()
  }

  #startKeepAlive(): void {
    this.#keepAliveTimer = unref(setInterval(() => this.sendKeepAlive(), this.#bounds.keepAliveMs))
    this.sendKeepAlive()
  }

  #write(text: string): void {
    this.#written += text.length
    this.#pipe.write(text)
  }

  #watch(): void {
    this.#stall ??= new StallDetector(
      {
        progress: () => this.#written - this.#pipe.queued,
        isBehind: () => this.#pipe.queued > (this.#open ? this.#bounds.streamQueueBytes : 0),
      },
      this.#bounds.streamStallMs,
      () => this.disconnect(),
    )
    this.#stall.start()
  }
}
