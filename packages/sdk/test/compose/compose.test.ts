import { defineServer, prompt, RpcError, resource, template, tool } from '@jackfield/sdk'
import { connect, http } from '@jackfield/sdk/client'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { compose } from '@jackfield/sdk/compose'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { client, legacy, modern, served, textOf, until } from './support.ts'

const say = (text: string) => tool({ description: text, run: () => text })

function shop(name: string, scheme = name) {
  return defineServer({
    name,
    version: '1.0.0',
    instructions: `How to use ${name}.`,
    pageSize: 2,
    tools: {
      hello: say(`hello from ${name}`),
      regional: tool({
        description: 'Mirrors an argument',
        input: z.object({ region: z.string().meta({ 'x-mcp-header': `${name}-Region` }) }),
        run: ({ region }) => region,
      }),
      ask: tool({
        description: 'Asks',
        async run(_, ctx) {
          const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          return `${name}: ${answer.action}`
        },
      }),
    },
    resources: {
      menu: resource({ uri: `${scheme}://menu`, read: () => `menu of ${name}` }),
      drinks: resource({ uri: `${scheme}://drinks`, read: () => `drinks of ${name}` }),
      dish: template({
        uriTemplate: `${scheme}://dishes/{dish}`,
        complete: { dish: (value) => [`${name} ${value}`] },
        read: ({ dish }) => (dish === 'none' ? undefined : `${dish} of ${name}`),
      }),
    },
    prompts: {
      order: prompt({
        input: z.object({ what: z.string() }),
        complete: { what: (value) => [`${value} from ${name}`] },
        run: ({ what }) => `Order ${what} from ${name}`,
      }),
    },
  })
}

const both = () => {
  const [thai, greek] = [shop('thai'), shop('greek')]
  const reports: string[] = []
  const server = compose({
    name: 'street',
    version: '1.0.0',
    instructions: 'Eat well.',
    servers: { thai, greek },
    onError: (error) => reports.push(String(error)),
  })
  return { thai, greek, server, reports }
}

