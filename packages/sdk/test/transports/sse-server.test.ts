import type { JsonObject } from '@jackfield/sdk'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { Client as OfficialClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { type Answer, type Ask, adapters, type Mounted, modern, nodeAdapter } from '../serve/http-support.ts'
import {
  ask,
  echo,
  hang,
  initialize,
  initialized,
  settle,
  type TestServer,
  type Tool,
  testServer,
  until,
} from '../serve/support.ts'

const progress: Tool = async (_args, { notify, params }) => {
  const meta = params['_meta'] as { progressToken: number } | undefined
  for (const step of [1, 2, 3]) {
    notify({
      method: 'notifications/progress',
      params: { progressToken: meta?.progressToken ?? 'p', progress: step },
    })
    await settle(1)
  }
  return 'done'
}
const call = (id: string | number, name: string, args: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

describe.each(adapters)('HTTP+SSE over the %s adapter', (_, mount) => {
  let mounted: Mounted
  let server: TestServer
  afterEach(() => mounted.close())
  const start = async (options?: ServeHttpOptions, tools: Record<string, Tool> = {}): Promise<Mounted> => {
    server = testServer({ echo, ask, hang, progress, ...tools })
    mounted = await mount(server, { sse: '/sse', ...options })
    return mounted
  }
  const get = (headers: Ask['headers'] = {}): Promise<Answer> =>
    mounted.send({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream', ...headers } })
  const open = async (headers: Ask['headers'] = {}) => {
    const stream = await get(headers)
    await until(() => stream.events.length > 0)
    const inbox = stream.events[0]?.data ?? ''
    const post = (body: unknown, more: Ask['headers'] = {}): Promise<Answer> =>
      mounted.send({ path: inbox, body, headers: { accept: undefined, ...headers, ...more } })
    const messages = (): JsonObject[] =>
      stream.events.filter(({ event }) => event === 'message').map(({ data }) => JSON.parse(data))
    const answerTo = async (id: unknown): Promise<JsonObject> => {
      await until(() => messages().some((message) => message['id'] === id && !('method' in message)))
      return messages().find((message) => message['id'] === id && !('method' in message)) ?? {}
    }
    return { stream, inbox, post, messages, answerTo }
  }
  const begin = async (version = '2024-11-05', headers?: Ask['headers']) => {
    const session = await open(headers)
    await session.post(initialize(version))
    await session.answerTo('init')
    await session.post(initialized)
    return session
  }

  it('is not served unless it is enabled', async () => {
    mounted = await mount(testServer())
    expect((await get()).status).toBe(404)
  })

  it('first sends an endpoint on the same origin, with an unguessable id and no session header', async () => {
    await start()
    const sessions = await Promise.all([open(), open(), open()])
    for (const { stream, inbox } of sessions) {
      expect(stream.status).toBe(200)
      expect(stream.header('content-type')).toBe('text/event-stream')
      expect(stream.header('cache-control')).toContain('no-transform')
      expect(stream.header('mcp-session-id')).toBeUndefined()
      expect(stream.events[0]?.event).toBe('endpoint')
      expect(inbox).toMatch(/^\/sse\?sessionId=[\w-]{32}$/)
    }
    expect(new Set(sessions.map(({ inbox }) => inbox)).size).toBe(3)
  })

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'accepts messages with 202 and answers them on the stream, at %s',
    async (version) => {
      await start()
      const { post, answerTo } = await open()
      const taken = await post(initialize(version))
      expect([taken.status, await taken.text()]).toEqual([202, ''])
      expect(await answerTo('init')).toMatchObject({ result: { protocolVersion: version } })
      expect((await post(initialized)).status).toBe(202)
      await post(call('1', 'echo', { text: 'a\nb\u2028c' }), { 'mcp-protocol-version': version })
      expect(await answerTo('1')).toMatchObject({ result: { content: [{ text: 'a\nb\u2028c' }] } })
    },
  )

  it('does not support the stateless era, and reports which it does', async () => {
    await start()
    const { post, answerTo } = await open()
    expect((await post(modern('server/discover').body)).status).toBe(202)
    expect(await answerTo(1)).toMatchObject({
      error: { code: -32022, data: { supported: expect.arrayContaining(['2025-11-25', '2024-11-05']) } },
    })
  })

  it('supports questions, progress, changes and cancellations', async () => {
    await start()
    const { post, answerTo, messages } = await begin('2025-11-25')
    await post(call(1, 'ask'))
    await until(() => messages().some(({ method }) => method === 'elicitation/create'))
    const question = messages().find(({ method }) => method === 'elicitation/create')
    const answer = { action: 'accept', content: { name: 'Ada' } }
    expect((await post({ jsonrpc: '2.0', id: question?.['id'], result: answer })).status).toBe(202)
    expect(await answerTo(1)).toMatchObject({ result: { content: [{ text: 'Hello, Ada' }] } })

    await post(call(2, 'progress'))
    await answerTo(2)
    expect(messages().filter(({ method }) => method === 'notifications/progress')).toHaveLength(3)

    server.changes.publish({ type: 'tools' })
    await until(() => messages().some(({ method }) => method === 'notifications/tools/list_changed'))

    await post(call(3, 'hang'))
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } })
    await post(call(4, 'echo'))
    await answerTo(4)
    expect(messages().some(({ id }) => id === 3)).toBe(false)
  })

  it('answers a batch with one event where the revision has batches, and refuses it elsewhere', async () => {
    faultyPeer('a batch, which its revision does not have')
    await start()
    const pings = [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' }))
    const old = await begin('2025-03-26')
    expect((await old.post([...pings, initialized])).status).toBe(202)
    await until(() => old.messages().length === 2)
    expect(old.messages()[1]).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} })))
    const newer = await begin('2025-06-18')
    await newer.post(pings)
    await until(() => newer.messages().length === 2)
    expect(newer.messages()[1]).toMatchObject({ error: { code: -32600 } })
  })

  it('answers invalid messages in the response to the POST', async () => {
    await start({ limits: { messageBytes: 2000 } })
    const { post, inbox, messages } = await begin()
    const refused = async (answer: Answer) => {
      const { error, id } = await answer.json()
      return [answer.status, (error as JsonObject)['code'], id]
    }
    expect(await refused(await mounted.send({ path: '/sse', body: initialize() }))).toEqual([
      405,
      -32600,
      undefined,
    ])
    expect((await mounted.send({ path: '/sse', body: initialize() })).header('allow')).toBe('GET')
    expect((await mounted.send({ path: inbox, method: 'DELETE' })).status).toBe(405)
    for (const path of ['/sse?sessionId=', '/sse?sessionId=x', `${inbox}x`]) {
      expect(await refused(await mounted.send({ path, body: call(1, 'echo') }))).toEqual([
        404,
        -32600,
        undefined,
      ])
    }
    const text = { 'content-type': 'text/plain' }
    expect(await refused(await post(call(1, 'echo'), text))).toEqual([415, -32600, undefined])
    const large = call(1, 'echo', { text: 'x'.repeat(3000) })
    expect(await refused(await post(large))).toEqual([413, -32600, undefined])
    expect(await refused(await post('{'))).toEqual([400, -32700, undefined])
    expect(await refused(await post({ jsonrpc: '2.0', id: 7, method: 3 }))).toEqual([400, -32600, 7])
    expect((await get({ accept: 'application/json' })).status).toBe(406)
    expect(messages()).toHaveLength(1)
    expect(server.ran).toEqual([])
  })

  it('rejects requests of other origins and hosts, at the stream and at the endpoint', async () => {
    await start()
    const { post } = await begin()
    for (const headers of [{ origin: 'http://evil.com' }, { host: 'evil.com' }]) {
      expect((await get(headers)).status).toBe(403)
      expect((await post(call(1, 'echo'), headers)).status).toBe(403)
    }
    expect(server.ran).toEqual([])
  })

  it('accepts messages only from the caller who opened the stream, and authenticates each of them', async () => {
    await start({
      authenticate: async (request) => {
        const principal = request.header('authorization')
        return principal === undefined
          ? { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } }
          : { principal }
      },
    })
    expect((await get()).status).toBe(401)
    const alice = await begin('2025-11-25', { authorization: 'alice' })
    expect((await alice.post(call(1, 'echo'), { authorization: undefined })).status).toBe(401)
    expect((await alice.post(call(1, 'echo'), { authorization: 'mallory' })).status).toBe(404)
    expect(server.ran).toEqual([])
    await alice.post(call(2, 'echo'))
    expect(await alice.answerTo(2)).toHaveProperty('result')
  })

  it('ends with its stream: its requests are cancelled and its endpoint is removed', async () => {
    let stopped = false
    const watched: Tool = (_args, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          stopped = true
          resolve('stopped')
        }),
      )
    await start({}, { watched })
    const { stream, post } = await begin()
    await post(call(1, 'watched'))
    await until(() => server.ran.length === 1)
    stream.drop()
    await until(() => stopped)
    expect((await post(call(2, 'echo'))).status).toBe(404)
  })

  it('limits the number of sessions', async () => {
    await start({ limits: { sessions: 2 } })
    const [first] = await Promise.all([open(), open()])
    const third = await get()
    expect([third.status, third.header('retry-after')]).toEqual([503, '60'])
    first.stream.drop()
    let again = await get()
    while (again.status === 503) again = await get()
    expect(again.status).toBe(200)
  })

  it('sends the responses that handlers complete when the server closes, then ends the stream', async () => {
    const slow: Tool = () => settle(30).then(() => 'slow')
    await start({}, { slow })
    const { stream, post, answerTo } = await begin()
    await post(call(1, 'slow'))
    await mounted.close()
    expect(await answerTo(1)).toMatchObject({ result: { content: [{ text: 'slow' }] } })
    await until(() => stream.over())
  })
})

