import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@jackfield/sdk'
import { describe, expect, onTestFinished } from 'vitest'
import { isInstalled, note, PostgresServer } from '../../../packages/postgres/test/support/postgres-server.ts'
import {
  forgetsNothing,
  isThere,
  left,
  RedisServer,
} from '../../../packages/redis/test/support/redis-server.ts'
import { idIn, modern, type Raw, textIn } from '../../../packages/sdk/test/extensions/tasks/support.ts'
import { programFile } from '../../setup/program-file.ts'
import { type CampaignRun, campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { building, maxRunning, type StoreOf, steps, storeOf } from './building.ts'

const program = programFile(new URL('tasks-program.ts', import.meta.url))
const workers = 3
const atOnce = 10

/** Starts one more worker; resolves when it works. */
async function start(input: object): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--no-warnings', program, JSON.stringify(input)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => end(child, 'SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

/** A task once it is over. */
async function finished(first: Raw, taskId: string): Promise<JsonObject> {
  for (;;) {
    const task = await first.ask('tasks/get', { taskId })
    if (task['status'] !== 'working') return task
    await sleep(50)
  }
}

/** Builds houses all the time, while workers are killed and replaced. */
async function killWorkers(where: StoreOf, { trials, seed, measured }: CampaignRun): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-building-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const ledger = join(folder, 'ledger')
  writeFileSync(ledger, '')
  const { server, extension } = building(await storeOf(where), { write: () => {}, work: false })
  const first = modern(server)
  onTestFinished(async () => {
    await first.close()
    await extension.close()
  })
  const input = { store: where, ledger }
  const all = await Promise.all(Array.from({ length: workers }, () => start(input)))
  const chance = new Random(seed)

  const results = new Map<string, string>()
  let isOver = false
  let begun = 0
  const build = async (): Promise<void> => {
    while (!isOver) {
      const house = `house-${begun++}`
      const taskId = idIn(await first.ask('tools/call', { name: 'build', arguments: { house } }))
      const task = await finished(first, taskId)
      expect(task).toMatchObject({ status: 'completed' })
      results.set(house, textIn(task['result']))
    }
  }
  const houses = Promise.all(Array.from({ length: atOnce }, build))
  for (let trial = 0; trial < trials; trial++) {
    await sleep(chance.between(50, 450))
    const at = chance.between(0, workers - 1)
    const worker = all[at]
    if (worker !== undefined) await end(worker, trial % 4 === 3 ? 'SIGTERM' : 'SIGKILL')
    all[at] = await start(input)
  }
  isOver = true
  await houses

  const keysOf = new Map<string, string[]>()
  const done = new Set<string>()
  for (const line of readFileSync(ledger, 'utf8').split('\n').filter(Boolean)) {
    const [house, step, what = ''] = line.split(' ')
    const place = `${house} ${step}`
    if (what === 'finished') done.add(place)
    else {
      expect(done.has(place), `${place} ran after it had finished`).toBe(false)
      keysOf.set(place, [...(keysOf.get(place) ?? []), what])
    }
  }
  expect(results.size).toBe(begun)
  let again = 0
  for (const [house, keys] of results) {
    const ran = steps.map((step) => keysOf.get(`${house} ${step}`) ?? [])
    // One key for each step, whatever happened, and the result has those keys.
    expect(ran.map((of) => [...new Set(of)])).toEqual(keys.split(' ').map((key) => [key]))
    again += ran.reduce((sum, of) => sum + of.length - 1, 0)
  }
  measured('tasks completed meanwhile', results.size, 'tasks')
  measured('steps that ran again because their process was killed in them', again, 'steps')
  expect(again).toBeLessThanOrEqual(trials * maxRunning)
}

const claim = (store: string): string =>
  `Tasks on ${store} are completed while their processes are killed: none is lost, each finished step runs once, and one that was interrupted runs again with the same key`
const trial = 'process that runs tasks killed and replaced'
const trials = { test: 4, change: 20, long: 1000 }
const changeMinutes = 5

describe.skipIf(!isThere)(`tasks on Redis${left}`, { timeout: 120_000 }, () => {
  campaign(
    { id: 'killed-workers-redis', chapter: 'State', claim: claim('Redis'), trial, trials, changeMinutes },
    async (campaignRun) => {
      const redis = await RedisServer.start(...forgetsNothing)
      await killWorkers({ redis: redis.url }, campaignRun)
    },
  )
})

describe.skipIf(!isInstalled)(`tasks on PostgreSQL${note}`, { timeout: 120_000 }, () => {
  campaign(
    {
      id: 'killed-workers-postgres',
      chapter: 'State',
      claim: claim('PostgreSQL'),
      trial,
      trials,
      changeMinutes,
    },
    async (campaignRun) => {
      const server = await PostgresServer.start()
      onTestFinished(() => server.stop())
      await killWorkers({ postgres: server.url() }, campaignRun)
    },
  )
})
