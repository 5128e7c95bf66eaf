import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type Server as HttpServer, request } from 'node:http'
import { InMemoryTaskStore } from '@jackfield/compat/experimental/tasks'
import { McpServer } from '@jackfield/compat/server/mcp.js'
import { hostHeaderValidation } from '@jackfield/compat/server/middleware/hostHeaderValidation.js'
import { StreamableHTTPServerTransport } from '@jackfield/compat/server/streamableHttp.js'
import { WebStandardStreamableHTTPServerTransport } from '@jackfield/compat/server/webStandardStreamableHttp.js'
import { isInitializeRequest } from '@jackfield/compat/types.js'
import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const answers: ConnectOptions = {
  onElicit: () => ({ action: 'accept', content: { size: 'large' } }),
  onRoots: [{ uri: 'file:///work', name: 'work' }],
  onWarning: () => {},
}

/** The revisions that Streamable HTTP has. */
const httpVersions = protocolVersions.filter((version) => version >= '2025-03-26')
const asking = protocolVersions.filter((version) => version >= '2025-06-18')

/** A server as the official documentation writes one, which counts how often its handler starts. */
function createServer(started: string[] = []): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' }, { capabilities: { logging: {} } })
  server.registerTool(
    'order',
    { description: 'Orders a shirt', inputSchema: { colour: z.string() } },
    async ({ colour }, { sendNotification, requestInfo, authInfo }) => {
      started.push(colour)
      await sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'asking' } })
      const asked = await server.server.elicitInput({
        message: 'Which size?',
        requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
      })
      const { roots } = await server.server.listRoots()
      const text = [
        colour,
        asked.content?.['size'],
        roots[0]?.name,
        requestInfo?.headers['x-shop'],
        authInfo?.clientId,
      ]
      return { content: [{ type: 'text', text: text.filter((part) => part !== undefined).join(' ') }] }
    },
  )
  server.registerTool('ping-tool', { description: 'Says pong' }, () => ({
    content: [{ type: 'text', text: 'pong' }],
  }))
  return server
}

