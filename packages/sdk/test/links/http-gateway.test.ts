import type { JsonObject } from '@jackfield/sdk'
import { type Client, connect, http, sse } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { listed } from '../client/support/results.ts'
import { during } from './during.ts'
// What a client loads with the first failure and the first list would take real time, and this time is virtual.
import '../../src/client/lists.ts'
import '../../src/transports/client/http-failure.ts'

const revisions = ['2025-11-25', '2026-07-28'] as const
type Revision = (typeof revisions)[number]

/** Something on the way that answers in place of the server. */
type Gateway = (nth: number, id: number) => Response | undefined

const gateway =
  (status: number, headers: Record<string, string> = {}, body = '<h1>Bad gateway</h1>'): Gateway =>
  () =>
    new Response(body, { status, headers: { 'content-type': 'text/html', ...headers } })
const once =
  (answer: Gateway): Gateway =>
  (nth, id) =>
    nth === 0 ? answer(nth, id) : undefined

/** A response of the server itself. */
const failed = (status: number): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'later' } }, { status })

function broken(code: string): never {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true },
  prompts: {},
  completions: {},
  logging: {},
}

const results: Record<string, JsonObject> = {
  'tools/list': { tools: [] },
  'prompts/list': { prompts: [] },
  'prompts/get': { messages: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
  'completion/complete': { completion: { values: [] } },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
}

function resultOf(method: string, revision: Revision): object {
  const serverInfo = { name: 'hand', version: '1' }
  if (method === 'initialize') return { protocolVersion: revision, capabilities, serverInfo }
  if (method === 'server/discover') return listed({ supportedVersions: [revision], capabilities })
  const result = results[method] ?? {}
  if (revision === '2025-11-25') return result
  return /list|read/.test(method) ? listed(result) : { resultType: 'complete', ...result }
}

interface Way {
  readonly client: Client
  /** When each request of the method came through, in milliseconds of the test's clock. */
  times(method: string): number[]
}

/** A client, and a server that fails behind a gateway once the client is connected. */
async function behind(answer: Gateway, revision: Revision): Promise<Way> {
  const seen: { method: string; at: number }[] = []
  let isConnected = false
  const times = (method: string): number[] => seen.flatMap((one) => (one.method === method ? [one.at] : []))
  const send = async (_: URL, init: RequestInit): Promise<Response> => {
    if (init.method !== 'POST') return new Response(null, { status: init.method === 'GET' ? 405 : 200 })
    const { id, method, params } = JSON.parse(String(init.body))
    if (id === undefined) return new Response(null, { status: 202 })
    const nth = times(method).length
    if (isConnected) seen.push({ method, at: performance.now() })
    const instead = isConnected ? answer(nth, id) : undefined
    if (instead !== undefined) return instead
    if (method !== 'subscriptions/listen') {
      return Response.json({ jsonrpc: '2.0', id, result: resultOf(method, revision) })
    }
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
    const agreed = { _meta, notifications: params.notifications }
    const notice = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: agreed }
    const result = { resultType: 'complete', _meta }
    const body = [notice, { jsonrpc: '2.0', id, result }].map((one) => `data: ${JSON.stringify(one)}\n\n`)
    return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
  const client = await connect(http('http://127.0.0.1/mcp', { fetch: send }), { revisions: [revision] })
  isConnected = true
  onTestFinished(() => client.close())
  return { client, times }
}

const reads: readonly [string, (client: Client) => Promise<unknown>, (readonly Revision[])?][] = [
  ['tools/list', (client) => client.tools()],
  ['prompts/list', (client) => client.prompts()],
  ['prompts/get', (client) => client.prompt('p')],
  ['resources/list', (client) => client.resources()],
  ['resources/templates/list', (client) => client.templates()],
  ['resources/read', (client) => client.read('a:b')],
  [
    'completion/complete',
    (client) =>
      client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'v' } }),
  ],
  ['tools/call', (client) => client.call('look', {}, { repeatable: true })],
  ['ping', (client) => client.ping(), ['2025-11-25']],
  ['logging/setLevel', (client) => client.setLogLevel('info'), ['2025-11-25']],
  ['resources/subscribe', (client) => client.watch({ resourceSubscriptions: ['a:b'] }), ['2025-11-25']],
  ['server/discover', (client) => client.ping(), ['2026-07-28']],
  ['subscriptions/listen', (client) => client.watch({ toolsListChanged: true }), ['2026-07-28']],
]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  return () => vi.useRealTimers()
})

