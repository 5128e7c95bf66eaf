import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import headless from '@xterm/headless'
import { type Cell, cellsOf } from './cells.ts'

/** Options for starting a program in a terminal. */
export interface TerminalOptions {
  /** Default 100. */
  cols?: number
  /** Default 30. */
  rows?: number
  cwd?: string
  /** Added to a small environment of its own: PATH, HOME, TERM, LANG. */
  env?: Record<string, string>
}

/** Byte sequences of keys, by name. */
const keys = {
  enter: '\r',
  escape: '\u001b',
  tab: '\t',
  space: ' ',
  backspace: '\u007f',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  'ctrl+c': '\u0003',
  'ctrl+d': '\u0004',
} as const

export type Key = keyof typeof keys

/** A program in a pseudo-terminal, with what a person would see on the screen. */
export interface Terminal extends AsyncDisposable {
  /** The lines of the screen, without spaces at their ends. */
  screen(): string[]
  /** Everything that is still in the buffer, also what scrolled off the top. */
  history(): string
  /** The cells of the screen with their colours. */
  cells(): Cell[][]
  type(text: string): void
  press(...pressed: Key[]): void
  /** Resizes the terminal. */
  resize(cols: number, rows: number): void
  /** Waits until the screen (or, with `anywhere`, the whole history) shows this; the error contains what it shows instead. */
  until(shown: string | RegExp, options?: { withinMs?: number; anywhere?: boolean }): Promise<void>
  /** Settles with the exit code when the program is over. */
  readonly exited: Promise<number | null>
  close(): Promise<void>
}

/** Why a pseudo-terminal cannot be opened here; undefined if it can. */
export function terminalMissing(): string | undefined {
  const found = spawnSync('script', ['--version'], { encoding: 'utf8' })
  if (found.status === 0 && found.stdout.includes('util-linux')) return undefined
  return 'the program "script" of util-linux is missing'
}

/** Starts a program in a pseudo-terminal of the given size. */
export function openTerminal(
  command: readonly [string, ...string[]],
  { cols = 100, rows = 30, cwd, env = {} }: TerminalOptions = {},
): Terminal {
  const screen = new headless.Terminal({ cols, rows, scrollback: 10_000, allowProposedApi: true })
  const child = spawn(
    'script',
    ['-qefc', `stty cols ${cols} rows ${rows}; exec ${command.map(quoted).join(' ')}`, '/dev/null'],
    {
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        // A process starts in a fifth less of the CPU time with its code compiled.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        LANG: 'C.UTF-8',
        SHELL: '/bin/sh',
        JACKFIELD_DAEMON: 'off',
        TERM: 'xterm-256color',
        ...env,
      },
    },
  )
  let changed = Promise.withResolvers<void>()
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    // What it wrote last is on the screen only when everything before it is.
    child.once('close', (code) => screen.write('', () => resolve(code)))
  })
  let over = false
  exited.then(() => {
    over = true
    changed.resolve()
  })
  const seen = (chunk: Buffer): void =>
    screen.write(chunk, () => {
      changed.resolve()
      changed = Promise.withResolvers()
    })
  child.stdout.on('data', seen)
  child.stderr.on('data', seen)
  child.stdin.on('error', () => {})
  // A terminal answers when it is asked where its cursor is.
  screen.onData((answer: string) => child.stdin.write(answer))

  const lines = (from: number, to: number): string[] =>
    Array.from(
      { length: to - from },
      (_, n) => screen.buffer.active.getLine(from + n)?.translateToString(true) ?? '',
    )
  const top = (): number => screen.buffer.active.baseY
  const terminal: Terminal = {
    screen: () => lines(top(), top() + screen.rows),
    history: () =>
      lines(0, top() + screen.rows)
        .join('\n')
        .trimEnd(),
    cells: () => cellsOf(screen.buffer.active, screen.cols, screen.rows),
    type: (text) => void child.stdin.write(text),
    press: (...pressed) => void child.stdin.write(pressed.map((key) => keys[key]).join('')),
    resize(cols, rows) {
      const [program = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')
      const device = readlinkSync(`/proc/${program}/fd/0`)
      screen.resize(cols, rows)
      // The program gets SIGWINCH by this.
      spawnSync('stty', ['-F', device, 'cols', String(cols), 'rows', String(rows)])
    },
    async until(shown, { withinMs = 20_000, anywhere = false } = {}) {
      const deadline = performance.now() + withinMs
      const text = (): string => (anywhere ? terminal.history() : terminal.screen().join('\n'))
      const isThere = (): boolean => (typeof shown === 'string' ? text().includes(shown) : shown.test(text()))
      while (!isThere()) {
        const leftMs = deadline - performance.now()
        if (leftMs <= 0 || over) {
          const why = over ? 'The program ended without showing' : `Not shown within ${withinMs} ms:`
          throw new Error(`${why} ${shown}\nIt shows:\n${text().trimEnd()}`)
        }
        await Promise.race([changed.promise, pause(Math.min(leftMs, 250))])
      }
    },
    exited,
    async close() {
      end(child)
      await exited
      screen.dispose()
    },
    [Symbol.asyncDispose]: () => terminal.close(),
  }
  return terminal
}

/** Ends the program and all it started. */
function end(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
