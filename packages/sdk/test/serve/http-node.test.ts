import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { heldBytes } from '../../../../test/setup/memory.ts'
import { modern, nodeAdapter, session } from './http-support.ts'
import { echo, meta, settle, type TestServer, type Tool, testServer, until } from './support.ts'

const keys = ['k'.repeat(32)]
const call = modern('tools/call', { name: 'echo' })

describe('mounted in another server', () => {
  let http: HttpServer
  afterEach(() => {
    http.closeAllConnections()
    http.close()
  })
  const mount = async (
    wrap: (
      node: ReturnType<typeof serveHttp>['node'],
    ) => (request: IncomingMessage, response: ServerResponse) => void,
  ) => {
    const server = testServer({ echo })
    const { node } = serveHttp(server, { keys })
    http = createServer(wrap(node))
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const { port } = http.address() as AddressInfo
    const post = (path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': 'echo',
        },
        body: JSON.stringify(call.body),
      })
    return { post, server }
  }

  it('serves a path stripped by a router', async () => {
    const { post } = await mount((node) => (request, response) => {
      Object.assign(request, { originalUrl: request.url, url: '/' })
      node(request, response)
    })
    expect((await post('/mcp')).status).toBe(200)
    expect((await post('/other')).status).toBe(404)
  })

  it('accepts a body that a parser read before, and reports a missing one', async () => {
    const read = async (request: IncomingMessage): Promise<string> => {
      let text = ''
      for await (const chunk of request) text += chunk
      return text
    }
    let left: (text: string) => unknown = (text) => JSON.parse(text)
    const { post, server } = await mount((node) => async (request, response) => {
      Object.assign(request, { body: left(await read(request)) })
      node(request, response)
    })
    expect((await post('/mcp')).status).toBe(200)
    // Nothing, as a parser that is no framework's; text and bytes, as express.text() and express.raw().
    for (const other of [() => undefined, (text: string) => text, (text: string) => Buffer.from(text)]) {
      left = other
      expect((await post('/mcp')).status).toBe(500)
    }
    const hint = { message: expect.stringMatching(/already read.*express\.json\(\).*express\.text\(\)/) }
    expect(server.reports).toMatchObject([hint, hint, hint])
  })
})

/** A socket that sends what it is given and reads only on request. */
const dial = async (port: number): Promise<{ socket: Socket; got: () => string }> => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk
  })
  await new Promise((resolve) => socket.once('connect', resolve))
  return { socket, got: () => text }
}

const rawPost = (body: string, headers: Record<string, string> = {}): string =>
  `POST /mcp HTTP/1.1\r\n${Object.entries({
    Host: 'localhost',
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`

const rawModern = (name: string): string =>
  rawPost(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { _meta: meta({ progressToken: 'p' }), name },
    }),
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
  )

describe('a closing listener', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('waits for no connection without a request', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { port, close } = await serveHttp(testServer({ echo }), { keys }).listen()
    const socket = connect(port, '127.0.0.1')
    await new Promise((resolve) => socket.once('connect', resolve))
    const ended = new Promise((resolve) => socket.resume().once('close', resolve))
    await close()
    await ended
  })
})

