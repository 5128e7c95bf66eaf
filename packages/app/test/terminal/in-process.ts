import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { run } from '../../src/cli/program.ts'

const keys = { enter: '\r', down: '\u001b[B', escape: '\u001b', 'ctrl+c': '\u0003' } as const

/** A command line that runs in this process, with streams that act as a terminal. */
export interface InProcess {
  /** Everything it wrote, without control sequences. */
  output(): string
  /** Resolves when what it wrote since the last `until` shows this. Rejects when the command ends without it. */
  until(shown: string | RegExp): Promise<void>
  type(text: string): void
  press(...pressed: (keyof typeof keys)[]): void
  /** Ctrl+C where no question and no line is read. */
  interrupt(): void
  readonly ended: Promise<number>
}

export interface InProcessOptions {
  home: string
  columns?: number
  /** No terminal: neither its input nor its output. */
  piped?: boolean
  env?: Record<string, string>
}

/** Runs the sources with these words; the home folder is the working folder too. */
export function inProcess(words: readonly string[], options: InProcessOptions): InProcess {
  const { home, columns = 100, piped = false, env = {} } = options
  const stdin = Object.assign(new PassThrough(), { isTTY: !piped, setRawMode: () => {} })
  const stop = new AbortController()
  const listeners: (() => void)[] = []
  const waiting = new Set<() => void>()
  let output = ''
  let from = 0
  const screen = (): PassThrough & { isTTY: boolean; columns: number; rows: number } => {
    const stream = Object.assign(new PassThrough(), { isTTY: !piped, columns, rows: 50 })
    stream.on('data', (chunk) => {
      output += chunk
      for (const look of waiting) look()
    })
    return stream
  }
  const text = (): string => stripVTControlCharacters(output)
  const interrupt = (): void => {
    const listener = listeners.at(-1)
    if (listener !== undefined) listener()
    else stop.abort(new Error('Interrupted'))
  }
  let over = false
  const ended = run(words, {
    stdin,
    stdout: screen(),
    stderr: screen(),
    env: {
      HOME: home,
      XDG_DATA_HOME: `${home}/data`,
      PATH: process.env['PATH'],
      NO_COLOR: '1',
      JACKFIELD_DAEMON: 'off',
      ...env,
    },
    cwd: home,
    signal: stop.signal,
    interrupt,
    onInterrupt(listener) {
      listeners.push(listener)
      return () => {
        const at = listeners.lastIndexOf(listener)
        if (at !== -1) listeners.splice(at, 1)
      }
    },
  }).finally(() => {
    over = true
    for (const look of waiting) look()
  })
  return {
    output: text,
    until: (shown) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const now = text().slice(from)
          const at = typeof shown === 'string' ? now.indexOf(shown) : now.search(shown)
          if (at !== -1) {
            from += at + 1
            waiting.delete(look)
            resolve()
          } else if (over) reject(new Error(`It ended without showing ${shown}. It wrote:\n${text()}`))
        }
        waiting.add(look)
        look()
      }),
    type: (typed) => void stdin.write(typed),
    press: (...pressed) => void stdin.write(pressed.map((key) => keys[key]).join('')),
    interrupt,
    ended,
  }
}
