import {
  type Context,
  defineServer,
  prompt,
  type RequestTransport,
  resource,
  type Server,
  tool,
  visibility,
} from '@jackfield/sdk'
import { connect, http } from '@jackfield/sdk/client'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

const base = { name: 'shop', version: '1.0.0' }
const revisions = ['2025-11-25', '2026-07-28'] as const

/** Serves over HTTP on a port of this machine, until the test is over. */
async function listening(server: Server, options: ServeHttpOptions = {}): Promise<string> {
  const handler = serveHttp(server, { onWarning: () => {}, ...options })
  const listener = await handler.listen()
  onTestFinished(() => handler.close())
  return listener.url
}

describe.each(revisions)('how a request was received (%s)', (revision) => {
  test('is on ctx.transport: session, headers in lower case and read-only, no credentials', async () => {
    const seen: RequestTransport[] = []
    const server = defineServer({
      ...base,
      tools: {
        look: tool({
          run: (_, ctx) => {
            seen.push(ctx.transport)
          },
        }),
      },
      prompts: { look: prompt({ run: (_, ctx) => String(seen.push(ctx.transport)) }) },
    })
    const url = await listening(server)
    const headers = {
      'X-Tenant': 'north',
      Authorization: 'Bearer secret',
      Cookie: 'id=secret',
      'Proxy-Authorization': 'Basic secret',
      DPoP: 'secret',
    }
    const client = await connect(http(url, { headers }), { revisions: [revision] })
    onTestFinished(() => client.close())
    await client.call('look')
    await client.prompt('look')
    expect(seen).toHaveLength(2)
    for (const { kind, sessionId, headers: found } of seen) {
      expect(kind).toBe('tcp')
      expect(found['x-tenant']).toBe('north')
      expect(found['content-type']).toBe('application/json')
      expect(JSON.stringify(found)).not.toContain('secret')
      expect(Object.keys(found)).not.toContain('mcp-session-id')
      expect(found['toString']).toBeUndefined()
      expect(Object.isFrozen(found)).toBe(true)
      if (revision === '2025-11-25') expect(sessionId).toMatch(/^[\w-]{32}$/)
      else expect(sessionId).toBeUndefined()
    }
  })

  test('is available in one process too, without headers', async () => {
    const server = defineServer({
      ...base,
      tools: { look: tool({ run: (_, ctx) => JSON.stringify(ctx.transport) }) },
    })
    const client = await connect(server, { revisions: [revision] })
    onTestFinished(() => client.close())
    expect(await client.call('look')).toMatchObject({ content: [{ text: '{"headers":{}}' }] })
  })
})

describe('log messages outside of a request', () => {
  test('are sent to sessions with a log level that includes them, and to no client of 2026-07-28', async () => {
    const server = defineServer({ ...base, tools: { wait: tool({ run: () => 'done' }) } })
    const url = await listening(server)
    const received: Record<string, unknown[]> = { standard: [], errors: [], memory: [], modern: [] }
    const open = async (name: string, target: string | Server, revision: (typeof revisions)[number]) => {
      const client = await connect(target, {
        revisions: [revision],
        onLog: (message) => received[name]?.push(message),
      })
      onTestFinished(() => client.close())
      await client.call('wait')
      return client
    }
    await open('standard', url, '2025-11-25')
    const strict = await open('errors', url, '2025-11-25')
    await open('memory', server, '2025-11-25')
    await open('modern', server, '2026-07-28')
    await strict.setLogLevel('error')
    const data = { left: 1 }
    server.log('debug', 'not wanted')
    server.log('info', data, 'stock')
    data.left = 0
    server.log('info', { left: 1 }, 'stock')
    server.log('critical', 'gone')
    const info = { level: 'info', logger: 'stock', data: { left: 1 } }
    const critical = { level: 'critical', data: 'gone' }
    await expect.poll(() => received['standard']).toEqual([info, info, critical])
    await expect.poll(() => received['memory']).toEqual([info, info, critical])
    await expect.poll(() => received['errors']).toEqual([critical])
    expect(received['modern']).toEqual([])
  })

  test('are bounded for a client that reads none, and report how many were left out', async () => {
    const server = defineServer(base)
    const over = new AbortController()
    const logs = server.changes.watch(({ type }) => type === 'log', over.signal)[Symbol.asyncIterator]()
    for (let n = 0; n < 250; n++) server.log('info', n)
    const read: unknown[] = []
    for (let n = 0; n < 101; n++) {
      const { value } = await logs.next()
      if (value?.type === 'log') read.push(value.data)
    }
    over.abort()
    expect(read.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, n) => n))
    expect(read[100]).toBe('150 log messages were left out: this client did not read them in time')
  })

  test('have a level that exists', () => {
    // @ts-expect-error there is no such level
    expect(() => defineServer(base).log('fatal', 'x')).toThrow(
      'There is no log level "fatal": use one of debug',
    )
    expect(() => defineServer(base).log('info', 1n)).not.toThrow()
  })
})

