import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineServer, type Server, tool } from '@jackfield/sdk'
import { connect, http } from '@jackfield/sdk/client'
import { compose } from '@jackfield/sdk/compose'
import { memoryTaskStore, type TaskStore, tasks } from '@jackfield/sdk/extensions/tasks'
import { sqliteTaskStore } from '@jackfield/sdk/extensions/tasks/sqlite'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { adapters, type Mounted, modern, webAdapter } from './http-support.ts'
import {
  ask,
  codeOf,
  echo,
  hang,
  initialize,
  initialized,
  settle,
  type TestServer,
  type Tool,
  testServer,
  until,
} from './support.ts'

const sessions = 'none'
const info = { name: 'official', version: '1.0.0' }
const capabilities = { elicitation: {} }
const answer = { action: 'accept' as const, content: { name: 'Ada' } }
const call = (name: string, id: string | number = 1, more = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...more },
})
const listTools = { jsonrpc: '2.0', id: 'list', method: 'tools/list', params: {} }

const noisy: Tool = async (_args, { notify, params }) => {
  const { progressToken } = params['_meta'] as { progressToken: string | number }
  notify({ method: 'notifications/message', params: { level: 'info', data: 'begun' } })
  for (const progress of [1, 2, 3]) {
    notify({ method: 'notifications/progress', params: { progressToken, progress } })
    await settle(1)
  }
  return 'done'
}

