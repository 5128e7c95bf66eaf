import { createInterface } from 'node:readline'
import type { Io } from '../cli/io.ts'
import { exactJson } from '../output/exact.ts'
import { paletteFor } from '../output/palette.ts'
import { plain } from '../output/sanitize.ts'
import type { ChatFace } from './face.ts'

/** A chat face that takes its lines from a pipe and repeats them, so that the output reads as a conversation. */
export function pipedFace(io: Io): ChatFace {
  const readLine = linesOf(io)
  const write = (text: string): void => {
    io.stdout.write(text)
  }
  return {
    palette: paletteFor(io.stdout, io.env),
    columns: () => undefined,
    write,
    async readLine(prompt) {
      const line = await readLine()
      if (line !== undefined) write(`${prompt}${line}\n`)
      return line
    },
    turn: () => ({ signal: io.signal, done: () => {} }),
  }
}

/** A chat face for programs: lines come in from a pipe, and events go out as lines of JSON. */
export function jsonFace(io: Io): ChatFace {
  const readLine = linesOf(io)
  const tell: NonNullable<ChatFace['tell']> = (event) => {
    io.stdout.write(`${exactJson(event)}\n`)
  }
  return {
    palette: paletteFor(io.stdout, { NO_COLOR: '1' }),
    columns: () => undefined,
    write(text) {
      const words = plain(text).trim()
      if (words !== '') tell({ type: 'notice', text: words })
    },
    tell,
    readLine,
    turn: () => ({ signal: io.signal, done: () => {} }),
  }
}

function linesOf(io: Io): () => Promise<string | undefined> {
  const lines = createInterface({ input: io.stdin })[Symbol.asyncIterator]()
  return async () => {
    const next = await lines.next()
    return next.done === true ? undefined : next.value
  }
}
