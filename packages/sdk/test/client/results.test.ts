import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { cpuMsOf } from '../../../../test/setup/cpu.ts'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { discovered, failure, result, type Seen, scripted, sse, tick, until } from './support/http.ts'
import { called, listed } from './support/results.ts'

async function serve(handle: (one: Seen) => void, options: ConnectOptions = {}) {
  const warnings: string[] = []
  const server = await scripted((one) => {
    if (!discovered(one)) handle(one)
  })
  const client = await connect(server.url, { onWarning: (text) => warnings.push(text), ...options })
  onTestFinished(() => client.close())
  return { client, server, warnings }
}

const subscription = ({ message }: Seen) => ({ 'io.modelcontextprotocol/subscriptionId': message.id })
const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

describe('lists', () => {
  it('follow every cursor, also an empty one, to the end', async () => {
    faultyPeer('its last page has a cursor of null')
    const next: Record<string, string | null> = { start: '', '': 'x', x: null }
    const { client, server } = await serve((one) => {
      const cursor = one.message.params.cursor ?? 'start'
      result(one, listed({ tools: [tool(`after-${cursor}`)], nextCursor: next[cursor] }))
    })
    expect((await client.tools()).map(({ name }) => name)).toEqual(['after-start', 'after-', 'after-x'])
    expect(server.of('tools/list')[0]?.message.params).not.toHaveProperty('cursor')
  })

  it.each<[string, (n: number) => unknown, string, string?]>([
    ['that repeats a cursor', () => 'again', 'PROTOCOL'],
    ['with a new cursor for ever', (n: number) => `c${n}`, 'LIMIT'],
    ['with a cursor that is no text', () => 7, 'PROTOCOL', 'a cursor that is a number'],
    ['with an enormous cursor', () => 'x'.repeat(5_000), 'LIMIT'],
  ])('%s end with an error', async (_, cursor, code, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    let n = 0
    const { client } = await serve((one) => result(one, listed({ tools: [], nextCursor: cursor(n++) })))
    await expect(client.tools()).rejects.toMatchObject({ code })
    expect(n).toBeLessThanOrEqual(1_000)
  })

  it.each([
    ['tools', 'tools/list', 'tools'],
    ['prompts', 'prompts/list', 'prompts'],
    ['resources', 'resources/list', 'resources'],
    ['templates', 'resources/templates/list', 'resourceTemplates'],
  ] as const)('of %s fail beyond the limit of bytes', async (list, method, member) => {
    let pages = 0
    const entry = (n: number) => ({
      name: `n${n}`,
      uri: `a://${n}`,
      uriTemplate: `a://${n}/{id}`,
      inputSchema: { type: 'object' },
      description: 'ü'.repeat(1_000_000),
    })
    const { client } = await serve((one) => {
      pages++
      // What the client leaves out, or does not know, was received all the same.
      const fill = pages % 2 === 0 ? { [member]: [entry(pages)] } : { [member]: [], _meta: entry(pages) }
      result(one, listed({ ...fill, nextCursor: `c${pages}` }))
    })
    await expect(client[list]()).rejects.toMatchObject({
      code: 'LIMIT',
      message: expect.stringMatching(
        new RegExp(
          `^${method} exceeded 16777216 bytes at page 9 \\(18\\d{6} bytes\\)\\. Raise maxListBytes of connect`,
        ),
      ),
    })
    expect(pages).toBe(9)
  })

  it('have a configurable limit of bytes, which includes cached entries', async () => {
    const page = (n: number) =>
      listed({ tools: [tool(`n${n}`, { description: 'x'.repeat(900) })], ttlMs: 60_000 })
    const { client, server } = await serve(
      (one) =>
        result(one, one.message.params.cursor === undefined ? { ...page(1), nextCursor: 'two' } : page(2)),
      { maxListBytes: 1_500 },
    )
    const refused = {
      code: 'LIMIT',
      message: expect.stringContaining('tools/list exceeded 1500 bytes at page 2'),
    }
    await expect(client.tools()).rejects.toMatchObject(refused)
    await expect(client.tools()).rejects.toMatchObject(refused)
    expect(server.of('tools/list')).toHaveLength(2)
  })

  it('have a configurable limit of pages', async () => {
    let pages = 0
    const { client } = await serve(
      (one) => result(one, listed({ tools: [tool(`n${++pages}`)], nextCursor: `c${pages}` })),
      { maxListPages: 3 },
    )
    await expect(client.tools()).rejects.toMatchObject({
      code: 'LIMIT',
      message: expect.stringMatching(/exceeded 3 pages.*maxListPages of connect/),
    })
    expect(pages).toBe(3)
  })

  it('omit invalid entries, with a warning', async () => {
    faultyPeer('entries of its list are no tools')
    const { client, warnings } = await serve((one) =>
      result(one, listed({ tools: [tool('good'), null, 7, { title: 'nameless' }] })),
    )
    expect((await client.tools()).map(({ name }) => name)).toEqual(['good'])
    expect(warnings.join()).toContain('Removed 3')
  })

  it('that are no list are rejected', async () => {
    faultyPeer('its list is a text')
    const { client } = await serve((one) => result(one, listed({ tools: 'none' })))
    await expect(client.tools()).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  it('cached in part are fetched from the start when the server no longer knows the cursor', async () => {
    let epoch = 1
    const { client, server } = await serve((one) => {
      const { cursor } = one.message.params
      if (cursor === undefined) {
        result(one, listed({ tools: [tool(`a${epoch}`)], nextCursor: `c${epoch}`, ttlMs: 60_000 }))
      } else if (cursor === `c${epoch}`) result(one, listed({ tools: [tool(`b${epoch}`)], ttlMs: 0 }))
      else failure(one, -32602, 'Invalid cursor')
    })
    expect((await client.tools()).map(({ name }) => name)).toEqual(['a1', 'b1'])
    epoch = 2
    expect((await client.tools()).map(({ name }) => name)).toEqual(['a2', 'b2'])
    expect(server.of('tools/list')).toHaveLength(5)
  })
})

describe('structured content', () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const calls =
    (structuredContent: unknown, more: object = {}) =>
    (one: Seen) =>
      one.message.method === 'tools/list'
        ? result(one, listed({ tools: [tool('t', { outputSchema })] }))
        : result(
            one,
            called({
              ...(structuredContent === undefined ? {} : { structuredContent }),
              ...more,
            }),
          )

  it('that violates the tool’s schema never reaches the caller', async () => {
    const { client } = await serve(calls({ n: 'seven' }))
    await client.tools()
    await expect(client.call('t')).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('"t"'),
    })
  })

  it('is required if a schema declares it, except in a failure', async () => {
    const { client } = await serve(calls(undefined))
    await client.tools()
    await expect(client.call('t')).rejects.toMatchObject({ code: 'INVALID' })
    const { client: failing } = await serve(calls(undefined, { isError: true }))
    await failing.tools()
    await expect(failing.call('t')).resolves.toMatchObject({ isError: true })
  })

  it('is passed on unchecked, with one warning, if the schema is unusable; nothing is fetched', async () => {
    let fetched = 0
    const { client, server, warnings } = await serve((one) => {
      if (one.url !== '/mcp') {
        fetched++
        one.res.end('{}')
      } else if (one.message.method === 'tools/list') {
        const outputSchema = { $ref: server.url.replace('/mcp', '/schema.json') }
        result(one, listed({ tools: [tool('t', { outputSchema })] }))
      } else result(one, called({ structuredContent: { any: 1 } }))
    })
    expect(await client.tools()).toHaveLength(1)
    await client.call('t')
    await expect(client.call('t')).resolves.toMatchObject({ structuredContent: { any: 1 } })
    expect(warnings.filter((text) => text.includes('"t"'))).toHaveLength(1)
    expect(fetched).toBe(0)
  })

  it('with an adversarially slow pattern does not block', async () => {
    const outputSchema = { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } }
    const { client } = await serve((one) =>
      one.message.method === 'tools/list'
        ? result(one, listed({ tools: [tool('t', { outputSchema })] }))
        : result(one, called({ structuredContent: { s: `${'a'.repeat(40)}!` } })),
    )
    await client.tools()
    expect(await cpuMsOf(() => client.call('t').catch(() => {}))).toBeLessThan(1_000)
  })
})

