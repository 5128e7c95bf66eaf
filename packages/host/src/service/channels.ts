import type { Duplex } from 'node:stream'
import type { Channel } from './frames.ts'

/** Maximum characters of one frame. */
const maxFrameChars = 33_554_432
/** Characters that are written without delay. */
const maxUnwrittenChars = 65_536

/** A channel over a stream, with one frame per line. */
export function streamChannel(stream: Duplex): Channel {
  let closeReason: string | undefined
  /** Frames that are sent in succession are written at once: each write may wake up the other process. */
  let unwritten = ''
  const write = (): void => {
    const frames = unwritten
    unwritten = ''
    if (frames !== '' && stream.writable) stream.write(frames)
  }
  return {
    get unsent() {
      return unwritten.length + stream.writableLength
    },
    send(frame) {
      if (closeReason !== undefined || stream.destroyed) return
      if (unwritten === '') queueMicrotask(write)
      unwritten += `${frame}\n`
      if (unwritten.length > maxUnwrittenChars) write()
    },
    listen(onFrame, onClosed) {
      let parts: string[] = []
      let length = 0
      let reason = 'the other side closed the connection'
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => {
        for (let from = 0; from < text.length && !stream.destroyed; ) {
          const end = text.indexOf('\n', from)
          const part = text.slice(from, end < 0 ? text.length : end)
          from += part.length + 1
          length += part.length
          parts.push(part)
          if (length > maxFrameChars) {
            reason = 'a frame was too large'
            stream.destroy()
            return
          }
          if (end < 0) return
          const frame = parts.length === 1 ? part : parts.join('')
          parts = []
          length = 0
          onFrame(frame)
        }
      })
      stream.on('error', (error) => {
        reason = error.message
      })
      stream.once('end', () => {
        write()
        stream.end()
      })
      stream.once('close', () => onClosed(closeReason ?? reason))
    },
    close(reason = 'this side closed the connection') {
      if (closeReason !== undefined) return
      closeReason = reason
      write()
      stream.end()
    },
  }
}

/** Two connected channels in one process. Frames arrive in order and never within `send`. */
export function channelPair(): [Channel, Channel] {
  const first = new MemoryChannel()
  const second = new MemoryChannel()
  first.other = second
  second.other = first
  return [first, second]
}

class MemoryChannel implements Channel {
  other: MemoryChannel | undefined
  readonly unsent = 0
  #waiting: (() => void)[] = []
  #message: ((frame: string) => void) | undefined
  #closed: ((reason: string) => void) | undefined
  #isOver = false

  send(frame: string): void {
    const { other: second } = this
    if (!this.#isOver) second?.deliver(() => second.#message?.(frame))
  }

  listen(onFrame: (frame: string) => void, onClosed: (reason: string) => void): void {
    this.#message = onFrame
    this.#closed = onClosed
    for (const work of this.#waiting.splice(0)) queueMicrotask(work)
  }

  close(reason = 'this side closed the connection'): void {
    if (this.#isOver) return
    this.#end(reason)
    const { other: second } = this
    second?.deliver(() => second.#end('the other side closed the connection'))
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
