import { PassThrough, type Readable } from 'node:stream'

/** The message that a person may be typing when a question appears. */
export interface MessageTyping {
  readonly isTyping: boolean
  /** Adds keys to the message. */
  type(keys: string): void
}

/** Time without a key after which a question takes keys. */
const quietMs = 1_000

/**
 * The keys of a question that appeared while the person was typing a message. Keys belong to the message until none was
 * pressed for a second, so that typing on cannot answer the question. Only Ctrl+C counts at once: it allows nothing.
 */
export class KeyGate extends PassThrough {
  readonly isTTY: boolean
  readonly #source: Readable & { isTTY?: boolean; setRawMode?: (mode: boolean) => unknown }
  readonly #message: MessageTyping
  #timer: NodeJS.Timeout | undefined

  constructor(source: Readable & { isTTY?: boolean }, message: MessageTyping) {
    super()
    this.#source = source
    this.#message = message
    this.isTTY = source.isTTY === true
    source.on('data', this.#read)
    source.once('end', this.#end)
    this.#wait()
  }

  /** Keys still go to the message. */
  get isClosed(): boolean {
    return this.#timer !== undefined
  }

  setRawMode(mode: boolean): this {
    this.#source.setRawMode?.(mode)
    return this
  }

  // Nothing is read from the terminal while no prompt wants keys, for example while an editor runs.
  override pause(): this {
    this.#source.pause()
    return super.pause()
  }

  override resume(): this {
    this.#source.resume()
    return super.resume()
  }

  /** Stops reading. */
  release(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#source.off('data', this.#read)
    this.#source.off('end', this.#end)
    this.#source.pause()
  }

  #wait(): void {
    clearTimeout(this.#timer)
    const timer = setTimeout(() => {
      // A program that was held up reads the keys that wait before it opens the gate.
      setImmediate(() => {
        if (this.#timer !== timer) return
        this.#timer = undefined
        // A key without a meaning, so that the prompt is drawn again without the hint.
        this.emit('keypress', undefined, { name: 'redraw' })
      })
    }, quietMs)
    this.#timer = timer
  }

  readonly #end = (): void => {
    this.end()
  }

  readonly #read = (chunk: Buffer | string): void => {
    if (!this.isClosed || chunk.toString() === '\u0003') {
      this.write(chunk)
      return
    }
    this.#wait()
    this.#message.type(chunk.toString())
  }
}