describe('progress', () => {
  it('that does not increase, or has an unknown token, is ignored and extends no timeout', async () => {
    faultyPeer('progress that is a text')
    const received: number[] = []
    const { client } = await serve((one) => {
      const send = sse(one.res)
      const token = one.message.params._meta.progressToken
      const report = (progressToken: unknown, progress: unknown): void =>
        send({
          data: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } },
        })
      report(token, 2)
      report(token, 2)
      report(token, 1)
      report(String(token), 3)
      report(token, 'many')
      report(token, 2.5)
      const timer = setInterval(() => report(token, 2.5), 20)
      one.res.on('close', () => clearInterval(timer))
    })
    const call = client.call(
      't',
      {},
      { onProgress: ({ progress }) => received.push(progress), timeoutMs: 150 },
    )
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(received).toEqual([2, 2.5])
  })
})

describe('the cache', () => {
  const reads = (ttlMs: unknown, server: { n: number }) => (one: Seen) =>
    result(one, listed({ contents: [{ uri: one.message.params.uri, text: `${++server.n}` }], ttlMs }))

  it.each([0, -5, undefined, 'long', Number.NaN])('stores nothing with the time %s', async (ttlMs) => {
    if (ttlMs !== 0) faultyPeer('a time that is none')
    const server = { n: 0 }
    const { client } = await serve(reads(ttlMs, server))
    await client.read('a:b')
    await client.read('a:b')
    expect(server.n).toBe(2)
  })

  it("stores by method and params, for the server's time, and at most a day", async () => {
    const server = { n: 0 }
    const { client } = await serve(reads(1e12, server))
    await client.read('a:b')
    await client.read('a:b')
    await client.read('a:c')
    expect(server.n).toBe(2)
    await client.read('a:b', { meta: { 'com.example/tenant': '2' } })
    expect(server.n).toBe(3)
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => clock.mockRestore())
    const now = performance.now()
    clock.mockImplementation(() => now + 24 * 3_600_000 + 1_000)
    await client.read('a:b')
    expect(server.n).toBe(4)
  })

  it('does not store a result requested before a change notification', async () => {
    let answer = (): void => {}
    let n = 0
    const { client } = await serve((one) => {
      if (one.message.method === 'subscriptions/listen') {
        const send = sse(one.res)
        const _meta = subscription(one)
        const notifications = { resourceSubscriptions: ['a:b'] }
        send({
          data: {
            jsonrpc: '2.0',
            method: 'notifications/subscriptions/acknowledged',
            params: { _meta, notifications },
          },
        })
        answer = () =>
          send({
            data: {
              jsonrpc: '2.0',
              method: 'notifications/resources/updated',
              params: { _meta, uri: 'a:b' },
            },
          })
      } else if (++n === 1) {
        answer()
        setTimeout(() => result(one, listed({ contents: [{ uri: 'a:b', text: 'old' }], ttlMs: 60_000 })), 50)
      } else result(one, listed({ contents: [{ uri: 'a:b', text: 'new' }], ttlMs: 60_000 }))
    })
    await client.watch({ resourceSubscriptions: ['a:b'] })
    await client.read('a:b')
    await expect(client.read('a:b')).resolves.toMatchObject({ contents: [{ text: 'new' }] })
  })

  it('has a size limit', async () => {
    const server = { n: 0 }
    const { client } = await serve(reads(60_000, server))
    for (let i = 0; i < 520; i++) await client.read(`a:${i}`)
    await client.read('a:519')
    expect(server.n).toBe(520)
    await client.read('a:0')
    expect(server.n).toBe(521)
  })
})

