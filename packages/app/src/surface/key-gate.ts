import { PassThrough, type Readable } from 'node:stream'

/** The message that the user may be typing when a question appears. */
export interface MessageTyping {
  readonly isTyping: boolean
  /** Whether a message was just sent, so that the next keys may begin another one. */
  readonly isJustSent: boolean
  /** Adds keys to the message. */
  type(keys: string): void
}

/** Time without a key press after which a question accepts keys. */
const quietMs = 1_000
const ctrlC = '\u0003'
/** Time without a second character after which one character is an answer. */
const aloneMs = 300

/**
 * Routes keys when a question appears while the user is typing. Keys belong to the message until none was pressed for a second,
 * so that continued typing cannot answer the question. If a message was just sent, one character alone is an answer, and several
 * are the next message. Only Ctrl+C acts at once, since it allows nothing.
 */
export class KeyGate extends PassThrough {
  readonly isTTY: boolean
  readonly #source: Readable & { isTTY?: boolean; setRawMode?: (mode: boolean) => unknown }
  readonly #message: MessageTyping
  #timer: NodeJS.Timeout | undefined
  /** The first character after a sent message, until it is clear whether it is an answer. */
  #pendingKey = ''
  #isTyping: boolean

  constructor(source: Readable & { isTTY?: boolean }, message: MessageTyping) {
    super()
    this.#source = source
    this.#message = message
    this.#isTyping = message.isTyping
    this.isTTY = source.isTTY === true
    source.on('data', this.#routeKeys)
    source.once('end', this.#endInput)
    this.#restartTimer(quietMs)
  }

  /** Whether keys still go to the message. */
  get isClosed(): boolean {
    return this.#timer !== undefined && this.#isTyping
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
    this.#stopTimer()
    if (this.#pendingKey !== '') this.#message.type(this.#pendingKey)
    this.#source.off('data', this.#routeKeys)
    this.#source.off('end', this.#endInput)
    this.#source.pause()
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #restartTimer(ms: number): void {
    clearTimeout(this.#timer)
    const timer = setTimeout(() => {
      // A program that was blocked reads the pending keys before it opens the gate.
      setImmediate(() => {
        if (this.#timer !== timer) return
        this.#timer = undefined
        if (this.#pendingKey === '') this.#redraw()
        else this.write(this.#pendingKey)
        this.#pendingKey = ''
      })
    }, ms)
    this.#timer = timer
  }

  /** Shows or removes the hint: a key without an action redraws the prompt. */
  #redraw(): void {
    this.emit('keypress', undefined, { name: 'redraw' })
  }

  readonly #endInput = (): void => {
    this.end()
  }

  readonly #routeKeys = (chunk: Buffer | string): void => {
    const keys = chunk.toString()
    if (this.#timer === undefined || keys.includes(ctrlC)) {
      this.write(this.#timer === undefined ? chunk : ctrlC)
      return
    }
    const all = this.#pendingKey + keys
    if (!this.#isTyping) {
      // Arrows, Enter and Esc begin no message.
      if (/^.?\p{Cc}/u.test(all)) {
        this.#stopTimer()
        this.#pendingKey = ''
        this.write(all)
        return
      }
      if ([...all].length === 1) {
        this.#pendingKey = all
        this.#restartTimer(aloneMs)
        return
      }
    }
    this.#restartTimer(quietMs)
    this.#pendingKey = ''
    this.#message.type(all)
    if (this.#isTyping) return
    this.#isTyping = true
    this.#redraw()
  }
}
