import type { Authenticate } from '@jackfield/sdk/http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { anonymousCaller } from '../../src/request/exchange.ts'
import { HttpServerState } from '../../src/transports/server/http/server-state.ts'
import { Sessions } from '../../src/transports/server/http/sessions.ts'
import { adapters, session, sessionsOver, webAdapter } from './http-support.ts'
import { ask, codeOf, echo, hung, initialize, initialized, settle, testServer } from './support.ts'

describe.each(adapters)('sessions over the %s adapter', (_, mount) => {
  const place = sessionsOver(mount)
  const { start, begin } = place

  describe('batches', () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const callProgress = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'progress' } }

    it('are answered as one array on 2025-03-26', async () => {
      const { post } = await begin('2025-03-26')
      const answer = await post([list, { jsonrpc: '2.0', id: 3, method: 'ping' }, initialized])
      expect(answer.status).toBe(200)
      expect(JSON.parse(await answer.text())).toMatchObject([
        { id: 1, result: {} },
        { id: 3, result: {} },
      ])
      const notices = await post([initialized, { jsonrpc: '2.0', id: 9, result: {} }])
      expect([notices.status, await notices.text()]).toEqual([202, ''])
    })

    it('become a stream when one of their requests has a notification', async () => {
      const { post } = await begin('2025-03-26')
      const answer = await post([list, callProgress])
      expect(answer.header('content-type')).toBe('text/event-stream')
      await answer.text()
      expect(answer.messages().at(-1)).toMatchObject([{ id: 1 }, { id: 2 }])
    })

    it.each([
      ['2025-06-18', [list]],
      ['2025-11-25', [list]],
      ['2025-03-26', []],
      ['2025-03-26', Array.from({ length: 101 }, () => list)],
    ])('are rejected on %s (%#)', async (version, batch) => {
      if (version !== '2025-03-26') faultyPeer('a batch, which its revision does not have')
      const { post } = await begin(version)
      const answer = await post(batch)
      expect([answer.status, codeOf(await answer.json())]).toEqual([400, -32600])
    })

    it('cannot open a session', async () => {
      faultyPeer('a batch without a session')
      await start()
      expect((await place.mounted.send({ body: [initialize('2025-03-26')] })).status).toBe(400)
    })
  })

  describe('limits', () => {
    it('replace the least recently used idle session by a new one', async () => {
      await start({ limits: { sessions: 2 } })
      const a = await session(place.mounted)
      const b = await session(place.mounted)
      await (await a.call(1, 'echo')).text()
      const c = await session(place.mounted)
      expect((await b.call(1, 'echo')).status).toBe(404)
      expect((await a.call(2, 'echo')).status).toBe(200)
      expect((await c.call(1, 'echo')).status).toBe(200)
    })

    it("at a full share, end one of that principal's own sessions, and no other's", async () => {
      const limits = { sessions: 3, sessionsPerPrincipal: 2 }
      const authenticate: Authenticate = async (request) => ({
        principal: request.header('authorization') ?? '',
      })
      await start({ limits, authenticate })
      const as = (authorization: string) => session(place.mounted, '2025-11-25', { authorization })
      const [other, first, second] = [await as('bob'), await as('alice'), await as('alice')]
      const third = await as('alice')
      const all = [other, first, second, third].map(async (one) => (await one.call(1, 'echo')).status)
      expect(await Promise.all(all)).toEqual([200, 404, 200, 200])
    })

    it('never end a session in use, and reject a new one instead', async () => {
      await start({ limits: { sessions: 2 } })
      const a = await session(place.mounted)
      const b = await session(place.mounted)
      const stream = await a.get()
      const running = b.call(1, 'hung')
      await settle(10)
      const refused = await place.mounted.send({ body: initialize() })
      expect([refused.status, refused.header('retry-after')]).toEqual([503, '60'])
      stream.drop()
      await settle(20)
      expect((await place.mounted.send({ body: initialize() })).status).toBe(200)
      expect((await a.call(1, 'echo')).status).toBe(404)
      expect((await b.call(2, 'echo')).status).toBe(200)
      ;(await running).drop()
    })

    it('bound the running requests', async () => {
      const { call } = await begin('2025-11-25', { limits: { inFlight: 1 } })
      const first = await call(1, 'hang')
      expect((await call(2, 'echo')).status).toBe(400)
      first.drop()
    })
  })
})

describe('idle sessions', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
  afterEach(() => vi.useRealTimers())

  it('end after a while, unless a client is connected', async () => {
    const mounted = await webAdapter(testServer({ echo }), { limits: { sessionIdleMs: 10_000 } })
    const idle = await session(mounted)
    const connected = await session(mounted)
    const stream = await connected.get()
    const used = await session(mounted)
    await vi.advanceTimersByTimeAsync(8000)
    await used.call(1, 'echo')
    await vi.advanceTimersByTimeAsync(14_000)
    const all = [idle, connected, used].map(async (one) => (await one.call(2, 'echo')).status)
    expect(await Promise.all(all)).toEqual([404, 200, 404])
    stream.drop()
    await mounted.close()
  })

  it('leave nothing behind, nor does a call of a client that disconnected', async () => {
    const server = testServer({ ask, hung })
    const core = new HttpServerState(server, {}, () => {})
    const sessions = new Sessions(core, () => {})
    const begin = () => sessions.begin(anonymousCaller, core.memory.account(undefined))
    for (let i = 0; i < 1000; i++) begin()
    const waiting = begin()
    const working = begin()
    for (const [owner, name] of [
      [waiting, 'ask'],
      [working, 'hung'],
    ] as const) {
      const outlet = { notify: () => {}, request: () => true }
      await owner?.session.request(JSON.parse(JSON.stringify(initialize())), outlet)
      owner?.session.request({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }, outlet)
    }
    expect(sessions.values().length).toBe(1002)
    await vi.advanceTimersByTimeAsync(2_000_000)
    expect(sessions.values().length).toBe(1)
    sessions.close('done')
    expect([sessions.values().length, vi.getTimerCount()]).toEqual([0, 0])
  })
})
