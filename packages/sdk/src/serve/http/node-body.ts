import type { ServerResponse } from 'node:http'
import { TransientSet } from '../../jsonrpc/transient.ts'
import { StallWatch } from '../stall.ts'
import { unref } from '../timers.ts'

/** Bytes that are written at once: of one write, only its end can be seen. */
export const pieceBytes = 262_144

/** Sends a body of more than one piece, and closes the connection of a reader that takes nothing of it for too long. */
export function endWith(response: ServerResponse, body: string | Uint8Array, stallMs: number): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  let taken = 0
  // Middleware in between, such as compression, only emits `drain` when it can take more.
  const next = (): void => {
    const piece = bytes.subarray(taken, taken + pieceBytes)
    taken += pieceBytes
    if (taken >= bytes.length) response.end(piece)
    else if (response.write(piece)) next()
    else response.once('drain', next)
  }
  next()
  if (response.writableEnded && response.writableLength === 0) return
  const watched = { taken: () => taken, isBehind: () => true }
  const watch = new StallWatch(watched, stallMs, () => response.destroy())
  watch.start()
  response.once('close', () => watch.stop())
}

/** The slowest reader that an answer waits for, in bytes per `stallMs`. */
const slowestBytes = 65_536

interface UnsentAnswer {
  readonly response: ServerResponse
  /** Looks that are left before its connection is closed. */
  looks: number
}

/** Answers that their readers did not take at once. All share one timer, which runs only while there are any. */
export class UnsentAnswers {
  readonly stallMs: number
  readonly #answers = new TransientSet<UnsentAnswer>()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param stallMs milliseconds that a reader has for 64 kB */
  constructor(stallMs: number) {
    this.stallMs = stallMs
  }

  /** Calls back when a response is over, and closes its connection where a reader takes too long for it. */
  watch(response: ServerResponse, length: number, onOver: () => void): void {
    const answer = { response, looks: 1 + Math.ceil(length / slowestBytes) }
    this.#answers.add(answer)
    let over = false
    const end = (): void => {
      if (over) return
      over = true
      this.#answers.delete(answer)
      onOver()
    }
    response.once('finish', end)
    response.once('close', end)
    this.#timer ??= this.#later()
  }

  #later(): ReturnType<typeof setTimeout> {
    return unref(
      setTimeout(() => {
        for (const answer of this.#answers.values()) if (--answer.looks === 0) answer.response.destroy()
        this.#timer = this.#answers.size > 0 ? this.#later() : undefined
      }, this.stallMs),
    )
  }
}
