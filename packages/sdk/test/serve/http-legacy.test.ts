import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { nobody } from '../../src/core/exchange.ts'
import { memoryBackplane } from '../../src/core/memory-backplane.ts'
import type { JsonObject } from '../../src/jsonrpc/message.ts'
import { bounds } from '../../src/serve/bounds.ts'
import type { HttpOptions } from '../../src/serve/http/index.ts'
import { Sessions } from '../../src/serve/http/sessions.ts'
import { type Answer, faces, type Mounted, session, webFace } from './http-support.ts'
import {
  ask,
  echo,
  hang,
  hung,
  initialize,
  initialized,
  meta,
  settle,
  type TestServer,
  type Tool,
  testServer,
  until,
} from './support.ts'

const progress: Tool = async (_args, { notify }) => {
  for (const step of [1, 2, 3]) {
    notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: step } })
    await settle(1)
  }
  return 'done'
}
const codeOf = (body: JsonObject): unknown => (body['error'] as JsonObject | undefined)?.['code']

describe.each(faces)('sessions over the %s face', (_, mount) => {
  let mounted: Mounted
  let server: TestServer
  afterEach(() => mounted.close())
  const start = async (options?: HttpOptions, tools: Record<string, Tool> = {}): Promise<Mounted> => {
    server = testServer({ echo, ask, hang, hung, progress, ...tools })
    mounted = await mount(server, options)
    return mounted
  }
  const begin = async (version?: string, options?: HttpOptions, tools?: Record<string, Tool>) =>
    session(await start(options, tools), version)

  describe('the session id', () => {
    it('is given with the answer to initialize: long, random, visible ASCII', async () => {
      await start()
      const answers = await Promise.all([1, 2, 3].map(() => mounted.send({ body: initialize() })))
      const ids = answers.map((answer) => answer.header('mcp-session-id') ?? '')
      expect(new Set(ids).size).toBe(3)
      for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{22,}$/)
      expect(await answers[0]?.json()).toMatchObject({
        id: 'init',
        result: { protocolVersion: '2025-11-25' },
      })
    })

    it('is needed for everything after, and missing is 400, unknown is 404', async () => {
      const { call } = await begin()
      expect((await call(1, 'echo')).status).toBe(200)
      const body = { jsonrpc: '2.0', id: 7, method: 'tools/list' }
      for (const [headers, status] of [
        [{}, 400],
        [{ 'mcp-session-id': 'nope' }, 404],
        [{ 'mcp-session-id': '__proto__' }, 404],
        [{ 'mcp-session-id': '' }, 404],
      ] as const) {
        const answer = await mounted.send({ headers, body })
        expect([answer.status, await answer.json()]).toMatchObject([
          status,
          { id: 7, error: { code: -32600 } },
        ])
        for (const method of ['GET', 'DELETE']) {
          expect((await mounted.send({ method, headers })).status).toBe(status)
        }
        expect((await mounted.send({ headers, body: initialized })).status).toBe(status)
      }
    })

    it('ends with DELETE, and is 404 from then on', async () => {
      const { call, end, get, post } = await begin()
      const pending = call(1, 'hang')
      await settle(10)
      const answer = await end()
      expect([answer.status, await answer.text()]).toEqual([204, ''])
      expect((await pending).status).toBe(404)
      expect([(await call(2, 'echo')).status, (await end()).status, (await get()).status]).toEqual([
        404, 404, 404,
      ])
      expect((await post(initialized)).status).toBe(404)
    })

    it('belongs to who began it: for anybody else it does not exist', async () => {
      const options: HttpOptions = {
        authenticate: async (request) => {
          const name = request.header('authorization')
          return name === undefined
            ? { status: 401, headers: { 'WWW-Authenticate': 'Bearer' }, body: '{"error":"who"}' }
            : { principal: name }
        },
      }
      await start(options)
      const alice = await session(mounted, '2025-11-25', { authorization: 'alice' })
      const streaming = await alice.call(1, 'progress')
      await streaming.text()
      const mallory = { authorization: 'mallory' }
      for (const ask of [
        { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
        { body: initialized },
        { method: 'GET' },
        { method: 'GET', headers: { 'last-event-id': streaming.events[0]?.id } },
        { method: 'DELETE' },
      ]) {
        const answer = await alice.send({ ...ask, headers: { ...ask.headers, ...mallory } })
        const unknown = await mounted.send({
          ...ask,
          headers: { ...ask.headers, 'mcp-session-id': 'x'.repeat(32), ...mallory },
        })
        expect([answer.status, await answer.text()]).toEqual([404, await unknown.text()])
      }
      expect((await alice.call(2, 'echo')).status).toBe(200)
      const nobody = await mounted.send({ body: initialize() })
      expect([nobody.status, nobody.header('www-authenticate'), await nobody.text()]).toEqual([
        401,
        'Bearer',
        '{"error":"who"}',
      ])
    })

    it('is refused a second initialize', async () => {
      const { post, id } = await begin()
      const answer = await post(initialize('2025-06-18', 9))
      expect([answer.status, codeOf(await answer.json())]).toEqual([400, -32600])
      expect(answer.header('mcp-session-id')).not.toBe(id)
    })

    it('is not given where initialize is wrong', async () => {
      faultyPeer('a greeting that says nothing')
      await start()
      const answer = await mounted.send({ body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } })
      expect(codeOf(await answer.json())).toBe(-32602)
      expect(answer.header('mcp-session-id')).toBeUndefined()
    })
  })

  describe('the version header', () => {
    it.each([
      [undefined, 200],
      ['2025-11-25', 200],
      ['2025-03-26', 200],
      ['1999-01-01', 400],
      ['', 400],
      ['2025-11-25, 2025-11-25', 400],
    ])('%j is answered with %i', async (version, status) => {
      const { send } = await begin()
      const answer = await send({
        headers: { 'mcp-protocol-version': version },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      })
      expect([answer.status, (await answer.json())['id']]).toEqual([status, 1])
    })

    it('of the stateless era without _meta is a stateless request gone wrong', async () => {
      const { send } = await begin()
      const answer = await send({
        headers: { 'mcp-protocol-version': '2026-07-28' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      })
      expect([answer.status, codeOf(await answer.json())]).toEqual([400, -32602])
    })
  })

  describe('messages', () => {
    it('that are no requests are taken with 202 and no body', async () => {
      const { post } = await begin()
      for (const body of [
        initialized,
        { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
        { jsonrpc: '2.0', method: 'no/such', params: { a: 1 } },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'unknown' } },
        { jsonrpc: '2.0', id: 99, result: {} },
        { jsonrpc: '2.0', id: 99, error: { code: 1, message: 'x' } },
      ]) {
        const answer = await post(body)
        expect([answer.status, await answer.text()]).toEqual([202, ''])
      }
    })

    it('at once are each answered with their own result', async () => {
      const { call } = await begin()
      const ids = Array.from({ length: 20 }, (_, i) => i)
      const answers = await Promise.all(
        ids.map(async (id) => (await call(id, 'echo', { arguments: { text: `text ${id}` } })).json()),
      )
      expect(answers).toMatchObject(ids.map((id) => ({ id, result: { content: [{ text: `text ${id}` }] } })))
    })

    it('that the revision or the server lack are plain answers, never a lost session', async () => {
      faultyPeer('a method its revision does not have, and one without its params')
      const { post } = await begin()
      for (const [method, code] of [
        ['server/discover', -32601],
        ['prompts/list', -32601],
        ['no/such', -32601],
        ['resources/subscribe', -32602],
      ] as const) {
        const answer = await post({ jsonrpc: '2.0', id: 1, method })
        expect([answer.status, codeOf(await answer.json())]).toEqual([200, code])
      }
      expect(await (await post({ jsonrpc: '2.0', id: 2, method: 'ping' })).json()).toEqual({
        jsonrpc: '2.0',
        id: 2,
        result: {},
      })
    })

    it('with an id in flight are refused with 400 and the first goes on', async () => {
      const { call, post } = await begin()
      const first = call(1, 'hang')
      await settle(10)
      const second = await call(1, 'echo')
      expect([second.status, codeOf(await second.json())]).toEqual([400, -32600])
      await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
      expect(await (await first).text()).not.toContain('result')
      expect((await call(1, 'echo')).status).toBe(200)
    })
  })

  describe('the answer to a call', () => {
    it('is a stream once there is a notice: primed, numbered, ended by the result', async () => {
      const { call } = await begin()
      const answer = await call(1, 'progress')
      expect(answer.header('content-type')).toBe('text/event-stream')
      expect(answer.header('x-accel-buffering')).toBe('no')
      await answer.text()
      const [prime, ...rest] = answer.events
      expect(prime).toMatchObject({ data: '', retry: 1000 })
      expect(answer.messages()).toMatchObject([
        { params: { progress: 1 } },
        { params: { progress: 2 } },
        { params: { progress: 3 } },
        { id: 1, result: {} },
      ])
      const ids = [prime, ...rest].map((event) => event?.id)
      expect(new Set(ids).size).toBe(5)
      expect(ids.every((id) => id !== undefined && /^[\x21-\x7e]+$/.test(id))).toBe(true)
    })

    it.each(['2025-03-26', '2025-06-18'])('is not primed on %s', async (version) => {
      const { call } = await begin(version)
      const answer = await call(1, 'progress')
      await answer.text()
      expect(answer.events.filter(({ data }) => data === '')).toEqual([])
      expect(answer.messages()).toHaveLength(4)
    })

    it('is a stream when it takes long, so that it can be resumed', async () => {
      const slow: Tool = () => settle(150).then(() => 'slow')
      const { call } = await begin('2025-11-25', {}, { slow })
      const answer = await call(1, 'slow')
      expect(answer.header('content-type')).toBe('text/event-stream')
      await answer.text()
      expect(answer.messages()).toMatchObject([{ id: 1, result: { content: [{ text: 'slow' }] } }])
    })

    it('carries the questions of that call and no other', async () => {
      const { call, post, get } = await begin()
      const standalone = await get()
      const [a, b] = await Promise.all([call('a', 'ask'), call('b', 'ask')])
      await until(() => a.messages().length === 1 && b.messages().length === 1)
      const reply = async (answer: Answer, name: string): Promise<void> => {
        const [question] = answer.messages()
        expect(question).toMatchObject({ method: 'elicitation/create' })
        const result = { action: 'accept', content: { name } }
        const taken = await post({ jsonrpc: '2.0', id: question?.['id'], result })
        expect([taken.status, await taken.text()]).toEqual([202, ''])
        await answer.text()
      }
      await reply(b, 'Bea')
      await reply(a, 'Ada')
      expect(a.messages()[1]).toMatchObject({ id: 'a', result: { content: [{ text: 'Hello, Ada' }] } })
      expect(b.messages()[1]).toMatchObject({ id: 'b', result: { content: [{ text: 'Hello, Bea' }] } })
      expect(standalone.events).toEqual([])
      standalone.drop()
    })

    it('ends without a response when the client cancelled', async () => {
      const { call, post } = await begin()
      const answer = await call(1, 'hang')
      await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
      await answer.text()
      expect(answer.messages()).toEqual([])
    })
  })

  describe('a lost connection', () => {
    it('cancels nothing, and the client gets the rest with GET and Last-Event-ID, once', async () => {
      let release = (): void => {}
      const signals: AbortSignal[] = []
      const slow: Tool = async (_args, { notify, signal }) => {
        signals.push(signal)
        for (const step of [1, 2]) {
          notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: step } })
        }
        await new Promise<void>((resolve) => {
          release = resolve
        })
        notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 3 } })
        return 'survived'
      }
      const { call, get } = await begin('2025-11-25', {}, { slow })
      const answer = await call(1, 'slow')
      await until(() => answer.events.length === 3)
      answer.drop()
      await settle(20)
      expect(signals[0]?.aborted).toBe(false)

      const live = await get({ 'last-event-id': answer.events[1]?.id })
      expect([live.status, live.header('content-type')]).toEqual([200, 'text/event-stream'])
      await until(() => live.events.length === 1)
      expect(live.messages()).toMatchObject([{ params: { progress: 2 } }])
      release()
      await live.text()
      expect(live.messages().slice(1)).toMatchObject([
        { params: { progress: 3 } },
        { id: 1, result: { content: [{ text: 'survived' }] } },
      ])

      const replayed = await get({ 'last-event-id': answer.events[0]?.id })
      await replayed.text()
      expect(replayed.messages()).toMatchObject([
        { params: { progress: 1 } },
        { params: { progress: 2 } },
        { params: { progress: 3 } },
        { id: 1 },
      ])
      const last = await get({ 'last-event-id': replayed.events.at(-1)?.id })
      await last.text()
      expect(last.events).toEqual([])
    })

    it('at any event loses nothing and repeats nothing', async () => {
      const many: Tool = async (_args, { notify }) => {
        for (let step = 1; step <= 40; step++) {
          notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: step } })
          await settle(step % 4 === 0 ? 1 : 0)
        }
        return 'all'
      }
      const { call, get } = await begin('2025-11-25', {}, { many })
      const first = await call(1, 'many')
      const got: JsonObject[] = []
      let connection = first
      let last: string | undefined
      for (let drops = 0; drops < 100 && !got.some((message) => 'result' in message); drops++) {
        await until(() => connection.events.length > drops % 5 || connection.over())
        connection.drop()
        const events = [...connection.events]
        got.push(...events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data)))
        last = events.at(-1)?.id ?? last
        connection = await get({ 'last-event-id': last })
      }
      connection.drop()
      expect(got.map(({ params }) => (params as JsonObject | undefined)?.['progress'])).toEqual([
        ...Array.from({ length: 40 }, (_, i) => i + 1),
        undefined,
      ])
    })

    it('that nobody noticed is replaced when the client comes back', async () => {
      let release = (): void => {}
      const slow: Tool = async (_args, { notify }) => {
        notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
        await new Promise<void>((resolve) => {
          release = resolve
        })
        return 'slow'
      }
      const { call, get } = await begin('2025-11-25', {}, { slow })
      const old = await call(1, 'slow')
      await until(() => old.events.length === 2)
      const fresh = await get({ 'last-event-id': old.events[0]?.id })
      await until(() => fresh.events.length === 1 && old.over())
      await settle(10)
      release()
      await fresh.text()
      expect(old.messages()).toHaveLength(1)
      expect(fresh.messages()).toMatchObject([{ params: { progress: 1 } }, { id: 1, result: {} }])
    })

    it('of a call that asks leaves the question to be found again', async () => {
      const { call, get, post } = await begin()
      const answer = await call(1, 'ask')
      await until(() => answer.events.length === 2)
      answer.drop()
      await settle(10)
      const again = await get({ 'last-event-id': answer.events[0]?.id })
      await until(() => again.messages().length === 1)
      const [question] = again.messages()
      await post({ jsonrpc: '2.0', id: question?.['id'], result: { action: 'decline' } })
      await again.text()
      expect(again.messages()[1]).toMatchObject({ id: 1, result: { content: [{ text: 'decline' }] } })
    })

    it('cannot be resumed from an event that is unknown, foreign, forged or gone', async () => {
      const mine = await begin('2025-11-25', { limits: { storedEvents: 5 } })
      const other = await session(mounted)
      const [a, b] = await Promise.all([mine.call(1, 'progress'), other.call(1, 'progress')])
      await Promise.all([a.text(), b.text()])
      const [first = '', second = ''] = a.events.map(({ id }) => id ?? '')
      const stream = first.slice(0, first.lastIndexOf('_'))
      for (const id of [
        b.events[1]?.id,
        'garbage',
        '',
        `${stream}_0`,
        `${stream}_99`,
        `${stream}_-1`,
        `${stream}_1e3`,
        `${stream}x_2`,
        `_2`,
        `${stream}_${'9'.repeat(400)}`,
      ]) {
        const answer = await mine.get({ 'last-event-id': id })
        expect([id, answer.status, codeOf(await answer.json())]).toEqual([id, 400, -32600])
      }
      const resumed = await mine.get({ 'last-event-id': second })
      await resumed.text()
      expect(resumed.events).toHaveLength(3)
      await (await mine.call(2, 'progress')).text()
      expect((await mine.get({ 'last-event-id': second })).status).toBe(400)
    })

    it('is never answered with events of another stream', async () => {
      const { call, get } = await begin()
      const [a, b] = await Promise.all([call('a', 'progress'), call('b', 'progress')])
      await Promise.all([a.text(), b.text()])
      const again = await get({ 'last-event-id': a.events[0]?.id })
      await again.text()
      expect(again.events).toEqual(a.events.slice(1))
    })

    it('is what a handler can choose, for the client to come back', async () => {
      const polled: Tool = async (_args, exchange) => {
        exchange.detach?.()
        await settle(30)
        return 'later'
      }
      const { call, get } = await begin('2025-11-25', {}, { polled })
      const answer = await call(1, 'polled')
      await answer.text()
      expect(answer.events).toMatchObject([{ data: '', retry: 1000 }])
      const rest = await get({ 'last-event-id': answer.events[0]?.id })
      await rest.text()
      expect(rest.messages()).toMatchObject([{ id: 1, result: { content: [{ text: 'later' }] } }])
    })

    it('cannot be chosen on revisions whose clients do not come back', async () => {
      const polled: Tool = async (_args, exchange) => {
        exchange.detach?.()
        return 'now'
      }
      const { call } = await begin('2025-06-18', {}, { polled })
      expect(await (await call(1, 'polled')).json()).toMatchObject({ result: { content: [{ text: 'now' }] } })
    })
  })

  describe('the stream of a GET', () => {
    it('tells changes, also those from before it was opened, and can be resumed', async () => {
      const { get } = await begin()
      server.changes.publish({ type: 'tools' })
      server.changes.publish({ type: 'tools' })
      const stream = await get()
      await until(() => stream.events.length === 1)
      server.changes.publish({ type: 'prompts' })
      await until(() => stream.events.length === 2)
      expect(stream.messages()).toMatchObject([
        { method: 'notifications/tools/list_changed' },
        { method: 'notifications/prompts/list_changed' },
      ])
      stream.drop()
      await settle(10)
      const resumed = await get({ 'last-event-id': stream.events[0]?.id })
      server.changes.publish({ type: 'resources' })
      await until(() => resumed.events.length === 2)
      expect(resumed.messages()).toMatchObject([
        { method: 'notifications/prompts/list_changed' },
        { method: 'notifications/resources/list_changed' },
      ])
      resumed.drop()
    })

    it('is one per session, and free again when it was dropped', async () => {
      const { get } = await begin()
      const first = await get()
      expect((await get()).status).toBe(409)
      first.drop()
      await settle(20)
      const second = await get()
      expect(second.status).toBe(200)
      second.drop()
    })

    it('is opened at once and kept open with comments', async () => {
      const { get, end } = await begin('2025-11-25', { limits: { keepAliveMs: 20 } })
      const stream = await get()
      await settle(60)
      await end()
      expect(await stream.text()).toMatch(/^(: keep-alive\n\n){2,}$/)
    })

    it('tells of resources only while they are subscribed to', async () => {
      const { get, post } = await begin()
      const stream = await get()
      const params = { uri: 'file:///a' }
      await (await post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params })).text()
      server.resourceUpdated('file:///a')
      server.resourceUpdated('file:///b')
      await until(() => stream.events.length === 1)
      await (await post({ jsonrpc: '2.0', id: 2, method: 'resources/unsubscribe', params })).text()
      server.resourceUpdated('file:///a')
      server.changes.publish({ type: 'tools' })
      await until(() => stream.events.length === 2)
      expect(stream.messages()).toMatchObject([
        { method: 'notifications/resources/updated', params },
        { method: 'notifications/tools/list_changed' },
      ])
      stream.drop()
    })
  })

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

    it('become a stream when one of their requests has a notice', async () => {
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
    ])('are refused on %s (%#)', async (version, batch) => {
      if (version !== '2025-03-26') faultyPeer('a batch, which its revision does not have')
      const { post } = await begin(version)
      const answer = await post(batch)
      expect([answer.status, codeOf(await answer.json())]).toEqual([400, -32600])
    })

    it('cannot begin a session', async () => {
      faultyPeer('a batch without a session')
      await start()
      expect((await mounted.send({ body: [initialize('2025-03-26')] })).status).toBe(400)
    })
  })

  describe('limits', () => {
    it('make room for a new session by ending the idle one used longest ago', async () => {
      await start({ limits: { sessions: 2 } })
      const a = await session(mounted)
      const b = await session(mounted)
      await (await a.call(1, 'echo')).text()
      const c = await session(mounted)
      expect((await b.call(1, 'echo')).status).toBe(404)
      expect((await a.call(2, 'echo')).status).toBe(200)
      expect((await c.call(1, 'echo')).status).toBe(200)
    })

    it('never end a session that is used, and refuse a new one instead', async () => {
      await start({ limits: { sessions: 2 } })
      const a = await session(mounted)
      const b = await session(mounted)
      const stream = await a.get()
      const running = b.call(1, 'hung')
      await settle(10)
      const refused = await mounted.send({ body: initialize() })
      expect([refused.status, refused.header('retry-after')]).toEqual([503, '60'])
      stream.drop()
      await settle(20)
      expect((await mounted.send({ body: initialize() })).status).toBe(200)
      expect((await a.call(1, 'echo')).status).toBe(404)
      expect((await b.call(2, 'echo')).status).toBe(200)
      ;(await running).drop()
    })

    it('bound the requests in flight', async () => {
      const { call } = await begin('2025-11-25', { limits: { inFlight: 1 } })
      const first = await call(1, 'hang')
      expect((await call(2, 'echo')).status).toBe(400)
      first.drop()
    })
  })

  it('are left alone by a stateless request with their id', async () => {
    const { send } = await begin()
    const answer = await send({
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta() } },
    })
    expect(await answer.json()).toMatchObject({ result: { resultType: 'complete' } })
  })

  it('end when the server closes, with their streams', async () => {
    const { get, call } = await begin()
    const stream = await get()
    const pending = await call(1, 'hang')
    await mounted.handler.close()
    await Promise.all([stream.text(), pending.text()])
    expect(server.reports).toEqual([])
  })
})

describe('idle sessions', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
  afterEach(() => vi.useRealTimers())

  it('end after a while, unless somebody is connected', async () => {
    const mounted = await webFace(testServer({ echo }), { limits: { sessionIdleMs: 10_000 } })
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

  it('leave nothing behind, nor does a call that waits for a client who went away', async () => {
    const server = testServer({ ask, hung })
    const sessions = new Sessions({ server, bounds: bounds(), backplane: memoryBackplane() })
    for (let i = 0; i < 1000; i++) sessions.begin(nobody)
    const waiting = sessions.begin(nobody)
    const working = sessions.begin(nobody)
    for (const [owner, name] of [
      [waiting, 'ask'],
      [working, 'hung'],
    ] as const) {
      const outlet = { notify: () => {}, request: () => true }
      await owner?.session.request(JSON.parse(JSON.stringify(initialize())), outlet)
      owner?.session.request({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }, outlet)
    }
    expect(sessions.size).toBe(1002)
    await vi.advanceTimersByTimeAsync(2_000_000)
    expect(sessions.size).toBe(1)
    sessions.close('done')
    expect([sessions.size, vi.getTimerCount()]).toEqual([0, 0])
  })
})
