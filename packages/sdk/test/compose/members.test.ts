import { defineServer, prompt, resource, template } from '@jackfield/sdk'
import { compose } from '@jackfield/sdk/compose'
import { expect, it } from 'vitest'
import { constant, shop } from './shop.ts'
import { client, modern } from './support.ts'

/** A server with one entry of each list. */
const offering = (name: string) => {
  const read = () => 'x'
  return {
    name,
    version: '1',
    tools: { own: constant('own') },
    prompts: { own: prompt({ run: () => 'x' }) },
    resources: {
      own: resource({ uri: `${name}://own`, read }),
      each: template({ uriTemplate: `${name}://own/{id}`, read }),
    },
  }
}

it('lists the others when the list of one member has no end, and reports it', async () => {
  const endless = defineServer({
    name: 'endless',
    version: '1',
    tools: { never: constant('never') },
    use: [
      async (exchange, next) => {
        if (exchange.method !== 'tools/list') return next(exchange)
        const nextCursor = `${Number(exchange.params['cursor'] ?? 0) + 1}`
        return { type: 'complete', result: { tools: [], nextCursor } }
      },
    ],
  })
  const reports: string[] = []
  const server = compose({
    name: 'c',
    version: '1',
    servers: { endless, thai: shop('thai') },
    onError: (error) => reports.push(String(error)),
  })
  const end = await client(server, { revisions: [modern] })
  expect((await end.tools()).map(({ name }) => name)).toContain('thai__hello')
  expect(reports).toEqual([expect.stringContaining('more than 1000 pages')])
})

it.each(['tools', 'prompts', 'resources', 'templates'] as const)(
  'lists the %s of the others when the list of one member has too many bytes, and reports it',
  async (kind) => {
    const method = kind === 'templates' ? 'resources/templates/list' : `${kind}/list`
    const column = kind === 'templates' ? 'resourceTemplates' : kind
    let pages = 0
    const large = defineServer({
      ...offering('large'),
      use: [
        async (exchange, next) => {
          if (exchange.method !== method) return next(exchange)
          pages++
          const entry = {
            name: `n${pages}`,
            uri: `large://${pages}`,
            uriTemplate: `large://${pages}/{id}`,
            description: 'x'.repeat(1_000_000),
            inputSchema: { type: 'object' },
          }
          return { type: 'complete', result: { [column]: [entry], nextCursor: `${pages}` } }
        },
      ],
    })
    const reports: string[] = []
    const server = compose({
      name: 'c',
      version: '1',
      servers: { large, other: defineServer(offering('other')) },
      onError: (error) => reports.push(String(error)),
    })
    const end = await client(server, { revisions: [modern] })
    const listed = await end[kind]()
    const others = listed.filter((entry) => !/n\d+$/.test(entry.name))
    expect([others.length, listed.length > 1]).toEqual([1, true])
    expect(pages).toBeLessThan(30)
    expect(reports).toEqual([
      expect.stringMatching(/bytes of .*\/list in \d+ pages, and the limit for one member is 8388608/),
    ])
  },
)

it('lists valid entries when a member lists entries that clients must ignore', async () => {
  const inputSchema = { type: 'object' }
  const wrong = [{ name: 'text', inputSchema: { type: 'string' } }, { name: 'none' }]
  const odd = defineServer({
    name: 'odd',
    version: '1',
    tools: { plain: constant('plain') },
    use: [
      async () => ({
        type: 'complete',
        result: { tools: [...wrong, { name: 'plain', inputSchema }], ttlMs: -5, cacheScope: 'public' },
      }),
    ],
  })
  const reports: string[] = []
  const server = compose({
    name: 'c',
    version: '1',
    servers: { odd, own: defineServer({ name: 'own', version: '1', tools: { look: constant('looked') } }) },
    onError: (error) => reports.push(String(error)),
  })
  const end = await client(server, { revisions: [modern] })
  const { tools, ttlMs } = await end.request('tools/list', {})
  expect(tools.map(({ name }) => name)).toEqual(['odd__plain', 'own__look'])
  expect(ttlMs).toBe(0)
  expect(reports).toEqual([expect.stringContaining('"text"'), expect.stringContaining('"none"')])
})

it('asks a member for unlisted resources only while it remembers their scheme, within limits', async () => {
  const asked: string[] = []
  const many = Array.from({ length: 10_001 }, (_, at) => ({ uri: `s${at}://x`, name: `${at}` }))
  const member = defineServer({
    name: 'many',
    version: '1',
    resources: { one: resource({ uri: 's://x', read: () => '' }) },
    use: [
      async (exchange, next) => {
        const { method, params } = exchange
        if (method === 'resources/list') return { type: 'complete', result: { resources: many } }
        if (method === 'resources/read') asked.push(String(params['uri']))
        return next(exchange)
      },
    ],
  })
  const end = await client(compose({ name: 'c', version: '1', servers: { member } }), { revisions: [modern] })
  await expect(end.read('s0://unlisted')).rejects.toThrow('not found')
  await expect(end.read('s10000://unlisted')).rejects.toThrow('not found')
  expect(asked).toEqual(['s10000://unlisted'])
})

it('lists the others when one member fails, and reports it', async () => {
  const broken = defineServer({
    name: 'broken',
    version: '1',
    tools: { hello: constant('x') },
    use: [
      () => {
        throw new Error('down')
      },
    ],
  })
  const reports: unknown[] = []
  const server = compose({
    name: 'c',
    version: '1',
    servers: { broken, whole: shop('whole') },
    onError: (error, where) => reports.push([String(error), where]),
  })
  const end = await client(server)
  expect((await end.tools()).map(({ name }) => name)).toContain('whole__hello')
  expect(reports).toEqual([['Error: down', { method: 'tools/list', name: 'broken' }]])
})
