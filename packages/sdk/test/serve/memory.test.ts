import { once } from 'node:events'
import { connect } from 'node:net'
import { defineServer, tool } from '@jackfield/sdk'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { DuplexConnection } from '../../src/transports/server/duplex-connection.ts'
import { type Ask, adapters, type Mounted, modern, nodeAdapter, session, webAdapter } from './http-support.ts'
import { echo, hang, hung, initialize, initialized, meta, type Tool, testServer, until } from './support.ts'

const MB = 1_000_000

const authenticate: NonNullable<ServeHttpOptions['authenticate']> = async (request) => ({
  principal: request.header('authorization') ?? 'none',
})

/** Begins a call that is not answered, of so many characters. */
function holding(mounted: Mounted, chars: number, who = 'alice'): { drop(): Promise<void> } {
  const { headers, body } = modern('tools/call', { name: 'hang', arguments: { text: 'x'.repeat(chars) } })
  const controller = new AbortController()
  const sent = fetch(mounted.url, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: controller.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: who,
      ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)])),
    },
  }).catch(() => {})
  return {
    drop: async () => {
      controller.abort()
      await sent
    },
  }
}

const call = (chars: number, who = 'alice', name = 'echo'): Ask =>
  modern('tools/call', { name, arguments: { text: 'x'.repeat(chars) } }, { authorization: who })

describe('running requests', () => {
  const start = async (memoryBytes: number) => {
    const server = testServer({ echo, hang })
    const mounted = await nodeAdapter(server, { authenticate, limits: { memoryBytes } })
    onTestFinished(() => mounted.close())
    return { mounted, server }
  }

  it("above a principal's share get 429, and others are served", async () => {
    const { mounted, server } = await start(4 * MB)
    const first = holding(mounted, 300_000)
    await until(() => server.ran.length === 1)
    const refused = await mounted.send(call(300_000))
    expect([refused.status, refused.header('retry-after')]).toEqual([429, '10'])
    expect(await refused.json()).toMatchObject({
      error: {
        code: -32603,
        message: expect.stringContaining('this client uses as much memory as one client may'),
      },
    })
    expect((await mounted.send(call(300_000, 'bob'))).status).toBe(200)
    await first.drop()
    await until(() => server.ran.length === 2)
    expect((await mounted.send(call(300_000))).status).toBe(200)
  })

  it("above the node's limit get 503, whoever sends them", async () => {
    const { mounted, server } = await start(4 * MB)
    const pending: ReturnType<typeof holding>[] = []
    for (const who of 'abcdefgh') {
      pending.push(holding(mounted, 300_000, who))
      await until(() => server.ran.length === pending.length)
    }
    const refused = await mounted.send(call(300_000, 'j'))
    expect([refused.status, refused.header('retry-after')]).toEqual([503, '10'])
    for (const one of pending) await one.drop()
  })

  it('with too small a limit: one that can never fit is rejected with 413', async () => {
    const { mounted } = await start(4 * MB)
    const values = modern('tools/call', { name: 'echo', arguments: { more: Array(60_000).fill({}) } })
    const refused = await mounted.send({ ...values, headers: { ...values.headers, authorization: 'alice' } })
    expect([refused.status, await refused.text()]).toEqual([413, expect.stringContaining('bytes of memory')])
  })

  it('are counted while their bodies are read', async () => {
    const { mounted } = await start(4 * MB)
    const { port } = new URL(mounted.url)
    const { headers, body } = call(300_000)
    const text = JSON.stringify(body)
    const lines = Object.entries({ ...headers, 'content-length': String(text.length) }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    )
    const socket = connect(Number(port), '127.0.0.1')
    const types = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${types}${lines.join('')}\r\n${text.slice(0, -1)}`)
    let status = 200
    while (status === 200) ({ status } = await mounted.send(call(300_000)))
    expect(status).toBe(429)
    expect((await mounted.send(call(300_000, 'bob'))).status).toBe(200)
    socket.destroy()
    await once(socket, 'close')
    while (status === 429) ({ status } = await mounted.send(call(300_000)))
    expect(status).toBe(200)
  })
})

describe.each(adapters)('through the %s adapter', (_name, mount) => {
  it('every kind of request releases its memory', async () => {
    const server = testServer({ echo })
    const mounted = await mount(server, { authenticate, limits: { memoryBytes: MB } })
    onTestFinished(() => mounted.close())
    faultyPeer('sends messages that are refused')
    const mine = await session(mounted, '2025-03-26', { authorization: 'alice' })
    const large = 'x'.repeat(40_000)
    const other = { jsonrpc: '2.0', method: 'notifications/none', params: { large } }
    for (let time = 0; time < 30; time++) {
      expect((await mounted.send(call(40_000))).status).toBe(200)
      expect((await mine.call(`${time}`, 'echo', { arguments: { text: large } })).status).toBe(200)
      expect((await mine.call(`${time}`, 'none', { arguments: { text: large } })).status).toBe(200)
      expect((await mine.post([{ jsonrpc: '2.0', id: 1, method: 'ping', params: { large } }])).status).toBe(
        200,
      )
      expect((await mine.post(other)).status).toBe(202)
      expect((await mine.post({ jsonrpc: '2.0', id: 1, result: { large } })).status).toBe(202)
      expect((await mine.post({ large })).status).toBe(400)
      expect((await mine.post(`${large}"`)).status).toBe(400)
      expect((await mounted.send({ body: other, headers: { authorization: 'alice' } })).status).toBe(400)
      expect((await mounted.send(call(40_000, 'alice', 'none'))).status).toBe(200)
    }
  })
})