describe.each([legacy, modern] as const)('a composition for a %s client', (revision) => {
  const meet = async () => {
    const parts = both()
    return { ...parts, end: await client(parts.server, { revisions: [revision] }) }
  }

  it('lists tools and prompts under their prefixes, over all pages of all members', async () => {
    const { end } = await meet()
    expect((await end.tools()).map(({ name }) => name)).toEqual([
      'thai__hello',
      'thai__regional',
      'thai__ask',
      'greek__hello',
      'greek__regional',
      'greek__ask',
    ])
    expect((await end.prompts()).map(({ name }) => name)).toEqual(['thai__order', 'greek__order'])
    expect((await end.resources()).map(({ uri }) => uri)).toEqual([
      'thai://menu',
      'thai://drinks',
      'greek://menu',
      'greek://drinks',
    ])
    expect((await end.templates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
      'thai://dishes/{dish}',
      'greek://dishes/{dish}',
    ])
  })

  it('takes calls, reads, prompts and completions to their owners', async () => {
    const { end } = await meet()
    expect(textOf(await end.call('greek__hello'))).toBe('hello from greek')
    expect((await end.read('greek://menu')).contents).toMatchObject([{ text: 'menu of greek' }])
    expect((await end.read('thai://dishes/curry')).contents).toMatchObject([{ text: 'curry of thai' }])
    expect((await end.prompt('thai__order', { what: 'soup' })).messages).toMatchObject([
      { content: { text: 'Order soup from thai' } },
    ])
    const argument = { name: 'what', value: 'soup' }
    const ofPrompt = await end.complete({ ref: { type: 'ref/prompt', name: 'greek__order' }, argument })
    expect(ofPrompt.values).toEqual(['soup from greek'])
    const ofTemplate = await end.complete({
      ref: { type: 'ref/resource', uri: 'thai://dishes/{dish}' },
      argument: { name: 'dish', value: 'x' },
    })
    expect(ofTemplate.values).toEqual(['thai x'])
  })

  it('says what is not there as one server would', async () => {
    const { end } = await meet()
    await expect(end.call('hello')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: hello' })
    await expect(end.call('turkish__hello')).rejects.toMatchObject({ code: -32602 })
    await expect(end.call('__proto____hello')).rejects.toMatchObject({ code: -32602 })
    await expect(end.read('greek://none')).rejects.toThrow(/not found/i)
    await expect(end.read('greek://dishes/none')).rejects.toThrow(/not found/i)
    await expect(end.read('turkish://menu')).rejects.toThrow(/not found/i)
    await expect(end.request('tools/list', { cursor: 'turkish:' })).rejects.toMatchObject({ code: -32602 })
    await expect(end.request('tools/list', { cursor: 'thai:nonsense' })).rejects.toMatchObject({
      code: -32602,
    })
  })

  it('tells of a change in a member once', async () => {
    const { end, thai, greek } = await meet()
    const changes: string[] = []
    const filter = { toolsListChanged: true, resourceSubscriptions: ['greek://menu'] }
    await end.watch(filter, (change) => changes.push(change.type === 'resource' ? change.uri : change.type))
    thai.add({ tools: { more: say('more') } })
    await until(() => changes.length > 0)
    greek.resourceUpdated('greek://drinks')
    greek.resourceUpdated('greek://menu')
    await until(() => changes.length > 1)
    await end.ping()
    expect(changes).toEqual(['tools', 'greek://menu'])
    expect(textOf(await end.call('thai__more'))).toBe('more')
  })

  it('mounts and unmounts while it is served', async () => {
    const { end, server } = await meet()
    const changes: string[] = []
    await end.watch({ toolsListChanged: true }, (change) => changes.push(change.type))
    server.mount('turkish', shop('turkish'))
    await until(() => changes.length === 1)
    expect(textOf(await end.call('turkish__hello'))).toBe('hello from turkish')
    server.unmount('thai')
    await until(() => changes.length === 2)
    await expect(end.call('thai__hello')).rejects.toMatchObject({ code: -32602 })
    expect((await end.tools({ cache: 'refresh' })).map(({ name }) => name.split('__')[0])).toEqual([
      'greek',
      'greek',
      'greek',
      'turkish',
      'turkish',
      'turkish',
    ])
  })

  it('lets members ask', async () => {
    const { server } = both()
    const end = await client(server, {
      revisions: [revision],
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
    })
    expect(textOf(await end.call('greek__ask'))).toBe('greek: accept')
  })

  it('may be a member itself', async () => {
    const { server } = both()
    const outer = compose({ name: 'town', version: '1', servers: { street: server } })
    const end = await client(outer, {
      revisions: [revision],
      onElicit: () => ({ action: 'decline' }),
    })
    expect((await end.tools()).map(({ name }) => name)).toContain('street__thai__hello')
    expect(textOf(await end.call('street__greek__ask'))).toBe('greek: decline')
    expect((await end.read('thai://menu')).contents).toMatchObject([{ text: 'menu of thai' }])
  })
})

describe('what a composition declares', () => {
  it('unites capabilities, header plans, and instructions under headings', () => {
    const { server } = both()
    const bare = defineServer({ name: 'bare', version: '1', experimental: { 'x/y': { z: 1 } } })
    server.mount('bare', bare)
    expect(server.capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      experimental: { 'x/y': { z: 1 } },
    })
    expect(server.headerPlan('thai__regional')).toMatchObject([{ header: 'Mcp-Param-thai-Region' }])
    expect(server.headerPlan('regional')).toBeUndefined()
    expect(server.instructions).toBe(
      [
        'Eat well.',
        '# thai\n\nTools and prompts of this part begin with `thai__`.\n\nHow to use thai.',
        '# greek\n\nTools and prompts of this part begin with `greek__`.\n\nHow to use greek.',
      ].join('\n\n'),
    )
  })

  it('offers no list that no member has', async () => {
    const server = compose({
      name: 'c',
      version: '1',
      servers: { a: defineServer({ name: 'a', version: '1', tools: { hello: say('hi') } }) },
    })
    const end = await client(server, { revisions: [modern] })
    expect(end.server.capabilities.prompts).toBeUndefined()
    await expect(end.prompts()).rejects.toMatchObject({ code: 'CAPABILITY' })
  })

  it('refuses definitions of its own, saying where they go', () => {
    const { server } = both()
    expect(() => server.add({ tools: { own: say('own') } })).toThrow(/add to one of its servers, or mount/)
  })
})

