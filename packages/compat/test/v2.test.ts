import { once } from 'node:events'
import { createServer } from 'node:http'
import { InMemoryTransport } from '@jackfield/compat/inMemory.js'
import { Client } from '@jackfield/compat/v2/client'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@jackfield/compat/v2/node'
import {
  acceptedContent,
  completable,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate,
  Server,
} from '@jackfield/compat/v2/server'
import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type Client as Connection, type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import * as official from '@modelcontextprotocol/server'
import express from 'express'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { MessageTransport } from '../src/client/connecting.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function on(
  version: ProtocolVersion,
  server: { connect(transport: InMemoryTransport): Promise<void> },
  options: ConnectOptions = {},
): Promise<Connection> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
  await server.connect(serverSide)
  const client = await connect(new MessageTransport(clientSide), {
    revisions: [version],
    onWarning: () => {},
    ...options,
  })
  endings.push(() => client.close())
  return client
}

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: String(value) }] })

const typed = {
  title: 'Typed',
  inputSchema: z.object({ a: z.string() }),
  outputSchema: z.object({ b: z.string() }),
}
const raw = { inputSchema: { a: z.string().default('x') } }
const asked = { argsSchema: z.object({ x: z.string().describe('What').optional() }) }
const echo = ({ a }: { a: string }) => ({ content: [], structuredContent: { b: a } })
const fail = (): never => {
  throw new Error('it broke')
}
const answer = ({ x }: { x?: string | undefined }) => ({
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: String(x) } }],
})
const read = (uri: URL) => ({ contents: [{ uri: uri.href, text: 'on' }] })

function ourServer(info: { name: string; version: string }): McpServer {
  const server = new McpServer(info)
  server.registerTool('typed', typed, echo)
  server.registerTool('raw', raw, ({ a }) => text(a))
  server.registerTool('broken', { description: 'Fails' }, fail)
  server.registerPrompt('ask', asked, answer)
  server.registerResource('config', 'config://app', { mimeType: 'text/plain' }, read)
  return server
}

function officialServer(info: { name: string; version: string }): official.McpServer {
  const server = new official.McpServer(info)
  server.registerTool('typed', typed, echo)
  server.registerTool('raw', raw, ({ a }) => text(a))
  server.registerTool('broken', { description: 'Fails' }, fail)
  server.registerPrompt('ask', asked, answer)
  server.registerResource('config', 'config://app', { mimeType: 'text/plain' }, read)
  return server
}

