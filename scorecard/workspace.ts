import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { root } from '../scripts/run.ts'
import { openTerminal, type Terminal } from '../scripts/terminal/terminal.ts'
import { commandOf } from './clis.ts'
import { startProcess } from './start-process.ts'
import type { Cli, FixtureServer, ReceivedMessage, RunningProcess, RunOptions, Workspace } from './types.ts'

const defaultTimeoutMs = 15_000
const openWorkspaces = new Set<() => Promise<void>>()

/** Closes all workspaces, when the run is interrupted. */
export async function closeWorkspaces(): Promise<void> {
  await Promise.all([...openWorkspaces].map((close) => close()))
}

/**
 * Creates a workspace; `close` ends its processes and removes its folder.
 * @param patience factor for default timeouts
 */
export async function openWorkspace(patience = 1): Promise<Workspace & { close(): Promise<void> }> {
  const folder = realpathSync(await mkdtemp(join(tmpdir(), 'scorecard-')))
  const [home, cwd] = [join(folder, 'home'), join(folder, 'work')]
  await Promise.all([mkdir(home), mkdir(cwd)])
  const baseEnv: Record<string, string> = {
    PATH: [dirname(process.execPath), join(root, 'node_modules/.bin'), '/usr/bin', '/bin'].join(delimiter),
    HOME: home,
    USER: 'user',
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    SHELL: '/bin/sh',
    TMPDIR: folder,
    DO_NOT_TRACK: '1',
    NO_UPDATE_NOTIFIER: '1',
    MCP_USE_ANONYMIZED_TELEMETRY: 'false',
  }
  const processes: RunningProcess[] = []
  const terminals: Terminal[] = []
  let fixtures = 0

  const start = (cli: Cli, args: string[], options: RunOptions = {}): RunningProcess => {
    const started = startProcess(commandOf(cli, args), {
      cwd,
      env: { ...baseEnv, ...options.env },
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs * patience,
      patience,
    })
    processes.push(started)
    if (options.input !== undefined) {
      started.write(options.input)
      started.end()
    }
    return started
  }

  const close = async (): Promise<void> => {
    openWorkspaces.delete(close)
    await Promise.all([...processes.map((one) => one.stop()), ...terminals.map((one) => one.close())])
    killProcesses(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  openWorkspaces.add(close)

  return {
    home,
    cwd,
    async write(name, text) {
      const path = join(cwd, name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
      return path
    },
    run(cli, args, options = {}) {
      return start(cli, args, { ...options, input: options.input ?? '' }).exit
    },
    start,
    async terminal(cli, args) {
      const terminal = openTerminal(commandOf(cli, args), { cwd, env: baseEnv })
      terminals.push(terminal)
      return terminal
    },
    async fixture(name, ...args) {
      fixtures += 1
      const record = join(folder, `${name}-${fixtures}.jsonl`)
      const fixture: FixtureServer = {
        command: process.execPath,
        args: [join(root, 'scorecard/fixtures', `${name}.ts`), record, ...args],
        received: () => readRecord(record),
      }
      if (args[0] !== 'http' && args[0] !== 'sse') return fixture
      const started = startProcess([fixture.command, ...fixture.args], {
        cwd,
        env: baseEnv,
        timeoutMs: 120_000,
        patience,
      })
      processes.push(started)
      await started.waitFor(/^ready \S+$/m)
      const url = /^ready (\S+)$/m.exec(started.stdout)?.[1]
      return url === undefined ? fixture : { ...fixture, url }
    },
    close,
  }
}

async function readRecord(record: string): Promise<ReceivedMessage[]> {
  if (!existsSync(record)) return []
  const lines = (await readFile(record, 'utf8')).split('\n')
  return lines.filter((line) => line !== '').map((line): ReceivedMessage => JSON.parse(line))
}

/** Kills the processes that left their group, such as daemons. */
function killProcesses(folder: string): void {
  for (const pid of processesOf(folder)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has exited.
    }
  }
}

/** The processes whose command line or environment contains the folder of a workspace. Only on Linux. */
export function processesOf(folder: string): number[] {
  if (!existsSync('/proc')) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      ['cmdline', 'environ'].some((file) => readOrEmpty(`/proc/${pid}/${file}`).includes(folder)),
    )
    .map(Number)
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
