import type { ServerResponse } from 'node:http'
import { StallWatch } from '../stall.ts'

/** Bytes that are handed over at once: of one write, nobody sees how much of it was taken. */
export const pieceBytes = 262_144

/** Sends a body of more than one piece, and cuts a reader that takes nothing of it for too long. */
export function endWith(response: ServerResponse, body: string | Uint8Array, stallMs: number): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  let taken = 0
  // What stands between, such as compression, tells that it can take more by `drain` only.
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
