import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished } from 'vitest'
import {
  isInstalled,
  note,
  PostgresServer,
} from '../../../../packages/postgres/test/support/postgres-server.ts'
import { isThere, left } from '../../../../packages/redis/test/support/redis-server.ts'
import { type CampaignRun, campaign } from '../../campaign.ts'
import { Random } from '../../random.ts'
import { check, mayBeUsedAgain } from './checker.ts'
import { run } from './load.ts'
import { type Mistake, mistakes } from './mistakes.ts'
import type { History } from './records.ts'
import { Service, wait } from './service.ts'

const lifeMs = 600_000
/** Calls whose history is checked together. */
const callsAtOnce = 2_500

/** The promise that each mistake must be found to break, and the tools that show it best. */
const broken: Readonly<
  Record<Mistake, { promise: number; or?: number; tools?: readonly [string, ...string[]] }>
> = {
  'used answers are accepted again': { promise: 6 },
  'records are written without comparing': { promise: 9, tools: ['touch'] },
  'sessions are ended on one node only': { promise: 7, tools: ['short', 'end'] },
  'records are read once a minute': { promise: 7, tools: ['short', 'end'] },
  'the caller of an address is remembered': { promise: 5 },
  'sessions belong to everybody': { promise: 5 },
  'all sessions have one log': { promise: 5 },
  'events are sent and not stored': { promise: 3 },
  'events are read twice': { promise: 4 },
  // Where it is the last one, the result is missing instead.
  'an event is left out when a stream is resumed': { promise: 4, or: 3 },
  'answers of other nodes are lost': { promise: 8, tools: ['ask'] },
  'a node that runs counts as gone': { promise: 3, tools: ['long'] },
  'a node that was killed counts as running': { promise: 8 },
  'changes are not published': { promise: 9, tools: ['touch'] },
  'nothing expires': { promise: 10 },
  'positions are counted': { promise: 4 },
  'steps run twice': { promise: 1, tools: ['steps'] },
}
const few = { sessions: 5, stateless: 1, libraries: 0 }
/** Mistakes that show when a process is killed, or Redis loses its newest writes. */
const withFaults: readonly Mistake[] = ['a node that was killed counts as running', 'positions are counted']

describe.skipIf(!isThere)(`histories of three nodes over Redis${left}`, { timeout: 120_000 }, () => {
  campaign(
    {
      id: 'history-checker',
      chapter: 'Sessions and streams',
      claim:
        'The checker of histories finds every mistake that nodes are made to make, and none in nodes without one',
      trial: 'mistake in nodes, of their balancer or of their use of Redis',
      trials: { test: 5, change: mistakes.length + 1, long: mistakes.length + 1 },
      changeMinutes: 5,
    },
    async ({ seed, trials }) => {
      const isWhole = trials > mistakes.length
      const alone = mistakes.filter((mistake) => !withFaults.includes(mistake))
      const every = isWhole ? 1 : Math.ceil(alone.length / trials)
      const offset = new Random(seed).between(0, every - 1)
      const chosen = alone.filter((_, n) => n % every === offset)
      const missed: string[] = []
      let runs = 0
      const named = () => ({ name: `r${++runs}x` })
      const plan = { seed, lifeMs, clients: few, calls: 30, limitMs: 5_000, quietMs: 2_000 }
      const maxTries = 6
      const expectFound = async (
        mistake: string,
        promise: number,
        history: (attempt: number) => Promise<History>,
        or = promise,
      ): Promise<void> => {
        const found = new Set<number>()
        const isFound = (): boolean => found.has(promise) || found.has(or)
        for (let attempt = 0; attempt < maxTries && !isFound(); attempt++) {
          for (const violation of check(await history(attempt))) found.add(violation.promise)
        }
        if (!isFound()) missed.push(`${mistake}: found ${[...found]}`)
      }
      const plain = async (): Promise<void> => {
        const service = await Service.start({ haproxy: false, lifeMs })
        expect(
          check(await run(service, { ...plan, ...named(), calls: 40, limitMs: 30_000, quietMs: 15_000 })),
        ).toEqual([])
        for (const mistake of chosen) {
          await service.make(mistake)
          const { promise, or, tools } = broken[mistake]
          const only = tools === undefined ? {} : { tools }
          await expectFound(
            mistake,
            promise,
            (nth) => run(service, { ...plan, ...named(), ...only, seed: seed + nth }),
            or,
          )
        }
        if (!isWhole) return
        await service.make(undefined)
        service.repeatsAfterMs = 30
        await expectFound('the balancer repeats requests', 2, (nth) =>
          run(service, { ...plan, ...named(), seed: seed + nth }),
        )
      }
      const killed = async (): Promise<void> => {
        const service = await Service.start({ haproxy: false, lifeMs })
        const mistake = 'a node that was killed counts as running'
        await service.make(mistake)
        await expectFound(mistake, broken[mistake].promise, (nth) => {
          const meanwhile = async (): Promise<void> => {
            await wait(200 + 150 * nth)
            await service.kill(0)
            await service.make(mistake)
          }
          return run(service, {
            ...plan,
            ...named(),
            seed: seed + nth,
            limitMs: 16_000,
            calls: 80,
            meanwhile,
          })
        })
      }
      const lost = async (): Promise<void> => {
        const service = await Service.start({ haproxy: false, lifeMs })
        const mistake = 'positions are counted'
        await service.make(mistake)
        await expectFound(mistake, broken[mistake].promise, async (nth) => {
          await service.replicate()
          const meanwhile = async (): Promise<void> => {
            await wait(300)
            await service.failOver(150)
          }
          return run(service, { ...plan, ...named(), seed: seed + nth, calls: 100, meanwhile })
        })
      }
      await Promise.all(isWhole ? [plain(), killed(), lost()] : [plain()])
      expect(missed).toEqual([])
    },
  )

  campaign(
    {
      id: 'history-on-redis',
      chapter: 'Sessions and streams',
      claim:
        'In the histories of clients of all kinds on three processes, which are killed, paused and restarted while their Redis is cut off, paused, restarted and replaced by a replica without its newest writes, no promise to clients is broken',
      trial: 'call',
      trials: { test: 600, change: 2_000, long: 5_000 },
      changeMinutes: 5,
      longMinutes: 20,
    },
    async (campaignRun) => {
      const service = await Service.start({ haproxy: true, lifeMs })
      await checkParts(service, campaignRun, fault)
    },
  )
})

