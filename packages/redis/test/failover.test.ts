import { type RedisOptions, redisBackplane } from '@jackfield/redis'
import { defineServer, tool } from '@jackfield/sdk'
import { createClient } from '@redis/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Answer, nodeAdapter, session } from '../../sdk/test/serve/http-support.ts'
import { isThere, left, RedisServer } from './support/redis-server.ts'

const watchdog = { timeout: 20_000, interval: 10 }
const connectionOf = { socket: { reconnectStrategy: false } } as const

/** A session whose call reports progress whenever the test lets it, over a backplane on Redis. */
async function longCall(options: RedisOptions) {
  const backplane = await redisBackplane({ onWarning: () => {}, ...options })
  const steps: (() => void)[] = []
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      pack: tool({
        run: async (_args, ctx) => {
          for (let step = 1; step < 100; step++) {
            await new Promise<void>((resolve) => steps.push(resolve))
            ctx.progress(step)
          }
          return 'packed'
        },
      }),
    },
    // Events are stored again when Redis is back; until then the server reports that it is away.
    onError: () => {},
  })
  const mounted = await nodeAdapter(server, { backplane })
  onTestFinished(async () => {
    await mounted.close()
    await backplane.close()
  })
  const client = await session(mounted, '2025-11-25')
  const params = { name: 'pack', _meta: { progressToken: 'p' } }
  const call = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const step = async (): Promise<void> => {
    await vi.waitFor(() => expect(steps).toHaveLength(1), watchdog)
    steps.pop()?.()
  }
  /** Lets the call report progress, and waits until the client has it. */
  const received = async (from: Answer): Promise<void> => {
    const before = from.messages().length
    await step()
    await vi.waitFor(() => expect(from.messages()).toHaveLength(before + 1), watchdog)
  }
  /** Lets the call report progress while the client is away, and waits until it is stored. */
  const stored = async (newest: () => Promise<string>): Promise<void> => {
    const before = await newest()
    await step()
    await vi.waitFor(async () => expect(await newest()).not.toBe(before), watchdog)
  }
  const resume = (event: string | undefined): Promise<Answer> => client.get({ 'last-event-id': event })
  return { server, client, call, received, stored, resume }
}

/** The newest event that a Redis stores. */
async function newestOn(redis: RedisServer): Promise<string> {
  const keys = await redis.ask('KEYS', 'jackfield:l:*')
  const [log = ''] = Array.isArray(keys) ? keys : []
  return JSON.stringify(await redis.ask('XREVRANGE', String(log), '+', '-', 'COUNT', '1'))
}

const progressIn = (answer: Answer): unknown[] =>
  answer.messages().map(({ params }) => Object(params)['progress'])

