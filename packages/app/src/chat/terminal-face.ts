import { createInterface, type Interface } from 'node:readline'
import type { Io } from '../cli/io.ts'
import { paletteFor } from '../output/palette.ts'
import type { ChatFace } from './chat.ts'
import type { Floor } from './floor.ts'

type Read = { kind: 'line'; line: string } | { kind: 'aside'; draft: string } | { kind: 'over' }

/**
 * A chat face on a terminal, with history and Tab for commands. The line being typed makes room for questions and for
 * what happens meanwhile, and is there again afterwards.
 */
export function terminalFace(io: Io, floor: Floor, names: () => string[]): ChatFace {
  let history: string[] = []
  let reader: Interface | undefined

  function readOnce(prompt: string, draft: string): Promise<Read> {
    return new Promise((resolve) => {
      const own = createInterface({
        input: io.stdin,
        output: io.stdout,
        history,
        historySize: 200,
        removeHistoryDuplicates: true,
        prompt,
        completer: (line: string): [string[], string] => {
          const hits = names().flatMap((name) => (`/${name}`.startsWith(line) ? [`/${name} `] : []))
          return [line.startsWith('/') ? hits : [], line]
        },
      })
      reader = own
      let outcome: Read = { kind: 'over' }
      let interrupted = false
      const done = floor.typing(() => {
        outcome = { kind: 'aside', draft: own.line }
        io.stdout.write('\n')
        own.close()
      })
      own.on('history', (lines: string[]) => {
        history = [...lines]
      })
      own.on('line', (line) => {
        outcome = { kind: 'line', line }
        own.close()
      })
      own.on('SIGINT', () => {
        if (interrupted) return own.close()
        interrupted = true
        io.stdout.write('\n(Ctrl+C again, Ctrl+D or /quit leaves)\n')
        own.prompt()
      })
      own.once('close', () => {
        done()
        reader = undefined
        resolve(outcome)
      })
      own.prompt()
      if (draft !== '') own.write(draft)
    })
  }

  return {
    palette: paletteFor(io.stdout, io.env),
    write(text) {
      if (reader === undefined) {
        io.stdout.write(text)
        return
      }
      io.stdout.write(`\r\u001b[K${text}${text.endsWith('\n') ? '' : '\n'}`)
      reader.prompt(true)
    },
    async readLine(prompt) {
      let draft = ''
      for (;;) {
        await floor.free()
        const read = await readOnce(prompt, draft)
        if (read.kind === 'line') return read.line
        if (read.kind === 'over') {
          io.stdout.write('\n')
          return undefined
        }
        draft = read.draft
      }
    },
    turn() {
      const stop = new AbortController()
      const done = io.onInterrupt(() => stop.abort(new Error('The person stopped the turn')))
      return { signal: AbortSignal.any([stop.signal, io.signal]), done }
    },
  }
}
