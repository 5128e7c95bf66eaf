import { createInterface } from 'node:readline'
import type { Io } from '../cli/io.ts'
import { exactJson } from '../output/exact.ts'
import { paletteFor } from '../output/palette.ts'
import { plain } from '../output/sanitize.ts'
import type { ChatSurface } from './surface.ts'

/**
 * A chat surface for pipes: answers and command output go to stdout; everything else goes to stderr together with the input
 * lines, so that stderr reads as a conversation. `message`: the single message of the conversation; stdin is not read then.
 */
export function pipedSurface(io: Io, message?: string): ChatSurface {
  const readLine = message === undefined ? linesOf(io) : once(message)
  const base = {
    columns: () => undefined,
    async readLine(prompt: string) {
      const line = await readLine()
      if (line !== undefined && message === undefined) io.stderr.write(`${prompt}${line}\n`)
      return line
    },
    startTurn: () => ({ signal: io.signal, done: () => {} }),
  }
  return {
    ...base,
    palette: paletteFor(io.stdout, io.env),
    write(text) {
      io.stdout.write(text)
    },
    notes: {
      ...base,
      palette: paletteFor(io.stderr, io.env),
      write(text) {
        io.stderr.write(text)
      },
    },
  }
}

/** A chat surface for programs: input lines from a pipe, or one given message; events as JSON lines. */
export function jsonSurface(io: Io, message?: string): ChatSurface {
  const emit: NonNullable<ChatSurface['emit']> = (event) => {
    io.stdout.write(`${exactJson(event)}\n`)
  }
  return {
    palette: paletteFor(io.stdout, { NO_COLOR: '1' }),
    columns: () => undefined,
    write(text) {
      const words = plain(text).trim()
      if (words !== '') emit({ type: 'notice', text: words })
    },
    emit,
    readLine: message === undefined ? linesOf(io) : once(message),
    startTurn: () => ({ signal: io.signal, done: () => {} }),
  }
}

function once(message: string): () => Promise<string | undefined> {
  let next: string | undefined = message
  return async () => {
    const line = next
    next = undefined
    return line
  }
}

function linesOf(io: Io): () => Promise<string | undefined> {
  const lines = createInterface({ input: io.stdin })[Symbol.asyncIterator]()
  return async () => {
    const next = await lines.next()
    return next.done === true ? undefined : next.value
  }
}
