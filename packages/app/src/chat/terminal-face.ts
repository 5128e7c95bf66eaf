import { createInterface } from 'node:readline/promises'
import type { Io } from '../cli/io.ts'
import { paletteFor } from '../output/palette.ts'
import type { ChatFace } from './chat.ts'

/**
 * A chat face on a terminal, with history and Tab for commands. A reader exists only while a line is read, so that
 * questions can use the terminal in between.
 */
export function terminalFace(io: Io, names: () => string[]): ChatFace {
  let history: string[] = []

  async function readLine(prompt: string): Promise<string | undefined> {
    const reader = createInterface({
      input: io.stdin,
      output: io.stdout,
      history,
      historySize: 200,
      removeHistoryDuplicates: true,
      completer: (line: string): [string[], string] => {
        const hits = names().flatMap((name) => (`/${name}`.startsWith(line) ? [`/${name} `] : []))
        return [line.startsWith('/') ? hits : [], line]
      },
    })
    reader.on('history', (lines: string[]) => {
      history = [...lines]
    })
    const closed = new Promise<undefined>((resolve) => reader.once('close', () => resolve(undefined)))
    let asked = false
    reader.on('SIGINT', () => {
      if (asked) return reader.close()
      asked = true
      io.stdout.write('\n(Ctrl+C again, Ctrl+D or /quit leaves)\n')
      reader.prompt()
    })
    try {
      return await Promise.race([reader.question(prompt), closed])
    } finally {
      reader.close()
    }
  }

  return {
    palette: paletteFor(io.stdout, io.env),
    write: (text) => {
      io.stdout.write(text)
    },
    readLine,
    turn() {
      const stop = new AbortController()
      const done = io.onInterrupt(() => stop.abort(new Error('The person stopped the turn')))
      return { signal: AbortSignal.any([stop.signal, io.signal]), done }
    },
  }
}
