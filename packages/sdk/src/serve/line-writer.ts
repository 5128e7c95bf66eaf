import process from 'node:process'
import type { Writable } from 'node:stream'
import { asLine } from '../jsonrpc/lines.ts'
import type { Bounds } from './bounds.ts'

/** Characters of lines that are collected at most before they are written. */
const collectedChars = 64 * 1024

/** Writes lines to a stream that may be slower than what it is given: those of one turn of the event loop at once. */
export class LineWriter {
  readonly #output: Writable
  readonly #write: (text: string) => boolean
  readonly #bounds: Bounds
  readonly #events: { onBehind(): void; onCaughtUp(): void; onStalled(): void }
  #drained: Promise<void> | undefined
  #collected = ''
  #written = 0
  #over = false

  constructor(
    output: Writable,
    write: (text: string) => boolean,
    bounds: Bounds,
    events: { onBehind(): void; onCaughtUp(): void; onStalled(): void },
  ) {
    this.#output = output
    this.#write = write
    this.#bounds = bounds
    this.#events = events
  }

  /** Writes one line. A droppable one is left out while the reader is behind. */
  line(text: string, droppable: boolean): void {
    if (this.#over || (droppable && this.#drained !== undefined)) return
    if (this.#collected === '') process.nextTick(() => this.#flush())
    this.#collected += `${asLine(text)}\n`
    if (this.#collected.length >= collectedChars) this.#flush()
  }

  /** Settles when the reader is no longer behind; undefined when it is not. */
  ready(): Promise<void> | undefined {
    return this.#drained
  }

  /** Writes nothing more but what it was given already. */
  stop(): void {
    this.#flush()
    this.#over = true
  }

  #flush(): void {
    const lines = this.#collected
    if (lines === '' || this.#over) return
    this.#collected = ''
    if (this.#output.destroyed) return
    this.#written += lines.length
    this.#write(lines)
    if (this.#output.writableLength > this.#bounds.streamQueueBytes) this.#drained ??= this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    this.#events.onBehind()
    let taken = this.#taken()
    while (!this.#over && !(await this.#drain())) {
      if (this.#taken() === taken) {
        this.#events.onStalled()
        return
      }
      taken = this.#taken()
    }
    this.#drained = undefined
    if (!this.#over) this.#events.onCaughtUp()
  }

  #taken(): number {
    return this.#written - this.#output.writableLength
  }

  #drain(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (drained: boolean): void => {
        clearTimeout(timer)
        this.#output.off('drain', onDrain)
        this.#output.off('close', onDrain)
        resolve(drained)
      }
      const onDrain = (): void => settle(true)
      const timer = setTimeout(() => settle(false), this.#bounds.streamStallMs)
      this.#output.once('drain', onDrain)
      this.#output.once('close', onDrain)
    })
  }
}
