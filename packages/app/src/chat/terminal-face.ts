import { createInterface, type Interface } from 'node:readline'
import type { Io } from '../cli/io.ts'
import { paletteFor } from '../output/palette.ts'
import type { ChatFace, ReadOptions } from './face.ts'
import type { Floor } from './floor.ts'

type Read = { kind: 'line'; line: string } | { kind: 'aside'; draft: string } | { kind: 'over' }

const beginning = '\r\u001b[K'
const leaveHint = '\n(Ctrl+C again, Ctrl+D or /quit leaves)\n'

/**
 * A chat face on a terminal, with history and Tab. The line being typed makes room for questions and for what happens
 * meanwhile, and is there again afterwards. While a question stands on the screen, everything else waits.
 * @param leave called when Ctrl+C is pressed again while something still goes on that does not read a line
 */
export function terminalFace(io: Io, floor: Floor, leave: () => void): ChatFace {
  let history: string[] = []
  let reader: Interface | undefined
  let held: (() => void)[] = []
  /** Whether Ctrl+C was pressed since a line was read last. */
  let interrupted = false
  let watching = false
  /** Takes the line that is drawn anew off the hook, so that what follows stands below it. */
  let leaveLive: (() => void) | undefined

  /** Does it now, or when no question stands on the screen any more. */
  function inTurn(work: () => void): void {
    if (!floor.taken) {
      work()
      return
    }
    if (held.length === 0) {
      floor.free().then(() => {
        const all = held
        held = []
        for (const one of all) inTurn(one)
      })
    }
    held.push(work)
  }

  function write(text: string): void {
    leaveLive?.()
    if (reader === undefined) {
      io.stdout.write(text)
      return
    }
    // A line that wraps begins some rows above the cursor, and readline goes up as many to draw it again.
    const { rows } = reader.getCursorPos()
    const toTop = rows === 0 ? '' : `\u001b[${rows}A`
    io.stdout.write(`${toTop}\r\u001b[J${text}${text.endsWith('\n') ? '' : '\n'}${'\n'.repeat(rows)}`)
    reader.prompt(true)
  }

  function live(line: string, over: boolean): void {
    io.stdout.write(`${leaveLive === undefined ? '' : beginning}${line}${over ? '\n' : ''}`)
    if (!over && leaveLive !== undefined) return
    const free = over ? undefined : floor.typing(() => leaveLive?.())
    leaveLive =
      free === undefined
        ? undefined
        : () => {
            free()
            leaveLive = undefined
            io.stdout.write('\n')
          }
  }

  /** Ctrl+C between two lines, also while a turn ends that it stopped. */
  function onIdleInterrupt(): void {
    if (interrupted) leave()
    else write(leaveHint)
    interrupted = true
  }

  function readOnce(prompt: string, draft: string, complete: ReadOptions['complete']): Promise<Read> {
    return new Promise((resolve) => {
      const own = createInterface({
        input: io.stdin,
        output: io.stdout,
        history,
        historySize: 200,
        removeHistoryDuplicates: true,
        prompt,
        completer: (line: string, done: (error: Error | null, found: [string[], string]) => void) => {
          const none: [string[], string] = [[], line]
          if (complete === undefined) return done(null, none)
          complete(line).then(
            (found) => done(null, found),
            () => done(null, none),
          )
        },
      })
      reader = own
      let outcome: Read = { kind: 'over' }
      interrupted = false
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
        // What was typed goes, from its end to its beginning; first, since readline clears it in place.
        own.write(null, { ctrl: true, name: 'e' })
        own.write(null, { ctrl: true, name: 'u' })
        io.stdout.write(leaveHint)
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
    columns: () => io.stdout.columns,
    write: (text) => inTurn(() => write(text)),
    live: (line, over) => {
      // What is only on its way is drawn again when it moves on.
      if (over || !floor.taken) inTurn(() => live(line, over))
    },
    async readLine(prompt, { complete, draft: first = '' } = {}) {
      let draft = first
      if (!watching) io.onInterrupt(onIdleInterrupt)
      watching = true
      for (;;) {
        // The next question may begin before this goes on.
        while (floor.taken) await floor.free()
        const read = await readOnce(prompt, draft, complete)
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
      let over = false
      const end = io.onInterrupt(() => {
        interrupted = true
        stop.abort(new Error('The person stopped the turn'))
        // Whoever presses it again while the turn still ends wants to leave.
        done()
      })
      const done = (): void => {
        if (over) return
        over = true
        end()
      }
      return { signal: AbortSignal.any([stop.signal, io.signal]), done }
    },
  }
}
