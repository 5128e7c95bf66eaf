import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openTerminal, type Terminal, terminalMissing } from '../../../../scripts/terminal/terminal.ts'
import { builtProgram, startOptions } from '../../../../test/setup/built-program.ts'
import { type Ended, run, tempFolder } from '../cli/jackfield.ts'

const bin = builtProgram('jackfield')

/** Why nothing can be tested in a terminal here; undefined where it can. Said once. */
export const missing = terminalMissing()
if (missing !== undefined) process.stderr.write(`Nothing is tested in a terminal: ${missing}\n`)

/** A person with a home, keys of their own, and programs that note what they are started with. */
export interface Person {
  readonly home: string
  /** Writes a file below the home and gives its path. */
  write(path: string, content: string | object): string
  has(path: string): boolean
  read(path: string): string
  /** Puts a program before all others; it writes its words to `noted`, then does this. */
  program(name: string, then?: string): void
  /** What the programs were started with, a line each; empty where none was. */
  noted(): string
  /** Runs `jackfield` in a terminal of `cols` columns, 100 by default. */
  terminal(words: readonly string[], env?: Record<string, string>, cols?: number): Terminal
  /** Runs `jackfield` without a terminal. */
  quietly(...words: string[]): Promise<Ended>
  /** The same, with these lines as its input. */
  piped(lines: readonly string[], ...words: string[]): Promise<Ended>
  /** As `piped`, with other variables. */
  pipedWith(env: Record<string, string>, lines: readonly string[], ...words: string[]): Promise<Ended>
}

export function person(): Person {
  const home = tempFolder()
  const programs = join(home, 'programs')
  mkdirSync(programs)
  const env = {
    HOME: home,
    PATH: [programs, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
    XDG_DATA_HOME: join(home, 'data'),
    JACKFIELD_KEY_FILE: join(home, 'key'),
    NO_COLOR: '1',
  }
  const self: Person = {
    home,
    write(path, content) {
      const file = join(home, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
      return file
    },
    has: (path) => existsSync(join(home, path)),
    read: (path) => readFileSync(join(home, path), 'utf8'),
    program(name, then = '') {
      const file = self.write(
        `programs/${name}`,
        `#!/bin/sh\necho "$@" >> '${join(home, 'noted')}'\n${then}\n`,
      )
      chmodSync(file, 0o700)
    },
    noted: () => (self.has('noted') ? self.read('noted').trim() : ''),
    terminal(words, more = {}, cols = 100) {
      const terminal = openTerminal([process.execPath, ...startOptions, bin, ...words], {
        cwd: home,
        env: { ...env, ...more },
        rows: 50,
        cols,
      })
      onTestFinished(() => terminal.close())
      return terminal
    },
    quietly: (...words) => run(words, { cwd: home, env }),
    piped: (lines, ...words) => self.pipedWith({}, lines, ...words),
    pipedWith: (more, lines, ...words) =>
      run(words, { cwd: home, env: { ...env, ...more }, stdin: `${lines.join('\n')}\n` }),
  }
  return self
}

/** The prompt of a conversation, with nothing typed in it. */
export const prompt = /you › *$/m

/** Types a line in a conversation once its prompt is shown: before, the terminal itself would echo what is typed. */
export async function say(terminal: Terminal, words: string): Promise<void> {
  await terminal.until(prompt)
  terminal.type(`${words}\r`)
}

/** Words as a shell takes them, each for itself. */
export function shellWords(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
}
