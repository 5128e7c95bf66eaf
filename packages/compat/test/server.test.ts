import { InMemoryTaskStore } from '@jackfield/compat/experimental/tasks'
import { InMemoryTransport } from '@jackfield/compat/inMemory.js'
import { completable } from '@jackfield/compat/server/completable.js'
import { Server } from '@jackfield/compat/server/index.js'
import { McpServer, ResourceTemplate } from '@jackfield/compat/server/mcp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  type JSONRPCMessage,
  ListToolsRequestSchema,
  McpError,
  RootsListChangedNotificationSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@jackfield/compat/types.js'
import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type Client as Connection, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { MessageTransport } from '../src/client/connecting.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

type Connectable = Pick<McpServer, 'connect' | 'close'>

/** The official client of version 1, connected to a server. */
async function official(
  server: Connectable,
  capabilities: object = {},
  set?: (client: Client) => void,
): Promise<Client> {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  set?.(client)
  await Promise.all([server.connect(serverSide), client.connect(clientSide)])
  endings.push(() => client.close())
  return client
}

/** Our client on one revision. */
async function on(
  version: ProtocolVersion,
  server: Connectable,
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

const shop = (): McpServer => new McpServer({ name: 'shop', version: '1.0.0' })
const text = (value: unknown): CallToolResult => ({ content: [{ type: 'text', text: String(value) }] })
const roots = [{ uri: 'file:///work', name: 'work' }]

describe('McpServer', () => {
  it('lists definitions of every style, with schemas of Zod 3 and Zod 4', async () => {
    const server = shop()
    server.tool('none', () => text('none'))
    server.tool('described', 'A description', () => text('described'))
    server.tool('shaped', { count: z3.number().int().default(1) }, ({ count }) => text(count))
    server.tool('noted', { readOnlyHint: true }, () => text('noted'))
    server.tool('all', 'Everything', { name: z.string() }, { title: 'All' }, ({ name }) => text(name))
    server.registerTool(
      'typed',
      { title: 'Typed', inputSchema: z.object({ at: z.string() }), outputSchema: { at: z.string() } },
      ({ at }) => ({
        content: [],
        structuredContent: { at },
      }),
    )
    const client = await official(server)
    const { tools } = await client.listTools()
    expect(
      tools.map(({ name, description, annotations, inputSchema }) => [
        name,
        description,
        annotations,
        inputSchema.properties,
      ]),
    ).toMatchObject([
      ['none', undefined, undefined, {}],
      ['described', 'A description', undefined, {}],
      ['shaped', undefined, undefined, { count: { type: 'integer', default: 1 } }],
      ['noted', undefined, { readOnlyHint: true }, {}],
      ['all', 'Everything', { title: 'All' }, { name: { type: 'string' } }],
      ['typed', undefined, undefined, { at: { type: 'string' } }],
    ])
    expect(await client.callTool({ name: 'shaped', arguments: {} })).toMatchObject(text(1))
    expect(await client.callTool({ name: 'typed', arguments: { at: 'noon' } })).toMatchObject({
      structuredContent: { at: 'noon' },
    })
  })

  it('rejects an invalid schema, and a name in use', () => {
    const server = shop()
    const register = (): unknown =>
      // @ts-expect-error: no schema of Zod
      server.registerTool('wrong', { inputSchema: { at: { type: 'string' } } }, () => text(''))
    expect(register).toThrow(/Zod/)
    server.tool('one', () => text(1))
    expect(() => server.tool('one', () => text(2))).toThrow('Tool one is already registered')
  })

  it('reports wrong arguments, wrong output and errors of handlers as results', async () => {
    const server = shop()
    server.registerTool(
      'strict',
      { inputSchema: { a: z.number() }, outputSchema: { b: z.string() } },
      () => ({
        content: [],
        structuredContent: { b: 1 },
      }),
    )
    server.tool('broken', () => {
      throw new Error('it broke')
    })
    const client = await official(server)
    const call = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
      client.callTool({ name, arguments: args })
    expect(await call('strict', { a: 'x' })).toMatchObject({
      isError: true,
      content: [{ text: /Input validation error/ }],
    })
    expect(await call('strict', { a: 1 })).toMatchObject({
      isError: true,
      content: [{ text: /Output validation error/ }],
    })
    expect(await call('broken', {})).toMatchObject({ isError: true, content: [{ text: 'it broke' }] })
    expect(await call('none', {})).toMatchObject({
      isError: true,
      content: [{ text: /Tool none not found/ }],
    })
  })

  it('changes registered tools while clients are connected', async () => {
    const server = shop()
    const tool = server.tool('one', () => text(1))
    const other = server.tool('other', () => text(1))
    const changes = vi.fn()
    const client = await official(server, {}, (one) =>
      one.setNotificationHandler(ToolListChangedNotificationSchema, changes),
    )
    const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name)
    other.disable()
    expect(await names()).toEqual(['one'])
    expect(await client.callTool({ name: 'other' })).toMatchObject({
      isError: true,
      content: [{ text: /disabled/ }],
    })
    other.enable()
    tool.update({ name: 'first', description: 'Now described', callback: () => text(2) })
    expect(await client.callTool({ name: 'first' })).toMatchObject(text(2))
    other.remove()
    expect(await names()).toEqual(['first'])
    server.tool('late', () => text(3))
    expect(await names()).toEqual(['first', 'late'])
    await vi.waitFor(() => expect(changes).toHaveBeenCalled())
  })

  it('serves resources, templates, prompts and completions', async () => {
    const server = shop()
    server.registerResource('config', 'config://app', { title: 'Config', mimeType: 'text/plain' }, (uri) => ({
      contents: [{ uri: uri.href, text: 'on' }],
    }))
    server.registerResource(
      'user',
      new ResourceTemplate('users://{id}', {
        list: () => ({ resources: [{ uri: 'users://1', name: 'one' }] }),
        complete: { id: (typed) => ['10', '11', '20'].filter((id) => id.startsWith(typed)) },
      }),
      { description: 'A user' },
      (uri, { id }) => ({ contents: [{ uri: uri.href, text: `user ${id}` }] }),
    )
    server.registerPrompt(
      'review',
      {
        title: 'Review',
        argsSchema: {
          code: z.string(),
          language: completable(z.string(), (typed) => [`${typed}script`]).optional(),
        },
      },
      ({ code, language }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `${language ?? 'any'}: ${code}` } }],
      }),
    )
    const client = await official(server)
    expect(await client.listResources()).toMatchObject({
      resources: [
        { uri: 'config://app', name: 'config', title: 'Config' },
        { uri: 'users://1', name: 'one', description: 'A user' },
      ],
    })
    expect(await client.listResourceTemplates()).toMatchObject({
      resourceTemplates: [{ name: 'user', uriTemplate: 'users://{id}' }],
    })
    expect(await client.readResource({ uri: 'users://7' })).toMatchObject({ contents: [{ text: 'user 7' }] })
    await expect(client.readResource({ uri: 'none://7' })).rejects.toMatchObject({
      code: ErrorCode.InvalidParams,
    })
    expect(await client.listPrompts()).toMatchObject({
      prompts: [
        {
          name: 'review',
          title: 'Review',
          arguments: [
            { name: 'code', required: true },
            { name: 'language', required: false },
          ],
        },
      ],
    })
    expect(await client.getPrompt({ name: 'review', arguments: { code: 'x' } })).toMatchObject({
      messages: [{ content: { text: 'any: x' } }],
    })
    const ref = { type: 'ref/resource', uri: 'users://{id}' } as const
    expect(await client.complete({ ref, argument: { name: 'id', value: '1' } })).toMatchObject({
      completion: { values: ['10', '11'], total: 2 },
    })
    expect(
      await client.complete({
        ref: { type: 'ref/prompt', name: 'review' },
        argument: { name: 'language', value: 'type' },
      }),
    ).toMatchObject({ completion: { values: ['typescript'] } })
  })

  it.for(protocolVersions)('passes extra to handlers on %s', async (version) => {
    const server = shop()
    const seen: unknown[] = []
    server.tool('look', { a: z.string() }, async ({ a }, { signal, requestId, _meta, sendNotification }) => {
      seen.push([a, signal.aborted, typeof requestId, _meta?.['example.com/k']])
      const progressToken = _meta?.progressToken
      if (progressToken !== undefined) {
        await sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress: 1, total: 2 },
        })
      }
      return text('looked')
    })
    const client = await on(version, server)
    const progress = vi.fn()
    await client.call('look', { a: 'x' }, { meta: { 'example.com/k': 'v' }, onProgress: progress })
    expect(seen).toEqual([['x', false, expect.any(String), 'v']])
    expect(progress).toHaveBeenCalledWith({ progress: 1, total: 2 })
  })
})

