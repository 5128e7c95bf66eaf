import { defineServer, prompt, resource, template, tool } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { child } from './support/child.ts'
import { discovered, result, type Seen, scripted, tick } from './support/http.ts'
import { called, listed } from './support/results.ts'

async function serve(handle: (one: Seen) => void, options: ConnectOptions = {}) {
  const warnings: string[] = []
  const server = await scripted((one) => {
    if (!discovered(one)) handle(one)
  })
  const open = async () => {
    const client = await connect(server.url, { onWarning: (text) => warnings.push(text), ...options })
    onTestFinished(() => client.close())
    return client
  }
  return { server, open, warnings }
}

describe('subscriptions on one channel', () => {
  it('are distinguished by id, not by content or time', async () => {
    const client = await connect(
      child(`
        const listening = []
        const tell = (id, method, params) =>
          send({ method, params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': id } } })
        each((message) => {
          if (message.method === 'server/discover') modern(message)
          else if (message.method === 'subscriptions/listen') {
            listening.push(message.id)
            tell(message.id, 'notifications/subscriptions/acknowledged', { notifications: message.params.notifications })
          } else if (message.method === 'tools/call') {
            const [first, second] = listening
            tell(second, 'notifications/resources/updated', { uri: 'a:2' })
            tell(first, 'notifications/resources/updated', { uri: 'a:1' })
            tell(4711, 'notifications/resources/updated', { uri: 'a:nobody' })
            send({ method: 'notifications/cancelled', params: { requestId: first } })
            tell(second, 'notifications/resources/updated', { uri: 'a:3' })
            send({ id: message.id, result: done('told') })
          }
        })`),
    )
    onTestFinished(() => client.close())
    const received: Record<string, unknown[]> = { first: [], second: [] }
    const watch = (name: string) =>
      client.watch({ resourceSubscriptions: ['a:'] }, (change) => received[name]?.push(change))
    const first = await watch('first')
    const second = await watch('second')
    await client.call('x')
    await first.closed
    expect(received).toEqual({
      first: [{ type: 'resource', uri: 'a:1' }],
      second: [
        { type: 'resource', uri: 'a:2' },
        { type: 'resource', uri: 'a:3' },
      ],
    })
    let over = false
    second.closed.then(() => {
      over = true
    })
    await tick(20)
    expect(over).toBe(false)
  })

  it('report which of the requested changes are unsupported', async () => {
    const server = defineServer({ name: 's', version: '1', tools: {} })
    const client = await connect(server)
    onTestFinished(() => client.close())
    const watch = await client.watch({
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['x:1'],
    })
    expect(watch.acknowledged).toEqual({ toolsListChanged: true })
  })
})

describe('pages', () => {
  it.each([
    ['tools/list', 'tools', 'name'],
    ['prompts/list', 'prompts', 'name'],
    ['resources/list', 'resources', 'uri'],
    ['resources/templates/list', 'resourceTemplates', 'uriTemplate'],
  ])('of %s may have any number of entries, and each its own', async (method, member, key) => {
    const sizes = [2, 0, 5, 1]
    const cursors: unknown[] = []
    const { open } = await serve((one) => {
      const { cursor } = one.message.params
      cursors.push(cursor)
      const at = cursor === undefined ? 0 : Number(atob(cursor).split('|')[1])
      const entries = Array.from({ length: sizes[at] ?? 0 }, (_, i) => ({
        [key]: `a:${at}.${i}`,
        name: 'n',
        ...(member === 'tools' && { inputSchema: { type: 'object' } }),
      }))
      const more = at + 1 < sizes.length ? { nextCursor: btoa(` page|${at + 1}|é`) } : {}
      result(one, listed({ [member]: entries, ...more }))
    })
    const client = await open()
    const lists = {
      'tools/list': () => client.tools(),
      'prompts/list': () => client.prompts(),
      'resources/list': () => client.resources(),
      'resources/templates/list': () => client.templates(),
    }
    const list = Object.entries(lists).find(([name]) => name === method)?.[1]
    expect(await list?.()).toHaveLength(8)
    expect(cursors).toEqual([undefined, ...[1, 2, 3].map((at) => btoa(` page|${at}|é`))])
  })
})