describe('what two members cannot both have', () => {
  it('goes to the first, and the other is reported once and left out', async () => {
    const reports: string[] = []
    const server = compose({
      name: 'c',
      version: '1',
      servers: { first: shop('first', 'same'), second: shop('second', 'same') },
      onError: (error) => reports.push(String(error)),
    })
    const end = await client(server)
    expect((await end.resources()).map(({ uri }) => uri)).toEqual(['same://menu', 'same://drinks'])
    expect((await end.templates()).map(({ uriTemplate }) => uriTemplate)).toEqual(['same://dishes/{dish}'])
    await end.resources({ cache: 'refresh' })
    expect(reports).toHaveLength(3)
    expect(reports[0]).toContain('"second" lists same://menu, which a server mounted before it lists too')
    expect((await end.read('same://menu')).contents).toMatchObject([{ text: 'menu of first' }])
    expect((await end.read('same://dishes/pie')).contents).toMatchObject([{ text: 'pie of first' }])
  })

  it('is decided alike on a node that begins in the middle of a list', async () => {
    const servers = { first: shop('first', 'same'), second: shop('second', 'same') }
    const fresh = compose({ name: 'c', version: '1', servers, onError: () => {} })
    const end = await client(fresh)
    const page = await end.request('resources/list', { cursor: 'second:' })
    expect(page.resources).toEqual([])
  })

  it('leaves out a tool whose name gets too long, saying what to do', async () => {
    const reports: string[] = []
    const long = defineServer({
      name: 'long',
      version: '1',
      tools: { ['x'.repeat(120)]: say('long'), short: say('short') },
    })
    const server = compose({
      name: 'c',
      version: '1',
      servers: { 'a-long-prefix': long },
      onError: (error) => reports.push(String(error)),
    })
    const end = await client(server)
    expect((await end.tools()).map(({ name }) => name)).toEqual(['a-long-prefix__short'])
    expect(reports.join()).toContain('more than 128 characters. Mount it under a shorter prefix.')
  })
})

describe('what callers may do', () => {
  it('is what the members say, under their prefixes', async () => {
    const scoped = defineServer({
      name: 'scoped',
      version: '1',
      tools: { pay: tool({ description: 'Pays', scopes: ['pay'], run: () => 'paid' }), look: say('looked') },
      resources: { books: resource({ uri: 'books://all', scopes: ['audit'], read: () => 'numbers' }) },
      prompts: { dun: prompt({ scopes: ['dun'], run: () => 'Pay!' }) },
    })
    const server = compose({ name: 'c', version: '1', servers: { bank: scoped, shop: shop('shop') } })
    expect(server.scopes).toEqual(['pay', 'audit', 'dun'])
    expect(server.scopesFor('tools/call', { name: 'bank__pay' })).toEqual(['pay'])
    expect(server.scopesFor('tools/call', { name: 'bank__look' })).toEqual([])
    expect(server.scopesFor('tools/call', { name: 'pay' })).toEqual([])
    expect(server.scopesFor('prompts/get', { name: 'bank__dun' })).toEqual(['dun'])
    expect(
      server.scopesFor('completion/complete', { ref: { type: 'ref/prompt', name: 'bank__dun' } }),
    ).toEqual(['dun'])
    expect(server.scopesFor('resources/read', { uri: 'books://all' })).toEqual(['audit'])
    expect(server.scopesFor('resources/read', { uri: 'shop://menu' })).toEqual([])
    const url = await served(server, {
      authenticate: async (request) => ({
        principal: 'ada',
        scopes: request.header('authorization') === 'rich' ? ['pay', 'audit'] : [],
      }),
    })
    const as = async (authorization: string) => {
      const end = await connect(http(url, { headers: { authorization } }), { revisions: [modern] })
      onTestFinished(() => end.close())
      return end
    }
    const [rich, poor] = [await as('rich'), await as('poor')]
    await expect(poor.read('books://all')).rejects.toThrow()
    expect((await rich.read('books://all')).contents).toMatchObject([{ text: 'numbers' }])
    expect((await poor.tools()).map(({ name }) => name)).not.toContain('bank__pay')
    expect(textOf(await rich.call('bank__pay'))).toBe('paid')
  })

  it('is not widened by params that a method does not have', async () => {
    const books = resource({ uri: 'books://all', scopes: ['audit'], read: () => 'numbers' })
    const scoped = defineServer({ name: 'scoped', version: '1', resources: { books } })
    const server = compose({ name: 'c', version: '1', servers: { bank: scoped, shop: shop('shop') } })
    const url = await served(server, { authenticate: async () => ({ principal: 'ada', scopes: [] }) })
    const poor = await connect(http(url), { revisions: [legacy] })
    onTestFinished(() => poor.close())
    for (const name of ['shop__menu', 'nobody']) {
      const params = { uri: 'books://all', name, ref: { type: 'ref/prompt', name } }
      await expect(poor.request('resources/subscribe', params)).rejects.toThrow()
      await expect(poor.request('resources/read', params)).rejects.toThrow()
    }
    await poor.request('resources/subscribe', { uri: 'shop://menu', name: 'nobody' })
  })
})