describe.each(adapters)("sessions: 'none' over the %s adapter", (_, mount) => {
  let mounted: Mounted
  let server: TestServer
  const start = async (options?: ServeHttpOptions, tools: Record<string, Tool> = {}): Promise<void> => {
    server = testServer({ echo, ask, hang, noisy, ...tools })
    mounted = await mount(server, { sessions, ...options })
  }
  afterEach(() => mounted.close())

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'initialize on %s opens no session and declares nothing that needs one',
    async (version) => {
      await start()
      const first = await mounted.send({ body: initialize(version) })
      expect([first.status, first.header('mcp-session-id')]).toEqual([200, undefined])
      expect(await first.json()).toMatchObject({
        id: 'init',
        result: {
          protocolVersion: version,
          serverInfo: { name: 'test' },
          instructions: 'Be gentle.',
          capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
        },
      })
      const again = await (await mounted.send({ body: initialize(version) })).text()
      expect(again).not.toMatch(/listChanged|subscribe/)
    },
  )

  it('an invalid initialize is rejected', async () => {
    faultyPeer('an initialize without capabilities')
    await start()
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }
    expect(codeOf(await (await mounted.send({ body })).json())).toBe(-32602)
  })

  it.each([
    [{}],
    [{ 'mcp-protocol-version': '2025-11-25' }],
    [{ 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': 'of-another-server' }],
  ])('requests need no initialize and no session (%#)', async (headers) => {
    await start()
    const listed = await mounted.send({ headers, body: listTools })
    expect([listed.status, listed.header('mcp-session-id')]).toEqual([200, undefined])
    expect(await listed.json()).toMatchObject({
      id: 'list',
      result: { tools: [{ name: 'echo' }, {}, {}, {}] },
    })
    const called = await mounted.send({ headers, body: call('echo', 2, { arguments: { text: 'hi' } }) })
    expect(await called.json()).toMatchObject({ id: 2, result: { content: [{ text: 'hi' }] } })
    const ping = await mounted.send({ headers, body: { jsonrpc: '2.0', id: 3, method: 'ping' } })
    expect(await ping.json()).toEqual({ jsonrpc: '2.0', id: 3, result: {} })
    expect(await (await mounted.send({ headers, body: call('nope', 4) })).json()).toMatchObject({
      id: 4,
      error: { code: -32602 },
    })
  })

  it('the revision is that of MCP-Protocol-Version, and 2025-03-26 without it', async () => {
    let seen: { version: string; session: unknown } | undefined
    await start(
      {},
      {
        look: (_args, { peer, session }) => {
          seen = { version: peer.revision.version, session }
          return 'seen'
        },
      },
    )
    await (await mounted.send({ body: call('look') })).text()
    expect(seen).toEqual({ version: '2025-03-26', session: undefined })
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    await (await mounted.send({ headers, body: call('look') })).text()
    expect(seen).toEqual({ version: '2025-11-25', session: undefined })
    const unknown = await mounted.send({
      headers: { 'mcp-protocol-version': '2025-01-01' },
      body: call('look'),
    })
    expect(unknown.status).toBe(400)
  })

  it('GET, DELETE and any other method get 405', async () => {
    await start()
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const refused = await mounted.send({ method, headers: { 'mcp-session-id': 'any' } })
      expect([method, refused.status, refused.header('allow')]).toEqual([method, 405, 'POST'])
    }
  })

  it('notifications and responses are accepted', async () => {
    await start()
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    for (const body of [initialized, cancelled, { jsonrpc: '2.0', id: 9, result: {} }]) {
      const accepted = await mounted.send({ body })
      expect([accepted.status, await accepted.text()]).toEqual([202, ''])
    }
  })

  it('batches exist in 2025-03-26 only', async () => {
    await start()
    const batch = [listTools, call('echo', 2), initialized]
    const answered = await mounted.send({ body: batch })
    expect(JSON.parse(await answered.text())).toMatchObject([
      { id: 'list', result: {} },
      { id: 2, result: {} },
    ])
    const notices = await mounted.send({ body: [initialized] })
    expect([notices.status, await notices.text()]).toEqual([202, ''])
    const streamed = await mounted.send({
      body: [call('echo', 1), call('noisy', 2, { _meta: { progressToken: 'p' } })],
    })
    expect(streamed.header('content-type')).toBe('text/event-stream')
    await streamed.text()
    expect(streamed.messages().at(-1)).toMatchObject([{ id: 1 }, { id: 2 }])
    faultyPeer('a batch, which its revision does not have')
    const refused = await mounted.send({ headers: { 'mcp-protocol-version': '2025-06-18' }, body: batch })
    expect([refused.status, codeOf(await refused.json())]).toEqual([400, -32600])
    const many = await mounted.send({ body: Array.from({ length: 101 }, () => listTools) })
    expect(many.status).toBe(400)
  })

  it('progress and log messages of a call are on its own response stream', async () => {
    await start()
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    const answered = await mounted.send({
      headers,
      body: call('noisy', 1, { _meta: { progressToken: 'p' } }),
    })
    expect(answered.header('content-type')).toBe('text/event-stream')
    await answered.text()
    expect(answered.messages().map((one) => one['method'] ?? one['id'])).toEqual([
      'notifications/message',
      'notifications/progress',
      'notifications/progress',
      'notifications/progress',
      1,
    ])
  })

  it.each([
    ['resources/subscribe', { uri: 'test://a' }],
    ['resources/unsubscribe', { uri: 'test://a' }],
  ])('%s fails and names the option', async (method, params) => {
    await start()
    const body = { jsonrpc: '2.0', id: 1, method, params }
    const failed = await mounted.send({ headers: { 'mcp-protocol-version': '2025-11-25' }, body })
    expect(failed.status).toBe(200)
    const failure = await failed.json()
    expect(codeOf(failure)).toBe(-32601)
    expect(JSON.stringify(failure)).toContain("sessions: 'none'")
  })

  it('logging/setLevel is accepted, and later calls log from the default level', async () => {
    await start()
    const headers = { 'mcp-protocol-version': '2025-11-25' }
    const level = (level: string) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'logging/setLevel',
      params: { level },
    })
    const accepted = await mounted.send({ headers, body: level('error') })
    expect([accepted.status, await accepted.json()]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }])
    const called = await mounted.send({ headers, body: call('noisy', 2, { _meta: { progressToken: 'p' } }) })
    await called.text()
    expect(called.messages()[0]).toMatchObject({ params: { level: 'info', data: 'begun' } })
    faultyPeer('a level that does not exist')
    expect(codeOf(await (await mounted.send({ headers, body: level('loud') })).json())).toBe(-32602)
  })

  it('an input request ends the call at once with advice', async () => {
    await start()
    await (await mounted.send({ body: initialize() })).text()
    const asked = await mounted.send({ headers: { 'mcp-protocol-version': '2025-11-25' }, body: call('ask') })
    expect(asked.header('content-type')).toBe('application/json')
    const { result } = (await asked.json()) as { result: { isError: boolean; content: [{ text: string }] } }
    expect(result.isError).toBe(true)
    expect(result.content[0].text).toMatch(/elicitation\/create.*sessions: 'none'.*2026-07-28/)
  })

  it('requests of 2026-07-28 are served as usual, with input requests', async () => {
    await start()
    const first = (await (await mounted.send(modern('tools/call', { name: 'ask' }))).json()) as {
      result: { resultType: string; inputRequests: object; requestState: string }
    }
    expect(first.result.resultType).toBe('input_required')
    const [key = ''] = Object.keys(first.result.inputRequests)
    const { requestState } = first.result
    const retry = modern('tools/call', { name: 'ask', requestState, inputResponses: { [key]: answer } })
    expect(await (await mounted.send(retry)).json()).toMatchObject({
      result: { content: [{ text: 'Hello, Ada' }] },
    })
  })

  it('a client that disconnects cancels its call', async () => {
    await start()
    let ended: unknown
    server = testServer({
      wait: async (_args, exchange) => {
        exchange.notify({ method: 'notifications/message', params: { level: 'error', data: 'here' } })
        await new Promise<void>((resolve) => exchange.signal.addEventListener('abort', () => resolve()))
        ended = exchange.signal.reason
        return 'over'
      },
    })
    await mounted.close()
    mounted = await mount(server, { sessions })
    const called = await mounted.send({ body: call('wait') })
    await until(() => called.messages().length === 1)
    called.drop()
    await until(() => ended !== undefined)
    expect(ended).toMatchObject({ code: 'CANCELLED' })
  })

  it('closing the server ends calls, with responses of handlers that still finish', async () => {
    await start(
      {},
      {
        wait: (_args, { signal }) =>
          new Promise((resolve) => signal.addEventListener('abort', () => resolve('interrupted'))),
      },
    )
    const called = mounted.send({ body: call('wait') })
    await until(() => server.ran.length === 1)
    await mounted.handler.close()
    expect(await (await called).json()).toMatchObject({ result: { content: [{ text: 'interrupted' }] } })
  })

  it('every request of a batch counts as running', async () => {
    const authenticate = async () => ({ principal: 'ada' })
    await start({ authenticate, limits: { inFlightPerPrincipal: 2 } })
    const headers = { 'mcp-protocol-version': '2025-03-26' }
    const batch = mounted.send({ headers, body: [call('hang', 1), call('hang', 2)] })
    await until(() => server.ran.length === 2)
    const refused = await (await mounted.send({ body: call('echo', 3) })).json()
    expect(refused).toMatchObject({
      id: 3,
      error: { message: expect.stringContaining('Too many requests in flight') },
    })
    await mounted.handler.close()
    await (await batch).text()
  })
})

