import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { descendants, type Running, stillRunning } from './proc.ts'
import { inParallel } from './trials.ts'

const at = (name: string): string => programFile(new URL(name, import.meta.url))
const servers = 5
/** Four times what is claimed of everything together; what runs longer counts as left behind. */
const leftBehindMs = 12_000

const wrappers = {
  none: (command: string[]) => command,
  'a shell': (command: string[]) => ['sh', '-c', '"$@"; exit $?', 'sh', ...command],
  'a launcher': (command: string[]) => [
    process.execPath,
    '-e',
    'const [c, ...a] = process.argv.slice(1); require("child_process").spawn(c, a, { stdio: "inherit" })',
    ...command,
  ],
}

interface Left {
  /** Milliseconds after which everything had ended. */
  allMs: number
  /** The same, of servers whose tool only waited. */
  waitingMs: number
  /** Most processor time that one spent from the end of its host on, where it did not compute all the time. */
  cpuMs: number
}

async function endHost(random: Random, withSpinning: boolean): Promise<Left> {
  const habits = [
    'waits',
    'chatters',
    'is kept by a timer',
    'ignores SIGTERM',
    withSpinning ? 'spins' : 'waits',
  ]
  const commands = habits.map((habit) => {
    const wrap = wrappers[random.pick<keyof typeof wrappers>(['none', 'none', 'a shell', 'a launcher'])]
    const [command = '', ...args] = wrap([process.execPath, at('server.ts'), habit])
    return { command, args, calls: habit !== 'is kept by a timer' }
  })
  const host = spawn(process.execPath, [at('host.ts'), JSON.stringify(commands)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [output] = await once(host.stdout, 'data')
    const pids: number[] = JSON.parse(String(output))
    await sleep(random.between(0, 50))
    const tree = descendants(host.pid ?? 0)
    expect(tree.length).toBeGreaterThan(servers)
    const spinning = new Set(habits.flatMap((habit, n) => (habit === 'spins' ? [pids[n]] : [])))
    const waiting = new Set(habits.flatMap((habit, n) => (habit === 'waits' ? [pids[n]] : [])))
    return await watchEnd(host.pid ?? 0, tree, spinning, waiting)
  } finally {
    host.kill('SIGKILL')
  }
}

async function watchEnd(
  host: number,
  tree: readonly Running[],
  spinning: ReadonlySet<number | undefined>,
  waiting: ReadonlySet<number | undefined>,
): Promise<Left> {
  const before = new Map(stillRunning(tree).map(({ pid, cpuMs }) => [pid, cpuMs]))
  const found: Left = { allMs: 0, waitingMs: 0, cpuMs: 0 }
  process.kill(host, 'SIGKILL')
  const killed = performance.now()
  for (;;) {
    const left = stillRunning(tree)
    if (left.length === 0) return found
    found.allMs = performance.now() - killed
    for (const { pid, cpuMs } of left) {
      if (waiting.has(pid)) found.waitingMs = found.allMs
      if (!spinning.has(pid)) found.cpuMs = Math.max(found.cpuMs, cpuMs - (before.get(pid) ?? 0))
    }
    if (found.allMs > leftBehindMs) {
      for (const { pid } of left) process.kill(pid, 'SIGKILL')
      throw new Error(`${left.length} processes were left behind by a host that was killed`)
    }
    await sleep(10)
  }
}

const claim = 'No process of a server outlives a host that is killed, whatever the server is at'
if (!existsSync('/proc/self/stat')) test.skip(`${claim} (needs /proc)`, () => {})
else {
  campaign(
    {
      id: 'host-killed',
      chapter: 'Processes',
      claim,
      trial:
        'server that waits, logs, computes, has a timer or ignores SIGTERM, started as it is or by a launcher',
      trials: { test: 6, change: 20, long: 2_500 },
      longMinutes: 60,
    },
    async ({ trials, seed, measured }) => {
      const all: Left[] = []
      await inParallel(Math.ceil(trials / servers), 2, async (trial) => {
        all.push(await endHost(new Random(seed + trial), trial % 2 === 0))
      })
      const most = (of: (left: Left) => number): number => Math.max(...all.map(of))
      // Four times what one that only ends may take.
      expect(most(({ cpuMs }) => cpuMs)).toBeLessThan(800)
      measured(
        'longest until all had ended',
        most(({ allMs }) => allMs),
        'ms',
      )
      measured(
        'of those whose tool waits',
        most(({ waitingMs }) => waitingMs),
        'ms',
      )
      measured(
        'most processor time of an end',
        most(({ cpuMs }) => cpuMs),
        'ms',
      )
    },
  )
}