describe('McpServer', () => {
  it('lists and answers as the official one', async () => {
    const info = { name: 'shop', version: '1.0.0' }
    const ours = await on('2025-11-25', ourServer(info))
    const theirs = await on('2025-11-25', officialServer(info))
    const both = async (method: string, params: Record<string, unknown> = {}): Promise<void> => {
      const [one, other] = await Promise.all(
        [ours, theirs].map((client) =>
          client.request(method, params).catch(({ code, message }) => ({ code, message })),
        ),
      )
      expect(one).toEqual(other)
    }
    await both('tools/list')
    await both('prompts/list')
    await both('resources/list')
    await both('tools/call', { name: 'typed', arguments: { a: 'x' } })
    await both('tools/call', { name: 'typed', arguments: {} })
    await both('tools/call', { name: 'raw', arguments: {} })
    await both('tools/call', { name: 'broken', arguments: {} })
    await both('tools/call', { name: 'none', arguments: {} })
    await both('prompts/get', { name: 'ask', arguments: { x: 'y' } })
    await both('prompts/get', { name: 'none' })
    await both('resources/read', { uri: 'config://app' })
  })

  it.for(protocolVersions)('serves %s, with a context for handlers', async (version) => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' }, { capabilities: { logging: {} } })
    server.registerTool('look', { inputSchema: z.object({ a: z.string() }) }, async ({ a }, ctx) => {
      await ctx.mcpReq.log('info', 'looking')
      return text([a, ctx.mcpReq.method, ctx.mcpReq.signal.aborted, ctx.http === undefined])
    })
    const onLog = vi.fn()
    const client = await on(version, server, { onLog, logLevel: 'info' })
    expect(await client.call('look', { a: 'x' })).toMatchObject(text('x,tools/call,false,true'))
    expect(onLog).toHaveBeenCalledWith(expect.objectContaining({ data: 'looking' }))
  })

  it.for(['2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'requests input in both ways on %s',
    async (version) => {
      const server = new McpServer({ name: 'shop', version: '1.0.0' })
      const schema = z.object({ size: z.string() })
      const runs = vi.fn()
      server.registerTool('order', {}, (ctx) => {
        runs()
        const size = acceptedContent(ctx.mcpReq.inputResponses, 'size', schema)
        if (size !== undefined) return text(`${size.size} ${ctx.mcpReq.requestState()}`)
        return inputRequired({
          inputRequests: { size: inputRequired.elicit({ message: 'Size?', requestedSchema: schema }) },
          requestState: 'kept',
        })
      })
      server.registerTool('await', {}, async (ctx) => {
        const requestedSchema = { type: 'object' as const, properties: { size: { type: 'string' as const } } }
        const { content } = await ctx.mcpReq.elicitInput({ message: 'Size?', requestedSchema })
        return text(content?.['size'])
      })
      const client = await on(version, server, {
        onElicit: () => ({ action: 'accept', content: { size: 'L' } }),
      })
      expect(await client.call('order')).toMatchObject(text('L kept'))
      expect(runs).toHaveBeenCalledTimes(2)
      expect(await client.call('await')).toMatchObject(text('L'))
    },
  )

  it('accepts schemas written as JSON Schema, templates and completions', async () => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    server.registerTool(
      'json',
      {
        inputSchema: fromJsonSchema({
          type: 'object',
          properties: { n: { type: 'number' } },
          required: ['n'],
        }),
      },
      (args) => text(JSON.stringify(args)),
    )
    server.registerPrompt(
      'write',
      { argsSchema: z.object({ language: completable(z.string(), (typed) => [`${typed}script`]) }) },
      ({ language }) => ({ messages: [{ role: 'user', content: { type: 'text', text: language } }] }),
    )
    server.registerResource(
      'user',
      new ResourceTemplate('users://{id}', { list: undefined }),
      {},
      (uri, { id }) => ({
        contents: [{ uri: uri.href, text: String(id) }],
      }),
    )
    const client = await on('2026-07-28', server)
    expect(await client.call('json', { n: 1 })).toMatchObject(text('{"n":1}'))
    expect(await client.call('json', { n: 'x' })).toMatchObject({ isError: true })
    const ref = { type: 'ref/prompt', name: 'write' } as const
    expect(await client.complete({ ref, argument: { name: 'language', value: 'type' } })).toMatchObject({
      values: ['typescript'],
    })
    expect(await client.read('users://7')).toMatchObject({ contents: [{ text: '7' }] })
  })
})

