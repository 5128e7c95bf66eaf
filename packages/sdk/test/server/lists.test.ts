import { defineServer, type JsonObject, prompt, resource, type Server, template, tool } from '@jackfield/sdk'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { request } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
const run = () => 'done'
const read = () => 'text'

async function pages(server: Server, method: string, member: string): Promise<unknown[][]> {
  const all: unknown[][] = []
  let cursor: unknown
  do {
    const result: JsonObject = await request(server, method, cursor === undefined ? {} : { cursor })
    const rows = result[member]
    if (!Array.isArray(rows)) throw new Error('no list')
    all.push(rows)
    cursor = result['nextCursor']
  } while (cursor !== undefined && all.length < 100)
  return all
}

const names = (rows: unknown[]) => rows.map((row) => (row as { name: string }).name)

describe('a list in pages', () => {
  const tools = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`tool_${i}`, tool({ run })]))
  const server = defineServer({ ...base, tools, pageSize: 10 })

  test('returns every entry once, in the order of definition', async () => {
    const all = await pages(server, 'tools/list', 'tools')
    expect(all.map((page) => page.length)).toEqual([10, 10, 5])
    expect(names(all.flat())).toEqual(Object.keys(tools))
  })

  test('ends without a cursor when the last page is full', async () => {
    const even = defineServer({ ...base, tools, pageSize: 25 })
    expect(await request(even, 'tools/list')).not.toHaveProperty('nextCursor')
  })

  test.each(['x', 'ZnJvbTox!', 'ZnJvbTo5OTk', 'ZnJvbTotMQ', 'ZnJvbToxLjU', 5, null, 'A'.repeat(5000)])(
    'cursor %s is refused',
    async (cursor) => {
      await expect(request(server, 'tools/list', { cursor })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('cursor'),
      })
    },
  )

  test('an empty cursor is that of the first page, as some clients send it', async () => {
    const first = await request(server, 'tools/list')
    expect(await request(server, 'tools/list', { cursor: '' })).toEqual(first)
  })

  test('works the same for every list', async () => {
    const many = defineServer({
      ...base,
      pageSize: 2,
      prompts: { a: prompt({ run }), b: prompt({ run }), c: prompt({ run }) },
      resources: {
        r1: resource({ uri: 'x:1', read }),
        r2: resource({ uri: 'x:2', read }),
        r3: resource({ uri: 'x:3', read }),
        t1: template({ uriTemplate: 'x:a{n}', read }),
        t2: template({ uriTemplate: 'x:b{n}', read }),
        t3: template({ uriTemplate: 'x:c{n}', read }),
      },
    })
    for (const [method, member] of [
      ['prompts/list', 'prompts'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
    ] as const) {
      expect((await pages(many, method, member)).map((page) => page.length)).toEqual([2, 1])
    }
  })
})