it('a reader that reads nothing is disconnected, and its buffer stays bounded', async () => {
  let stopped = 0
  const flood: Tool = async (_args, { notify, signal }) => {
    const params = { progressToken: 'p', progress: 1, message: 'x'.repeat(100_000) }
    while (!signal.aborted) {
      notify({ method: 'notifications/progress', params })
      await settle(0)
    }
    stopped++
  }
  const limits = { streamQueueBytes: 200_000, streamStallMs: 100 }
  const mounted = await nodeAdapter(testServer({ flood }), { sse: '/sse', limits })
  onTestFinished(() => mounted.close())
  const { connect } = await import('node:net')
  const socket = connect(Number(new URL(mounted.url).port), '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
  })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write('GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n')
  await until(() => text.includes('sessionId='))
  const path = /\/sse\?sessionId=[\w-]+/.exec(text)?.[0] ?? ''
  await mounted.send({ path, body: initialize() })
  await mounted.send({ path, body: call(1, 'flood') })
  socket.pause()
  await until(() => stopped === 1, 10_000)
  expect((await mounted.send({ path, body: call(2, 'flood') })).status).toBe(404)
})

it('a path that is invalid, or equal to the endpoint’s, is rejected at once', () => {
  for (const sse of ['sse', '/sse?x', '/mcp']) {
    expect(() => serveHttp(testServer(), { sse, onWarning: () => {} })).toThrow(TypeError)
  }
})

describe('the client of the older official SDK', () => {
  it('works over HTTP+SSE: calls, questions, progress, changes, the end', async () => {
    const server = testServer({ echo, ask, progress })
    const mounted = await nodeAdapter(server, { sse: '/sse' })
    onTestFinished(() => mounted.close())
    const client = new OfficialClient(
      { name: 'official', version: '1' },
      { capabilities: { elicitation: {} } },
    )
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }))
    const changes: unknown[] = []
    client.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => {
      changes.push(method)
    })
    await client.connect(new SSEClientTransport(new URL('/sse', mounted.url)))
    expect(client.getServerVersion()).toMatchObject({ name: 'test' })
    expect((await client.listTools()).tools).toHaveLength(3)
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ content: [{ text: 'Hello, Ada' }] })
    const steps: number[] = []
    await client.callTool({ name: 'progress' }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    })
    expect(steps).toEqual([1, 2, 3])
    server.changes.publish({ type: 'tools' })
    await until(() => changes.length === 1)
    await client.close()
  })
})
