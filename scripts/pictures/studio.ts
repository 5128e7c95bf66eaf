import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { root } from '../run.ts'
import { choose, settled } from '../terminal/choose.ts'
import { screenPicture } from '../terminal/picture.ts'
import { openTerminal, type Terminal } from '../terminal/terminal.ts'
import { steady } from './steady.ts'

/** A few pictures that are taken one after the other, in one home that is made anew before the first. */
export interface Scene {
  /** The pictures, by the names of their files. */
  readonly pictures: readonly string[]
  record(studio: Studio): Promise<void>
}

/** A shell in a terminal, as a person uses it. */
export interface Shell extends Terminal {
  /** Types a command at the prompt. */
  enter(command: string): Promise<void>
  /** Waits until the command is over and the prompt is there again. */
  over(): Promise<void>
  /** Moves to the choice that begins with these words and takes it. */
  choose(label: string): Promise<void>
  /** Waits until nothing was drawn for a while. */
  settled(): Promise<void>
}

export interface ShellOptions {
  /** Default 104. */
  cols?: number
  /** More rows than any picture has; what stays empty is cut off. Default 60. */
  rows?: number
  env?: Record<string, string>
}

/** The settings of a person's configuration file. */
export interface Configuration {
  mcpServers: Record<string, object>
  jackfield?: object
}

export interface Studio {
  /** The person's home, the same in every run, since it can be read in the pictures. */
  readonly home: string
  /** The folder the person works in. */
  readonly work: string
  /** The programs of servers, by short names. */
  readonly servers: Readonly<
    Record<'travel' | 'files' | 'shop' | 'guide' | 'till', { command: string; args: string[] }>
  >
  /** Writes the person's own configuration. */
  configure(configuration: Configuration): void
  /** Writes a file below the home and returns its path. */
  write(path: string, content: string | object): string
  /** Opens a shell in the folder the person works in. */
  shell(options?: ShellOptions): Shell
  /** Runs commands that no picture shows. */
  quietly(...commands: string[]): Promise<string>
  /** Runs a command and takes the picture of everything on the screen when it is over. */
  shows(name: string, title: string, command: string | string[], options?: ShellOptions): Promise<void>
  /** Takes a picture of the screen, `from` the first line that shows this on. */
  capture(name: string, title: string, shell: Shell, from?: RegExp): void
}

const ready = '$ '
/** Maximum duration of a command, in milliseconds. */
const maxCommandMs = 40_000
const prompt = '\u001b[32m$\u001b[0m '
const atPrompt = /(?:^|\n)\$\s*$/

/** Resets the home and returns what a scene needs. `keep` is called with every picture. */
export function openStudio(home: string, keep: (name: string, svg: string) => void): Studio {
  const work = join(home, 'trip')
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  for (const folder of ['.config/jackfield', 'bin', 'servers', 'trip']) {
    mkdirSync(join(home, folder), { recursive: true })
  }
  symlinkSync(process.execPath, join(home, 'bin/node'))
  symlinkSync(join(root, 'packages/app/bin/jackfield.js'), join(home, 'bin/jackfield'))
  const require = createRequire(import.meta.url)
  const official = dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json'))
  /** A program under a name that is the same on every machine. */
  const program = (name: string, file: string, ...args: string[]) => {
    const shown = join(home, 'servers', name)
    symlinkSync(file, shown)
    return { command: 'node', args: [shown, ...args] }
  }
  const servers = {
    travel: program('travel.js', join(root, 'servers/travel/dist/main.js'), '--db', ':memory:'),
    files: program('files.js', join(official, 'dist/index.js'), work),
    shop: program('shop.ts', join(import.meta.dirname, 'servers/shop.ts'), join(home, 'servers/shelf.json')),
    guide: program('guide.ts', join(import.meta.dirname, 'servers/guide.ts')),
    till: program('till.ts', join(import.meta.dirname, 'servers/till.ts')),
  }
  const studio: Studio = {
    home,
    work,
    servers,
    configure: (configuration) => {
      studio.write('.config/jackfield/config.json', configuration)
    },
    write(path, content) {
      const file = join(home, path)
      writeFileSync(file, typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`)
      return file
    },
    shell: (options) => openShell(home, work, options),
    async quietly(...commands) {
      await using shell = studio.shell({ cols: 200 })
      for (const command of commands) {
        await shell.enter(command)
        await shell.over()
      }
      return shell.history()
    },
    async shows(name, title, command, options) {
      await using shell = studio.shell(options)
      for (const one of typeof command === 'string' ? [command] : command) {
        await shell.enter(one)
        await shell.over()
      }
      studio.capture(name, title, shell)
    },
    capture(name, title, shell, from) {
      const first = from === undefined ? 0 : shell.screen().findIndex((line) => from.test(line))
      const cells = steady(shell.cells().slice(Math.max(0, first)))
      const last = cells.findLastIndex((row) => row.some(({ text }) => text.trim() !== ''))
      const isAtPrompt =
        cells[last]
          ?.map(({ text }) => text)
          .join('')
          .trim() === ready.trim()
      keep(name, screenPicture(isAtPrompt ? cells.slice(0, last) : cells, title))
    },
  }
  studio.write('trip/wishes.md', '# Wishes\n\n- Window seat\n- Sea view\n')
  return studio
}

function openShell(
  home: string,
  work: string,
  { cols = 104, rows = 60, env = {} }: ShellOptions = {},
): Shell {
  const terminal = openTerminal(['/bin/sh', '-i'], {
    cols,
    rows,
    cwd: work,
    env: {
      HOME: home,
      PATH: `${join(home, 'bin')}:/usr/bin:/bin`,
      PS1: prompt,
      JACKFIELD_KEY_FILE: join(home, '.config/jackfield/key'),
      ...env,
    },
  })
  const prompts = (): number => terminal.history().match(/^\$(?: |$)/gm)?.length ?? 0
  let entered = 0
  const shell: Shell = {
    ...terminal,
    async enter(command) {
      await terminal.until(atPrompt)
      entered = prompts()
      terminal.type(`${command}\r`)
      await terminal.until(/\$ \S/)
    },
    async over() {
      const deadline = performance.now() + maxCommandMs
      while (prompts() <= entered || !atPrompt.test(terminal.screen().join('\n'))) {
        if (performance.now() > deadline) throw new Error(`Not over:\n${terminal.history()}`)
        await pause(50)
      }
    },
    choose: (label) => choose(terminal, label),
    settled: () => settled(terminal),
    close: () => terminal.close(),
    [Symbol.asyncDispose]: () => terminal.close(),
  }
  return shell
}