describe('requests to the client', () => {
  const asking = protocolVersions.filter((version) => version >= '2025-06-18')
  const schema = { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] } as const

  it.for(asking)('run the handler once on %s, several in a row and at once', async (version) => {
    const server = shop()
    const started = vi.fn()
    server.tool('order', async (extra) => {
      started()
      const first = await server.server.elicitInput({
        message: 'Size?',
        requestedSchema: { ...schema, required: ['size'] },
      })
      const [listed, again] = await Promise.all([
        server.server.listRoots(),
        extra.sendRequest(
          {
            method: 'elicitation/create',
            params: { mode: 'form', message: 'Sure?', requestedSchema: { ...schema, required: ['size'] } },
          },
          z.object({ action: z.string() }),
        ),
      ])
      return text([first.content?.['size'], listed.roots[0]?.name, again.action].join(' '))
    })
    const client = await on(version, server, {
      onElicit: (question) => ({
        action: 'accept',
        content: { size: question.message === 'Size?' ? 'L' : 'yes' },
      }),
      onRoots: roots,
    })
    expect(await client.call('order')).toMatchObject(text('L work accept'))
    expect(started).toHaveBeenCalledOnce()
  })

  it('fail in the handler when the client lacks the capability, refuses or is too slow', async () => {
    const server = shop()
    const failed: unknown[] = []
    server.tool('ask', async () => {
      const requestedSchema = { type: 'object' as const, properties: {} }
      await server.server
        .createMessage({ messages: [], maxTokens: 1 })
        .catch((error) => failed.push(error.message))
      await server.server
        .elicitInput({ message: 'No', requestedSchema })
        .catch((error) => failed.push(error.message))
      await server.server
        .elicitInput({ message: 'Never', requestedSchema }, { timeout: 20 })
        .catch((error) => failed.push(error.code))
      return text('asked')
    })
    const client = await official(server, { elicitation: {} }, (one) =>
      one.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        if (params.message === 'Never') return new Promise(() => {})
        throw new Error('refused')
      }),
    )
    await client.callTool({ name: 'ask' })
    expect(failed).toEqual([
      'Client does not support sampling (required for sampling/createMessage)',
      expect.stringContaining('refused'),
      ErrorCode.RequestTimeout,
    ])
  })

  it.for(asking)('outside of a request travel with the next request of the client on %s', async (version) => {
    const server = shop()
    let known: unknown
    server.server.oninitialized = async () => {
      known = (await server.server.listRoots()).roots
    }
    server.tool('known', () => text(JSON.stringify(known)))
    const client = await on(version, server, { onRoots: roots })
    await client.tools()
    expect(await client.call('known')).toMatchObject(text(JSON.stringify(roots)))
  })

  it('follow a notification that roots changed', async () => {
    const server = shop()
    let known: { uri: string }[] = []
    server.server.setNotificationHandler(RootsListChangedNotificationSchema, async () => {
      known = (await server.server.listRoots()).roots
    })
    server.tool('known', () => text(known.length))
    const client = await official(server, { roots: { listChanged: true } }, (one) =>
      one.setRequestHandler(ListRootsRequestSchema, () => ({ roots })),
    )
    expect(await client.callTool({ name: 'known' })).toMatchObject(text(0))
    await client.sendRootsListChanged()
    expect(await client.callTool({ name: 'known' })).toMatchObject(text(1))
  })

  it('are limited to the features of the specification', async () => {
    const server = shop()
    server.tool('ask', async (extra) => {
      // @ts-expect-error: no request of a server
      await extra.sendRequest({ method: 'custom/request', params: {} }, z.object({}))
      return text('never')
    })
    const client = await official(server)
    expect(await client.callTool({ name: 'ask' })).toMatchObject({
      isError: true,
      content: [{ text: /does not cover the request "custom\/request"/ }],
    })
  })
})