describe('the cache of a client', () => {
  const reading = (scope: string) => {
    let reads = 0
    return serve((one) => {
      const text = `${one.headers['authorization'] ?? ''} ${++reads}`
      const uri = String(one.message.params['uri'])
      result(one, listed({ contents: [{ uri, text }], ttlMs: 60_000, cacheScope: scope }))
    })
  }

  it.each(['private', 'public'])('is shared with no other client, for the response %s', async (scope) => {
    const { open, server } = await reading(scope)
    const [mine, yours] = [await open(), await open()]
    await mine.read('a:b')
    await yours.read('a:b')
    await mine.read('a:b')
    expect(server.of('resources/read')).toHaveLength(2)
  })

  it('is refreshed when it expired, at the next read and not before', async () => {
    const { open, server } = await reading('private')
    const client = await open()
    await client.read('a:b')
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => clock.mockRestore())
    const now = performance.now()
    clock.mockImplementation(() => now + 59_000)
    await client.read('a:b')
    expect(server.of('resources/read')).toHaveLength(1)
    clock.mockImplementation(() => now + 61_000)
    await tick(50)
    expect(server.of('resources/read')).toHaveLength(1)
    await client.read('a:b')
    expect(server.of('resources/read')).toHaveLength(2)
  })

  it('refetches a stale page by its cursor, and all pages on refresh', async () => {
    const cursors: unknown[] = []
    const { open } = await serve((one) => {
      const { cursor } = one.message.params
      cursors.push(cursor)
      const name = cursor ?? 'first'
      const more = cursor === undefined ? { nextCursor: 'second', ttlMs: 60_000 } : { ttlMs: 0 }
      result(one, listed({ tools: [{ name, inputSchema: { type: 'object' } }], ...more }))
    })
    const client = await open()
    await client.tools()
    await client.tools()
    expect(cursors).toEqual([undefined, 'second', 'second'])
    await client.tools({ cache: 'refresh' })
    expect(cursors.slice(3)).toEqual([undefined, 'second'])
  })
})

