import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { freePort } from '../../setup/ports.ts'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import type { Returned } from './crowd-clients.ts'

const processes = 4
/** Bytes of the heap of the server one client may take: a session, its stream and what Node keeps for both. */
const maxEach = 40_000
/** Bytes that code takes once it ran, however many clients there are. */
const onceKept = 8_000_000

/** Starts a program of this folder, which ends with the test. */
function start(program: string, args: readonly (string | number)[]): ChildProcess {
  const path = programFile(new URL(program, import.meta.url))
  const child = fork(path, args.map(String), { execArgv: ['--expose-gc', '--no-warnings'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const [message]: T[] = await once(child, 'message')
  if (message === undefined) throw new Error('Nothing was said')
  return message
}

async function heapOf(server: ChildProcess): Promise<number> {
  server.send('measure')
  return nextMessage<number>(server)
}

/** The most in any second. */
function peak(times: readonly number[]): number {
  const seconds = Map.groupBy(times, (time) => Math.floor(time / 1_000))
  return Math.max(...[...seconds.values()].map((all) => all.length))
}

campaign(
  {
    id: 'crowd-comes-back',
    chapter: 'Sessions and streams',
    claim:
      'All clients of a killed server reconnect to its replacement, and neither side holds more than before',
    trial: 'client of a server that is gone for a second, or a minute with --long',
    trials: { test: 40, change: 100, long: 2_000 },
  },
  async ({ trials, long, measured }) => {
    const outageMs = long ? 60_000 : 1_000
    const port = await freePort()
    const first = start('crowd-server.ts', [port, trials])
    await nextMessage(first)
    const clients = Array.from({ length: processes }, () =>
      start('crowd-clients.ts', [`http://127.0.0.1:${port}/mcp`, trials / processes]),
    )
    await Promise.all(clients.map((child) => nextMessage(child)))
    const heapBefore = await heapOf(first)
    const returned = clients.map((child) => nextMessage<Returned>(child))
    for (const child of clients) child.send('gone')
    const lostAt = Date.now()
    first.kill('SIGKILL')
    await pause(outageMs)
    const second = start('crowd-server.ts', [port, trials])
    await nextMessage(second)
    const thereAt = Date.now()
    const all = await Promise.all(returned)
    const attempts = all.flatMap((one) => one.attempts)
    const returns = all.flatMap((one) => one.returns)
    const heapAfter = await heapOf(second)
    const heapOfClients = all.map((one) => (one.heapAfter - one.heapBefore) / (trials / processes))
    expect(returns).toHaveLength(trials)
    expect(heapAfter).toBeLessThan(heapBefore + onceKept)
    expect(heapBefore).toBeLessThan(trials * maxEach + 3 * onceKept)
    expect(Math.max(...heapOfClients)).toBeLessThan(maxEach + onceKept / (trials / processes))
    measured('heap of the server before', Math.round(heapBefore / 1e5) / 10, 'MB')
    measured('and after', Math.round(heapAfter / 1e5) / 10, 'MB')
    measured('grown for each client', Math.round(Math.max(...heapOfClients)), 'bytes')
    measured('last one back after', Math.round((Math.max(...returns) - thereAt) / 100) / 10, 's')
    measured('attempts until then, each', Math.round((10 * attempts.length) / trials) / 10, '')
    if (!long) return
    const lastMs = 20_000
    const usual = attempts.filter((at) => at < thereAt && at >= thereAt - lastMs).length / (lastMs / 1_000)
    const worst = peak(returns) / usual
    // On a busy machine processes bunch evenly spread retries; a test with a fake clock checks the spread.
    expect(worst).toBeLessThan(6)
    expect(attempts.filter((at) => at < lostAt + outageMs).length / trials).toBeLessThan(25)
    measured(
      'most back in one second against the attempts of a usual one',
      Math.round(worst * 100) / 100,
      '×',
    )
  },
)