test('rows have the members of their definitions', async () => {
  const icons = [{ src: 'https://example.com/i.png' }]
  const meta = { 'example.com/a': 1 }
  const common = { title: 'T', description: 'D', icons, meta }
  const listed = { title: 'T', description: 'D', icons, _meta: meta }
  const annotations = { audience: ['user' as const], priority: 1 }
  const server = defineServer({
    ...base,
    cache: { ttlMs: 5000, cacheScope: 'public' },
    tools: {
      t: tool({
        ...common,
        annotations: { readOnlyHint: true },
        input: z.object({ a: z.string().optional() }),
        output: z.object({ b: z.number().default(1) }),
        run: () => ({ b: 1 }),
      }),
      bare: tool({ run }),
    },
    resources: {
      r: resource({ ...common, uri: 'x:1', mimeType: 'text/plain', size: 4, annotations, read }),
      f: template({ ...common, uriTemplate: 'x:a{n}', mimeType: 'text/plain', annotations, read }),
    },
    prompts: { p: prompt({ ...common, run }) },
  })
  const hints = { ttlMs: 5000, cacheScope: 'public' }
  expect(await request(server, 'tools/list')).toEqual({
    tools: [
      {
        name: 't',
        ...listed,
        annotations: { readOnlyHint: true },
        inputSchema: expect.objectContaining({ type: 'object', properties: { a: { type: 'string' } } }),
        outputSchema: expect.objectContaining({
          type: 'object',
          properties: { b: { type: 'number', default: 1 } },
          required: ['b'],
        }),
      },
      { name: 'bare', inputSchema: { type: 'object', additionalProperties: false } },
    ],
    ...hints,
  })
  expect(await request(server, 'resources/list')).toEqual({
    resources: [{ uri: 'x:1', name: 'r', ...listed, mimeType: 'text/plain', size: 4, annotations }],
    ...hints,
  })
  expect(await request(server, 'resources/templates/list')).toEqual({
    resourceTemplates: [{ uriTemplate: 'x:a{n}', name: 'f', ...listed, mimeType: 'text/plain', annotations }],
    ...hints,
  })
  expect(await request(server, 'prompts/list')).toEqual({ prompts: [{ name: 'p', ...listed }], ...hints })
})

describe('members of templates', () => {
  test('follow the resources, each URI once', async () => {
    const server = defineServer({
      ...base,
      resources: {
        own: resource({ uri: 'x:1', read }),
        family: template({
          uriTemplate: 'x:{n}',
          list: async () => [
            { uri: 'x:1', name: 'again' },
            { uri: 'x:2', name: 'two' },
          ],
          read,
        }),
        other: template({ uriTemplate: 'x:b/{n}', list: () => [{ uri: 'x:2', name: 'twin' }], read }),
      },
    })
    expect(await request(server, 'resources/list')).toMatchObject({
      resources: [
        { uri: 'x:1', name: 'own' },
        { uri: 'x:2', name: 'two' },
      ],
    })
  })

  test('have the MIME type of their template, unless they name their own', async () => {
    const server = defineServer({
      ...base,
      resources: {
        family: template({
          uriTemplate: 'x:{n}',
          mimeType: 'application/json',
          list: () => [
            { uri: 'x:1', name: 'one' },
            { uri: 'x:2', name: 'two', mimeType: 'text/csv' },
          ],
          read,
        }),
      },
    })
    expect(await request(server, 'resources/list')).toMatchObject({
      resources: [
        { uri: 'x:1', mimeType: 'application/json' },
        { uri: 'x:2', mimeType: 'text/csv' },
      ],
    })
  })

  test('that cannot be listed fail the list instead of being left out', async () => {
    const server = defineServer({
      ...base,
      resources: {
        family: template({
          uriTemplate: 'x:{n}',
          list: () => {
            throw new Error('no database')
          },
          read,
        }),
      },
    })
    await expect(request(server, 'resources/list')).rejects.toThrow('no database')
  })

  test('cannot request input', async () => {
    const server = defineServer({
      ...base,
      resources: {
        family: template({
          uriTemplate: 'x:{n}',
          list: async (ctx) => (await ctx.roots()).map(({ uri }) => ({ uri, name: uri })),
          read,
        }),
      },
    })
    await expect(request(server, 'resources/list')).rejects.toThrow('A list cannot ask the client')
  })
})