it('serves handlers by method, of the specification and custom ones', async () => {
  const server = new Server({ name: 'low', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'one', inputSchema: { type: 'object' } }],
  }))
  server.setRequestHandler('tools/call', ({ params }) => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no ${params.name}`)
  })
  server.setRequestHandler('example.com/add', { params: z.object({ a: z.number() }) }, ({ a }) => ({
    sum: a + 1,
  }))
  const client = await on('2026-07-28', server)
  expect(await client.tools()).toMatchObject([{ name: 'one' }])
  await expect(client.call('two')).rejects.toMatchObject({ code: -32602, message: 'no two' })
  expect(await client.request('example.com/add', { a: 1 })).toMatchObject({ sum: 2 })
})

describe('over HTTP', () => {
  const factory = (): McpServer => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    server.registerTool('hello', { inputSchema: z.object({ to: z.string() }) }, ({ to }, ctx) =>
      text(`${to} ${ctx.http?.req?.headers.get('x-shop')}`),
    )
    return server
  }

  async function listen(handle: Parameters<typeof createServer>[1]): Promise<URL> {
    const server = createServer(handle).listen(0, '127.0.0.1')
    await once(server, 'listening')
    endings.push(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = server.address()
    return new URL(
      `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/mcp`,
    )
  }

  it.for(protocolVersions.slice(1))('createMcpHandler serves %s', async (version) => {
    const handler = createMcpHandler(factory)
    endings.push(() => handler.close())
    const url = await listen(toNodeHandler(handler))
    const client = await connect(http(url, { headers: { 'x-shop': 'blue' } }), {
      revisions: [version],
      onWarning: () => {},
    })
    endings.push(() => client.close())
    expect(await client.call('hello', { to: 'you' })).toMatchObject(text('you blue'))
  })

  it('createMcpHandler notifies subscribed clients', async () => {
    const handler = createMcpHandler(factory)
    endings.push(() => handler.close())
    const client = await connect(await listen(toNodeHandler(handler)), { onWarning: () => {} })
    endings.push(() => client.close())
    const changed = vi.fn()
    await client.watch({ toolsListChanged: true }, changed)
    await vi.waitFor(() => {
      handler.notify.toolsChanged()
      expect(changed).toHaveBeenCalledWith({ type: 'tools' })
    })
  })

  it('toNodeHandler is a route of Express', async () => {
    const handler = createMcpHandler(factory)
    endings.push(() => handler.close())
    const app = express()
    app.all('/mcp', toNodeHandler(handler))
    const client = await connect(await listen(app), { onWarning: () => {} })
    endings.push(() => client.close())
    expect(await client.call('hello', { to: 'you' })).toMatchObject(text('you null'))
  })

  it('toNodeHandler sends every cookie of a response', async () => {
    const headers = new Headers({ 'x-shop': 'blue' })
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')
    const handler = { fetch: async () => new Response('x', { headers }) }
    const response = await fetch(await listen(toNodeHandler(handler)))
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(response.headers.get('x-shop')).toBe('blue')
  })

  it('toNodeHandler reports a response whose body fails, and ends the connection', async () => {
    const onerror = vi.fn()
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('a part')),
      pull: (controller) => controller.error(new Error('the body failed')),
    })
    const handler = { fetch: async () => new Response(body) }
    const response = await fetch(await listen(toNodeHandler(handler, { onerror })))
    await expect(response.text()).rejects.toThrow()
    await vi.waitFor(() => expect(onerror).toHaveBeenCalledExactlyOnceWith(new Error('the body failed')))
  })

  it('NodeStreamableHTTPServerTransport serves sessions', async () => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => 'one' })
    const server = factory()
    await server.connect(transport)
    endings.push(() => server.close())
    const url = await listen((req, res) => void transport.handleRequest(req, res))
    const client = await connect(url, { revisions: ['2025-11-25'], onWarning: () => {} })
    endings.push(() => client.close())
    expect(transport.sessionId).toBe('one')
    expect((await client.tools()).map(({ name }) => name)).toEqual(['hello'])
  })
})

it('the client answers by method, and has the errors of version 2', async () => {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('ask', {}, async (ctx) => {
    const requestedSchema = { type: 'object' as const, properties: {} }
    const { action } = await ctx.mcpReq.elicitInput({ message: 'Sure?', requestedSchema })
    return text(action)
  })
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler('elicitation/create', ({ params }) => ({
    action: params.message === 'Sure?' ? 'decline' : 'cancel',
  }))
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
  await server.connect(serverSide)
  await client.connect(clientSide)
  endings.push(() => client.close())
  expect(await client.callTool({ name: 'ask' })).toMatchObject(text('decline'))
  await expect(client.callTool({ name: 'none' })).rejects.toMatchObject({
    name: 'ProtocolError',
    code: -32602,
    message: 'Tool none not found',
  })
})
