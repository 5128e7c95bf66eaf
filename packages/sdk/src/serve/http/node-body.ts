import type { ServerResponse } from 'node:http'
import { StallWatch } from '../stall.ts'

/** Bytes that are handed over at once: of one write, nobody sees how much of it was taken. */
const pieceBytes = 262_144

/** Sends a long body, and cuts a reader that takes nothing of it for too long. */
export function endWith(response: ServerResponse, body: string | Uint8Array, stallMs: number): void {
  let taken = 0
  // What stands between, such as compression, tells that it can take more by `drain` only.
  const next = (bytes: Uint8Array): void => {
    const piece = bytes.subarray(0, pieceBytes)
    const rest = bytes.subarray(pieceBytes)
    taken += piece.length
    if (rest.length === 0) response.end(piece)
    else if (response.write(piece)) next(rest)
    else response.once('drain', () => next(rest))
  }
  // Node sends a text with its head at once, which is much the fastest.
  if (typeof body === 'string' && body.length <= pieceBytes) response.end(body)
  else next(typeof body === 'string' ? Buffer.from(body) : body)
  if (response.writableEnded && response.writableLength === 0) return
  const watched = { taken: () => taken, isBehind: () => true }
  const watch = new StallWatch(watched, stallMs, () => response.destroy())
  watch.start()
  response.once('close', () => watch.stop())
}
