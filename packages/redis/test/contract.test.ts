import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RedisBackplane, redisBackplane } from '@jackfield/redis'
import type { Backplane } from '@jackfield/sdk'
import { sqliteBackplane } from '@jackfield/sdk/backplane/sqlite'
import { backplaneContract, memoryBackplane } from '@jackfield/sdk/testing'
import { createClient, createCluster } from '@redis/client'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isThere, left, RedisServer } from './support/redis-server.ts'
import { requireSame } from './support/same-answers.ts'

/** Makes several connections to one shared store. */
type Open = (connections: number) => Promise<Backplane[]>

/** The contract has no deadlines: a busy machine may delay a command or a message for seconds. */
const patient = { timeoutMs: 60_000 }

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

/** The servers that all tests share: each has a prefix of its own there. */
let shared: RedisServer
let cluster: RedisServer
let prefixes = 0
const ownPrefix = (): string => `own-${++prefixes}:`

beforeAll(async () => {
  if (!isThere) return
  shared = await RedisServer.launch()
  cluster = await RedisServer.launch('--cluster-enabled', 'yes')
  await cluster.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await vi.waitFor(
    async () => expect(await cluster.ask('CLUSTER', 'INFO')).toContain('cluster_state:ok'),
    20_000,
  )
  return async () => {
    await shared.stop()
    await cluster.stop()
  }
})

const byUrl: Open = async (connections) => {
  const prefix = ownPrefix()
  return opened(() => redisBackplane({ ...patient, url: shared.url, prefix }), connections)
}

/** Options of a client that reads replies as bytes and speaks the older protocol. */
const byClient: Open = async (connections) => {
  const client = createClient({ url: shared.url, RESP: 2 }).withTypeMapping({ 36: Buffer })
  const prefix = ownPrefix()
  return opened(() => redisBackplane({ ...patient, client, prefix }), connections)
}

const inCluster: Open = async (connections) => {
  const client = createCluster({ rootNodes: [{ url: cluster.url }] })
  const subscriber = createClient({ url: cluster.url })
  const prefix = ownPrefix()
  return opened(() => redisBackplane({ ...patient, client, subscriber, prefix }), connections)
}

const planes = [
  { name: 'a backplane in memory', open: inMemory, runs: true },
  { name: 'a backplane in an SQLite file', open: inFile, runs: true },
  { name: `a backplane on Redis${left}`, open: byUrl, runs: isThere },
  { name: `a backplane on Redis by a client's options${left}`, open: byClient, runs: isThere },
  { name: `a backplane on a cluster of Redis${left}`, open: inCluster, runs: isThere },
]

describe.each(planes)('$name', ({ open, runs }) => {
  for (const { name, run } of backplaneContract(open)) it.runIf(runs)(name, { timeout: 90_000 }, run)
})

describe('the backplanes in memory and on Redis', () => {
  it.runIf(isThere)(`return the same results for every sequence of commands${left}`, async () => {
    const [memory] = await inMemory(1)
    const [redis] = await byUrl(1)
    if (memory === undefined || redis === undefined) throw new Error('none')
    await requireSame(memory, redis, 100)
  })
})