describe.each(revisions)('behind a failing gateway, on %s,', (revision) => {
  const here = reads.filter(([, , only = revisions]) => only.includes(revision))

  it.each(here)('%s is retried and succeeds', async (method, call) => {
    for (const status of [502, 503, 504]) {
      for (const body of ['', '<h1>Later</h1>']) {
        const { client, times } = await behind(once(gateway(status, {}, body)), revision)
        await during(call(client))
        expect(times(method), `after ${status} with "${body}"`).toHaveLength(2)
      }
    }
  })

  it.each(here)("%s fails after six attempts with the gateway's message", async (method, call) => {
    const { client, times } = await behind(gateway(502), revision)
    await expect(during(call(client))).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('Bad gateway'),
      details: { status: 502 },
    })
    expect(times(method)).toHaveLength(6)
  })

  it('a request that only reads waits for the requested time, plus jitter', async () => {
    const { client, times } = await behind(once(gateway(503, { 'retry-after': '7' })), revision)
    await during(client.tools())
    const [first = 0, second = 0] = times('tools/list')
    expect(second - first).toBeGreaterThanOrEqual(7_000)
    expect(second - first).toBeLessThanOrEqual(7_600)
  })

  it('a wait given as a date is used too', async () => {
    const at = new Date(Date.now() + 20_000).toUTCString()
    const { client, times } = await behind(once(gateway(503, { 'retry-after': at })), revision)
    await during(client.tools())
    const [first = 0, second = 0] = times('tools/list')
    expect(second - first).toBeGreaterThanOrEqual(19_000)
  })

  it("a wait longer than the call's timeout does not start", async () => {
    const { client, times } = await behind(gateway(503, { 'retry-after': '30' }), revision)
    const before = performance.now()
    await expect(during(client.tools({ timeoutMs: 20_000 }))).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('after 30 s'),
      details: { status: 503, retryAfterMs: 30_000 },
    })
    expect(performance.now() - before).toBeLessThan(1_000)
    expect(times('tools/list')).toHaveLength(1)
  })

  it('clients do not all retry at the same moment', async () => {
    const { client, times } = await behind(
      (nth, id) => (nth < 40 ? gateway(502)(nth, id) : undefined),
      revision,
    )
    const lists = Array.from({ length: 40 }, () => client.tools({ cache: 'bypass' }))
    await during(Promise.all(lists))
    const again = times('tools/list').slice(40)
    expect(again).toHaveLength(40)
    expect(Math.max(...again) - Math.min(...again)).toBeGreaterThan(100)
  })

  it('waits grow from one attempt to the next', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    onTestFinished(() => {
      vi.restoreAllMocks()
    })
    const { client, times } = await behind(gateway(504), revision)
    await expect(during(client.tools())).rejects.toMatchObject({ details: { status: 504 } })
    const at = times('tools/list')
    const waits = at.slice(1).map((one, nth) => one - (at[nth] ?? 0))
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000])
  })

  it.each([
    ['502', gateway(502)],
    ['504', gateway(504, {}, '')],
    ['503 and no word when to come again', gateway(503)],
    ['504 and a word when to come again', gateway(504, { 'retry-after': '1' })],
  ])('a tool call with the response %s has an unknown outcome', async (_, answer) => {
    const { client, times } = await behind(once(answer), revision)
    await expect(during(client.call('pay'))).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/tools\/call may have run: check before calling it again/),
      details: { status: expect.any(Number) },
    })
    expect(times('tools/call')).toHaveLength(1)
  })

  it('a tool call with a retry time is not retried', async () => {
    const { client, times } = await behind(once(gateway(503, { 'retry-after': '2' }, '')), revision)
    await expect(during(client.call('pay'))).rejects.toMatchObject({
      code: 'HTTP',
      message: expect.stringContaining('after 2 s'),
      details: { status: 503, retryAfterMs: 2_000 },
    })
    expect(times('tools/call')).toHaveLength(1)
  })

  it('nothing is retried once its caller aborted', async () => {
    const { client, times } = await behind(gateway(502), revision)
    const stop = new AbortController()
    const list = client.tools({ signal: stop.signal })
    list.catch(() => {})
    await vi.advanceTimersByTimeAsync(50)
    stop.abort()
    await expect(during(list)).rejects.toMatchObject({ code: 'CANCELLED' })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(times('tools/list')).toHaveLength(1)
  })

  it('a caller that aborts is rejected at once, and no timer remains', async () => {
    const { client } = await behind(gateway(503, { 'retry-after': '20' }), revision)
    const stop = new AbortController()
    const list = client.tools({ signal: stop.signal })
    list.catch(() => {})
    await vi.advanceTimersByTimeAsync(50)
    const before = performance.now()
    const waiting = vi.getTimerCount()
    stop.abort()
    await expect(during(list)).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(performance.now() - before).toBeLessThan(1_000)
    expect(vi.getTimerCount()).toBeLessThan(waiting)
  })

  it('nothing is retried once the client is closed, and no timer remains', async () => {
    const { client, times } = await behind(gateway(503, { 'retry-after': '20' }), revision)
    const list = client.tools()
    list.catch(() => {})
    await vi.advanceTimersByTimeAsync(50)
    const before = performance.now()
    await during(client.close())
    await expect(during(list)).rejects.toMatchObject({ details: { status: 503 } })
    expect(performance.now() - before).toBeLessThan(1_000)
    expect(times('tools/list')).toHaveLength(1)
  })

  it('a JSON-RPC response of the server with such a status is the response', async () => {
    const refusing: Gateway = () =>
      Response.json({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'full' } }, { status: 503 })
    const { client, times } = await behind(refusing, revision)
    await expect(during(client.tools())).rejects.toMatchObject({ name: 'RpcError', message: 'full' })
    expect(times('tools/list')).toHaveLength(1)
  })

  it.each([400, 404, 429, 500, 501])('status %i causes no retry', async (status) => {
    const { client, times } = await behind(gateway(status), revision)
    await expect(during(client.tools())).rejects.toMatchObject({ code: 'HTTP', details: { status } })
    expect(times('tools/list')).toHaveLength(1)
  })
})

