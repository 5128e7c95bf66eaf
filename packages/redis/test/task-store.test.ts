import { redisTaskStore } from '@jackfield/redis'
import type { TaskStore } from '@jackfield/sdk/extensions/tasks'
import { taskStoreContract } from '@jackfield/sdk/testing'
import { createClient, createCluster } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isThere, left, RedisServer } from './support/redis-server.ts'

/** Opens stores, each time under a prefix of its own. */
function stores(prefix: string, open: (prefix: string) => Promise<TaskStore>) {
  let count = 0
  return (connections: number): Promise<TaskStore[]> => {
    const own = `${prefix}${++count}:`
    return Promise.all(Array.from({ length: connections }, () => open(own)))
  }
}

describe.skipIf(!isThere)(`a task store on Redis${left}`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.launch()
  })
  afterAll(() => server.stop())

  const open = stores('own', (prefix) => redisTaskStore({ url: server.url, prefix }))
  for (const { name, run } of taskStoreContract(open)) it(name, run)
})

describe.skipIf(!isThere)(`a task store on a cluster of Redis${left}`, () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.launch('--cluster-enabled', 'yes')
    await server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await vi.waitFor(
      async () => expect(await server.ask('CLUSTER', 'INFO')).toContain('cluster_state:ok'),
      20_000,
    )
  })
  afterAll(() => server.stop())

  const open = stores('cluster', (prefix) =>
    redisTaskStore({
      client: createCluster({ rootNodes: [{ url: server.url }] }),
      subscriber: createClient({ url: server.url }),
      prefix,
    }),
  )
  for (const { name, run } of taskStoreContract(open)) it(name, run)
})

describe.skipIf(!isThere)(`stored data of a task store in Redis${left}`, () => {
  it('expires, also if no process ever deletes it', async () => {
    const server = await RedisServer.start()
    const store = await redisTaskStore({ url: server.url })
    const task = { id: 'x'.repeat(32), owner: 'ada', holder: '', holdMs: 0, body: '{}' }
    const capacity = { owner: 10, all: 10 }
    await store.add({ ...task, ttlMs: 3_000 }, capacity)
    await store.add({ ...task, id: 'y'.repeat(32), ttlMs: 4_000 }, capacity)
    expect(await store.claim('one', 1000, { limit: 5 })).toHaveLength(2)
    await store.close()
    await vi.waitFor(async () => expect(await server.ask('DBSIZE')).toBe(0), 10_000)
  })
})
