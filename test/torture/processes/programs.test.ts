import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createHost } from '@jackfield/host'
import { expect, onTestFinished, test } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { descendants, type Running, stillRunning } from './proc.ts'
import { untilSettled } from './trials.ts'

const atOnce = 4
const cpuMs = 1_000
/** Much more than a program may compute, and its process may take to end. */
const hungMs = 20_000

/** Programs that use the engine in different ways; the last ends well, the others as their limits say. */
const programs: readonly [string, ...string[]] = [
  'for (;;) {}',
  'for (;;) await null',
  '/(a+)+$/.test("a".repeat(60) + "b")',
  'for (;;) console.log("x".repeat(1_000))',
  'const all = []; for (;;) all.push({ a: [1, 2, 3] })',
  'const all: string[] = []; for (;;) all.push("x".repeat(100_000) + all.length)',
  'return 1',
]

/** The processes in which programs of a host run. */
function running(host: number): Running[] {
  return descendants(host).filter(({ pid }) => commandOf(pid).includes('program-process'))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

const killedClaim =
  'A program whose process is killed at any moment ends with an error, and nothing else ends'
const orphanClaim = 'No program outlives its host by more than it may compute'
if (!existsSync('/proc/self/stat')) {
  for (const claim of [killedClaim, orphanClaim]) test.skip(`${claim} (needs /proc)`, () => {})
} else {
  campaign(
    {
      id: 'programs-killed',
      chapter: 'Processes',
      claim: killedClaim,
      trial: `killed program, of ${atOnce} that run at once and loop, log or fill their memory`,
      trials: { test: 10, change: 40, long: 4_000 },
      longMinutes: 60,
    },
    async ({ seed, trials, setTrials, measured }) => {
      const random = new Random(seed)
      const host = createHost({ servers: {}, models: [] })
      onTestFinished(() => host.close())
      await host.start()
      const outcomes = { ok: 0, limit: 0, error: 0, cancelled: 0 }
      for (let trial = 0; trial < trials; trial += atOnce) {
        const runs = Array.from({ length: atOnce }, () =>
          host.code.run(random.pick(programs), { limits: { cpuMs: 300, memoryBytes: 32 * 1024 * 1024 } }),
        )
        const all = Promise.all(runs)
        await sleep(random.between(0, 300))
        const victims = running(process.pid).filter(() => random.fraction() < 0.5)
        for (const { pid } of victims) process.kill(pid, 'SIGKILL')
        const before = outcomes.error
        for (const { outcome, error } of await untilSettled(all, hungMs, `trial ${trial}`)) {
          outcomes[outcome] += 1
          if (outcome === 'error') expect(error).toBe('Its process ended (SIGKILL).')
        }
        expect(outcomes.error - before).toBeLessThanOrEqual(victims.length)
        expect(running(process.pid)).toEqual([])
      }
      expect(outcomes.cancelled).toBe(0)
      expect(outcomes.error).toBeGreaterThan(0)
      expect(await host.code.run('return 1')).toMatchObject({ outcome: 'ok', value: 1 })
      setTrials(outcomes.error)
      measured('ended as they would have beside them', outcomes.ok + outcomes.limit, 'programs')
    },
  )

  campaign(
    {
      id: 'host-killed-with-programs',
      chapter: 'Processes',
      claim: orphanClaim,
      trial: 'program that waits, logs or computes when its host is killed',
      trials: { test: 2, change: 8, long: 400 },
      longMinutes: 60,
    },
    async ({ seed, trials, setTrials, measured }) => {
      const random = new Random(seed)
      const server = programFile(new URL('server.ts', import.meta.url))
      const args = [fileURLToPath(new URL('programs-host.ts', import.meta.url)), `${cpuMs}`, server]
      let longest = 0
      let found = 0
      for (let trial = 0; trial < trials; trial += atOnce) {
        const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
        await once(host.stdout, 'data')
        await sleep(random.between(0, 200))
        const left = running(host.pid ?? 0)
        expect(left.length).toBeGreaterThan(0)
        found += left.length
        host.kill('SIGKILL')
        const killed = performance.now()
        while (stillRunning(left).length > 0) {
          expect(performance.now() - killed).toBeLessThan(hungMs)
          await sleep(10)
        }
        longest = Math.max(longest, performance.now() - killed)
      }
      setTrials(found)
      measured(`longest until all had ended, of ${cpuMs} ms they may compute`, longest, 'ms')
    },
  )
}
