import { keepAlive } from '../../../jsonrpc/sse.ts'
import { StallDetector } from '../backpressure-writer.ts'
import type { MemoryAccount } from '../memory-budget.ts'
import { type Bounds, unref } from '../options.ts'
import type { HttpReply, Pipe } from './http-adapter.ts'
import type { AuthenticatedCaller } from './options.ts'

/** For how long what a caller showed to be let in counts. */
export type CredentialValidity = Pick<AuthenticatedCaller, 'expires' | 'stillCounts'>

/** Milliseconds between two looks whether it still counts. */
const lookMs = 30_000
/** Looks in a row that may come to nothing before it counts no longer. */
const failuresBorne = 1
/** The longest a timer can wait. */
const longestMs = 2 ** 31 - 1

/** Watches the validity an open stream stands on, and says once when it is over. */
export class CredentialWatch {
  readonly #patienceMs: number
  readonly #over: () => void
  #validity: CredentialValidity
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #stopped = false

  /** @param patienceMs how much longer than the validity the stream may last, unless what was shown was revoked */
  constructor(validity: CredentialValidity, patienceMs: number, over: () => void) {
    this.#validity = validity
    this.#patienceMs = patienceMs
    this.#over = over
    this.#wait()
  }

  /** Goes on with another validity, unless it ends sooner. */
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
    const left = endOf(this.#validity) + this.#patienceMs - Date.now()
    const ms = Math.min(left, this.#validity.stillCounts === undefined ? left : lookMs)
    if (ms === Number.POSITIVE_INFINITY) return
    this.#timer = unref(setTimeout(() => this.#look(), Math.min(ms, longestMs)))
  }

  #look(): void {
    const validity = this.#validity
    const now = Date.now()
    if (now >= endOf(validity) + this.#patienceMs || this.#failures > failuresBorne) {
      this.#end()
      return
    }
    this.#wait()
    if (validity.stillCounts === undefined || now >= endOf(validity)) return
    // A look is a failure until it is answered, so that one which never is counts as one too.
    this.#failures++
    validity.stillCounts().then(
      (counts) => this.#answered(validity, counts),
      () => {
        if (validity === this.#validity && this.#failures > failuresBorne) this.#end()
      },
    )
  }

  #answered(validity: CredentialValidity, counts: boolean): void {
    if (validity !== this.#validity) return
    this.#failures = 0
    if (!counts && Date.now() < endOf(validity)) this.#end()
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

/** Milliseconds the answer to a request may be given later than what its caller showed counts. */
export const answerPatienceMs = 60_000
/** Bytes that may wait for a reader without being counted: streams are bounded in number. */
const freeBytes = 16_384
/** Over how many moments the first signs of life are spread: Node keeps a list for each duration that timers have. */
const moments = 64

/**
 * One event stream to one client. It keeps quiet streams open, leaves out what may be left out while its reader is
 * slow, cuts a reader that takes nothing at all for too long, and ends when what opened it counts no longer.
 */
export class EventStream {
  readonly #pipe: Pipe
  readonly #validity: CredentialWatch | undefined
  readonly #bounds: Bounds
  readonly #memory: MemoryAccount | undefined
  /** Bytes that wait for the reader, as far as they are on the account. */
  #held = 0
  #waiting: (() => void)[] = []
  #quiet: ReturnType<typeof setTimeout>
  #stall: StallDetector | undefined
  #written = 0
  #open = true
  #expired = false

  /** @param patienceMs how much longer than what opened it the stream may last */
  constructor(reply: HttpReply, bounds: Bounds, patienceMs: number) {
    this.#pipe = reply.open()
    this.#pipe.onDrained = () => this.#drained()
    this.#bounds = bounds
    this.#memory = reply.memory
    // Streams that were opened in one moment, as after a restart, must not all be written to in one moment ever after.
    const part = Math.ceil(Math.random() * moments) / moments
    this.#quiet = unref(setTimeout(() => this.#breatheOn(), part * bounds.keepAliveMs))
    this.#validity = reply.validity && new CredentialWatch(reply.validity, patienceMs, () => this.#expire())
  }

  /** Whether it ended because what opened it counts no longer. */
  get expired(): boolean {
    return this.#expired
  }

  /** Goes on with what its client showed since. */
  renew(validity: CredentialValidity | undefined): void {
    if (validity !== undefined) this.#validity?.renew(validity)
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

  /** Settles when the reader took everything, or the stream is over; undefined where nothing waits for it. */
  drained(): Promise<void> | undefined {
    if (!this.#open || this.#pipe.queued === 0) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Sends text in the event-stream format. Where there is no room for it the stream is cut, unless it may be left out. */
  send(text: string, droppable: boolean): void {
    if (!this.#open) return
    if (this.isBehind()) {
      if (droppable) return
      if (this.#pipe.queued > this.#bounds.streamQueueBytes + this.#bounds.messageBytes) {
        this.cut()
        return
      }
    }
    const more = this.#pipe.queued + text.length - freeBytes - this.#held
    if (more > 0) {
      if (this.#memory?.take(more) !== undefined) {
        if (!droppable) this.cut()
        return
      }
      this.#held += more
    }
    this.#write(text)
  }

  /** Ends the stream after what was sent. */
  end(): void {
    if (!this.#open) return
    this.#open = false
    clearInterval(this.#quiet)
    this.#validity?.stop()
    this.#pipe.end()
    if (this.#pipe.queued > 0) this.#watch()
    else this.#drained()
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
    this.#validity?.stop()
    this.#drained()
  }

  /** Nothing waits for the reader any more. */
  #drained(): void {
    if (this.#held > 0) this.#memory?.give(this.#held)
    this.#held = 0
    for (const settle of this.#waiting.splice(0)) settle()
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
    this.#stall ??= new StallDetector(
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
