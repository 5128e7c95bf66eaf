import { createInterface } from 'node:readline'
import type { Io } from '../cli/io.ts'
import { paletteFor } from '../output/palette.ts'
import type { ChatFace } from './chat.ts'

/** A chat face that takes its lines from a pipe and repeats them, so that the output reads as a conversation. */
export function pipedFace(io: Io): ChatFace {
  const lines = createInterface({ input: io.stdin })[Symbol.asyncIterator]()
  const write = (text: string): void => {
    io.stdout.write(text)
  }
  return {
    palette: paletteFor(io.stdout, io.env),
    write,
    async readLine(prompt) {
      const next = await lines.next()
      if (next.done === true) return undefined
      write(`${prompt}${next.value}\n`)
      return next.value
    },
    turn: () => ({ signal: io.signal, done: () => {} }),
  }
}
