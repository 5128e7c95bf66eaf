import { Random } from '../../random.ts'
import { LibraryClient, StatelessClient } from './other-clients.ts'
import {
  type ClientRecord,
  clientOf,
  type History,
  now,
  type Principal,
  principals,
  uris,
} from './records.ts'
import { type Service, wait } from './service.ts'
import { type Enter, type Load, SessionClient } from './session-client.ts'

/** What the clients of a run do. */
export interface Plan {
  /** Begins the names of the clients: letters and digits, different for each run on a service. */
  readonly name: string
  readonly seed: number
  /** Calls to make. */
  readonly calls: number
  /** Milliseconds after which each request has ended. */
  readonly limitMs: number
  readonly lifeMs: number
  /** Milliseconds to wait for changes afterwards. */
  readonly quietMs: number
  /** Clients of each kind; the listening and the hostile one come in addition. */
  readonly clients: { readonly sessions: number; readonly stateless: number; readonly libraries: number }
  /** Tools that clients of sessions call. Default: all, now and then ending the session. */
  readonly tools?: readonly [string, ...string[]]
  /** Happens during the calls, until the promise resolves. */
  readonly meanwhile?: (progress: Progress) => Promise<void>
}

/** How far the calls of a run are. */
export interface Progress {
  isOver(): boolean
  /** Resolves when so many more calls were made, or none are left. */
  after(calls: number): Promise<void>
}

const libraries = ['v1', 'v2', 'ours', 'ours 2026-07-28'] as const

/** Records what the clients of a run do and receive. */
export class Recording {
  readonly records: ClientRecord[] = []

  readonly enter =
    (client: string): Enter =>
    (record) =>
      this.records.push({ at: now(), client, ...record })
}

/** Puts a service under load, and gives the history. */
export async function run(service: Service, plan: Plan): Promise<History> {
  const { records, enter } = new Recording()
  const { calls, clients, limitMs, lifeMs, name, seed } = plan
  const before = { faults: service.faults.length, ledger: service.ledger().length }
  const random = new Random(seed)
  const load: Load = { service, random, limitMs, enter, known: new Map() }
  let left = calls
  const isLeft = (count = 1): boolean => {
    left -= count
    return left + count > 0
  }
  const loops: Promise<void>[] = []
  const principal = (nth: number): Principal => principals[nth % 2] ?? 'alice'

  const listeners = [0, 1, 2].map((nth) => new SessionClient(load, `${name}l${nth}`, principal(nth)))
  await Promise.all(listeners.map((one) => one.begin()))
  const unsubscribe = await Promise.all(listeners.map((one) => one.listen(uris)))

  for (let nth = 0; nth < clients.sessions; nth++) {
    const isOld = nth % 4 === 3
    const client = new SessionClient(
      load,
      `${name}s${nth}`,
      principal(nth),
      isOld ? '2025-03-26' : '2025-11-25',
    )
    loops.push(
      client.begin().then(async () => {
        while (isLeft(isOld ? 3 : 1)) {
          if (isOld) await client.batch(['short', 'effect', random.pick(['slow', 'short'])])
          else await callOnce(client, random, plan.tools)
        }
        client.close()
      }),
    )
  }
  for (let nth = 0; nth < clients.stateless; nth++) {
    const client = new StatelessClient(load, `${name}m${nth}`, principal(nth))
    const work = async (): Promise<void> => {
      while (isLeft()) await client.call(random.pick(['short', 'slow', 'effect', 'ask', 'askTwice', 'steps']))
    }
    loops.push(work())
  }
  for (let nth = 0; nth < clients.libraries; nth++) {
    const client = new LibraryClient(
      load,
      `${name}c${nth}`,
      libraries[nth % libraries.length] ?? 'v1',
      principal(nth),
    )
    const work = async (): Promise<void> => {
      await client.begin()
      while (isLeft()) await client.call(random.pick(['short', 'slow', 'effect', 'ask', 'askTwice', 'steps']))
      await client.close()
    }
    loops.push(work())
  }
  const hostile = new SessionClient(load, `${name}h`, 'mallory')
  let isOver = false
  const attacking = hostile.begin().then(async () => {
    while (!isOver) {
      await hostile.attack()
      await hostile.call('short')
      await wait(50)
    }
  })
  const meanwhile = plan.meanwhile?.({
    isOver: () => left <= 0,
    after: async (calls) => {
      const until = Math.max(0, left - calls)
      while (left > until) await wait(20)
    },
  })
  await Promise.all(loops)
  await meanwhile
  isOver = true
  await attacking
  await quiet(records, plan.quietMs)
  const keys = await service.keys()
  for (const stop of unsubscribe) stop()
  for (const one of [...listeners, hostile]) one.close()
  return {
    clients: records,
    faults: service.faults.slice(before.faults),
    nodes: service
      .ledger()
      .slice(before.ledger)
      .filter((record) => !('op' in record) || clientOf(record.op).startsWith(name)),
    keys,
    limitMs,
    longestLifeMs: Math.max(lifeMs, 3_600_000),
  }
}

const everyTool = [
  'short',
  ...[
    'short',
    'short',
    'slow',
    'slow',
    'slow',
    'effect',
    'effect',
    'ask',
    'ask',
    'ask',
    'askTwice',
    'askTwice',
  ],
  ...['steps', 'steps', 'wait', 'wait', 'long', 'touch', 'touch', 'end'],
] as const

/** One call of a client, or the end of its session. */
async function callOnce(
  client: SessionClient,
  random: Random,
  tools: readonly [string, ...string[]] = everyTool,
): Promise<void> {
  const tool = random.pick(tools)
  if (tool === 'end') await client.end()
  else if (tool === 'touch') await client.touch(random.pick(uris))
  else {
    await client.call(tool, {
      drop: random.fraction() < 0.4,
      twice: random.fraction() < 0.4,
      retrieve: random.fraction() < 0.4,
    })
  }
}

/** Resolves once every change reached those who listen, or nothing more is to be expected. */
async function quiet(records: readonly ClientRecord[], quietMs: number): Promise<void> {
  const until = now() + quietMs
  while (now() < until) {
    const last = new Map<string, number>()
    const lost = new Set<string>()
    for (const record of records) {
      if (record.type === 'touched') last.set(record.uri, Math.max(record.from, last.get(record.uri) ?? 0))
      if (record.type === 'gone') lost.add(record.session)
    }
    const isKnown = records.every((record) => {
      if (record.type !== 'subscribed' || lost.has(record.session)) return true
      const { session, uri, at } = record
      const from = last.get(uri) ?? 0
      if (from < at) return true
      return records.some(
        (other) =>
          other.type === 'changed' && other.session === session && other.uri === uri && other.at >= from,
      )
    })
    if (isKnown) return
    await wait(50)
  }
}