describe('a subscription', () => {
  const acknowledge = (one: Seen, notifications: object) => {
    const send = sse(one.res)
    const _meta = subscription(one)
    send({
      data: {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { _meta, notifications },
      },
    })
    return send
  }

  it('that broke off is reopened, and reports everything it may have missed', async () => {
    const received: unknown[] = []
    const { client, server } = await serve((one) => {
      acknowledge(one, { toolsListChanged: true, resourceSubscriptions: ['a:b'] })
      if (server.of('subscriptions/listen').length === 1) setTimeout(() => one.res.destroy(), 30)
    })
    await client.watch({ toolsListChanged: true, resourceSubscriptions: ['a:b'] }, (change) =>
      received.push(change),
    )
    await until(() => received.length >= 2)
    expect(received).toEqual([{ type: 'tools' }, { type: 'resource', uri: 'a:b' }])
    expect(server.of('subscriptions/listen')).toHaveLength(2)
    const [first, second] = server.of('subscriptions/listen')
    expect(second?.message.id).not.toBe(first?.message.id)
  })

  it('the server ended properly is closed', async () => {
    const { client, server } = await serve((one) => {
      acknowledge(
        one,
        {},
      )({
        data: {
          jsonrpc: '2.0',
          id: one.message.id,
          result: { resultType: 'complete', _meta: subscription(one) },
        },
      })
      one.res.end()
    })
    const watch = await client.watch({ toolsListChanged: true })
    expect(watch.acknowledged).toEqual({})
    await watch.closed
    await tick(50)
    expect(server.of('subscriptions/listen')).toHaveLength(1)
  })

  it('the server rejects is an error', async () => {
    const { client } = await serve((one) => failure(one, -32601, 'Method not found', 404))
    await expect(client.watch({ toolsListChanged: true })).rejects.toMatchObject({ code: -32601 })
  })

  it('the server never acknowledges times out', async () => {
    const { client } = await serve((one) => sse(one.res)({}), { timeoutMs: 100 })
    await expect(client.watch({ toolsListChanged: true })).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('ends with its connection, and none is opened on a closed one', async () => {
    const { client } = await serve((one) => acknowledge(one, { toolsListChanged: true }))
    const watch = await client.watch({ toolsListChanged: true })
    await client.close()
    await watch.closed
    await expect(client.watch({ toolsListChanged: true })).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
    })
  })

  it('outlives every timeout, and closing it closes its stream', async () => {
    let gone = false
    const { client } = await serve(
      (one) => {
        acknowledge(one, { toolsListChanged: true })
        one.res.on('close', () => {
          gone = true
        })
      },
      { timeoutMs: 60 },
    )
    const watch = await client.watch({ toolsListChanged: true })
    await tick(200)
    expect(gone).toBe(false)
    await watch.close()
    await until(() => gone)
  })
})

describe('a server of 2026-07-28', () => {
  it('gets no response to a request of its own', async () => {
    faultyPeer('a request, which servers of that revision do not send')
    const { client, server, warnings } = await serve(
      (one) => {
        const send = sse(one.res)
        send({ data: { jsonrpc: '2.0', id: 'q', method: 'roots/list' } })
        send({ data: { jsonrpc: '2.0', id: one.message.id, result: called() } })
        one.res.end()
      },
      { onRoots: [] },
    )
    await client.call('t')
    await tick(30)
    expect(server.seen.filter((one) => one.message.method === undefined)).toEqual([])
    expect(warnings.join()).toContain('roots/list')
  })
})
