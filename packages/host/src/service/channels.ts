import type { Duplex } from 'node:stream'
import type { Channel } from './frames.ts'

/** Maximum characters of one frame. */
const maxFrameChars = 33_554_432

/** A channel over a stream, with one frame per line. */
export function streamChannel(stream: Duplex): Channel {
  let closing: string | undefined
  return {
    get unsent() {
      return stream.writableLength
    },
    send(frame) {
      if (closing === undefined && !stream.destroyed) stream.write(`${frame}\n`)
    },
    listen(message, closed) {
      const decoder = new TextDecoder()
      let parts: string[] = []
      let length = 0
      let reason = 'the other side closed the connection'
      stream.on('data', (chunk: Buffer) => {
        const lines = decoder.decode(chunk, { stream: true }).split('\n')
        for (const [n, line] of lines.entries()) {
          if (stream.destroyed) return
          parts.push(line)
          length += line.length
          if (length > maxFrameChars) {
            reason = 'a frame was too large'
            stream.destroy()
            return
          }
          if (n === lines.length - 1) continue
          const frame = parts.join('')
          parts = []
          length = 0
          message(frame)
        }
      })
      stream.on('error', (error) => {
        reason = error.message
      })
      stream.once('end', () => stream.end())
      stream.once('close', () => closed(closing ?? reason))
    },
    close(why = 'this side closed the connection') {
      if (closing !== undefined) return
      closing = why
      stream.end()
    },
  }
}

/** Two connected channels in one process. Frames arrive in order and never within `send`. */
export function channelPair(): [Channel, Channel] {
  const one = new MemoryChannel()
  const other = new MemoryChannel()
  one.other = other
  other.other = one
  return [one, other]
}

class MemoryChannel implements Channel {
  other: MemoryChannel | undefined
  readonly unsent = 0
  #waiting: (() => void)[] = []
  #message: ((frame: string) => void) | undefined
  #closed: ((reason: string) => void) | undefined
  #isOver = false

  send(frame: string): void {
    const { other } = this
    if (!this.#isOver) other?.deliver(() => other.#message?.(frame))
  }

  listen(message: (frame: string) => void, closed: (reason: string) => void): void {
    this.#message = message
    this.#closed = closed
    for (const work of this.#waiting.splice(0)) queueMicrotask(work)
  }

  close(reason = 'this side closed the connection'): void {
    if (this.#isOver) return
    this.#end(reason)
    const { other } = this
    other?.deliver(() => other.#end('the other side closed the connection'))
  }

  #end(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#closed?.(reason)
  }

  /** Runs an action once this end has a listener. */
  deliver(work: () => void): void {
    if (this.#message === undefined) this.#waiting.push(work)
    else queueMicrotask(work)
  }
}