describe('methods of extensions', () => {
  const counting = (name: string, ids: string[]) =>
    defineServer({
      name,
      version: '1',
      extensions: [
        {
          id: 'com.example/count',
          settings: { of: name },
          methods: {
            'count/get': {
              named: 'id',
              handle: ({ params }) => {
                if (ids.includes(String(params['id']))) return { type: 'complete', result: { by: name } }
                throw new RpcError(-32602, 'Unknown id')
              },
            },
          },
        },
      ],
    })

  it('go to the member that knows what is meant', async () => {
    const servers = { plain: shop('plain'), one: counting('one', ['1']), two: counting('two', ['2']) }
    const server = compose({ name: 'c', version: '1', servers })
    const end = await client(server, { revisions: [modern], extensions: [{ id: 'com.example/count' }] })
    expect(end.server.capabilities.extensions).toEqual({ 'com.example/count': { of: 'one' } })
    expect(await end.request('count/get', { id: '1' })).toMatchObject({ by: 'one' })
    expect(await end.request('count/get', { id: '2' })).toMatchObject({ by: 'two' })
    await expect(end.request('count/get', { id: '3' })).rejects.toMatchObject({ message: 'Unknown id' })
    await expect(end.request('count/set', { id: '3' })).rejects.toMatchObject({ code: -32601 })
  })

  it('go to nobody but the member that made what is meant', async () => {
    const heard: object[] = []
    const nosy = defineServer({
      name: 'nosy',
      version: '1',
      tools: { work: say('worked') },
      extensions: [tasks()],
      use: [
        async (exchange, next) => {
          if (exchange.method.startsWith('tasks/')) heard.push({ ...exchange.params })
          return next(exchange)
        },
      ],
    })
    const work = tool({
      task: 'required',
      async run(_, ctx) {
        const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        return answer.action
      },
    })
    const honest = defineServer({ name: 'honest', version: '1', tools: { work }, extensions: [tasks()] })
    const server = compose({ name: 'c', version: '1', servers: { nosy, honest } })
    const end = await client(server, {
      revisions: [modern],
      extensions: [tasksClient()],
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
    })
    expect(textOf(await end.call('honest__work'))).toBe('accept')
    expect(heard).toEqual([])
  })
})

it('pages by the number of entries asked for, without keeping anything between pages', async () => {
  const servers = { a: shop('a'), b: shop('b'), c: shop('c') }
  const one = compose({ name: 'c', version: '1', servers, pageSize: 4 })
  const other = compose({ name: 'c', version: '1', servers, pageSize: 4 })
  const ends = [await client(one), await client(other)]
  const names: string[] = []
  const sizes: number[] = []
  let cursor: string | undefined
  for (let page = 0; page === 0 || cursor !== undefined; page++) {
    const result = await ends[page % 2]?.request('tools/list', cursor === undefined ? {} : { cursor })
    names.push(...(result?.tools.map(({ name }) => name) ?? []))
    sizes.push(result?.tools.length ?? 0)
    cursor = result?.nextCursor
  }
  expect(new Set(names).size).toBe(9)
  expect(sizes).toEqual([5, 4])
})

it('lists the others when the list of one member has no end, and reports it', async () => {
  const endless = defineServer({
    name: 'endless',
    version: '1',
    tools: { never: say('never') },
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

it('lists what is right where a member lists what no client has to take', async () => {
  const inputSchema = { type: 'object' }
  const wrong = [{ name: 'text', inputSchema: { type: 'string' } }, { name: 'none' }]
  const odd = defineServer({
    name: 'odd',
    version: '1',
    tools: { plain: say('plain') },
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
    servers: { odd, own: defineServer({ name: 'own', version: '1', tools: { look: say('looked') } }) },
    onError: (error) => reports.push(String(error)),
  })
  const end = await client(server, { revisions: [modern] })
  const { tools, ttlMs } = await end.request('tools/list', {})
  expect(tools.map(({ name }) => name)).toEqual(['odd__plain', 'own__look'])
  expect(ttlMs).toBe(0)
  expect(reports).toEqual([expect.stringContaining('"text"'), expect.stringContaining('"none"')])
})

it('asks a member for what it does not list only while it remembers its scheme, and does not remember without end', async () => {
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
    tools: { hello: say('x') },
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
