import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RedisBackplane, redisBackplane } from '@jackfield/redis'
import type { Backplane } from '@jackfield/sdk'
import { sqliteBackplane } from '@jackfield/sdk/backplane/sqlite'
import { createClient, createCluster } from '@redis/client'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memoryBackplane } from '../../sdk/src/request/backplane.ts'
import { isThere, left, RedisServer } from './support/redis-server.ts'

/** Makes several connections to one shared store. */
type Open = (connections: number) => Promise<Backplane[]>

const opened = async (open: () => Promise<RedisBackplane>, connections: number): Promise<Backplane[]> => {
  const all = await Promise.all(Array.from({ length: connections }, open))
  onTestFinished(async () => {
    await Promise.all(all.map((one) => one.close()))
  })
  return all
}

const inMemory: Open = async (connections) => {
  const plane = memoryBackplane()
  return Array.from({ length: connections }, () => plane)
}

const inFile: Open = async (connections) => {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-backplane-'))
  const plane = sqliteBackplane(join(folder, 'backplane.db'))
  onTestFinished(() => {
    plane.close()
    rmSync(folder, { recursive: true })
  })
  return Array.from({ length: connections }, () => plane)
}

const byUrl: Open = async (connections) => {
  const { url } = await RedisServer.start()
  return opened(() => redisBackplane({ url }), connections)
}

/** Options of a client that reads replies as bytes and speaks the older protocol. */
const byClient: Open = async (connections) => {
  const { url } = await RedisServer.start()
  const client = createClient({ url, RESP: 2 }).withTypeMapping({ 36: Buffer })
  return opened(() => redisBackplane({ client, prefix: 'own:' }), connections)
}

const inCluster: Open = async (connections) => {
  const server = await RedisServer.start('--cluster-enabled', 'yes')
  await server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await vi.waitFor(
    async () => expect(await server.ask('CLUSTER', 'INFO')).toContain('cluster_state:ok'),
    20_000,
  )
  const client = createCluster({ rootNodes: [{ url: server.url }] })
  const subscriber = createClient({ url: server.url })
  return opened(() => redisBackplane({ client, subscriber }), connections)
}

const planes = [
  { name: 'a backplane in memory', open: inMemory, runs: true },
  { name: 'a backplane in an SQLite file', open: inFile, runs: true },
  { name: `a backplane on Redis${left}`, open: byUrl, runs: isThere },
  { name: `a backplane on Redis by a client's options${left}`, open: byClient, runs: isThere },
  { name: `a backplane on a cluster of Redis${left}`, open: inCluster, runs: isThere },
]

const hour = 3_600_000

describe.each(planes)('$name', ({ open, runs }) => {
  const one = async (): Promise<Backplane> => {
    const [plane] = await open(1)
    if (plane === undefined) throw new Error('none')
    return plane
  }

  it.runIf(runs)('keeps values for their time', async () => {
    const plane = await one()
    await plane.set('short', 'a', 40)
    await plane.set('long', 'ä\u0000\n😀', hour)
    expect(await plane.add('short-added', 'b', 40)).toBe(true)
    const short = await plane.append('short-log', 'c', 10, 40)
    await vi.waitFor(async () => {
      expect(await plane.get('short')).toBeUndefined()
      expect(await plane.get('short-added')).toBeUndefined()
      expect(await plane.read('short-log', short)).toBeUndefined()
    }, 10_000)
    expect(await plane.get('long')).toBe('ä\u0000\n😀')
    expect(await plane.add('short', 'again', hour)).toBe(true)
    const again = await plane.append('short-log', 'again', 10, hour)
    expect(again).not.toBe(short)
    expect(await plane.read('short-log', again)).toEqual([{ position: again, entry: 'again' }])
    expect(await plane.read('short-log', short)).toBeUndefined()
  })

  it.runIf(runs)('lets exactly one of many win an add, and one a swap, over three connections', async () => {
    const three = await open(3)
    const [plane] = three
    for (let race = 0; race < 30; race++) {
      const racers = [...three, ...three, ...three]
      const added = await Promise.all(racers.map((each, at) => each.add(`add-${race}`, String(at), hour)))
      expect(added.filter(Boolean)).toHaveLength(1)
      const winner = String(added.indexOf(true))
      expect(await plane?.get(`add-${race}`)).toBe(winner)
      const swapped = await Promise.all(
        racers.map((each, at) => each.swap(`add-${race}`, winner, `new ${at}`, hour)),
      )
      expect(swapped.filter(Boolean)).toHaveLength(1)
      expect(await plane?.get(`add-${race}`)).toBe(`new ${swapped.indexOf(true)}`)
    }
  })

  it.runIf(runs)('gives every entry of a log a position of its own, whoever appends', async () => {
    const three = await open(3)
    const positions = await Promise.all(
      Array.from({ length: 300 }, async (_, at) => three[at % 3]?.append('log', `entry ${at}`, 100, hour)),
    )
    expect(new Set(positions).size).toBe(300)
    for (const position of positions) expect(position).toMatch(/^[\d-]{1,40}$/)
    const newest = (await three[2]?.append('log', 'newest', 100, hour)) ?? ''
    const kept = (await Promise.all(positions.map((one = '') => three[0]?.read('log', one)))).filter(Boolean)
    const all = kept.toSorted((a, b) => Number(b?.length) - Number(a?.length))[0]
    expect([kept.length, all?.length]).toEqual([99, 100])
    expect(all?.at(-1)).toEqual({ position: newest, entry: 'newest' })
    for (const { position, entry } of all?.slice(0, -1) ?? []) {
      expect(entry).toBe(`entry ${positions.indexOf(position)}`)
    }
    expect(await three[1]?.read('log', newest)).toEqual([{ position: newest, entry: 'newest' }])
    for (const unknown of ['0', '-', '', '1', '1-1', `${newest}0`, 'x', '9'.repeat(40)])
      expect(await three[1]?.read('log', unknown)).toBeUndefined()
  })

  it.runIf(runs)(
    'starts a log anew for its only writer where the newest entry is not the last one of that writer',
    async () => {
      const plane = await one()
      const first = await plane.append('log', 'first', 10, hour)
      const second = await plane.append('log', 'second', 10, hour, first)
      expect(await plane.read('log', first, second)).toHaveLength(2)
      expect(await plane.read('log', first, '7')).toBeUndefined()
      const third = await plane.append('log', 'third', 10, hour, first)
      expect(await plane.read('log', first)).toBeUndefined()
      expect(await plane.read('log', second)).toBeUndefined()
      expect(await plane.read('log', third)).toEqual([{ position: third, entry: 'third' }])
      expect(new Set([first, second, third]).size).toBe(3)
    },
  )

  it.runIf(runs)(
    'brings messages to everybody who listens to their topic, in order, and to nobody else',
    async () => {
      const [a, b, c] = await open(3)
      const heard: Record<string, string[]> = { first: [], second: [], left: [], other: [] }
      await b?.subscribe('topic', (message) => heard['first']?.push(message))
      await c?.subscribe('topic', (message) => heard['second']?.push(message))
      const leave = await c?.subscribe('topic', (message) => heard['left']?.push(message))
      await c?.subscribe('another', (message) => heard['other']?.push(message))
      leave?.()
      leave?.()
      const messages = Array.from({ length: 200 }, (_, at) => `message ${at} ü`)
      for (const message of messages) await a?.publish('topic', message)
      await a?.publish('another', 'last')
      await vi.waitFor(
        () =>
          expect([heard['other'], heard['first']?.length, heard['second']?.length]).toEqual([
            ['last'],
            200,
            200,
          ]),
        10_000,
      )
      expect(heard).toEqual({ first: messages, second: messages, left: [], other: ['last'] })
    },
  )

  it.runIf(runs)('hears a topic again that was left a moment ago', async () => {
    const plane = await one()
    for (let round = 0; round < 20; round++) {
      const heard: string[] = []
      const leave = await plane.subscribe('topic', (message) => heard.push(`old ${message}`))
      leave()
      const again = await plane.subscribe('topic', (message) => heard.push(message))
      await plane.publish('topic', 'hello')
      await vi.waitFor(() => expect(heard).toEqual(['hello']), 10_000)
      again()
    }
  })
})

