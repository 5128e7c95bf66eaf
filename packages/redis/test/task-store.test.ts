import { redisTaskStore } from '@jackfield/redis'
import type { TaskStore } from '@jackfield/sdk/extensions/tasks'
import { taskStoreContract } from '@jackfield/sdk/testing'
import { createClient, createCluster } from '@redis/client'
import { describe, expect, it, vi } from 'vitest'
import { isThere, left, RedisServer } from './support/redis-server.ts'

const opened = (connections: number, open: () => Promise<TaskStore>): Promise<TaskStore[]> =>
  Promise.all(Array.from({ length: connections }, open))

const byUrl = async (connections: number): Promise<TaskStore[]> => {
  const { url } = await RedisServer.start()
  return opened(connections, () => redisTaskStore({ url }))
}

const inCluster = async (connections: number): Promise<TaskStore[]> => {
  const server = await RedisServer.start('--cluster-enabled', 'yes')
  await server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await vi.waitFor(
    async () => expect(await server.ask('CLUSTER', 'INFO')).toContain('cluster_state:ok'),
    20_000,
  )
  const client = createCluster({ rootNodes: [{ url: server.url }] })
  const subscriber = createClient({ url: server.url })
  return opened(connections, () => redisTaskStore({ client, subscriber, prefix: 'own:' }))
}

describe.skipIf(!isThere)(`a task store on Redis${left}`, () => {
  for (const { name, run } of taskStoreContract(byUrl)) it(name, run)
})

describe.skipIf(!isThere)(`a task store on a cluster of Redis${left}`, () => {
  for (const { name, run } of taskStoreContract(inCluster)) it(name, run)
})

describe.skipIf(!isThere)(`what a task store leaves in Redis${left}`, () => {
  it('expires, also if no process ever deletes it', async () => {
    const server = await RedisServer.start()
    const store = await redisTaskStore({ url: server.url })
    const task = { id: 'x'.repeat(32), owner: 'ada', holder: '', holdMs: 0, body: '{}' }
    const capacity = { owner: 10, all: 10 }
    await store.add({ ...task, ttlMs: 300 }, capacity)
    await store.add({ ...task, id: 'y'.repeat(32), ttlMs: 600 }, capacity)
    expect(await store.claim('one', 1000, { limit: 5 })).toHaveLength(2)
    await store.close()
    await vi.waitFor(async () => expect(await server.ask('DBSIZE')).toBe(0), 10_000)
  })
})
