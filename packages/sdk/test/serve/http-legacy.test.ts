import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { type Answer, adapters, session, sessionsOver } from './http-support.ts'
import { codeOf, initialize, initialized, meta, settle, type Tool, until } from './support.ts'

describe.each(adapters)('sessions over the %s adapter', (_, mount) => {
  const place = sessionsOver(mount)
  const { start, begin } = place

  describe('the session id', () => {
    it('is returned by initialize: long, random, visible ASCII', async () => {
      await start()
      const answers = await Promise.all([1, 2, 3].map(() => place.mounted.send({ body: initialize() })))
      const ids = answers.map((answer) => answer.header('mcp-session-id') ?? '')
      expect(new Set(ids).size).toBe(3)
      for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{22,}$/)
      expect(await answers[0]?.json()).toMatchObject({
        id: 'init',
        result: { protocolVersion: '2025-11-25' },
      })
    })

    it('is required for everything after: missing is 400, unknown is 404', async () => {
      const { call } = await begin()
      expect((await call(1, 'echo')).status).toBe(200)
      const body = { jsonrpc: '2.0', id: 7, method: 'tools/list' }
      for (const [headers, status] of [
        [{}, 400],
        [{ 'mcp-session-id': 'nope' }, 404],
        [{ 'mcp-session-id': '__proto__' }, 404],
        [{ 'mcp-session-id': '' }, 404],
      ] as const) {
        const answer = await place.mounted.send({ headers, body })
        expect([answer.status, await answer.json()]).toMatchObject([
          status,
          { id: 7, error: { code: -32600 } },
        ])
        for (const method of ['GET', 'DELETE']) {
          expect((await place.mounted.send({ method, headers })).status).toBe(status)
        }
        expect((await place.mounted.send({ headers, body: initialized })).status).toBe(status)
      }
    })

    it('ends with DELETE, and is 404 from then on', async () => {
      const { call, end, get, post } = await begin()
      const pending = call(1, 'hang')
      await settle(10)
      const answer = await end()
      expect([answer.status, await answer.text()]).toEqual([204, ''])
      // On a slow machine, its response has become a stream: it ends without a result.
      const ended = await pending
      expect(ended.status === 404 || !(await ended.text()).includes('"result"')).toBe(true)
      expect([(await call(2, 'echo')).status, (await end()).status, (await get()).status]).toEqual([
        404, 404, 404,
      ])
      expect((await post(initialized)).status).toBe(404)
    })

    it('belongs to its principal: for any other it does not exist', async () => {
      const options: ServeHttpOptions = {
        authenticate: async (request) => {
          const name = request.header('authorization')
          return name === undefined
            ? { status: 401, headers: { 'WWW-Authenticate': 'Bearer' }, body: '{"error":"who"}' }
            : { principal: name }
        },
      }
      await start(options)
      const alice = await session(place.mounted, '2025-11-25', { authorization: 'alice' })
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
        const unknown = await place.mounted.send({
          ...ask,
          headers: { ...ask.headers, 'mcp-session-id': 'x'.repeat(32), ...mallory },
        })
        expect([answer.status, await answer.text()]).toEqual([404, await unknown.text()])
      }
      expect((await alice.call(2, 'echo')).status).toBe(200)
      const anonymous = await place.mounted.send({ body: initialize() })
      expect([anonymous.status, anonymous.header('www-authenticate'), await anonymous.text()]).toEqual([
        401,
        'Bearer',
        '{"error":"who"}',
      ])
    })

    it('rejects a second initialize', async () => {
      const { post, id } = await begin()
      const answer = await post(initialize('2025-06-18', 9))
      expect([answer.status, codeOf(await answer.json())]).toEqual([400, -32600])
      expect(answer.header('mcp-session-id')).not.toBe(id)
    })

    it('is not returned for an invalid initialize', async () => {
      faultyPeer('a greeting that says nothing')
      await start()
      const answer = await place.mounted.send({
        body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
      })
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
    ])('%j gets %i', async (version, status) => {
      const { send } = await begin()
      const answer = await send({
        headers: { 'mcp-protocol-version': version },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      })
      expect([answer.status, (await answer.json())['id']]).toEqual([status, 1])
    })

    it('of the stateless era without _meta is an invalid stateless request', async () => {
      const { send } = await begin()
      const answer = await send({
        headers: { 'mcp-protocol-version': '2026-07-28' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      })
      expect([answer.status, codeOf(await answer.json())]).toEqual([400, -32602])
    })
  })

  describe('messages', () => {
    it('that are no requests get 202 and no body', async () => {
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

    it('for methods that the revision or the server does not have are plain errors, never a lost session', async () => {
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

    it('with an id in use are rejected with 400 and the first continues', async () => {
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

  describe('the response to a call', () => {
    it('is a stream once there is a notification: primed, numbered, ended by the result', async () => {
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

    it('is a stream for a long call, so that it can be resumed', async () => {
      const slow: Tool = () => settle(150).then(() => 'slow')
      const { call } = await begin('2025-11-25', {}, { slow })
      const answer = await call(1, 'slow')
      expect(answer.header('content-type')).toBe('text/event-stream')
      await answer.text()
      expect(answer.messages()).toMatchObject([{ id: 1, result: { content: [{ text: 'slow' }] } }])
    })

    it('has the input requests of that call only', async () => {
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

  it('is not affected by a stateless request with its id', async () => {
    const { send } = await begin()
    const answer = await send({
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta() } },
    })
    expect(await answer.json()).toMatchObject({ result: { resultType: 'complete' } })
  })

  it('ends when the server closes, with its stream', async () => {
    const { get, call } = await begin()
    const stream = await get()
    const pending = await call(1, 'hang')
    await place.mounted.handler.close()
    await Promise.all([stream.text(), pending.text()])
    expect(place.server.reports).toEqual([])
  })
})
