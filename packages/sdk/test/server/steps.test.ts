import { type Context, defineServer, tool } from '@jackfield/sdk'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { call, eras, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
const yes = async () => ({ action: 'accept' as const, content: { ok: true } })
const ok = z.object({ ok: z.boolean() })

/** A step whose result JSON cannot carry, written as JavaScript would. */
class Order {
  readonly id = 1
}
const circular: { self?: unknown } = {}
circular.self = circular

describe.each(['live', 'replay'] as const)('the result of a step (%s)', (era) => {
  test.each<[string, unknown, string]>([
    ['a date', { order: { at: new Date(0) } }, '"order.at" is an instance of Date'],
    ['a map', new Map(), 'its result is an instance of Map'],
    ['bytes', [new Uint8Array(1)], '"[0]" is an instance of Uint8Array'],
    ['an instance of a class', [{ order: new Order() }], '"[0].order" is an instance of Order'],
    ['a member that is undefined', { a: 1, b: undefined }, '"b" is undefined'],
    ['a BigInt', { cents: 1n }, '"cents" is a BigInt'],
    ['no number', [1, Number.NaN], '"[1]" is NaN'],
    ['a function', { run: () => {} }, '"run" is a function'],
    ['an object within itself', circular, '"self" is a reference to an object that contains it'],
  ])('is refused where JSON would change it: %s', async (_, value, why) => {
    const reports: unknown[] = []
    const server = defineServer({
      ...base,
      onError: (error, where) => reports.push([String(error), where.name]),
      tools: {
        buy: tool({
          run: async (_, ctx) => {
            await ctx.step('charge', () => value)
            await ctx.elicit({ message: 'Sure?', schema: ok })
            return 'bought'
          },
        }),
      },
    })
    const result = await eras[era](server, 'tools/call', { name: 'buy' }, yes)
    expect(result).toHaveProperty('isError', true)
    expect(reports).toEqual([
      [expect.stringContaining(`The step "charge" returned a value that JSON cannot represent`), 'buy'],
    ])
    expect(String(reports[0])).toContain(why)
  })

  test('is the same on every run, even if the handler modified it, and so are answers and state', async () => {
    const seen: string[] = []
    const server = defineServer({
      ...base,
      tools: {
        buy: tool({
          run: async (_, ctx) => {
            const cart = await ctx.step('cart', () => ({ items: ['lamp'] }))
            cart.items.push('bulb')
            const first = await ctx.elicit({ message: 'One?', key: 'one', schema: ok })
            if (first.action === 'accept') Object.assign(first.content, { ok: false, forged: true })
            const roots = await ctx.roots()
            roots.push({ uri: 'file:///more' })
            await ctx.elicit({ message: 'Two?', key: 'two', schema: ok })
            await ctx.elicit({ message: 'Three?', key: 'three', schema: ok })
            seen.push(`${cart.items} ${roots.length}`)
            return JSON.stringify(first)
          },
        }),
      },
    })
    const result = await eras[era](server, 'tools/call', { name: 'buy' }, async (method) =>
      method === 'roots/list' ? { roots: [{ uri: 'file:///one' }] } : yes(),
    )
    expect(seen).toEqual(['lamp,bulb 2'])
    expect(text(result)).toBe('{"action":"accept","content":{"ok":false,"forged":true}}')
  })

  test('may be undefined, or any JSON value', async () => {
    const runs: string[] = []
    const server = defineServer({
      ...base,
      tools: {
        buy: tool({
          run: async (_, ctx) => {
            const nothing = await ctx.step('send', () => {
              runs.push('sent')
            })
            const all = await ctx.step('all', async () => ({ a: [null, true, 1.5, 'x'], b: {} }))
            await ctx.elicit({ message: 'Sure?', schema: ok })
            return JSON.stringify([nothing === undefined, all])
          },
        }),
      },
    })
    const result = await eras[era](server, 'tools/call', { name: 'buy' }, yes)
    expect(text(result)).toBe('[true,{"a":[null,true,1.5,"x"],"b":{}}]')
    expect(runs).toEqual(['sent'])
  })
})

test('the type of a step rejects values that are not JSON', () => {
  interface Row {
    id: number
    note?: string
    tags: readonly string[]
  }
  const typed = async (ctx: Context, row: Row) => {
    expectTypeOf(await ctx.step('row', () => row)).toEqualTypeOf<Row>()
    expectTypeOf(await ctx.step('rows', async () => [row])).toEqualTypeOf<Row[]>()
    expectTypeOf(await ctx.step('key', (key) => key)).toEqualTypeOf<string>()
    expectTypeOf(await ctx.step('nothing', async () => {})).toEqualTypeOf<void>()
    const pay = (key: string): Promise<string> => Promise.resolve(key)
    tool({ run: async (_, { step }) => step('pay', (key) => pay(key)) })
    tool({ output: z.object({ id: z.string() }), run: (_, { step }) => step('pay', () => ({ id: 'x' })) })
    // @ts-expect-error a date is not JSON
    await ctx.step('date', () => ({ at: new Date() }))
    // @ts-expect-error a map is not JSON
    await ctx.step('map', async () => new Map())
    // @ts-expect-error a BigInt is not JSON
    await ctx.step('big', () => 1n)
    // @ts-expect-error a method is not JSON
    await ctx.step('method', () => ({ go() {} }))
    // @ts-expect-error JSON has no undefined
    await ctx.step('undefined', () => ({ a: undefined }))
  }
  expectTypeOf(typed).toBeFunction()
})

describe('a result that only looks like a reply', () => {
  const alike = { content: undefined, structured: { cents: 1 }, isError: false, meta: undefined }

  test('is refused by its type', () => {
    // @ts-expect-error only reply() makes one
    tool({ run: () => alike })
    // @ts-expect-error only reply() makes one
    tool({ output: z.object({ cents: z.number() }), run: () => alike })
  })

  test('is the output of the schema; without a schema the operator gets advice', async () => {
    const reports: unknown[] = []
    const server = defineServer({
      ...base,
      onError: (error) => reports.push(error),
      tools: {
        page: tool({
          output: z.object({ content: z.string(), isError: z.boolean() }),
          run: () => ({ content: 'text', isError: true }),
        }),
        official: tool({
          // @ts-expect-error the form of another SDK
          run: () => ({ content: [{ type: 'text', text: 'hello' }] }),
        }),
      },
    })
    expect(await call(server, 'page')).toMatchObject({
      structuredContent: { content: 'text', isError: true },
    })
    expect(await call(server, 'official')).toHaveProperty('isError', true)
    expect(String(reports[0])).toContain('An object with "content" is a result only as reply({ content })')
  })
})