describe('Server', () => {
  const info = { name: 'low', version: '1.0.0' }

  it.for(protocolVersions)(
    'serves handlers by schema, their errors and custom methods on %s',
    async (version) => {
      const server = new Server(info, { capabilities: { tools: {} }, instructions: 'Be kind' })
      server.setRequestHandler(ListToolsRequestSchema, () => ({
        tools: [{ name: 'one', inputSchema: { type: 'object', properties: {} } }],
      }))
      server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
        if (params.name !== 'one') throw new McpError(ErrorCode.MethodNotFound, `no ${params.name}`)
        return text('one')
      })
      const custom = z.object({
        method: z.literal('example.com/sum'),
        params: z.object({ of: z.array(z.number()) }),
      })
      server.setRequestHandler(custom, ({ params }) => ({
        sum: params.of.reduce((sum, one) => sum + one, 0),
      }))
      const client = await on(version, server)
      expect(client.server).toMatchObject({ instructions: 'Be kind', capabilities: { tools: {} } })
      expect((await client.tools()).map(({ name }) => name)).toEqual(['one'])
      expect(await client.call('one')).toMatchObject(text('one'))
      await expect(client.call('two')).rejects.toMatchObject({
        code: ErrorCode.MethodNotFound,
        message: /no two/,
      })
      expect(await client.request('example.com/sum', { of: [1, 2] })).toMatchObject({ sum: 3 })
      await expect(client.request('example.com/sum', { of: 'x' })).rejects.toMatchObject({
        code: ErrorCode.InvalidParams,
      })
    },
  )

  it('requires the capability of a handler, and keeps the methods of the connection', () => {
    const server = new Server(info, { capabilities: {} })
    expect(() => server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }))).toThrow(
      'Server does not support tools (required for tools/list)',
    )
    const initialize = z.object({ method: z.literal('initialize') })
    expect(() => server.setRequestHandler(initialize, () => ({}))).toThrow(
      /does not cover a handler for "initialize"/,
    )
  })

  it('calls handlers of subscriptions on sessions and on 2026-07-28', async () => {
    for (const version of ['2025-11-25', '2026-07-28'] as const) {
      const server = new Server(info, { capabilities: { resources: { subscribe: true } } })
      const calls: unknown[] = []
      server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
        calls.push(['subscribe', params.uri])
        return {}
      })
      server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
        calls.push(['unsubscribe', params.uri])
        return {}
      })
      const client = await on(version, server)
      const changed = vi.fn()
      const watch = await client.watch({ resourceSubscriptions: ['file:///a'] }, changed)
      await server.sendResourceUpdated({ uri: 'file:///a' })
      await vi.waitFor(() => expect(changed).toHaveBeenCalledWith({ type: 'resource', uri: 'file:///a' }))
      await watch.close()
      await vi.waitFor(() =>
        expect(calls).toEqual([
          ['subscribe', 'file:///a'],
          ['unsubscribe', 'file:///a'],
        ]),
      )
    }
  })

  it('sends log messages by the level of the client, and calls its own handler with the level', async () => {
    const server = new Server(info, { capabilities: { logging: {}, tools: {} } })
    const levels: string[] = []
    server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
      levels.push(params.level)
      return {}
    })
    server.setRequestHandler(CallToolRequestSchema, async () => {
      await server.sendLoggingMessage({ level: 'debug', data: 'quiet' })
      await server.sendLoggingMessage({ level: 'error', data: 'loud' })
      return text('logged')
    })
    const logs: unknown[] = []
    const client = await official(server, {}, (one) =>
      one.setNotificationHandler(
        LoggingMessageNotificationSchema,
        ({ params }) => void logs.push(params.data),
      ),
    )
    await client.setLoggingLevel('warning')
    await client.callTool({ name: 'log' })
    expect(levels).toEqual(['warning'])
    expect(logs).toEqual(['loud'])
  })

  it('calls the handler of logging/setLevel also if the client subscribes between it and the next request', async () => {
    const capabilities = { logging: {}, tools: {}, resources: { subscribe: true } }
    const server = new Server(info, { capabilities })
    const levels: string[] = []
    server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
      levels.push(params.level)
      return {}
    })
    server.setRequestHandler(CallToolRequestSchema, () => text('called'))
    const client = await official(server)
    await client.setLoggingLevel('debug')
    await client.subscribeResource({ uri: 'file:///a' })
    await client.callTool({ name: 'any' })
    expect(levels).toEqual(['debug'])
  })

  it('calls onclose once, and connects again after it', async () => {
    const server = new Server(info, { capabilities: {} })
    const closed = vi.fn()
    server.onclose = closed
    const first = await official(server)
    await expect(server.connect(InMemoryTransport.createLinkedPair()[0])).rejects.toThrow(/Already connected/)
    await first.close()
    await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce())
    const initialized = vi.fn()
    server.oninitialized = initialized
    const second = await official(server)
    await vi.waitFor(() => expect(initialized).toHaveBeenCalledOnce())
    expect(await second.ping()).toEqual({})
    await server.close()
    expect(closed).toHaveBeenCalledTimes(2)
  })
})