test.each(revisions)('whether a client is subscribed to a resource is known (%s)', async (revision) => {
  const server = defineServer({
    ...base,
    resources: { stock: resource({ uri: 'shop://stock', read: () => '1' }) },
  })
  const url = await listening(server)
  expect(server.isSubscribed('shop://stock')).toBe(false)
  const client = await connect(url, { revisions: [revision] })
  onTestFinished(() => client.close())
  const watch = await client.watch({ resourceSubscriptions: ['shop://stock'] })
  await expect.poll(() => server.isSubscribed('shop://stock')).toBe(true)
  expect(server.isSubscribed('shop://other')).toBe(false)
  await watch.close()
  await expect.poll(() => server.isSubscribed('shop://stock')).toBe(false)
})

describe.each(revisions)('what a caller may access (%s)', (revision) => {
  const server = defineServer({
    ...base,
    tools: { buy: tool({ run: () => 'bought' }), refund: tool({ run: () => 'refunded' }) },
    prompts: {
      thank: prompt({ input: { to: z.string() }, complete: { to: () => ['Ann'] }, run: () => 'Thanks' }),
    },
    use: [visibility(({ name }, peer) => name === 'buy' || peer.principal === 'manager')],
  })
  const clientOf = async (principal: string) => {
    const url = await listening(server, {
      authenticate: async () => ({ principal, scopes: new Set<string>(), claims: {} }),
    })
    const client = await connect<typeof server>(url, { revisions: [revision] })
    onTestFinished(() => client.close())
    return client
  }
  const names = (all: { name: string }[]): string[] => all.map(({ name }) => name)

  test('is all that is listed, called and completed for them', async () => {
    const clerk = await clientOf('clerk')
    expect(names(await clerk.tools())).toEqual(['buy'])
    expect(await clerk.prompts()).toEqual([])
    expect(await clerk.call('buy')).toMatchObject({ content: [{ text: 'bought' }] })
    await expect(clerk.call('refund')).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown tool: refund',
    })
    await expect(clerk.prompt('thank', { to: 'Bo' })).rejects.toMatchObject({ code: -32602 })
    const ref = { type: 'ref/prompt' as const, name: 'thank' }
    await expect(clerk.complete({ ref, argument: { name: 'to', value: '' } })).rejects.toMatchObject({
      code: -32602,
    })
  })

  test('is everything for callers with access to it', async () => {
    const manager = await clientOf('manager')
    expect(names(await manager.tools())).toEqual(['buy', 'refund'])
    expect(await manager.call('refund')).toMatchObject({ content: [{ text: 'refunded' }] })
    expect(names(await manager.prompts())).toEqual(['thank'])
  })
})

test("the types of a handler's context are exported", () => {
  const look = (ctx: Context): RequestTransport => ctx.transport
  expect(look).toBeTypeOf('function')
})
