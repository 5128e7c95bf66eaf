import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ConnectOptions, connect, sse, type Target } from '@jackfield/sdk/client'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shop } from '../client/support/shop.ts'
import { until } from '../serve/support.ts'

async function open(target: Target, options?: ConnectOptions) {
  const client = await connect(target, options)
  onTestFinished(() => client.close())
  return client
}

async function listen(handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function older(options: ServeHttpOptions = {}) {
  const { server, log } = shop()
  const handler = serveHttp(server, { keys: ['k'.repeat(32)], sse: '/sse', ...options })
  const { url, close } = await handler.listen()
  onTestFinished(close)
  return { url: new URL('/sse', url), log, handler, close }
}

describe('connect with the URL of an event stream', () => {
  it('detects HTTP+SSE and negotiates the newest revision that it supports', async () => {
    const { url, log } = await older()
    const seen: string[] = []
    const client = await open(url, {
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
      onMessage: (direction, message) => {
        if (direction === 'sent' && 'method' in message) seen.push(message.method)
      },
    })
    expect(client.server).toMatchObject({ revision: '2025-11-25', era: 'session', info: { name: 'shop' } })
    await expect(client.call('add', { a: 1, b: 2 })).resolves.toMatchObject({ structuredContent: { sum: 3 } })
    await expect(client.call('buy', { item: 'tea' })).resolves.toMatchObject({
      content: [{ text: 'ok=true note=none' }],
    })
    const steps: number[] = []
    await client.call('work', { steps: 3, ms: 1 }, { onProgress: ({ progress }) => steps.push(progress) })
    expect(steps).toEqual([1, 2, 3])
    const call = client.call('hang', {}, { timeoutMs: 100 })
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' })
    await until(() => log.includes('stopped'))
    expect(seen.slice(0, 2)).toEqual(['server/discover', 'initialize'])
  })

  it('gets changes, and the server is notified of the disconnection', async () => {
    const { url, log } = await older()
    const changes: unknown[] = []
    const client = await open(url, { onChange: (change) => changes.push(change) })
    await client.call('restock')
    await until(() => changes.length > 0)
    client.call('hang').catch(() => {})
    await until(() => log.includes('hanging'))
    await client.close()
    await until(() => log.includes('stopped'))
  })

  it('fails if only a newer revision is allowed', async () => {
    const { url } = await older()
    const newest = connect(url, { revisions: ['2026-07-28'] })
    await expect(newest).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('"revisions"'),
    })
    const there = connect(sse(url), { revisions: ['2026-07-28'] })
    await expect(there).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
  })

  it('ends with a reason and advice when the server disconnects', async () => {
    const { url, close } = await older()
    const client = await open(url)
    const call = client.call('hang')
    await client.call('add', { a: 1 })
    await close()
    // A handler that is asked to stop may still answer; what comes later cannot.
    await call.catch(() => {})
    const lost = { code: 'CONNECTION_CLOSED', message: expect.stringContaining('connect again') }
    await expect(client.closed).resolves.toMatchObject(lost)
    await expect(client.call('add', { a: 1 })).rejects.toMatchObject(lost)
  })
})

/** A hand-written server of the older transport. `inbox` is what it names; `take` answers the POSTs. */
async function handWritten(
  inbox: string,
  handle: (
    message: { id?: number; method: string },
    res: ServerResponse,
    send: (message: unknown) => void,
  ) => void,
) {
  const posted: string[] = []
  let stream: ServerResponse | undefined
  const send = (message: unknown): void => {
    stream?.write(`data: ${JSON.stringify(message)}\n\n`)
  }
  const origin = await listen((req, res) => {
    if (req.method === 'GET') {
      stream = res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(`event: endpoint\ndata: ${inbox}\n\n`)
      return
    }
    let text = ''
    req.on('data', (chunk) => {
      text += chunk
    })
    req.on('end', () => {
      posted.push(req.url ?? '')
      const message = JSON.parse(text)
      const info = { name: 'hand', version: '1' }
      if (message.method === 'initialize') {
        res.writeHead(202).end()
        const { protocolVersion } = message.params
        send({
          jsonrpc: '2.0',
          id: message.id,
          result: { protocolVersion, capabilities: { tools: {} }, serverInfo: info },
        })
      } else handle(message, res, send)
    })
  })
  return { url: `${origin}/deep/sse`, posted, end: () => stream?.end() }
}

const legacy = { revisions: ['2024-11-05'] } as const

describe('a server of HTTP+SSE', () => {
  it.each([
    ['/messages?sessionId=1', '/messages?sessionId=1'],
    ['messages?sessionId=1', '/deep/messages?sessionId=1'],
    ['?sessionId=1', '/deep/sse?sessionId=1'],
    ['../inbox', '/inbox'],
  ])('that names %s is sent its messages at %s', async (named, at) => {
    const { url, posted } = await handWritten(named, (_, res) => res.writeHead(202).end())
    await open(sse(url), legacy)
    expect(new Set(posted)).toEqual(new Set([at]))
  })

  it.each([
    'http://evil.example/x',
    '//evil.example/x',
    'https://127.0.0.1/x',
    'http://a:b@HERE/x',
    'data:,x',
  ])('that requests messages at %s is rejected', async (named) => {
    const { url, posted } = await handWritten(named, (_, res) => res.writeHead(202).end())
    await expect(connect(sse(url), legacy)).rejects.toMatchObject({ code: 'PROTOCOL' })
    expect(posted).toEqual([])
  })

  it('that rejects one message fails that request only', async () => {
    const { url } = await handWritten('/in', ({ id, method }, res, send) => {
      if (method === 'tools/call') {
        const error = { code: -32600, message: 'too much' }
        res.writeHead(413, { 'content-type': 'application/json' })
        res.end(JSON.stringify({ jsonrpc: '2.0', error }))
        return
      }
      res.writeHead(202).end()
      if (id !== undefined) send({ jsonrpc: '2.0', id, result: {} })
    })
    const client = await open(sse(url), legacy)
    const [call, ping] = await Promise.allSettled([client.call('x'), client.ping()])
    expect(call).toMatchObject({ reason: { code: 'HTTP', details: { status: 413, code: -32600 } } })
    expect(ping.status).toBe('fulfilled')
    await client.ping()
  })

  it('may answer a batch where the revision has them', async () => {
    const waiting: number[] = []
    const { url } = await handWritten('/in', ({ id, method }, res, send) => {
      res.writeHead(202).end()
      if (id === undefined || method !== 'ping') return
      waiting.push(id)
      if (waiting.length === 2) send(waiting.map((one) => ({ jsonrpc: '2.0', id: one, result: {} })))
    })
    const client = await open(sse(url), { revisions: ['2025-03-26'] })
    await Promise.all([client.ping(), client.ping()])
  })

  it('that ends its stream ends running calls', async () => {
    const { url, end } = await handWritten('/in', ({ method }, res) => {
      res.writeHead(202).end()
      if (method === 'tools/call') end()
    })
    const client = await open(sse(url), legacy)
    await expect(client.call('x')).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('connect again'),
    })
  })

  it('that answers a message before its POST is answered is understood', async () => {
    const { url } = await handWritten('/in', ({ id }, res, send) => {
      if (id !== undefined) send({ jsonrpc: '2.0', id, result: {} })
      setTimeout(() => res.writeHead(202).end(), 20)
    })
    const client = await open(sse(url), legacy)
    await client.ping()
  })
})