describe.skipIf(!isThere)(`a stream whose Redis lost its newest events${left}`, { timeout: 60_000 }, () => {
  it('is not resumed with other events under the same ids, nor with a gap, after a restart from a snapshot', async () => {
    const redis = await RedisServer.start()
    const { call, received, stored, resume, client } = await longCall({ url: redis.url, timeoutMs: 2000 })
    const newest = (): Promise<string> => newestOn(redis)
    await received(call)
    await received(call)
    await redis.ask('SAVE')
    await received(call)
    await received(call)
    const ids = call.events.map(({ id }) => id)
    call.drop()
    await stored(newest)
    await stored(newest)
    await redis.kill()
    await redis.restart()
    for (let more = 0; more < 6; more++) await stored(newest)

    // The snapshot has the event of the second step, and lost those that the client has and those that it lacks.
    for (const id of [ids.at(-1), ids.at(-2), ids.at(-3)]) {
      const resumed = await resume(id)
      expect([id, resumed.status, progressIn(resumed)]).toEqual([id, 400, []])
    }
    const fresh = await client.get()
    expect(fresh.status).toBe(200)
    fresh.drop()
  })

  it('is not resumed if events were lost and none was stored since', async () => {
    const redis = await RedisServer.start()
    const { call, received, stored, resume } = await longCall({ url: redis.url, timeoutMs: 2000 })
    await received(call)
    await redis.ask('SAVE')
    const lastId = call.events.at(-1)?.id
    call.drop()
    await stored(() => newestOn(redis))
    await redis.kill()
    await redis.restart()
    expect((await resume(lastId)).status).toBe(400)
  })

  it('is not resumed on another node either', async () => {
    const redis = await RedisServer.start()
    const { call, received, stored, client } = await longCall({ url: redis.url, timeoutMs: 2000 })
    const backplane = await redisBackplane({ url: redis.url, timeoutMs: 2000, onWarning: () => {} })
    const other = await nodeAdapter(defineServer({ name: 'shop', version: '1.0.0', onError: () => {} }), {
      backplane,
    })
    onTestFinished(async () => {
      await other.close()
      await backplane.close()
    })
    await received(call)
    await redis.ask('SAVE')
    const lastId = call.events.at(-1)?.id
    call.drop()
    await stored(() => newestOn(redis))
    await redis.kill()
    await redis.restart()
    // The node of the call is informed of the other one, and finds that its newest event is lost.
    await vi.waitFor(async () => {
      const headers = {
        'mcp-session-id': client.id,
        'mcp-protocol-version': '2025-11-25',
        'last-event-id': lastId,
      }
      const resumed = await other.send({ method: 'GET', headers })
      resumed.drop()
      expect(resumed.status).toBe(400)
    }, watchdog)
  })

  it('begins again with a notification that anything may have changed, if it is a GET stream', async () => {
    const redis = await RedisServer.start()
    const { server, client } = await longCall({ url: redis.url, timeoutMs: 2000 })
    const stream = await client.get()
    await redis.ask('SAVE')
    server.add({ tools: { ship: tool({ run: () => 'shipped' }) } })
    await vi.waitFor(() => expect(stream.messages()).toHaveLength(1), watchdog)
    stream.drop()
    await redis.kill()
    await redis.restart()
    await vi.waitFor(async () => {
      const resumed = await client.get({ 'last-event-id': stream.events[0]?.id })
      expect(await resumed.json()).toMatchObject({
        error: { message: expect.stringContaining('Last-Event-ID') },
      })
      expect(resumed.status).toBe(400)
    }, watchdog)
    const again = await client.get()
    expect(again.status).toBe(200)
    await vi.waitFor(() => {
      expect(again.messages()).toMatchObject([{ method: 'notifications/tools/list_changed' }])
    }, watchdog)
    again.drop()
  })

  it('is resumed if a restart lost nothing', async () => {
    const redis = await RedisServer.start()
    const { call, received, stored, resume } = await longCall({ url: redis.url, timeoutMs: 2000 })
    const newest = (): Promise<string> => newestOn(redis)
    await received(call)
    const lastId = call.events.at(-1)?.id
    call.drop()
    await stored(newest)
    await redis.ask('SAVE')
    await redis.kill()
    await redis.restart()
    await stored(newest)
    const resumed = await resume(lastId)
    await vi.waitFor(() => expect(progressIn(resumed)).toEqual([2, 3]), watchdog)
    await received(resumed)
    resumed.drop()
  })

  it('is not resumed with a gap after a replica without these events became the primary', async () => {
    const [primary, replica] = [await RedisServer.start(), await RedisServer.start()]
    await replica.ask('REPLICAOF', '127.0.0.1', String(primary.port))
    await vi.waitFor(
      async () => expect(await replica.ask('INFO', 'replication')).toContain('master_link_status:up'),
      watchdog,
    )
    let now = primary
    const client = createClient()
    vi.spyOn(client, 'duplicate').mockImplementation(() => createClient({ url: now.url, ...connectionOf }))
    const { call, received, stored, resume } = await longCall({ client, timeoutMs: 2000 })
    await received(call)
    await received(call)
    await vi.waitFor(async () => expect(await newestOn(replica)).toBe(await newestOn(primary)), watchdog)
    // As where the connection between the two is lost: the primary still takes what the replica will not have.
    await replica.ask('REPLICAOF', 'NO', 'ONE')
    await received(call)
    const ids = call.events.map(({ id }) => id)
    call.drop()
    await stored(() => newestOn(primary))
    now = replica
    await primary.kill()
    for (let more = 0; more < 4; more++) await stored(() => newestOn(replica))
    for (const id of [ids.at(-1), ids.at(-2)]) {
      const resumed = await resume(id)
      expect([id, resumed.status, progressIn(resumed)]).toEqual([id, 400, []])
    }
  })
})