describe('a client that does not read', () => {
  const big = 'x'.repeat(50_000)
  /** Sends 200 MB of progress, a few at a time, and returns the growth of the process's memory. */
  const flooding = (flooded: (heldBytes: number) => void): Tool => {
    return async (_args, { notify, signal }) => {
      const before = heldBytes()
      for (let i = 0; i < 4000 && !signal.aborted; i++) {
        const params = { progressToken: 'p', progress: i, message: big }
        notify({ method: 'notifications/progress', params })
        if (i % 100 === 0) await settle(0)
      }
      flooded(heldBytes() - before)
      return 'done'
    }
  }
  const start = async (tools: Record<string, Tool>, limits: ServeHttpOptions['limits']) => {
    const server = testServer(tools)
    const mounted = await nodeAdapter(server, { limits: limits ?? {} })
    const { socket, got } = await dial(Number(new URL(mounted.url).port))
    return { mounted, server, socket, got }
  }

  it('is not buffered for 200 MB, and gets the response when it reads again', async () => {
    let flooded = (_heldBytes: number): void => {}
    const finalBytes = new Promise<number>((resolve) => {
      flooded = resolve
    })
    const { mounted, socket, got } = await start({ flood: flooding((bytes) => flooded(bytes)) }, {})
    socket.pause()
    socket.write(rawModern('flood'))
    expect(await finalBytes).toBeLessThan(20_000_000)
    socket.resume()
    await until(() => got().includes('"resultType":"complete"'), 20_000)
    expect(got().match(/"progress":/g)?.length).toBeLessThan(1000)
    socket.destroy()
    await mounted.close()
  })

  it('is disconnected when it reads nothing for too long, and its request is cancelled', async () => {
    const signals: AbortSignal[] = []
    const endless: Tool = async (_args, { notify, signal }) => {
      signals.push(signal)
      while (!signal.aborted) {
        notify({
          method: 'notifications/progress',
          params: { progressToken: 'p', progress: 1, message: big },
        })
        await settle(0)
      }
    }
    const { mounted, socket } = await start({ endless }, { streamQueueBytes: 100_000, streamStallMs: 100 })
    socket.pause()
    socket.write(rawModern('endless'))
    await until(() => signals[0]?.aborted === true, 4000)
    socket.destroy()
    await mounted.close()
  })

  it('is disconnected when it reads nothing of a response that is no stream, too', async () => {
    const huge: Tool = () => 'x'.repeat(30_000_000)
    const { node } = serveHttp(testServer({ huge }), { keys, limits: { streamStallMs: 100 } })
    const http = createServer(node)
    let cut = false
    http.on('connection', (connection) => {
      connection.on('close', () => {
        cut = true
      })
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const { port } = http.address() as AddressInfo
    const { socket } = await dial(port)
    socket.pause()
    socket.write(rawModern('huge'))
    await until(() => cut, 20_000)
    socket.destroy()
    http.close()
  })

  it('of a session is disconnected too, but its call continues', async () => {
    const states: string[] = []
    let stop = false
    const tool: Tool = async (_args, { notify, signal }) => {
      states.push('running')
      while (!stop) {
        notify({
          method: 'notifications/progress',
          params: { progressToken: 'p', progress: 1, message: big },
        })
        await settle(1)
      }
      states.push(signal.aborted ? 'aborted' : 'done')
      return 'done'
    }
    const { mounted, socket } = await start({ tool }, { streamQueueBytes: 100_000, streamStallMs: 50 })
    const { id, call: callTool } = await session(mounted)
    socket.pause()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tool' } }
    socket.write(rawPost(JSON.stringify(message), { 'Mcp-Session-Id': id }))
    await settle(1500)
    socket.resume()
    await closed
    expect(states).toEqual(['running'])
    expect((await callTool(2, 'nope')).status).toBe(200)
    stop = true
    await until(() => states.length === 2)
    expect(states).toEqual(['running', 'done'])
    await mounted.close()
  })
})

describe('a client that is disconnected', () => {
  it('in the middle of its body leaves nothing behind', async () => {
    const server = testServer({ echo })
    const mounted = await nodeAdapter(server)
    const { socket } = await dial(Number(new URL(mounted.url).port))
    socket.write(rawModern('echo').slice(0, -10))
    await settle(20)
    socket.destroy()
    await settle(20)
    expect([server.ran, server.reports]).toEqual([[], []])
    expect((await mounted.send(call)).status).toBe(200)
    await mounted.close()
  })

  it('by a server that closes while it sends gets an error', async () => {
    const server = testServer({ echo })
    const mounted = await nodeAdapter(server)
    const { socket, got } = await dial(Number(new URL(mounted.url).port))
    const text = rawModern('echo')
    socket.write(text.slice(0, -10))
    await settle(20)
    await mounted.handler.close()
    socket.write(text.slice(-10))
    await until(() => got().includes('503'))
    expect(server.ran).toEqual([])
    socket.destroy()
    await mounted.close()
  })

  it('behind another request of its connection is never started', async () => {
    const signals: AbortSignal[] = []
    const endless: Tool = (_args, { signal }) => {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', reject))
    }
    const mounted = await nodeAdapter(testServer({ endless }))
    const { socket } = await dial(Number(new URL(mounted.url).port))
    socket.write(rawModern('endless') + rawModern('endless'))
    await until(() => signals.length === 1)
    await settle(20)
    socket.destroy()
    await until(() => signals.every(({ aborted }) => aborted))
    expect(signals).toHaveLength(1)
    await mounted.close()
  })

  it('while it is being authenticated is handled like any other', async () => {
    let isPaused = false
    let identify = (): void => {}
    const server = testServer({ echo })
    const mounted = await nodeAdapter(server, {
      authenticate: async () => {
        if (isPaused) {
          await new Promise<void>((resolve) => {
            identify = resolve
          })
        }
        return { principal: 'a' }
      },
    })
    const { id, get } = await session(mounted)
    const headers = `Host: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${id}\r\n`
    for (const text of [rawModern('echo'), `GET /mcp HTTP/1.1\r\n${headers}\r\n`]) {
      isPaused = true
      const { socket } = await dial(Number(new URL(mounted.url).port))
      socket.write(text)
      await settle(20)
      socket.destroy()
      await settle(20)
      isPaused = false
      identify()
      await settle(20)
    }
    expect(server.ran).toEqual([])
    const stream = await get()
    expect(stream.status).toBe(200)
    stream.drop()
    await mounted.close()
  })

  it('frees the one stream of its session in any case', async () => {
    const mounted = await nodeAdapter(testServer({ echo }))
    const { id, get } = await session(mounted)
    for (const end of ['destroy', 'resetAndDestroy'] as const) {
      const { socket, got } = await dial(Number(new URL(mounted.url).port))
      socket.write(
        `GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${id}\r\n\r\n`,
      )
      await until(() => got().includes('keep-alive'))
      expect((await get()).status).toBe(409)
      socket[end]()
      await settle(30)
    }
    const last = await get()
    expect(last.status).toBe(200)
    last.drop()
    await mounted.close()
  })
})

describe('a body that is too long', () => {
  it.each([
    ['announced', (body: string) => rawPost(body)],
    [
      'sent in chunks',
      (body: string) =>
        rawPost('', { 'Content-Length': '', 'Transfer-Encoding': 'chunked' })
          .replace('Content-Length: \r\n', '')
          .concat(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`),
    ],
  ])('%s gets 413 before it is read', async (_, make) => {
    const server = testServer({ echo })
    const mounted = await nodeAdapter(server)
    const { socket, got } = await dial(Number(new URL(mounted.url).port))
    socket.write(make(JSON.stringify({ pad: 'x'.repeat(6_000_000) })))
    await until(() => got().includes('413'))
    expect(got()).toContain('at most 4194304 bytes')
    socket.destroy()
    await mounted.close()
  })
})

describe('any input', () => {
  let mounted: Awaited<ReturnType<typeof nodeAdapter>>
  let server: TestServer
  afterEach(() => mounted.close())

  it('gets a response, and the server continues', async () => {
    faultyPeer('any JSON')
    server = testServer({ echo })
    mounted = await nodeAdapter(server)
    const { id } = await session(mounted)
    const names = [
      'mcp-session-id',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
      'last-event-id',
      'accept',
    ]
    const value = fc.oneof(
      fc.constantFrom(
        id,
        '2026-07-28',
        '2025-11-25',
        'tools/call',
        'echo',
        '__proto__',
        '*/*',
        '=?base64?!?=',
      ),
      fc.string({ unit: fc.constantFrom(...' !"#,;=?_-/.:0aZ~é\t'), maxLength: 40 }),
    )
    const headers = fc.dictionary(fc.constantFrom(...names, 'content-type', 'origin'), value)
    const params = fc.oneof(fc.constant({ _meta: meta(), name: 'echo' }), fc.jsonValue())
    const message = fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', 2),
        id: fc.oneof(fc.integer(), fc.jsonValue()),
        method: fc.constantFrom(
          'initialize',
          'tools/call',
          'ping',
          'constructor',
          'notifications/initialized',
        ),
        params,
      },
      { requiredKeys: [] },
    )
    const body = fc.oneof(
      message.map((one) => JSON.stringify(one)),
      fc.string(),
      fc.uint8Array(),
    )
    const method = fc.constantFrom('POST', 'POST', 'POST', 'GET', 'DELETE', 'OPTIONS', 'PUT')
    await fc.assert(
      fc.asyncProperty(method, headers, body, async (method, headers, body) => {
        const isDelete = method === 'DELETE' && headers['mcp-session-id'] === id
        if (isDelete) return
        const answer = await mounted.send({ method, headers, ...(method === 'POST' ? { body } : {}) })
        expect(answer.status).toBeLessThan(500)
        answer.drop()
      }),
      { numRuns: 400 },
    )
    expect((await mounted.send(call)).status).toBe(200)
    expect(server.reports).toEqual([])
  })
})
