import { defineServer, prompt, resource, template, tool } from '@jackfield/sdk'
import { type Client, connect, type ResourceUri, type Target } from '@jackfield/sdk/client'
import { type } from 'arktype'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { z } from 'zod'

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    price: tool({
      description: 'Price of an item',
      input: z.object({ item: z.string(), count: z.number().default(1) }),
      output: z.object({ cents: z.number() }),
      run: ({ item, count }) => ({ cents: item.length * count }),
    }),
    weigh: tool({
      description: 'Weighs',
      input: type({ grams: 'number' }),
      run: ({ grams }) => `${grams} g`,
    }),
    now: tool({ description: 'The time', run: () => 'noon' }),
    find: tool({ input: { text: z.string().optional() }, run: ({ text = '' }) => text }),
  },
  prompts: {
    plan: prompt({
      input: { to: z.string(), days: z.coerce.number().optional(), by: z.enum(['train', 'bus']).optional() },
      run: ({ to }) => to,
    }),
    greet: prompt({ run: () => 'Hello' }),
  },
  resources: {
    terms: resource({ uri: 'shop://terms', read: () => 'Paid is paid.' }),
    order: template({ uriTemplate: 'shop://orders/{id}{?lines}', read: ({ id }) => id }),
  },
})

async function open() {
  const client = await connect(server)
  onTestFinished(() => client.close())
  return client
}

describe('a client typed by its server', () => {
  it('contain the tools, their arguments and their results', async () => {
    const client = await open()
    expectTypeOf(client).toEqualTypeOf<Client<typeof server>>()
    const price = await client.call('price', { item: 'tea' })
    expectTypeOf(price.structuredContent).toEqualTypeOf<{ cents: number } | undefined>()
    expect(price.structuredContent?.cents).toBe(3)
    await client.call('weigh', { grams: 5 })
    await client.call('now')
    expectTypeOf(await client.tools()).toBeArray()
  })

  it('rejects names and arguments the server does not have', async () => {
    const client = await open()
    const wrong = [
      // @ts-expect-error there is no such tool
      () => client.call('prize', { item: 'tea' }),
      // @ts-expect-error an item is needed
      () => client.call('price', { count: 2 }),
      // @ts-expect-error a count is a number
      () => client.call('price', { item: 'tea', count: 'two' }),
      // @ts-expect-error grams are a number
      () => client.call('weigh', { grams: '5' }),
      // @ts-expect-error an item is needed
      () => client.call('price'),
      // @ts-expect-error an item is needed
      () => client.call('price', undefined, { timeoutMs: 1000 }),
    ]
    for (const call of wrong) {
      const outcome = await call().catch((error) => ({ isError: true, error }))
      expect(outcome.isError).toBe(true)
    }
  })

  it('omits arguments if none are needed', async () => {
    const client = await open()
    await client.call('now', undefined, { timeoutMs: 10_000 })
    await client.call('find')
    await client.call('find', { text: 'tea' })
  })

  it('contain the prompts and their arguments, which are text', async () => {
    const client = await open()
    await client.prompt('greet')
    const { messages } = await client.prompt('plan', { to: 'Rome', days: '3', by: 'train' })
    expect(messages).toHaveLength(1)
    const wrong = [
      // @ts-expect-error there is no such prompt
      () => client.prompt('plans', { to: 'Rome' }),
      // @ts-expect-error "to" is needed
      () => client.prompt('plan'),
      // @ts-expect-error "to" is needed
      () => client.prompt('plan', { days: '3' }),
      // @ts-expect-error arguments are text
      () => client.prompt('plan', { to: 'Rome', days: 3 }),
      // @ts-expect-error there is no such choice
      () => client.prompt('plan', { to: 'Rome', by: 'boat' }),
    ]
    expect(wrong).toHaveLength(5)
  })

  it('contain the resources, and allow reading others', async () => {
    const client = await open()
    type Uri = Parameters<typeof client.read>[0]
    expectTypeOf<'shop://terms'>().toExtend<Uri>()
    expectTypeOf<ResourceUri<typeof server>>().toEqualTypeOf<Uri>()
    expectTypeOf<Extract<ResourceUri<typeof server>, `shop://orders/${string}`>>().not.toBeNever()
    expect((await client.read('shop://orders/7')).contents).toMatchObject([{ text: '7' }])
    const link: string = 'shop://terms'
    expect((await client.read(link)).contents).toHaveLength(1)
  })

  it('can be passed as a client of any server', async () => {
    const any: Client = await open()
    expect(await any.call('now')).toHaveProperty('content')
  })

  it('can be declared for a server elsewhere', () => {
    const remote = (): Promise<Client<typeof server>> => connect<typeof server>('http://127.0.0.1:9/mcp')
    expectTypeOf(remote).returns.resolves.toEqualTypeOf<Client<typeof server>>()
  })
})

describe('a client of an unknown server', () => {
  it('accepts any name and any arguments', () => {
    expectTypeOf<Parameters<Client['call']>[0]>().toEqualTypeOf<string>()
    const remote = (target: Target) => connect(target)
    expectTypeOf(remote).returns.resolves.toEqualTypeOf<Client>()
  })

  it('contain the params and results of the protocol’s methods, and accept those of extensions', () => {
    const typed = async (client: Client) => {
      const page = await client.request('tools/list', { cursor: 'x' })
      expectTypeOf(page.tools).toBeArray()
      expectTypeOf(page.nextCursor).toEqualTypeOf<string | undefined>()
      const other = await client.request('skills/list', { any: 1 })
      expectTypeOf(other).toEqualTypeOf<{ [key: string]: unknown }>()
    }
    expectTypeOf(typed).toBeFunction()
  })
})