describe("a server's description of itself", () => {
  it('has icons that are safe to fetch, and no others', async () => {
    faultyPeer('icons that are no list, and one whose address is no URI')
    const icons = [
      'https://a.example/i.png',
      'data:image/png;base64,AA==',
      'javascript:alert(1)',
      'file:///etc/passwd',
      'http://a.example/i.png',
      'ws://a',
      'vscode:open',
      '//a.example/i',
    ].map((src) => ({ src }))
    const safe = icons.slice(0, 2)
    const lists = {
      'tools/list': {
        tools: [
          { name: 't', inputSchema: { type: 'object' }, icons },
          { name: 'u', inputSchema: { type: 'object' }, icons: 'odd' },
        ],
      },
      'prompts/list': { prompts: [{ name: 'p', icons }] },
      'resources/list': { resources: [{ uri: 'a:b', name: 'r', icons }] },
      'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'a:{b}', name: 'r', icons }] },
      'tools/call': { content: [{ type: 'resource_link', uri: 'a:b', name: 'b', icons }] },
    }
    const warnings: string[] = []
    const server = await scripted((one) => {
      const method = String(one.message.method)
      const list = Object.entries(lists).find(([name]) => name === method)?.[1]
      const info = { name: 'shop', version: '1', icons }
      result(
        one,
        listed(
          list ?? {
            supportedVersions: ['2026-07-28'],
            capabilities: { tools: {}, prompts: {}, resources: {} },
            _meta: { 'io.modelcontextprotocol/serverInfo': info },
          },
        ),
      )
    })
    const client = await connect(server.url, { onWarning: (text) => warnings.push(text) })
    onTestFinished(() => client.close())
    expect(client.server.info?.icons).toEqual(safe)
    expect((await client.tools()).map((one) => one.icons)).toEqual([safe, []])
    for (const list of [await client.prompts(), await client.resources(), await client.templates()]) {
      expect(list.map((one) => one.icons)).toEqual([safe])
    }
    expect((await client.call('t')).content).toMatchObject([{ icons: safe }])
    expect(warnings.join()).toContain('icons of the "tools"')
  })

  it('in an unsupported dialect of JSON Schema it is an error before the call', async () => {
    const outputSchema = (dialect?: string) => ({
      ...(dialect === undefined ? {} : { $schema: dialect }),
      type: 'array',
      prefixItems: [{ type: 'string' }],
    })
    const tools = [
      ['none', undefined],
      ['newest', 'https://json-schema.org/draft/2020-12/schema'],
      ['draft4', 'http://json-schema.org/draft-04/schema#'],
    ].map(([name, dialect]) => ({
      name,
      inputSchema: { type: 'object' },
      outputSchema: outputSchema(dialect),
    }))
    const { open, server } = await serve((one) =>
      one.message.method === 'tools/list'
        ? result(one, listed({ tools }))
        : result(one, called({ structuredContent: [7] })),
    )
    const client = await open()
    await client.tools()
    await expect(client.call('draft4')).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/dialect that is not supported.*draft-04.*2020-12/),
    })
    expect(server.of('tools/call')).toHaveLength(0)
    // Without a dialect a schema is one of 2020-12, whose prefixItems this result breaks.
    for (const name of ['none', 'newest']) {
      await expect(client.call(name)).rejects.toMatchObject({
        code: 'INVALID',
        message: expect.stringMatching(/string/),
      })
    }
  })

  it('by name or in keys reserved for the protocol changes no behaviour', async () => {
    faultyPeer('a name of its software that is a number')
    const seen: unknown[] = []
    for (const name of ['claude-ai', 'jackfield', '']) {
      const { open, server } = await serve((one) =>
        result(
          one,
          listed({
            tools: [{ name: 't', inputSchema: { type: 'object' } }],
            _meta: {
              'io.modelcontextprotocol/serverInfo': name === '' ? 7 : { name, version: '1' },
              'io.modelcontextprotocol/somethingNew': { deep: [null] },
              traceparent: 'odd',
            },
          }),
        ),
      )
      const client = await open()
      await client.tools()
      seen.push(server.seen.map(({ message }) => message))
    }
    expect(seen[1]).toEqual(seen[0])
    expect(seen[2]).toEqual(seen[0])
  })
})

describe('one server value with many clients', () => {
  it('returns the same lists in the same order to every client', async () => {
    const run = () => 'x'
    const server = defineServer({
      name: 's',
      version: '1',
      tools: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`tool${(i * 7) % 20}`, tool({ run })])),
      prompts: { z: prompt({ run }), a: prompt({ run }) },
      resources: {
        b: resource({ uri: 'x:b', read: run }),
        a: resource({ uri: 'x:a', read: run }),
        t: template({ uriTemplate: 'x:t/{n}', list: () => [{ uri: 'x:t/1', name: 'one' }], read: run }),
      },
    })
    const lists = async (options: ConnectOptions) => {
      const client = await connect(server, options)
      onTestFinished(() => client.close())
      const all = async () => [
        await client.tools(),
        await client.prompts(),
        await client.resources(),
        await client.templates(),
      ]
      const before = await all()
      await client.call('tool3')
      await client.read('x:t/1')
      expect(await all()).toEqual(before)
      return before
    }
    const newest = await lists({ cache: false })
    expect(await lists({ cache: false })).toEqual(newest)
    const older = await lists({ revisions: ['2025-11-25'] })
    expect(older.map((list) => list.length)).toEqual(newest.map((list) => list.length))
  })
})