describe("sessions: 'none'", () => {
  it.each(['memory', 'None', null, true])(
    'an unknown value is rejected when the server is mounted: %s',
    (value) => {
      // @ts-expect-error as JavaScript may call it
      const serve = (): unknown => serveHttp(testServer(), { sessions: value })
      expect(serve).toThrow(TypeError)
      expect(serve).toThrow(/sessions:.*'none'/)
    },
  )

  it('HTTP+SSE, which is a session, is rejected beside it', () => {
    expect(() => serveHttp(testServer(), { sessions, sse: '/sse' })).toThrow(/sse.*sessions: 'none'/)
  })

  it('calls of a composition end at an input request too', async () => {
    const person = tool({
      async run(_args, ctx) {
        const given = await ctx.elicit({ message: 'Who?', schema: { type: 'object', properties: {} } })
        return given.action
      },
    })
    const inner = defineServer({ name: 'inner', version: '1.0.0', tools: { person } })
    const outer = compose({ name: 'outer', version: '1.0.0', servers: { inner } })
    const mounted = await webAdapter(outer, { sessions })
    const called = await mounted.send({ body: call('inner__person') })
    expect(await called.json()).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining("sessions: 'none'") }] },
    })
    await mounted.close()
  })
})

/** Mounts a server anew for every request, as a function does that runs once per request. */
const oncePerRequest = (server: Server) => async (input: string | URL | Request, init?: RequestInit) => {
  const { fetch } = serveHttp(server, { sessions, keys: ['k'.repeat(32)], onWarning: () => {} })
  const response = await fetch(new Request(input, init))
  // The whole body at once, as from a gateway that buffers responses.
  const body = response.status === 202 || response.status === 405 ? null : await response.text()
  return new Response(body, response)
}

/** Two instances of a server behind a proxy that gives each the next request. */
async function roundRobin(server: () => Server): Promise<{ url: URL; served: number[] }> {
  const served = [0, 0]
  const instances = await Promise.all(
    served.map(() => serveHttp(server(), { sessions, onWarning: () => {} }).listen()),
  )
  let last = 0
  const proxy = createServer((request, response) => {
    const at = last++ % 2
    served[at] = (served[at] ?? 0) + 1
    const { method, headers, url } = request
    const port = instances[at]?.port
    const forwarded = httpRequest(
      { host: '127.0.0.1', port, path: url, method, headers, agent: false },
      (answered) => {
        response.writeHead(answered.statusCode ?? 502, answered.headers)
        answered.pipe(response)
      },
    )
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    proxy.closeAllConnections()
    proxy.close()
    await Promise.all(instances.map(({ close }) => close()))
  })
  const address = proxy.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), served }
}

const legacyClient = async (url: URL, fetch?: typeof globalThis.fetch): Promise<LegacyClient> => {
  const client = new LegacyClient(info, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, () => answer)
  const transport = new LegacyHttp(url, fetch === undefined ? {} : { fetch })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  expect(transport.sessionId).toBeUndefined()
  return client
}