const key = fc.constantFrom('k', 'l')
const text = fc.oneof(fc.constantFrom('', 'a', 'b'), fc.string({ unit: 'grapheme', maxLength: 4 }))
const ttl = fc.constantFrom(hour, hour, hour, 0, -1)
/** Which of the positions so far, counted from the newest one: each backplane has its own. */
const nth = fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined })
const step = fc.oneof(
  fc.record({ do: fc.constant('get' as const), key }),
  fc.record({ do: fc.constant('set' as const), key, text, ttl }),
  fc.record({ do: fc.constant('add' as const), key, text, ttl }),
  fc.record({ do: fc.constant('swap' as const), key, text, to: text, ttl }),
  fc.record({ do: fc.constant('delete' as const), key }),
  fc.record({
    do: fc.constant('append' as const),
    key,
    text,
    keep: fc.integer({ min: 0, max: 4 }),
    ttl,
    previous: nth,
  }),
  fc.record({ do: fc.constant('read' as const), key, at: nth, newest: nth }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** What a backplane does, with its positions counted in the order in which it gave them. */
async function taken(plane: Backplane, step: Step, run: string, positions: string[]): Promise<unknown> {
  const key = `${run} ${step.key}`
  const named = (nth: number | undefined) => (nth === undefined ? undefined : positions.at(-1 - nth))
  switch (step.do) {
    case 'get':
      return plane.get(key)
    case 'set':
      return plane.set(key, step.text, step.ttl)
    case 'add':
      return plane.add(key, step.text, step.ttl)
    case 'swap':
      return plane.swap(key, step.text, step.to, step.ttl)
    case 'delete':
      return plane.delete(key)
    case 'append':
      positions.push(await plane.append(key, step.text, step.keep, step.ttl, named(step.previous)))
      return undefined
    case 'read': {
      const entries = await plane.read(key, named(step.at) ?? '0', named(step.newest))
      return entries?.map(({ position, entry }) => [positions.indexOf(position), entry])
    }
  }
}

describe('the backplanes in memory and on Redis', () => {
  it.runIf(isThere)(`answer every sequence of commands with the same${left}`, async () => {
    const [memory] = await inMemory(1)
    const [redis] = await byUrl(1)
    if (memory === undefined || redis === undefined) throw new Error('none')
    let runs = 0
    const same = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const run = String(runs++)
      const positions: [string[], string[]] = [[], []]
      for (const each of steps) {
        expect(await taken(redis, each, run, positions[0]), JSON.stringify(each)).toEqual(
          await taken(memory, each, run, positions[1]),
        )
      }
    })
    await fc.assert(same, { numRuns: 300 })
  })
})