it('a call is not retried with a response that can be used once, whatever its caller declares', async () => {
  const asks = (id: number): Response =>
    Response.json({ jsonrpc: '2.0', id, result: { resultType: 'input_required', requestState: 's' } })
  const answer: Gateway = (nth, id) => (nth === 0 ? asks(id) : gateway(502)(nth, id))
  const { client, times } = await behind(answer, '2026-07-28')
  const call = client.call('book', {}, { repeatable: true })
  await expect(during(call)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(times('tools/call')).toHaveLength(2)
})

it.each([502, 503, 504])('a gateway response %i is not used to detect the era', async (status) => {
  const send = async (): Promise<Response> => new Response('<h1>Later</h1>', { status })
  for (const revision of revisions) {
    const connecting = connect(http('http://127.0.0.1/mcp', { fetch: send }), { revisions: [revision] })
    await expect(during(connecting)).rejects.toMatchObject({ code: 'HTTP', details: { status } })
  }
})

describe('a user’s answer to a question in a session', () => {
  /** A server whose one call asks for a name and returns it; a gateway in front of it responds to answers as configured. */
  async function asking(answer: Gateway) {
    const answers: unknown[] = []
    const warnings: string[] = []
    let say = (_: object): void => {}
    let call = 0
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        say = (message) =>
          controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`))
      },
    })
    const send = async (_: URL, { method: verb, body }: RequestInit): Promise<Response> => {
      if (verb !== 'POST') return new Response(null, { status: verb === 'GET' ? 405 : 200 })
      const { id, method, result } = JSON.parse(String(body))
      if (method === undefined) {
        answers.push(result)
        const instead = answer(answers.length - 1, id)
        if (instead !== undefined) return instead
        say({ jsonrpc: '2.0', id: call, result: { content: [{ type: 'text', text: result.content.name }] } })
        return new Response(null, { status: 202 })
      }
      if (id === undefined) return new Response(null, { status: 202 })
      if (method !== 'tools/call') {
        return Response.json({ jsonrpc: '2.0', id, result: resultOf(method, '2025-11-25') })
      }
      call = id
      const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
      const params = { message: 'Who?', requestedSchema }
      say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params })
      return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
    }
    let asked = 0
    const client = await connect(http('http://127.0.0.1/mcp', { fetch: send }), {
      revisions: ['2025-11-25'],
      onWarning: (text) => warnings.push(text),
      onElicit: () => {
        asked++
        return { action: 'accept', content: { name: 'Ada' } }
      },
    })
    onTestFinished(() => client.close())
    return { client, answers, warnings, asked: () => asked }
  }

  it('is sent again, without asking again, if a gateway did not forward it', async () => {
    const twice: Gateway = (nth, id) => (nth < 2 ? gateway(503, { 'retry-after': '2' })(nth, id) : undefined)
    const { client, answers, asked } = await asking(twice)
    await expect(during(client.call('greet'))).resolves.toMatchObject({ content: [{ text: 'Ada' }] })
    expect(answers).toHaveLength(3)
    expect(asked()).toBe(1)
  })

  it.each<[string, Gateway]>([
    ['a server cannot read its sessions for a moment', () => failed(503)],
    ['a connection is refused', () => broken('ECONNREFUSED')],
    ['a connection breaks', () => broken('UND_ERR_SOCKET')],
  ])('is sent again where %s', async (_, answer) => {
    const { client, answers, warnings } = await asking(once(answer))
    await expect(during(client.call('greet'))).resolves.toMatchObject({ content: [{ text: 'Ada' }] })
    expect(answers).toHaveLength(2)
    expect(warnings).toEqual([])
  })

  it('that the server refuses is not sent again', async () => {
    const { client, answers, warnings } = await asking(() => failed(400))
    const call = client.call('greet', {}, { timeoutMs: 40_000 })
    await expect(during(call)).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(answers).toHaveLength(1)
    expect(warnings.join()).toContain('could not be delivered')
  })

  it('that is never delivered is sent for a minute, and reported', async () => {
    const { client, answers, warnings } = await asking(gateway(502))
    const call = client.call('greet', {}, { timeoutMs: 90_000 })
    await expect(during(call)).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(answers.length).toBeGreaterThan(6)
    expect(answers.length).toBeLessThan(20)
    expect(warnings.join()).toContain('could not be delivered')
  })
})

/** A server of HTTP+SSE, whose responses on the one stream are set by POST. */
async function older(answer: Gateway): Promise<Way> {
  const at: number[] = []
  let say = (_: string): void => {}
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      say = (text) => controller.enqueue(new TextEncoder().encode(text))
    },
  })
  const send = async (_: URL, { method: verb, body }: RequestInit): Promise<Response> => {
    if (verb === 'GET') {
      say('event: endpoint\ndata: /inbox\n\n')
      return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
    }
    const { id, method } = JSON.parse(String(body))
    if (method === 'tools/list') {
      at.push(performance.now())
      const instead = answer(at.length - 1, id)
      if (instead !== undefined) return instead
    }
    const serverInfo = { name: 'hand', version: '1' }
    const result =
      method === 'initialize'
        ? { protocolVersion: '2024-11-05', capabilities, serverInfo }
        : results[String(method)]
    if (id !== undefined) say(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
    return new Response(null, { status: 202 })
  }
  const client = await connect(sse('http://127.0.0.1/sse', { fetch: send }), { revisions: ['2024-11-05'] })
  onTestFinished(() => client.close())
  return { client, times: () => at }
}

describe('behind a failing gateway, over HTTP+SSE,', () => {
  it('a request that only reads is retried', async () => {
    const { client, times } = await older(once(gateway(502)))
    await expect(during(client.tools())).resolves.toEqual([])
    expect(times('tools/list')).toHaveLength(2)
  })

  it('a JSON-RPC response of the server with such a status is the response', async () => {
    const { client, times } = await older(() =>
      Response.json({ jsonrpc: '2.0', id: null, error: { code: -32603, message: 'full' } }, { status: 503 }),
    )
    await expect(during(client.tools())).rejects.toThrow(/full/)
    expect(times('tools/list')).toHaveLength(1)
  })
})