const modernClient = async (
  url: URL,
  fetch: typeof globalThis.fetch | undefined,
  mode: 'auto' | 'legacy',
): Promise<ModernClient> => {
  const client = new ModernClient(info, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', () => answer)
  const transport = new ModernHttp(url, fetch === undefined ? {} : { fetch })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return client
}

describe("tasks in memory with sessions: 'none'", () => {
  const warningsOf = (store: TaskStore, options: ServeHttpOptions): string[] => {
    const warnings: string[] = []
    const extension = tasks({ store })
    onTestFinished(() => extension.close())
    const extensions = [extension]
    const slow = tool({ task: 'optional', run: () => 'done' })
    const jobs = defineServer({ name: 'jobs', version: '1', tools: { slow }, extensions })
    for (const server of [jobs, jobs, compose({ name: 'all', version: '1', servers: { jobs } })]) {
      serveHttp(server, { onWarning: (warning) => warnings.push(warning), ...options })
    }
    return warnings
  }

  it('cause a warning once for each server', () => {
    expect(warningsOf(memoryTaskStore(), {})).toEqual([])
    expect(warningsOf(memoryTaskStore(), { sessions })).toEqual([
      expect.stringMatching(
        /^jobs: with sessions: 'none' .* no other process finds them\. Give tasks\(\) a store/,
      ),
      expect.stringMatching(/^all: /),
    ])
  })

  it('cause no warning with a durable store', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tasks-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    expect(warningsOf(sqliteTaskStore(join(folder, 'tasks.db')), { sessions })).toEqual([])
  })
})

describe.each([
  ['two instances in turn', false],
  ['one mount per request', true],
])("sessions: 'none' on %s", (_, once) => {
  const place = async (): Promise<{
    url: URL
    fetch: typeof globalThis.fetch | undefined
    check: () => void
  }> => {
    const made = () => testServer({ echo, ask, noisy })
    if (once) {
      return { url: new URL('http://localhost:3000/mcp'), fetch: oncePerRequest(made()), check: () => {} }
    }
    const { url, served } = await roundRobin(made)
    return { url, fetch: undefined, check: () => expect(Math.min(...served)).toBeGreaterThan(1) }
  }

  it('the official SDK 1 lists, calls and gets progress', async () => {
    const { url, fetch, check } = await place()
    const client = await legacyClient(url, fetch)
    for (let i = 0; i < 3; i++) {
      expect((await client.listTools()).tools).toHaveLength(3)
      const echoed = await client.callTool({ name: 'echo', arguments: { text: `${i}` } })
      expect(echoed).toMatchObject({ content: [{ text: `${i}` }] })
    }
    const steps: number[] = []
    await client.callTool({ name: 'noisy' }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    })
    expect(steps).toEqual([1, 2, 3])
    expect(await client.callTool({ name: 'ask' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("sessions: 'none'") }],
    })
    expect(await client.setLoggingLevel('debug')).toEqual({})
    await client.ping()
    await client.close()
    check()
  })

  it('the official SDK 2 does the same on a revision with sessions', async () => {
    const { url, fetch, check } = await place()
    const client = await modernClient(url, fetch, 'legacy')
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    for (let i = 0; i < 3; i++) {
      expect((await client.listTools()).tools).toHaveLength(3)
      expect(await client.callTool({ name: 'echo' })).toMatchObject({ content: [{ text: 'echo' }] })
    }
    const steps: number[] = []
    await client.callTool({ name: 'noisy' }, { onprogress: ({ progress }) => steps.push(progress) })
    expect(steps).toEqual([1, 2, 3])
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ isError: true })
    await client.close()
    check()
  })

  it('the client of this package as well', async () => {
    const { url, fetch, check } = await place()
    const client = await connect(http(url.href, fetch === undefined ? {} : { fetch }), {
      revisions: ['2025-11-25'],
      onElicit: () => answer,
    })
    onTestFinished(() => client.close())
    expect(client.server).toMatchObject({ revision: '2025-11-25', era: 'session' })
    for (let i = 0; i < 3; i++) {
      expect(await client.tools()).toHaveLength(3)
      expect(await client.call('echo')).toMatchObject({ content: [{ text: 'echo' }] })
    }
    const steps: number[] = []
    await client.call('noisy', {}, { onProgress: ({ progress }) => steps.push(progress) })
    expect(steps).toEqual([1, 2, 3])
    expect(await client.call('ask')).toMatchObject({ isError: true })
    await expect(client.watch({ toolsListChanged: true })).rejects.toMatchObject({ code: 'CAPABILITY' })
    check()
  })

  it('the official SDK 2 uses 2026-07-28 if possible', async () => {
    const { url, fetch } = await place()
    const client = await modernClient(url, fetch, 'auto')
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect(await client.callTool({ name: 'echo' })).toMatchObject({ content: [{ text: 'echo' }] })
    await client.close()
  })
})
