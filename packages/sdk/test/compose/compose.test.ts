import { defineServer } from '@jackfield/sdk'
import { compose } from '@jackfield/sdk/compose'
import { describe, expect, it } from 'vitest'
import { constant, shop } from './shop.ts'
import { client, legacy, modern, textOf, until } from './support.ts'

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
  const open = async () => {
    const parts = both()
    return { ...parts, end: await client(parts.server, { revisions: [revision] }) }
  }

  it('lists tools and prompts under their prefixes, over all pages of all members', async () => {
    const { end } = await open()
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

  it('routes calls, reads, prompts and completions to their members', async () => {
    const { end } = await open()
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

  it('reports missing items like a single server', async () => {
    const { end } = await open()
    await expect(end.call('hello')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: hello' })
    await expect(end.call('turkish__hello')).rejects.toMatchObject({ code: -32602 })
    await expect(end.call('__proto____hello')).rejects.toMatchObject({ code: -32602 })
    await expect(end.read('greek://none')).rejects.toThrow(/not found/i)
    await expect(end.read('greek://dishes/none')).rejects.toThrow(/not found/i)
    await expect(end.read('turkish://menu')).rejects.toThrow(/not found/i)
    expect(await end.request('tools/list', { cursor: '' })).toEqual(await end.request('tools/list'))
    await expect(end.request('tools/list', { cursor: 'turkish:' })).rejects.toMatchObject({ code: -32602 })
    await expect(end.request('tools/list', { cursor: 'thai:nonsense' })).rejects.toMatchObject({
      code: -32602,
    })
  })

  it("notifies of a member's change once", async () => {
    const { end, thai, greek } = await open()
    const changes: string[] = []
    const filter = { toolsListChanged: true, resourceSubscriptions: ['greek://menu'] }
    await end.watch(filter, (change) => changes.push(change.type === 'resource' ? change.uri : change.type))
    thai.add({ tools: { more: constant('more') } })
    await until(() => changes.length > 0)
    greek.resourceUpdated('greek://drinks')
    greek.resourceUpdated('greek://menu')
    await until(() => changes.length > 1)
    await end.ping()
    expect(changes).toEqual(['tools', 'greek://menu'])
    expect(textOf(await end.call('thai__more'))).toBe('more')
  })

  it('mounts and unmounts while it is served', async () => {
    const { end, server } = await open()
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

  it('lets members request input', async () => {
    const { server } = both()
    const end = await client(server, {
      revisions: [revision],
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
    })
    expect(textOf(await end.call('greek__ask'))).toBe('greek: accept')
  })

  it('can be a member itself', async () => {
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

describe('the declaration of a composition', () => {
  it('combines capabilities, header plans, and instructions under headings', () => {
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
        '# thai\n\nTools and prompts of this server begin with `thai__`.\n\nHow to use thai.',
        '# greek\n\nTools and prompts of this server begin with `greek__`.\n\nHow to use greek.',
      ].join('\n\n'),
    )
  })

  it('has no list that no member has', async () => {
    const server = compose({
      name: 'c',
      version: '1',
      servers: { a: defineServer({ name: 'a', version: '1', tools: { hello: constant('hi') } }) },
    })
    const end = await client(server, { revisions: [modern] })
    expect(end.server.capabilities.prompts).toBeUndefined()
    expect(await end.prompts()).toEqual([])
  })

  it('rejects definitions of its own, with advice', () => {
    const { server } = both()
    expect(() => server.add({ tools: { own: constant('own') } })).toThrow(
      /add to one of its servers, or mount/,
    )
  })
})

describe('a conflict between two members', () => {
  it('is resolved for the first, and the other is reported once and left out', async () => {
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

  it('is resolved equally on a node that starts in the middle of a list', async () => {
    const servers = { first: shop('first', 'same'), second: shop('second', 'same') }
    const fresh = compose({ name: 'c', version: '1', servers, onError: () => {} })
    const end = await client(fresh)
    const page = await end.request('resources/list', { cursor: 'second:' })
    expect(page.resources).toEqual([])
  })

  it('leaves out a tool whose name gets too long, with advice', async () => {
    const reports: string[] = []
    const long = defineServer({
      name: 'long',
      version: '1',
      tools: { ['x'.repeat(120)]: constant('long'), short: constant('short') },
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
it('pages by the number of requested entries, without state between pages', async () => {
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