describe.each(adapters)('through the %s adapter', (_name, mount) => {
  it('a response with notifications releases its memory, however many of them were sent', async () => {
    const chatty: Tool = async (_args, { notify }) => {
      for (let progress = 1; progress <= 100; progress++) {
        notify({
          method: 'notifications/progress',
          params: { progressToken: 'p', progress, message: 'x'.repeat(100) },
        })
      }
      return 'done'
    }
    const mounted = await mount(testServer({ chatty }), { authenticate, limits: { memoryBytes: MB } })
    onTestFinished(() => mounted.close())
    const mine = await session(mounted, '2025-11-25', { authorization: 'alice' })
    for (let time = 0; time < 30; time++) {
      const responses = [
        await mounted.send(
          modern(
            'tools/call',
            { name: 'chatty', arguments: {}, _meta: { ...meta(), progressToken: 'p' } },
            { authorization: 'alice' },
          ),
        ),
        await mine.call(`${time}`, 'chatty', { _meta: { progressToken: 'p' } }),
      ]
      for (const response of responses) {
        expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('done')])
      }
    }
  })
})

describe('responses that are not read', () => {
  it('count against further requests of their principal, until they are', async () => {
    const large: Tool = () => 'x'.repeat(6 * MB)
    const mounted = await nodeAdapter(testServer({ echo, large }), {
      authenticate,
      limits: { memoryBytes: 64 * MB },
    })
    onTestFinished(() => mounted.close())
    const { port } = new URL(mounted.url)
    const { headers, body } = call(1, 'alice', 'large')
    const text = JSON.stringify(body)
    const lines = Object.entries({ ...headers, 'content-length': String(text.length) }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    )
    const types = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'
    const sockets = [1, 2, 3, 4].map(() => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.pause()
      socket.on('error', () => {})
      socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${types}${lines.join('')}\r\n${text}`)
      return socket
    })
    let status = 200
    while (status === 200) ({ status } = await mounted.send(call(1)))
    expect(status).toBe(429)
    expect((await mounted.send(call(1, 'bob'))).status).toBe(200)
    for (const socket of sockets) socket.resume()
    while (status !== 200) ({ status } = await mounted.send(call(1)))
    for (const socket of sockets) socket.destroy()
  })
})

describe('a session', () => {
  let mounted: Mounted
  afterEach(() => mounted.close())

  it("stores a few kilobytes of its client's identity", async () => {
    const server = defineServer({
      name: 'who',
      version: '1.0.0',
      tools: { who: tool({ run: (_, { peer }) => JSON.stringify(peer.info) }) },
    })
    mounted = await webAdapter(server)
    const long = 'x'.repeat(100_000)
    const clientInfo = {
      name: 'client',
      version: '1',
      title: long,
      websiteUrl: `https://example.com/${long}`,
      icons: [{ src: `data:image/png;base64,${long}` }, { src: 'https://example.com/icon.png' }],
    }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const first = await mounted.send({ body: { jsonrpc: '2.0', id: 1, method: 'initialize', params } })
    const headers = { 'mcp-session-id': first.header('mcp-session-id'), 'mcp-protocol-version': '2025-11-25' }
    await mounted.send({ headers, body: initialized })
    const answer = await mounted.send({
      headers,
      body: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'who' } },
    })
    const { result } = await answer.json()
    const output = Object(result)['content'][0].text
    expect(JSON.parse(output)).toEqual({
      name: 'client',
      version: '1',
      title: 'x'.repeat(1024),
      icons: [{ src: 'https://example.com/icon.png' }],
    })
  })

  it('does not start with capabilities of more than 16,384 characters', async () => {
    mounted = await webAdapter(testServer())
    const body = initialize('2025-11-25', 1, { experimental: { more: { text: 'x'.repeat(20_000) } } })
    expect(await (await mounted.send({ body })).json()).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('16384 characters') },
    })
  })

  it('counts its subscriptions, and releases them when they end', async () => {
    mounted = await webAdapter(testServer(), { authenticate, limits: { memoryBytes: 2 * MB } })
    const mine = await session(mounted, '2025-11-25', { authorization: 'alice' })
    const ask = (method: string, index: number) =>
      mine.post({ jsonrpc: '2.0', id: 1, method, params: { uri: `a://${index}/${'x'.repeat(4000)}` } })
    let taken = 0
    while ('result' in (await (await ask('resources/subscribe', taken)).json())) taken++
    expect([taken > 20, taken < 40]).toEqual([true, true])
    for (let index = 0; index <= taken; index++) await ask('resources/unsubscribe', index)
    expect(await (await ask('resources/subscribe', 1)).json()).toMatchObject({ result: {} })
    await mine.end()
    const next = await session(mounted, '2025-11-25', { authorization: 'alice' })
    expect(next.first.status).toBe(200)
  })

  it('that ended releases nothing until its handlers end', async () => {
    mounted = await nodeAdapter(testServer({ hung, echo }), {
      authenticate,
      limits: { inFlightPerPrincipal: 4 },
    })
    for (let time = 0; time < 2; time++) {
      const mine = await session(mounted, '2025-11-25', { authorization: 'alice' })
      for (const id of ['a', 'b']) (await mine.call(id, 'hung')).drop()
      await mine.end()
    }
    const mine = await session(mounted, '2025-11-25', { authorization: 'alice' })
    const busy = { error: { message: expect.stringContaining('wait for some of your 4 to finish') } }
    expect(await (await mine.call('c', 'echo')).json()).toMatchObject(busy)
    expect((await mounted.send(call(1))).status).toBe(429)
    const other = await session(mounted, '2025-11-25', { authorization: 'bob' })
    expect(await (await other.call('c', 'echo')).json()).toMatchObject({ result: {} })
  })

  it('replays more than a stream may buffer to a client that reads slowly, complete and in order', async () => {
    const many: Tool = async (_args, { notify }) => {
      for (let progress = 1; progress <= 12; progress++) {
        notify({
          method: 'notifications/message',
          params: { level: 'info', data: `${progress} ${'x'.repeat(MB)}` },
        })
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      return 'done'
    }
    mounted = await webAdapter(testServer({ many }))
    const mine = await session(mounted)
    const whole = await mine.call('many', 'many')
    await whole.text()
    const first = whole.events[0]?.id
    const all = whole.messages()
    expect(all).toHaveLength(13)
    const response = await mounted.handler.fetch(
      new Request(mounted.url, {
        headers: { accept: 'text/event-stream', 'mcp-session-id': mine.id, 'last-event-id': String(first) },
      }),
    )
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const messages = text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)))
    expect(messages.map(({ id, params }) => id ?? parseInt(params.data, 10))).toEqual(
      all.map(({ id, params }) => id ?? parseInt(Object(params)['data'], 10)),
    )
  })

  it('has at most as many streams as running requests', async () => {
    mounted = await webAdapter(testServer({ echo }), { limits: { inFlight: 2 } })
    const mine = await session(mounted)
    const first = await mine.get()
    const { events } = first
    await until(() => first.status === 200)
    expect((await mine.get()).status).toBe(409)
    expect(events).toEqual([])
  })
})

