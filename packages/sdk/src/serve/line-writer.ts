import type { Writable } from 'node:stream'
import { asLine } from '../jsonrpc/lines.ts'
import type { Bounds } from './bounds.ts'
import { Feed } from './feed.ts'
import { StallWatch } from './stall.ts'

/** Writes lines to a stream that may be slower than what it is given: those of one turn of the event loop at once. */
export class LineWriter {
  readonly #feed: Feed
  readonly #watch: StallWatch
  readonly #queueBytes: number
  readonly #events: { onBehind(): void; onCaughtUp(): void; onDrained(): void }
  #drained: Promise<void> | undefined
  #settle: () => void = () => {}
  #over = false

  /** @param write writes to `output` and calls back when that was taken, or failed */
  constructor(
    output: Writable,
    write: (text: string, done: () => void) => void,
    bounds: Bounds,
    events: { onBehind(): void; onCaughtUp(): void; onDrained(): void; onStalled(): void },
  ) {
    this.#events = events
    this.#queueBytes = bounds.streamQueueBytes
    this.#feed = new Feed(output, write, {
      onHeld: () => this.#onHeld(),
      onDrained: () => {
        events.onDrained()
        this.#catchUp()
      },
    })
    this.#watch = new StallWatch(
      { taken: () => this.#feed.taken, isBehind: () => this.#drained !== undefined },
      bounds.streamStallMs,
      () => events.onStalled(),
    )
  }

  /** Writes one line. A droppable one is left out while the reader is behind. */
  line(text: string, droppable: boolean): void {
    if (this.#over || (droppable && this.#drained !== undefined)) return
    this.#feed.add(`${asLine(text)}\n`)
  }

  /** Characters that were written and not yet taken. */
  get queued(): number {
    return this.#feed.queued
  }

  /** Settles when the reader is no longer behind; undefined when it is not. */
  ready(): Promise<void> | undefined {
    return this.#drained
  }

  /** Writes nothing more but what it was given already. */
  stop(): void {
    if (this.#over) return
    this.#over = true
    this.#watch.stop()
    this.#feed.release()
    this.#settle()
  }

  #onHeld(): void {
    if (this.#over || this.#drained !== undefined || this.#feed.queued <= this.#queueBytes) return
    this.#drained = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#watch.start()
    this.#events.onBehind()
  }

  #catchUp(): void {
    if (this.#over || this.#drained === undefined) return
    this.#drained = undefined
    this.#watch.stop()
    this.#settle()
    this.#events.onCaughtUp()
  }
}
