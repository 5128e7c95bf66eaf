import { defineServer, tool } from '@jackfield/sdk'
import { type Client, connect, type Target } from '@jackfield/sdk/client'
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
  },
})

async function open() {
  const client = await connect(server)
  onTestFinished(() => client.close())
  return client
}

describe('a client typed by its server', () => {
  it('knows the tools, their arguments and their results', async () => {
    const client = await open()
    expectTypeOf(client).toEqualTypeOf<Client<typeof server>>()
    const price = await client.call('price', { item: 'tea' })
    expectTypeOf(price.structuredContent).toEqualTypeOf<{ cents: number } | undefined>()
    expect(price.structuredContent?.cents).toBe(3)
    await client.call('weigh', { grams: 5 })
    await client.call('now')
    expectTypeOf(await client.tools()).toBeArray()
  })

  it('refuses names and arguments the server does not have', async () => {
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
    ]
    for (const call of wrong) {
      const outcome = await call().catch((error) => ({ isError: true, error }))
      expect(outcome.isError).toBe(true)
    }
  })

  it('can be named for a server reached elsewhere', () => {
    const remote = (): Promise<Client<typeof server>> => connect<typeof server>('http://127.0.0.1:9/mcp')
    expectTypeOf(remote).returns.resolves.toEqualTypeOf<Client<typeof server>>()
  })
})

describe('a client of an unknown server', () => {
  it('takes any name and any arguments', () => {
    expectTypeOf<Parameters<Client['call']>[0]>().toEqualTypeOf<string>()
    const remote = (target: Target) => connect(target)
    expectTypeOf(remote).returns.resolves.toEqualTypeOf<Client>()
  })

  it('knows the params and results of the protocol’s own methods, and takes those of extensions', () => {
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