describe.skipIf(!isInstalled)(`histories of three nodes over PostgreSQL${note}`, { timeout: 120_000 }, () => {
  campaign(
    {
      id: 'history-on-postgres',
      chapter: 'Sessions and streams',
      claim:
        'In the histories of clients of all kinds on three processes over PostgreSQL, which are killed, paused and restarted while PostgreSQL is restarted, no promise to clients is broken',
      trial: 'call',
      trials: { test: 300, change: 2_000, long: 5_000 },
      changeMinutes: 5,
      longMinutes: 20,
    },
    async (campaignRun) => {
      const postgres = await PostgresServer.start({ isDurable: true })
      onTestFinished(() => postgres.stop())
      const service = await Service.start({ haproxy: true, lifeMs, postgres })
      await checkParts(service, campaignRun, faultOverPostgres)
    },
  )
})

/** Puts a service under load with faults, and checks the histories of its parts. */
async function checkParts(
  service: Service,
  { seed, trials, measured, setTrials }: CampaignRun,
  happen: (service: Service, random: Random) => Promise<void>,
): Promise<void> {
  const random = new Random(seed)
  const sums = new Map<string, number>()
  let calls = 0
  for (let part = 0; part * callsAtOnce < trials; part++) {
    const history = await run(service, {
      name: `p${part}x`,
      seed: seed + part,
      calls: Math.min(callsAtOnce, trials - part * callsAtOnce),
      // A call may be on two nodes that are killed one after the other, each of which costs its lease.
      limitMs: 60_000,
      quietMs: 15_000,
      lifeMs,
      clients: { sessions: 24, stateless: 6, libraries: 16 },
      meanwhile: async ({ isOver, after }) => {
        while (!isOver()) {
          await after(random.between(100, 300))
          await happen(service, random)
        }
      },
    })
    calls += history.clients.filter(({ type }) => type === 'invoked').length
    for (const [name, count] of counts(history)) sums.set(name, (sums.get(name) ?? 0) + count)
    const violations = check(history)
    const where = violations.length === 0 ? '' : `, ${saveHistory(history, seed, part)}`
    expect(violations, `part ${part}${where}`).toEqual([])
  }
  for (const [name, count] of sums) measured(name, count, '')
  setTrials(calls)
}

async function faultOverPostgres(service: Service, random: Random): Promise<void> {
  const node = random.between(0, 2)
  switch (random.between(0, 4)) {
    case 0:
    case 1:
      return service.kill(node, random.between(0, 1_000))
    case 2:
      return service.pause(node, random.between(500, 3_000))
    case 3:
      return service.restart(node)
    default:
      return service.restartStore(random.between(0, 1_000))
  }
}

async function fault(service: Service, random: Random): Promise<void> {
  const node = random.between(0, 2)
  switch (random.between(0, 7)) {
    case 0:
    case 1:
      return service.kill(node, random.between(0, 1_000))
    case 2:
      return service.pause(node, random.between(500, 3_000))
    case 3:
      return service.restart(node)
    case 4:
      return service.cutSubscriptions()
    case 5:
      return service.pauseStore(random.between(500, 4_000))
    case 6:
      return service.restartStore(random.between(0, 1_000))
    default:
      await service.replicate()
      return service.failOver(random.between(10, 100))
  }
}

/** Writes a history into a file, to find out what happened. */
function saveHistory(history: History, seed: number, part: number): string {
  const folder = fileURLToPath(new URL('../../../../results', import.meta.url))
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `history-${seed}-${part}.json`)
  writeFileSync(file, JSON.stringify(history))
  return file
}

/** Outcomes of calls, and faults, with how often there were. */
function counts(history: History): Map<string, number> {
  const { clients, nodes, faults } = history
  const used = new Set<string>()
  const again = nodes.filter((one) => {
    if (one.type !== 'used') return false
    const question = `${one.nth} ${one.op}`
    if (used.has(question)) return mayBeUsedAgain(history, one.op)
    used.add(question)
    return false
  })
  const names = [
    ...again.map(() => 'answers that were used again after a failover lost the newest writes'),
    ...clients.flatMap((one) => (one.type === 'completed' ? [`outcome: ${one.outcome}`] : [])),
    ...clients.flatMap((one) => (one.type === 'event' ? ['events'] : [])),
    ...nodes.flatMap((one) => (one.type === 'effect' ? ['effects'] : [])),
    ...faults.map(({ kind }) => kind),
  ]
  const found = new Map<string, number>()
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1)
  return found
}
