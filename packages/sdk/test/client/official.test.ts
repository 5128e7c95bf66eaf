import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ConnectOptions, connect, type Target } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { McpServer as ServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  McpServer as ServerV2,
} from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { until } from './support/http.ts'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

async function listen(handle: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer({}, handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

async function open(target: Target, options?: ConnectOptions) {
  const client = await connect(target, options)
  onTestFinished(() => client.close())
  return client
}

describe('the official server 2.4, stateless over HTTP', () => {
  async function serve() {
    const codec = createRequestStateCodec({ key: 'k'.repeat(32) })
    const handler = createMcpHandler(
      () => {
        const server = new ServerV2(
          { name: 'official', version: '2' },
          { capabilities: { logging: {} }, requestState: { verify: codec.verify } },
        )
        server.registerTool(
          'add',
          {
            inputSchema: z.object({ a: z.number(), b: z.number() }),
            outputSchema: z.object({ sum: z.number() }),
          },
          async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
        )
        server.registerTool('confirm', { inputSchema: z.object({}) }, async (_, ctx) => {
          const answer = acceptedContent<{ ok: boolean }>(ctx.mcpReq.inputResponses, 'sure')
          if (answer) return text(`${answer.ok} ${JSON.stringify(ctx.mcpReq.requestState())}`)
          return inputRequired({
            requestState: await codec.mint({ step: 1 }),
            inputRequests: {
              sure: inputRequired.elicit({
                message: 'Sure?',
                requestedSchema: {
                  type: 'object',
                  properties: { ok: { type: 'boolean' } },
                  required: ['ok'],
                },
              }),
            },
          })
        })
        server.registerTool('progress', { inputSchema: z.object({}) }, async (_, ctx) => {
          for (const progress of [1, 2, 3]) {
            const progressToken = ctx.mcpReq._meta?.progressToken ?? 0
            await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } })
          }
          await ctx.mcpReq.log('info', 'working')
          return text('done')
        })
        server.registerTool('wait', { inputSchema: z.object({}) }, (_, ctx) => {
          return new Promise((resolve) => {
            ctx.mcpReq.signal.addEventListener('abort', () => {
              stopped++
              resolve(text('stopped'))
            })
          })
        })
        return server
      },
      { onerror: () => {} },
    )
    let stopped = 0
    onTestFinished(() => handler.close())
    const node = toNodeHandler(handler)
    // The adapter's types leave no room for an absent method or URL; a request always has both.
    const url = await listen((req, res) =>
      node(Object.assign(req, { method: req.method ?? 'GET', url: req.url ?? '/' }), res),
    )
    return { url, handler, stopped: () => stopped }
  }

  it('works on 2026-07-28: lists, structured results, progress, logs', async () => {
    const { url } = await serve()
    const client = await open(url)
    expect(client.server).toMatchObject({ revision: '2026-07-28', info: { name: 'official' } })
    expect((await client.tools()).map((tool) => tool.name)).toContain('add')
    await expect(client.call('add', { a: 1, b: 2 })).resolves.toMatchObject({ structuredContent: { sum: 3 } })
    const received: unknown[] = []
    await client.call(
      'progress',
      {},
      { onProgress: ({ progress }) => received.push(progress), onLog: ({ data }) => received.push(data) },
    )
    expect(received).toEqual([1, 2, 3, 'working'])
    await expect(client.ping()).resolves.toBeUndefined()
  })

  it('gets responses to its input requests, with its state', async () => {
    const { url } = await serve()
    const client = await open(url, { onElicit: () => ({ action: 'accept', content: { ok: true } }) })
    await expect(client.call('confirm')).resolves.toMatchObject(text('true {"step":1}'))
  })

  it('stops a tool whose caller aborted', async () => {
    const { url, stopped } = await serve()
    const client = await open(url)
    await expect(client.call('wait', {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await until(() => stopped() === 1)
  })

  it('notifies subscribers of changes', async () => {
    const { url, handler } = await serve()
    const client = await open(url)
    const received: unknown[] = []
    const watch = await client.watch({ toolsListChanged: true }, (change) => received.push(change))
    expect(watch.acknowledged).toEqual({ toolsListChanged: true })
    handler.notify.toolsChanged()
    await until(() => received.length === 1)
    expect(received).toEqual([{ type: 'tools' }])
    await watch.close()
  })

  it('works on 2025-11-25 when that is all this client allows', async () => {
    const { url } = await serve()
    const client = await open(url, { revisions: ['2025-11-25'] })
    expect(client.server).toMatchObject({ revision: '2025-11-25', era: 'session' })
    await expect(client.call('add', { a: 1, b: 2 })).resolves.toMatchObject({ structuredContent: { sum: 3 } })
  })
})

describe('the official server 1.32, with sessions over HTTP', () => {
  async function serve() {
    const sessions = new Map<string, StreamableHTTPServerTransport>()
    const servers: ServerV1[] = []
    const begin = async () => {
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          sessions.set(id, transport)
        },
        onsessionclosed: (id) => {
          sessions.delete(id)
        },
      })
      const server = new ServerV1({ name: 'official', version: '1' }, { capabilities: { logging: {} } })
      server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, async ({ a, b }) =>
        text(`${a + b}`),
      )
      server.registerTool('ask', { inputSchema: {} }, async (_, extra) => {
        const answer = await server.server.elicitInput(
          { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
          { relatedRequestId: extra.requestId },
        )
        return text(JSON.stringify(answer.content))
      })
      server.registerTool('askAside', { inputSchema: {} }, async () => {
        const answer = await server.server.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: 'Q' } }],
          maxTokens: 5,
        })
        return text(answer.model)
      })
      await server.connect(transport)
      servers.push(server)
      return transport
    }
    const url = await listen(async (req, res) => {
      const id = req.headers['mcp-session-id']
      const known = typeof id === 'string' ? sessions.get(id) : undefined
      if (typeof id === 'string' && known === undefined) {
        res.writeHead(404).end()
        return
      }
      await (known ?? (await begin())).handleRequest(req, res)
    })
    return { url, sessions, servers }
  }

  it('works with a session: calls, input requests on the call’s stream and outside, changes, close', async () => {
    const { url, sessions, servers } = await serve()
    const changes: unknown[] = []
    const causes: unknown[] = []
    const client = await open(url, {
      onElicit: (_, { cause }) => {
        causes.push(cause?.params['name'])
        return { action: 'accept', content: { name: 'Ada' } }
      },
      onSample: (_, { cause }) => {
        causes.push(cause)
        return { role: 'assistant', model: 'm1', content: { type: 'text', text: 'A' } }
      },
      onChange: (change) => changes.push(change),
    })
    expect(client.server).toMatchObject({ revision: '2025-11-25', era: 'session' })
    await expect(client.call('add', { a: 1, b: 2 })).resolves.toMatchObject(text('3'))
    await expect(client.call('ask')).resolves.toMatchObject(text('{"name":"Ada"}'))
    await expect(client.call('askAside')).resolves.toMatchObject(text('m1'))
    expect(causes).toEqual(['ask', undefined])
    servers.at(-1)?.registerTool('late', { inputSchema: {} }, async () => text('late'))
    await until(() => changes.length > 0)
    expect(changes).toEqual([{ type: 'tools' }])
    expect(sessions.size).toBe(1)
    await client.close()
    await until(() => sessions.size === 0)
  })

  it('that lost its sessions gets a new one, and subscriptions continue', async () => {
    const { url, sessions, servers } = await serve()
    const received: unknown[] = []
    const client = await open(url)
    await client.watch({ toolsListChanged: true }, (change) => received.push(change))
    sessions.clear()
    await expect(Promise.all([client.call('add', { a: 1, b: 2 }), client.tools()])).resolves.toMatchObject([
      text('3'),
      [{ name: 'add' }, { name: 'ask' }, { name: 'askAside' }],
    ])
    expect(sessions.size).toBe(1)
    expect(received).toEqual([{ type: 'tools' }])
    servers.at(-1)?.registerTool('late', { inputSchema: {} }, async () => text('late'))
    await until(() => received.length === 2)
  })
})

