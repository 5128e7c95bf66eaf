import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ConnectOptions, connect, http, type Target } from '@jackfield/sdk/client'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { scripted, until } from '../client/support/http.ts'

async function open(target: Target, options?: ConnectOptions) {
  const client = await connect(target, options)
  onTestFinished(() => client.close())
  return client
}

/** The official server over HTTP+SSE, as in its own examples. */
async function official() {
  const transports = new Map<string, SSEServerTransport>()
  const seen: (string | undefined)[] = []
  const server = createServer(async (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
    seen.push(req.headers.authorization)
    const known = transports.get(searchParams.get('sessionId') ?? '')
    if (req.method === 'GET' && pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', res)
      transports.set(transport.sessionId, transport)
      transport.onclose = () => transports.delete(transport.sessionId)
      const mcp = new McpServer({ name: 'old', version: '1' })
      mcp.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, async ({ a, b }) => ({
        content: [{ type: 'text', text: `${a + b}` }],
      }))
      mcp.registerTool('ask', { inputSchema: {} }, async () => {
        const { roots } = await mcp.server.listRoots()
        return { content: [{ type: 'text', text: roots.map((root) => root.uri).join() }] }
      })
      await mcp.connect(transport)
    } else if (req.method === 'POST' && known) await known.handlePostMessage(req, res)
    else res.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`, transports, seen, server }
}

describe('an HTTP+SSE server', () => {
  it('is detected behind its URL, with the caller’s headers', async () => {
    const { url, transports, seen } = await official()
    const client = await open(http(url, { headers: { authorization: 'Bearer x' } }), {
      onRoots: [{ uri: 'file:///tmp' }],
    })
    expect(client.server).toMatchObject({ era: 'session', info: { name: 'old' } })
    await expect(client.call('add', { a: 1, b: 2 })).resolves.toMatchObject({ content: [{ text: '3' }] })
    await expect(client.call('ask')).resolves.toMatchObject({ content: [{ text: 'file:///tmp' }] })
    expect(new Set(seen)).toEqual(new Set(['Bearer x']))
    await client.close()
    await until(() => transports.size === 0)
  })

  it('that disconnects ends the connection and running calls', async () => {
    const { url, server } = await official()
    const client = await open(url, { onRoots: () => new Promise(() => {}) })
    const call = client.call('ask')
    setTimeout(() => server.closeAllConnections(), 50)
    await expect(call).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(client.closed).resolves.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })

  it('with an endpoint on another origin is rejected, and nothing is sent there', async () => {
    const other = await scripted((one) => one.res.end())
    const server = await scripted((one) => {
      if (one.method !== 'GET') return void one.res.writeHead(405).end()
      one.res.writeHead(200, { 'content-type': 'text/event-stream' })
      one.res.write(`event: endpoint\ndata: ${other.url}\n\n`)
    })
    await expect(connect(server.url)).rejects.toMatchObject({ code: 'HTTP' })
    expect(other.seen).toEqual([])
  })

  it('that never sends its endpoint times out, and its stream is closed', async () => {
    let gone = false
    const server = await scripted((one) => {
      if (one.method !== 'GET') return void one.res.writeHead(405).end()
      one.res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      one.res.on('close', () => {
        gone = true
      })
    })
    await expect(connect(server.url, { connectTimeoutMs: 200 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await until(() => gone)
  })
})

it('a URL without a server fails with the result of the first attempt', async () => {
  const server = await scripted((one) => one.res.writeHead(404).end('no such page'))
  await expect(connect(server.url)).rejects.toMatchObject({
    code: 'HTTP',
    details: { status: 404 },
    message: expect.stringContaining('no such page'),
  })
})
