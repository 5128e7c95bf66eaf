import { PassThrough, type Readable } from 'node:stream'

/** The message that the user may be typing when a question appears. */
export interface MessageTyping {
  readonly isTyping: boolean
  /** Adds keys to the message. */
  type(keys: string): void
}

/** Time without a key press after which a question accepts keys. */
const quietMs = 1_000

/**
 * Routes keys when a question appears while the user is typing. Keys belong to the message until none was pressed for a second,
 * so that continued typing cannot answer the question. Only Ctrl+C acts at once, since it allows nothing.
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
    source.on('data', this.#routeKeys)
    source.once('end', this.#endInput)
    this.#restartTimer()
  }

  /** Whether keys still go to the message. */
  get isClosed(): boolean {
    return this.#timer !== undefined
  }

  setRawMode(mode: boolean): this {
    this.#source.setRawMode?.(mode)
    return this
  }

  // The terminal is not read while no prompt needs keys, for example while an editor runs.
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
    this.#source.off('data', this.#routeKeys)
    this.#source.off('end', this.#endInput)
    this.#source.pause()
  }

  #restartTimer(): void {
    clearTimeout(this.#timer)
    const timer = setTimeout(() => {
      // A program that was blocked reads the pending keys before it opens the gate.
      setImmediate(() => {
        if (this.#timer !== timer) return
        this.#timer = undefined
        // A key without an action redraws the prompt without the hint.
        this.emit('keypress', undefined, { name: 'redraw' })
      })
    }, quietMs)
    this.#timer = timer
  }

  readonly #endInput = (): void => {
    this.end()
  }

  readonly #routeKeys = (chunk: Buffer | string): void => {
    if (!this.isClosed || chunk.toString() === '\u0003') {
      this.write(chunk)
      return
    }
    this.#restartTimer()
    this.#message.type(chunk.toString())
  }
}