describe('official servers over stdio', () => {
  const bin = (name: string): string => {
    const require = createRequire(import.meta.url)
    return join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js')
  }

  it('server-everything: tools, input requests, progress, resources, prompts, subscriptions', async () => {
    const client = await open(
      stdio({ command: process.execPath, args: [bin('server-everything'), 'stdio'] }),
      {
        onElicit: () => ({ action: 'decline' }),
        onSample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled text' } }),
        onRoots: [{ uri: 'file:///tmp', name: 'tmp' }],
      },
    )
    await expect(client.call('echo', { message: 'hi' })).resolves.toMatchObject(text('Echo: hi'))
    await expect(client.call('get-structured-content', { location: 'New York' })).resolves.toHaveProperty(
      'structuredContent.temperature',
    )
    const progress: number[] = []
    await client.call(
      'trigger-long-running-operation',
      { duration: 0.2, steps: 4 },
      { onProgress: (report) => progress.push(report.progress) },
    )
    expect(progress).toEqual([1, 2, 3, 4])
    await until(() => client.server.era === 'session')
    await expect(
      client.call('trigger-sampling-request', { prompt: 'x', maxTokens: 5 }),
    ).resolves.toMatchObject({
      content: [{ text: expect.stringContaining('sampled text') }],
    })
    await expect(client.call('trigger-elicitation-request')).resolves.toMatchObject({
      content: [{ text: expect.stringContaining('declined') }, {}],
    })
    expect((await client.resources()).length).toBeGreaterThan(3)
    const [template] = await client.templates()
    expect(template?.uriTemplate).toContain('{')
    const uri = template?.uriTemplate.replace(/\{[^}]*\}/, '1') ?? ''
    await expect(client.read(uri)).resolves.toMatchObject({ contents: [{ uri }] })
    expect((await client.prompts()).length).toBeGreaterThan(2)
    const watch = await client.watch({ resourceSubscriptions: [uri] })
    expect(watch.acknowledged.resourceSubscriptions).toEqual([uri])
    await watch.close()
  })

  it('server-filesystem: reads a file through roots', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'a.txt'), 'hello')
    const client = await open(stdio({ command: process.execPath, args: [bin('server-filesystem'), folder] }))
    await expect(client.call('read_text_file', { path: join(folder, 'a.txt') })).resolves.toMatchObject(
      text('hello'),
    )
    await expect(client.call('read_text_file', { path: '/etc/passwd' })).resolves.toMatchObject({
      isError: true,
    })
  })
})
