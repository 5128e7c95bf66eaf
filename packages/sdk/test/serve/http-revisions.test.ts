import type { JsonObject } from '@jackfield/sdk'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { afterEach, describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { checkWire } from '../schema/wire.ts'
import { type Answer, adapters, type Mounted, modern, session } from './http-support.ts'
import { ask, echo, hang, meta, settle, type TestServer, type Tool, testServer, until } from './support.ts'

/** Sends its name as progress three times, with the caller's token. */
const progress: Tool = async (_args, { notify, params }) => {
  const { progressToken } = (params['_meta'] ?? {}) as { progressToken?: string }
  for (const step of [1, 2, 3]) {
    if (progressToken !== undefined) {
      notify({ method: 'notifications/progress', params: { progressToken, progress: step } })
    }
    await settle(2)
  }
  return String(progressToken)
}

describe.each(adapters)('over the %s adapter', (_, mount) => {
  let mounted: Mounted
  let server: TestServer
  afterEach(() => mounted.close())
  const start = async (options?: ServeHttpOptions, tools: Record<string, Tool> = {}): Promise<Mounted> => {
    server = testServer({ echo, ask, hang, progress, ...tools })
    mounted = await mount(server, options)
    return mounted
  }
  const idsOf = (answer: Answer): (string | undefined)[] => answer.events.map(({ id }) => id)

  describe.each(['2025-03-26', '2025-06-18', '2025-11-25'] as const)('a session of %s', (version) => {
    const begin = async (options?: ServeHttpOptions, tools?: Record<string, Tool>) =>
      session(await start(options, tools), version)
    /** The revision before has no elicitation. */
    const asks = version !== '2025-03-26'
    const withToken = (token: string): JsonObject => ({ _meta: { progressToken: token } })

    it('has one path, with POST and GET', async () => {
      const { call, get, send } = await begin()
      expect((await call(1, 'echo')).status).toBe(200)
      const stream = await get()
      expect([stream.status, stream.header('content-type')]).toEqual([200, 'text/event-stream'])
      stream.drop()
      expect((await send({ path: '/sse', method: 'GET' })).status).toBe(404)
      expect((await send({ path: '/messages', body: {} })).status).toBe(404)
    })

    it('accepts notifications and responses with 202 and no body', async () => {
      const { post } = await begin()
      for (const body of [
        { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
        { jsonrpc: '2.0', id: 99, result: {} },
        { jsonrpc: '2.0', id: 99, error: { code: 1, message: 'x' } },
      ]) {
        const answer = await post(body)
        expect([answer.status, await answer.text()]).toEqual([202, ''])
      }
    })

    it('rejects invalid notifications and responses with an error status', async () => {
      faultyPeer('messages that are none')
      const { post } = await begin()
      for (const body of [
        { jsonrpc: '1.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', id: 99, result: {}, error: { code: 1, message: 'x' } },
        { jsonrpc: '2.0', method: 7 },
      ]) {
        expect((await post(body)).status).toBe(400)
      }
      const lost = await mounted.send({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } })
      expect(lost.status).toBe(400)
    })

    it('answers a request with JSON, or with a stream of valid messages that ends with the response', async () => {
      const { call } = await begin()
      const whole = await call(1, 'echo')
      expect([whole.header('content-type'), whole.status]).toEqual(['application/json', 200])
      expect(checkWire(version, 'server', await whole.json(), 'tools/call')).toEqual([])
      const stream = await call(2, 'progress', withToken('p'))
      expect(stream.header('content-type')).toBe('text/event-stream')
      await stream.text()
      const messages = stream.messages()
      expect(messages.map(({ method }) => method)).toEqual([
        ...Array.from({ length: 3 }, () => 'notifications/progress'),
        undefined,
      ])
      for (const message of messages) expect(checkWire(version, 'server', message, 'tools/call')).toEqual([])
    })

    it('sends each message on one stream, that of its request', async () => {
      const { call, get, post } = await begin()
      const standalone = await get()
      const names = ['a', 'b', 'c', 'd']
      const answers = await Promise.all(names.map((name) => call(name, 'progress', withToken(name))))
      const asking = await call('q', 'ask')
      await Promise.all(answers.map((answer) => answer.text()))
      if (asks) {
        await until(() => asking.messages().length === 1)
        await post({ jsonrpc: '2.0', id: asking.messages()[0]?.['id'], result: { action: 'decline' } })
      }
      await asking.text()
      server.changes.publish({ type: 'tools' })
      await until(() => standalone.messages().length === 1)
      for (const [at, name] of names.entries()) {
        const params = { progressToken: name }
        expect(answers[at]?.messages()).toMatchObject([{ params }, { params }, { params }, { id: name }])
      }
      if (asks) expect(asking.messages()).toMatchObject([{ method: 'elicitation/create' }, { id: 'q' }])
      expect(standalone.messages()).toMatchObject([{ method: 'notifications/tools/list_changed' }])
      const ids = [...answers, asking, standalone].flatMap(idsOf)
      expect(ids).not.toContain(undefined)
      expect(new Set(ids).size).toBe(ids.length)
      standalone.drop()
    })

    it('resumes a stream with the rest of it, and never with another', async () => {
      const { call, get } = await begin()
      const [a, b] = await Promise.all([
        call('a', 'progress', withToken('a')),
        call('b', 'progress', withToken('b')),
      ])
      await Promise.all([a.text(), b.text()])
      const again = await get({ 'last-event-id': a.events[0]?.id })
      await again.text()
      expect(again.events).toEqual(a.events.slice(1))
    })

    it('does not treat a lost connection as a cancellation', async () => {
      const signals: AbortSignal[] = []
      const waiting: Tool = (_args, { signal, notify }) => {
        signals.push(signal)
        notify({ method: 'notifications/message', params: { level: 'info', data: 1 } })
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
      const { call, post } = await begin({}, { waiting })
      const answer = await call(1, 'waiting')
      await until(() => answer.messages().length === 1)
      answer.drop()
      await settle(20)
      expect(signals[0]?.aborted).toBe(false)
      await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
      await until(() => signals[0]?.aborted === true)
    })

    it('that ended gets 404, whoever ended it', async () => {
      const gone = await begin({ limits: { sessions: 1 } })
      const taken = await session(mounted, version)
      expect((await gone.call(1, 'echo')).status).toBe(404)
      expect((await gone.get()).status).toBe(404)
      expect((await taken.end()).status).toBe(204)
      expect((await taken.call(1, 'echo')).status).toBe(404)
      expect((await taken.post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(404)
    })

    it('rejects unknown versions with 400, and requires none', async () => {
      const { send } = await begin()
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      for (const wrong of ['1999-01-01', '', 'latest', '2025-11-25x']) {
        const answer = await send({ headers: { 'mcp-protocol-version': wrong }, body })
        expect([wrong, answer.status]).toEqual([wrong, 400])
      }
      expect((await send({ headers: { 'mcp-protocol-version': undefined }, body })).status).toBe(200)
    })
  })

  describe('2026-07-28', () => {
    it('answers with JSON or a stream of valid messages about that request only, without requests', async () => {
      const { send } = await start()
      const call = (token: string): Promise<Answer> =>
        send(modern('tools/call', { name: 'progress', _meta: meta({ progressToken: token }) }, {}, token))
      const whole = await send(modern('tools/call', { name: 'ask' }))
      expect(whole.header('content-type')).toBe('application/json')
      const asked = await whole.json()
      expect(asked).toMatchObject({ id: 1, result: { resultType: 'input_required' } })
      expect(checkWire('2026-07-28', 'server', asked, 'tools/call')).toEqual([])
      const listening = await send(
        modern('subscriptions/listen', { notifications: { toolsListChanged: true } }),
      )
      const names = ['a', 'b', 'c']
      const answers = await Promise.all(names.map(call))
      await Promise.all(answers.map((answer) => answer.text()))
      server.changes.publish({ type: 'tools' })
      await until(() => listening.messages().length === 2)
      for (const [at, name] of names.entries()) {
        const messages = answers[at]?.messages() ?? []
        const params = { progressToken: name }
        expect(messages).toMatchObject([{ params }, { params }, { params }, { id: name }])
        for (const message of messages) {
          expect(checkWire('2026-07-28', 'server', message, 'tools/call')).toEqual([])
          expect('method' in message && 'id' in message).toBe(false)
        }
      }
      expect(listening.messages().map(({ method }) => method)).toEqual([
        'notifications/subscriptions/acknowledged',
        'notifications/tools/list_changed',
      ])
      listening.drop()
    })

    it('accepts a notification with 202 and no body, and rejects an invalid one with an error status', async () => {
      faultyPeer('messages that are none, and a batch')
      const { send } = await start()
      const headers = { 'mcp-protocol-version': '2026-07-28' }
      const notice = await send({ headers, body: { jsonrpc: '2.0', method: 'notifications/progress' } })
      expect([notice.status, await notice.text()]).toEqual([202, ''])
      for (const body of [
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
        { jsonrpc: '2.0', method: 7 },
        [{ jsonrpc: '2.0', method: 'notifications/progress' }],
      ]) {
        expect((await send({ headers, body })).status).toBe(400)
      }
    })

    it('has one path, with POST only', async () => {
      const { send } = await start()
      expect((await send(modern('tools/call', { name: 'echo' }))).status).toBe(200)
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const { status } = await send({ method, headers: { 'mcp-protocol-version': '2026-07-28' } })
        expect([method, status]).toEqual([method, 405])
      }
    })
  })
})