async function listen(app: express.Express): Promise<string> {
  const server: HttpServer = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  endings.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/mcp`
}

/** The session map of the official documentation. */
function withSessions(started: string[], closed: string[] = []): express.Express {
  const app = express()
  app.use(express.json())
  const transports: Record<string, StreamableHTTPServerTransport> = {}
  app.post('/mcp', async (req, res) => {
    const sessionId = req.header('mcp-session-id')
    let transport: StreamableHTTPServerTransport
    if (sessionId && transports[sessionId]) {
      transport = transports[sessionId]
    } else if (!sessionId && isInitializeRequest(req.body)) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `shop-${randomUUID()}`,
        onsessioninitialized: (id) => {
          transports[id] = transport
        },
      })
      transport.onclose = () => {
        if (transport.sessionId) {
          closed.push(transport.sessionId)
          delete transports[transport.sessionId]
        }
      }
      await createServer(started).connect(transport)
    } else {
      res
        .status(400)
        .json({ jsonrpc: '2.0', error: { code: -32000, message: 'No valid session ID' }, id: null })
      return
    }
    await transport.handleRequest(req, res, req.body)
  })
  const handleSession: express.RequestHandler = async (req, res) => {
    const transport = transports[req.header('mcp-session-id') ?? '']
    if (transport === undefined) res.status(400).send('Invalid or missing session ID')
    else await transport.handleRequest(req, res)
  }
  app.get('/mcp', handleSession)
  app.delete('/mcp', handleSession)
  return app
}

/** A server and a transport for each request, as the official documentation writes them. */
function withoutSessions(started: string[]): express.Express {
  const app = express()
  app.use(express.json())
  app.post('/mcp', async (req, res) => {
    const server = createServer(started)
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    res.on('close', () => {
      transport.close()
      server.close()
    })
    await server.connect(transport)
    await transport.handleRequest(req, res, req.body)
  })
  return app
}

async function order(url: string, version: ProtocolVersion): Promise<unknown> {
  const client = await connect(http(url, { headers: { 'x-shop': 'blue' } }), {
    ...answers,
    revisions: [version],
  })
  endings.push(() => client.close())
  expect(client.server.revision).toBe(version)
  return client.call('order', { colour: 'red' })
}

describe('a session map around StreamableHTTPServerTransport', () => {
  it.for(httpVersions)('serves %s', async (version) => {
    const client = await connect(await listen(withSessions([])), { ...answers, revisions: [version] })
    endings.push(() => client.close())
    expect(await client.call('ping-tool')).toMatchObject({ content: [{ text: 'pong' }] })
  })

  it.for(asking)('sends requests to the client within one run of the handler on %s', async (version) => {
    const started: string[] = []
    const url = await listen(withSessions(started))
    expect(await order(url, version)).toMatchObject({
      content: [{ type: 'text', text: 'red large work blue' }],
    })
    expect(started).toEqual(['red'])
  })

  it('gives the official client a session with the id of the generator, and ends it', async () => {
    const closed: string[] = []
    const url = await listen(withSessions([], closed))
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { size: 'small' } }))
    const transport = new StreamableHTTPClientTransport(new URL(url))
    await client.connect(transport)
    expect(transport.sessionId).toMatch(/^shop-/)
    expect(await client.callTool({ name: 'ping-tool' })).toMatchObject({ content: [{ text: 'pong' }] })
    await transport.terminateSession()
    expect(closed).toEqual([expect.stringMatching(/^shop-/)])
    await client.close()
  })
})

it('keeps the tasks of a session whose id is that of the generator', async () => {
  const taskStore = new InMemoryTaskStore()
  const server = new McpServer(
    { name: 'worker', version: '1.0.0' },
    { taskStore, capabilities: { tasks: { requests: { tools: { call: {} } } } } },
  )
  server.experimental.tasks.registerToolTask(
    'work',
    {},
    {
      createTask: async ({ taskStore: store }) => {
        const task = await store.createTask({ ttl: 60_000, pollInterval: 5 })
        await store.storeTaskResult(task.taskId, 'completed', { content: [{ type: 'text', text: 'done' }] })
        return { task }
      },
      getTask: async ({ taskId, taskStore: store }) => store.getTask(taskId),
      getTaskResult: async ({ taskId, taskStore: store }) =>
        CallToolResultSchema.parse(await store.getTaskResult(taskId)),
    },
  )
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'mine' })
  await server.connect(transport)
  endings.push(async () => {
    await server.close()
    taskStore.cleanup()
  })
  const app = express()
  app.all('/mcp', (req, res) => transport.handleRequest(req, res))
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  await client.connect(new StreamableHTTPClientTransport(new URL(await listen(app))))
  const results: unknown[] = []
  const stream = client.experimental.tasks.callToolStream({ name: 'work' }, undefined, {
    task: { ttl: 60_000 },
  })
  for await (const message of stream) if (message.type === 'result') results.push(message.result)
  expect(results).toMatchObject([{ content: [{ text: 'done' }] }])
  await client.close()
})

describe('a transport for each request', () => {
  it.for(httpVersions)('serves %s', async (version) => {
    const client = await connect(await listen(withoutSessions([])), { ...answers, revisions: [version] })
    endings.push(() => client.close())
    expect(await client.call('ping-tool')).toMatchObject({ content: [{ text: 'pong' }] })
  })

  it('sends requests to the client within one run of the handler on 2026-07-28, though the retry has another transport', async () => {
    const started: string[] = []
    const url = await listen(withoutSessions(started))
    expect(await order(url, '2026-07-28')).toMatchObject({ content: [{ text: 'red large work blue' }] })
    expect(started).toEqual(['red'])
  })
})

/** Posts with a Host, and resolves with the status of the response. */
async function post(url: string, host = 'shop.example.com'): Promise<number> {
  const sent = request(url, { method: 'POST', headers: { host, 'content-type': 'application/json' } })
  sent.end('{}')
  const [response] = await once(sent, 'response')
  response.resume()
  return response.statusCode
}

describe('the transport', () => {
  async function serving(
    options: ConstructorParameters<typeof StreamableHTTPServerTransport>[0],
    auth?: { token: string; clientId: string; scopes: string[] },
  ): Promise<string> {
    const app = express()
    const transport = new StreamableHTTPServerTransport(options)
    const server = createServer()
    await server.connect(transport)
    endings.push(() => server.close())
    app.all('/mcp', async (req, res) => {
      await transport.handleRequest(auth === undefined ? req : Object.assign(req, { auth }), res)
    })
    return listen(app)
  }

  it('passes the validated token of middleware to handlers', async () => {
    const url = await serving(
      { sessionIdGenerator: () => randomUUID() },
      { token: 't', clientId: 'app', scopes: [] },
    )
    expect(await order(url, '2025-11-25')).toMatchObject({ content: [{ text: 'red large work blue app' }] })
  })

  it('refuses an unknown Host unless the author turned the check off', async () => {
    expect(await post(await serving({}))).toBe(403)
    expect(await post(await serving({ allowedHosts: ['shop.example.com'] }))).not.toBe(403)
    expect(await post(await serving({ enableDnsRebindingProtection: false }))).not.toBe(403)
  })

  it('leaves the Host check to middleware', async () => {
    const app = express()
    const transport = new StreamableHTTPServerTransport({})
    const server = createServer()
    await server.connect(transport)
    endings.push(() => server.close())
    app.use(hostHeaderValidation(['shop.example.com', '127.0.0.1']))
    app.all('/mcp', (req, res) => transport.handleRequest(req, res))
    const url = await listen(app)
    expect(await post(url)).not.toBe(403)
    expect(await post(url, 'other.example.com')).toBe(403)
  })

  it('needs a server before it handles requests', async () => {
    const transport = new StreamableHTTPServerTransport({})
    await expect(transport.start()).rejects.toThrow(/server\.connect\(transport\)/)
  })
})

it('serves web requests', async () => {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => 'one' })
  const server = createServer()
  await server.connect(transport)
  endings.push(() => server.close())
  const client = await connect(
    http('http://localhost/mcp', { fetch: (url, init) => transport.handleRequest(new Request(url, init)) }),
    { ...answers, revisions: ['2025-11-25'] },
  )
  endings.push(() => client.close())
  expect(transport.sessionId).toBe('one')
  expect(await client.call('order', { colour: 'red' })).toMatchObject({
    content: [{ text: 'red large work' }],
  })
})

it('sends sampling requests of a handler to the official client', async () => {
  const app = express()
  const server = new McpServer({ name: 'model', version: '1.0.0' })
  server.registerTool('ask', { inputSchema: { about: z.string() } }, async ({ about }) => {
    const { content } = await server.server.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: about } }],
      maxTokens: 10,
    })
    return { content: [{ type: 'text', text: content.type === 'text' ? content.text : '' }] }
  })
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
  await server.connect(transport)
  app.all('/mcp', (req, res) => transport.handleRequest(req, res))
  const url = await listen(app)
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {} } })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
  }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  expect(await client.callTool({ name: 'ask', arguments: { about: 'it' } })).toMatchObject({
    content: [{ text: 'sampled' }],
  })
  await client.close()
  await server.close()
})
