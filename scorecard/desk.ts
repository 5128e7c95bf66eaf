import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { root } from '../scripts/run.ts'
import { openTerminal, type Terminal } from '../scripts/terminal/terminal.ts'
import { collect } from './collected.ts'
import { commandOf } from './tools.ts'
import type { Desk, Fixture, Running, RunOptions, SeenMessage, Tool } from './types.ts'

const runMs = 15_000
const open = new Set<() => Promise<void>>()

/** Ends everything at every desk, for a run that is broken off. */
export async function closeDesks(): Promise<void> {
  await Promise.all([...open].map((close) => close()))
}

/**
 * Opens a desk; `close` ends what was started at it and removes its folder.
 * @param patience by how much times without a number of their own are longer
 */
export async function openDesk(patience = 1): Promise<Desk & { close(): Promise<void> }> {
  const place = realpathSync(await mkdtemp(join(tmpdir(), 'scorecard-')))
  const [home, cwd] = [join(place, 'home'), join(place, 'work')]
  await Promise.all([mkdir(home), mkdir(cwd)])
  const base: Record<string, string> = {
    PATH: [dirname(process.execPath), join(root, 'node_modules/.bin'), '/usr/bin', '/bin'].join(delimiter),
    HOME: home,
    USER: 'person',
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    SHELL: '/bin/sh',
    TMPDIR: place,
    DO_NOT_TRACK: '1',
    NO_UPDATE_NOTIFIER: '1',
    MCP_USE_ANONYMIZED_TELEMETRY: 'false',
  }
  const running: Running[] = []
  const terminals: Terminal[] = []
  let servers = 0

  const start = (tool: Tool, args: string[], options: RunOptions = {}): Running => {
    const started = collect(commandOf(tool, args), {
      cwd: options.cwd ?? cwd,
      env: { ...base, ...options.env },
      limitMs: options.limitMs ?? runMs * patience,
      patience,
    })
    running.push(started)
    if (options.input !== undefined) {
      started.write(options.input)
      started.end()
    }
    return started
  }

  const close = async (): Promise<void> => {
    open.delete(close)
    await Promise.all([...running.map((one) => one.stop()), ...terminals.map((one) => one.close())])
    endStrays(place)
    await rm(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  open.add(close)

  return {
    home,
    cwd,
    async write(name, text) {
      const path = join(cwd, name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
      return path
    },
    run(tool, args, options = {}) {
      return start(tool, args, { ...options, input: options.input ?? '' }).ended
    },
    start,
    async terminal(tool, args) {
      const terminal = openTerminal(commandOf(tool, args), { cwd, env: base })
      terminals.push(terminal)
      return terminal
    },
    async server(name, ...args) {
      servers += 1
      const record = join(place, `${name}-${servers}.jsonl`)
      const fixture: Fixture = {
        command: process.execPath,
        args: [join(root, 'scorecard/fixtures', `${name}.ts`), record, ...args],
        seen: () => seenIn(record),
      }
      if (args[0] !== 'http' && args[0] !== 'sse') return fixture
      const started = collect([fixture.command, ...fixture.args], {
        cwd,
        env: base,
        limitMs: 120_000,
        patience,
      })
      running.push(started)
      await started.until(/^ready \S+$/m)
      const url = /^ready (\S+)$/m.exec(started.stdout)?.[1]
      return url === undefined ? fixture : { ...fixture, url }
    },
    close,
  }
}

async function seenIn(record: string): Promise<SeenMessage[]> {
  if (!existsSync(record)) return []
  const lines = (await readFile(record, 'utf8')).split('\n')
  return lines.filter((line) => line !== '').map((line): SeenMessage => JSON.parse(line))
}

/** Ends what left its group, a daemon for example: everything whose command or variables name the desk's folder. */
function endStrays(place: string): void {
  for (const pid of strays(place)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It was over already.
    }
  }
}

/** The processes that belong to a desk, where the system tells (Linux). */
export function strays(place: string): number[] {
  if (!existsSync('/proc')) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => ['cmdline', 'environ'].some((file) => textOf(`/proc/${pid}/${file}`).includes(place)))
    .map(Number)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
