import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from '@jackfield/compat/client/index.js'
import { StdioClientTransport } from '@jackfield/compat/client/stdio.js'
import { StreamableHTTPClientTransport } from '@jackfield/compat/client/streamableHttp.js'
import { InMemoryTransport } from '@jackfield/compat/inMemory.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ErrorCode,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@jackfield/compat/types.js'
import { defineServer, ToolError, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { McpServer as OfficialServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const info = { name: 'test', version: '1' }
const everything = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

const shop = () =>
  defineServer({
    name: 'shop',
    version: '1.0.0',
    instructions: 'Be kind',
    resources: {},
    tools: {
      order: tool({
        input: z.object({ colour: z.string() }),
        run: async ({ colour }, ctx) => {
          ctx.log('info', 'asking')
          ctx.progress(1, 2)
          const answer = await ctx.elicit({ message: 'Size?', schema: z.object({ size: z.string() }) })
          const [root] = await ctx.roots()
          return `${colour} ${answer.action === 'accept' ? answer.content.size : 'none'} ${root?.name}`
        },
      }),
      slow: tool({
        run: (_args, { signal }) =>
          new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(''))),
      }),
      refuse: tool({
        run: () => {
          throw new ToolError('refused')
        },
      }),
    },
  })

async function served(server = shop()): Promise<{ url: URL; server: typeof server }> {
  const listener = await serveHttp(server).listen()
  endings.push(() => listener.close())
  return { url: new URL(listener.url), server }
}

function answering(): Client {
  const client = new Client(info, {
    capabilities: { elicitation: {}, roots: { listChanged: true }, sampling: {} },
  })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept',
    content: { size: params.message === 'Size?' ? 'L' : 'none' },
  }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
  }))
  endings.push(() => client.close())
  return client
}

describe('over HTTP, on 2026-07-28', () => {
  it('calls, answers requests and gets progress and logs', async () => {
    const { url } = await served()
    const client = answering()
    const logs = vi.fn()
    client.setNotificationHandler(LoggingMessageNotificationSchema, logs)
    const transport = new StreamableHTTPClientTransport(url)
    await client.connect(transport)
    expect(transport.protocolVersion).toBe('2026-07-28')
    expect(client.getServerVersion()).toMatchObject({ name: 'shop' })
    expect(client.getInstructions()).toBe('Be kind')
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['order', 'slow', 'refuse'])
    const onprogress = vi.fn()
    const result = await client.callTool({ name: 'order', arguments: { colour: 'red' } }, undefined, {
      onprogress,
    })
    expect(result).toMatchObject({ content: [{ text: 'red L work' }] })
    expect(onprogress).toHaveBeenCalledWith({ progress: 1, total: 2 })
    // As on a session, whose server sends logs before the client sets a level.
    expect(logs).toHaveBeenCalled()
    logs.mockClear()
    await client.setLoggingLevel('error')
    await client.callTool({ name: 'order', arguments: { colour: 'red' } })
    expect(logs).not.toHaveBeenCalled()
    expect(await client.callTool({ name: 'refuse' })).toMatchObject({ isError: true })
    expect(await client.ping()).toEqual({})
  })

  it('subscribes for handlers of notifications and for resources', async () => {
    const { url, server } = await served()
    const client = answering()
    const lists = vi.fn()
    const resources = vi.fn()
    client.setNotificationHandler(ToolListChangedNotificationSchema, lists)
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resources(params.uri))
    await client.connect(new StreamableHTTPClientTransport(url))
    await client.subscribeResource({ uri: 'file:///a' })
    await vi.waitFor(() => {
      server.resourceUpdated('file:///a')
      expect(resources).toHaveBeenCalledWith('file:///a')
    })
    await vi.waitFor(() => {
      server.add({ tools: { late: tool({ run: () => 'late' }) } })
      expect(lists).toHaveBeenCalled()
    })
    await client.unsubscribeResource({ uri: 'file:///a' })
  })

  it('has the errors of the official SDK', async () => {
    const { url } = await served()
    const client = answering()
    await client.connect(new StreamableHTTPClientTransport(url))
    await expect(client.callTool({ name: 'none' })).rejects.toMatchObject({
      name: 'McpError',
      code: ErrorCode.InvalidParams,
    })
    await expect(client.callTool({ name: 'slow' }, undefined, { timeout: 30 })).rejects.toMatchObject({
      code: ErrorCode.RequestTimeout,
    })
    const stop = new AbortController()
    const stopped = client.callTool({ name: 'slow' }, undefined, { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(stopped).rejects.toMatchObject({ code: ErrorCode.RequestTimeout, message: /enough/ })
    await client.close()
    await expect(client.listTools()).rejects.toThrow('Not connected')
  })

  it('rejects unsupported features, with advice', async () => {
    const url = new URL('http://127.0.0.1:1/mcp')
    expect(() => new StreamableHTTPClientTransport(url, { authProvider: {} })).toThrow(
      /does not cover authProvider\. Connect with .*oauth/,
    )
    expect(() => new StreamableHTTPClientTransport(url, { sessionId: 'one' })).toThrow(
      /does not cover sessionId/,
    )
    const client = new Client(info)
    expect(() => client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))).toThrow(
      /elicitation capability/,
    )
    expect(() => client.experimental).toThrow(/client\/tasks/)
  })
})

it('refreshes lists for listChanged', async () => {
  const { url, server } = await served()
  const onChanged = vi.fn()
  const client = new Client(info, { listChanged: { tools: { onChanged, debounceMs: 0 } } })
  endings.push(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(url))
  await vi.waitFor(() => {
    server.add({ tools: { late: tool({ run: () => 'late' }) } })
    expect(onChanged).toHaveBeenCalledWith(
      null,
      expect.arrayContaining([expect.objectContaining({ name: 'late' })]),
    )
  })
})

it('starts a server over stdio, and ends it', async () => {
  const client = answering()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [everything, 'stdio'],
    stderr: 'pipe',
  })
  const { stderr } = transport
  const spoke = stderr === null ? Promise.reject(new Error('no stderr')) : once(stderr, 'data')
  const closed = vi.fn()
  client.onclose = closed
  await client.connect(transport)
  expect(String(await spoke)).toContain('STDIO')
  const asked = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'p' } })
  expect(JSON.stringify(asked.content)).toContain('sampled')
  await client.close()
  expect(closed).toHaveBeenCalledOnce()
})

it('works with a server of the official SDK over linked transports', async () => {
  const server = new OfficialServer({ name: 'official', version: '1.0.0' })
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
  const client = answering()
  await Promise.all([client.connect(clientSide), server.connect(serverSide)])
  expect(await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).toMatchObject({
    content: [{ text: 'hello' }],
  })
  await client.sendRootsListChanged()
})