it('serves the messages of a transport of others, with its auth', async () => {
  const server = shop()
  server.tool('who', ({ authInfo }) => text(authInfo?.clientId))
  const [mine, theirs] = InMemoryTransport.createLinkedPair()
  const messages: JSONRPCMessage[] = []
  mine.onmessage = (message) => void messages.push(message)
  await mine.start()
  await server.connect(theirs)
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  }
  await mine.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await mine.send(
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'who' } },
    { authInfo: { token: 't', clientId: 'app', scopes: [] } },
  )
  await vi.waitFor(() => expect(messages).toHaveLength(2))
  expect(messages[1]).toMatchObject({ id: 2, result: text('app') })
  await server.close()
})

describe('tools that create tasks', () => {
  function worker(): McpServer {
    const taskStore = new InMemoryTaskStore()
    endings.push(() => taskStore.cleanup())
    const server = new McpServer(
      { name: 'worker', version: '1.0.0' },
      { taskStore, capabilities: { tasks: { requests: { tools: { call: {} } } } } },
    )
    server.experimental.tasks.registerToolTask(
      'work',
      { inputSchema: { what: z.string() }, execution: { taskSupport: 'required' } },
      {
        createTask: async ({ what }, { taskStore: store }) => {
          const task = await store.createTask({ ttl: 60_000, pollInterval: 5 })
          await store.storeTaskResult(task.taskId, 'completed', {
            content: [{ type: 'text', text: `${what} done` }],
          })
          return { task }
        },
        getTask: async (_args, { taskId, taskStore: store }) => store.getTask(taskId),
        getTaskResult: async (_args, { taskId, taskStore: store }) =>
          CallToolResultSchema.parse(await store.getTaskResult(taskId)),
      },
    )
    return server
  }

  it('create a task for a client of 2025-11-25 that requests one', async () => {
    const client = await official(worker())
    const kinds: string[] = []
    const stream = client.experimental.tasks.callToolStream(
      { name: 'work', arguments: { what: 'all' } },
      undefined,
      {
        task: { ttl: 60_000 },
      },
    )
    for await (const message of stream) {
      kinds.push(message.type)
      if (message.type === 'result') expect(message.result).toMatchObject({ content: [{ text: 'all done' }] })
    }
    expect(kinds).toContain('taskCreated')
    expect(kinds.at(-1)).toBe('result')
  })

  it.for(['2025-06-18', '2026-07-28'] as const)('return the result to clients of %s', async (version) => {
    const client = await on(version, worker())
    expect(await client.call('work', { what: 'all' })).toMatchObject({ content: [{ text: 'all done' }] })
  })
})