describe('discovery and routing', () => {
  test('discovery returns revisions, capabilities, instructions and cache lifetime', async () => {
    const server = defineServer({ ...base, tools: {}, instructions: 'Be kind.', cache: { ttlMs: 10 } })
    expect(await request(server, 'server/discover')).toEqual({
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      capabilities: { tools: { listChanged: true }, logging: {} },
      instructions: 'Be kind.',
      ttlMs: 10,
      cacheScope: 'private',
    })
  })

  test.each([
    'tools/list',
    'tools/call',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'prompts/list',
    'prompts/get',
    'completion/complete',
    'constructor',
    'nope',
    'initialize',
  ])('%s is not found on a server that does not declare it', async (method) => {
    await expect(request(defineServer(base), method)).rejects.toMatchObject({
      code: -32601,
      message: `Method not found: this server does not offer "${method}"`,
    })
  })

  test('a method of another revision is not found', async () => {
    const server = defineServer(base)
    await expect(request(server, 'server/discover', {}, { version: '2025-11-25' })).rejects.toMatchObject({
      code: -32601,
    })
  })

  test('middleware wraps every request, outermost first', async () => {
    const seen: string[] = []
    const server = defineServer({
      ...base,
      tools: {},
      use: [
        async (exchange, next) => {
          seen.push('first in')
          const outcome = await next(exchange)
          seen.push('first out')
          return outcome
        },
        (exchange, next) => {
          seen.push(`second ${exchange.method}`)
          return next(exchange)
        },
      ],
    })
    await request(server, 'tools/list')
    expect(seen).toEqual(['first in', 'second tools/list', 'first out'])
  })
})

describe('definitions may change', () => {
  test('are added, replaced and removed in their position', async () => {
    const server: Server = defineServer({ ...base, tools: { a: tool({ run }), b: tool({ run }) } })
    server.add({ tools: { a: tool({ description: 'new', run }), c: tool({ run }) } })
    expect(await request(server, 'tools/list')).toMatchObject({
      tools: [{ name: 'a', description: 'new' }, { name: 'b' }, { name: 'c' }],
    })
    server.remove({ tools: ['b', 'toString'] })
    const { tools } = await request(server, 'tools/list')
    expect(Array.isArray(tools) && names(tools)).toEqual(['a', 'c'])
  })

  test('all or none', async () => {
    const server: Server = defineServer({ ...base, tools: {} })
    expect(() => server.add({ tools: { good: tool({ run }), 'not good': tool({ run }) } })).toThrow()
    expect(await request(server, 'tools/list')).toMatchObject({ tools: [] })
  })

  test('a resource may become a template and move', async () => {
    const server: Server = defineServer({ ...base, resources: { r: resource({ uri: 'x:1', read }) } })
    server.add({ resources: { r: template({ uriTemplate: 'x:{n}', read: ({ n }) => `n${n}` }) } })
    expect(await request(server, 'resources/list')).toMatchObject({ resources: [] })
    expect(await request(server, 'resources/read', { uri: 'x:1' })).toMatchObject({
      contents: [{ text: 'n1' }],
    })
    server.add({ resources: { r: resource({ uri: 'x:2', read }) } })
    await expect(request(server, 'resources/read', { uri: 'x:1' })).rejects.toThrow('Resource not found')
    server.remove({ resources: ['r'] })
    await expect(request(server, 'resources/read', { uri: 'x:2' })).rejects.toThrow('Resource not found')
  })

  test('subscribers are notified of what changed, and of nothing else', async () => {
    const received = vi.fn()
    const server: Server = defineServer({ ...base, tools: { a: tool({ run }) }, prompts: {} })
    const stop = new AbortController()
    const watching = (async () => {
      for await (const change of server.changes.watch(() => true, stop.signal)) received(change)
    })()
    server.add({ tools: { b: tool({ run }) }, prompts: {} })
    await vi.waitFor(() => expect(received).toHaveBeenCalledTimes(1))
    server.remove({ tools: ['nope'], prompts: ['nope'] })
    server.remove({ tools: ['a'] })
    await vi.waitFor(() => expect(received).toHaveBeenCalledTimes(2))
    server.resourceUpdated('x:1')
    await vi.waitFor(() => expect(received).toHaveBeenCalledTimes(3))
    expect(received.mock.calls.flat()).toEqual([
      { type: 'tools' },
      { type: 'tools' },
      { type: 'resource', uri: 'x:1' },
    ])
    stop.abort()
    await watching
  })
})