describe('lines', () => {
  it('count what their requests use, and are rejected beyond the limit while responses are accepted', async () => {
    const answers: unknown[] = []
    const server = testServer({ hang, echo })
    const connection = new DuplexConnection(server, (message) => answers.push(message), {
      limits: { memoryBytes: MB },
    })
    connection.receive(initialize())
    await until(() => answers.length === 1)
    const ask = (id: number, name: string, bytes: number): void => {
      connection.receive({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } }, bytes)
    }
    ask(1, 'hang', 500_000)
    await until(() => server.ran.length === 1)
    ask(2, 'echo', 500_000)
    ask(3, 'echo', 200_000)
    await until(() => answers.length === 3)
    expect(answers.slice(1)).toMatchObject([
      { id: 2, error: { message: expect.stringContaining('all clients together') } },
      { id: 3, result: {} },
    ])
    connection.receive(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      900_000,
    )
    await until(() => connection.running === 0)
    ask(4, 'echo', 700_000)
    await until(() => answers.length === 4)
    expect(answers[3]).toMatchObject({ id: 4, result: {} })
    await connection.close()
  })
})

describe('clients that do not authenticate', () => {
  it('are distinguished by address, so that one leaves room for others', async () => {
    const server = testServer({ echo, hang })
    const mounted = await nodeAdapter(server, {
      clientAddress: (request) => request.header('x-forwarded-for'),
      limits: { memoryBytes: 4 * MB },
    })
    onTestFinished(() => mounted.close())
    const from = (address: string): Ask => {
      const ask = call(300_000)
      return { ...ask, headers: { ...ask.headers, 'x-forwarded-for': address } }
    }
    const { headers, body } = modern('tools/call', { name: 'hang', arguments: { text: 'x'.repeat(300_000) } })
    const pending = mounted.send({ body, headers: { ...headers, 'x-forwarded-for': '2001:db8::1' } })
    pending.catch(() => {})
    await until(() => server.ran.length === 1)
    expect((await mounted.send(from('2001:db8::2'))).status).toBe(429)
    expect((await mounted.send(from('2001:db8:1::2'))).status).toBe(200)
    expect((await mounted.send(from('192.0.2.1'))).status).toBe(200)
  })
})
