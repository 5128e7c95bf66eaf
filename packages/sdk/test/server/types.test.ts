import {
  defineServer,
  inputRequired,
  prompt,
  reply,
  resource,
  type Server,
  template,
  tool,
} from '@jackfield/sdk'
import type { ToolArguments, ToolName, ToolResult } from '@jackfield/sdk/client'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import type { ServeSocketOptions } from '@jackfield/sdk/socket'
import type { ServeStdioOptions } from '@jackfield/sdk/stdio'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    price: tool({
      description: 'Price of an item',
      input: z.object({ item: z.string(), count: z.number().default(1) }),
      output: z.object({ cents: z.number() }),
      run: ({ item, count }) => {
        expectTypeOf(item).toBeString()
        expectTypeOf(count).toBeNumber()
        return { cents: count * item.length }
      },
    }),
    weigh: tool({
      input: type({ grams: 'number' }),
      run: ({ grams }) => {
        expectTypeOf(grams).toBeNumber()
        return `${grams} g`
      },
    }),
    now: tool({ description: 'The time', run: () => reply({ content: 'noon' }) }),
  },
  resources: {
    weather: template({
      uriTemplate: 'weather://{city}/{day}{?units}',
      complete: { city: () => ['Paris'] },
      read: ({ city, day, units }) => {
        expectTypeOf(city).toBeString()
        expectTypeOf(units).toEqualTypeOf<string | undefined>()
        return `${city} ${day}`
      },
    }),
  },
  prompts: { plan: prompt({ input: z.object({ to: z.string() }), run: ({ to }) => `Plan ${to}` }) },
})

describe('types from a server value', () => {
  it('contain tool names, arguments and results', () => {
    expectTypeOf<ToolName<typeof server>>().toEqualTypeOf<'price' | 'weigh' | 'now'>()
    expectTypeOf<ToolArguments<typeof server, 'price'>>().toEqualTypeOf<{
      item: string
      count?: number | undefined
    }>()
    expectTypeOf<ToolResult<typeof server, 'price'>['structuredContent']>().toEqualTypeOf<
      { cents: number } | undefined
    >()
    expectTypeOf<ToolName<unknown>>().toBeString()
  })

  it('exclude what a server lacks', () => {
    const bare = defineServer({ name: 'bare', version: '1' })
    expectTypeOf<ToolName<typeof bare>>().toBeNever()
    expectTypeOf<Server>().toExtend<Server>()
    const anyServer: Server = server
    expectTypeOf(anyServer).toEqualTypeOf<Server>()
  })

  it('reject an unknown option, and a definition in the wrong position', () => {
    // @ts-expect-error it is "instructions"
    expect(() => defineServer({ name: 'x', version: '1', instuctions: 'typo' })).toThrow('"instuctions"')
    const misplaced = { t: tool({ run: () => 'x' }) }
    // @ts-expect-error a tool is no prompt
    expect(() => defineServer({ name: 'x', version: '1', prompts: misplaced })).toThrow('prompt()')
  })
})

describe('types of a definition', () => {
  const cents = z.object({ cents: z.number() })

  it('refuse a result that does not fit the output schema', () => {
    // @ts-expect-error the output schema wants a number
    tool({ output: cents, run: () => ({ cents: 'many' }) })
    // @ts-expect-error the output schema wants an object
    tool({ output: cents, run: async () => 'many' })
    // @ts-expect-error the output schema wants a number
    tool({ output: cents, run: () => reply({ structured: { cents: 'many' } }) })
    // @ts-expect-error without an output schema there is text or content
    tool({ run: () => ({ cents: 1 }) })
    // @ts-expect-error the output schema wants strings
    tool({ output: z.array(z.string()), run: () => [1] })
    // @ts-expect-error a number is no content
    tool({ run: () => 1 })
    // @ts-expect-error video is no content
    tool({ run: () => [{ type: 'video' as const, data: '', mimeType: '' }] })
  })

  it('refuse a wrong result also where the tool is defined within the server', () => {
    const base = { name: 'x', version: '1' }
    // @ts-expect-error a number is no content
    defineServer({ ...base, tools: { t: tool({ run: () => 5 }) } })
    // @ts-expect-error content alone is no reply
    defineServer({ ...base, tools: { t: tool({ run: () => ({ content: [{ type: 'text', text: 'a' }] }) }) } })
    // @ts-expect-error the output schema wants a number
    defineServer({ ...base, tools: { t: tool({ output: cents, run: () => ({ cents: 'many' }) }) } })
    defineServer({ ...base, tools: { t: tool({ output: cents, run: () => ({ cents: 1 }) }) } })
  })

  it('accept every form of a result', () => {
    tool({ output: cents, run: () => ({ cents: 1 }) })
    tool({ output: cents, run: () => reply({ structured: { cents: 1 }, content: 'One.' }) })
    tool({ output: cents, run: () => reply({ content: 'Closed.', isError: true }) })
    tool({ output: cents, run: () => inputRequired({ state: 1 }) })
    tool({ output: { type: 'object' }, run: () => ({ anything: 1 }) })
    tool({ output: { type: 'array' }, run: () => [1] })
    tool({ output: z.string(), run: () => 'x' })
    tool({ output: z.date(), run: () => new Date() })
    tool({ output: z.object({ n: z.number().default(1) }), run: () => ({}) })
    tool({ output: z.object({ n: z.number().nullable() }), run: () => ({ n: null }) })
    tool({ async run() {} })
    tool({ run: () => reply({ structured: { cents: 1 } }) })
    tool({
      async run(_, ctx) {
        if (ctx.signal.aborted) return reply({ content: 'Stopped.', isError: true })
        return ctx.can('roots') ? undefined : 'x'
      },
    })
    interface Row {
      id: number
      name: string
    }
    const rows = (): Promise<Row[]> => Promise.resolve([])
    const row = z.object({ id: z.number(), name: z.string() })
    tool({ output: z.array(row), run: () => rows() })
    tool({ output: z.object({ rows: z.array(row) }), run: async () => ({ rows: await rows() }) })
  })

  it('keep literal types', () => {
    const chosen = z.object({ kind: z.enum(['a', 'b']), list: z.array(z.enum(['x', 'y'])).optional() })
    tool({ output: chosen, run: () => ({ kind: 'a', list: ['x'] }) })
    tool({ output: chosen, run: async () => ({ kind: 'a' }) })
    tool({ output: chosen, run: (_, ctx) => ({ kind: ctx.can('roots') ? 'a' : 'b' }) })
    tool({
      output: chosen,
      async run() {
        return { kind: 'a' }
      },
    })
    tool({ run: () => [{ type: 'text', text: 'a' }] })
    tool({ run: async (_, ctx) => [{ type: 'text', text: String(ctx.state) }] })
    tool({
      async run() {
        return { type: 'resource_link', uri: 'x:', name: 'n', icons: [{ src: 'data:,', sizes: ['1x1'] }] }
      },
    })
    tool({ output: chosen, run: () => reply({ structured: { kind: 'a', list: ['x'] } }) })
    prompt({ run: () => [{ role: 'user', content: { type: 'text', text: 'a' } }] })
    resource({ uri: 'x:', cache: { cacheScope: 'public' }, read: () => [{ uri: 'x:', text: 'a' }] })
    tool({
      async run(_, ctx) {
        const size = { type: 'string', enum: ['s', 'm'] } as const
        await ctx.elicit({ message: 'Size?', schema: { type: 'object', properties: { size } } })
        await ctx.elicit({
          message: 'Old?',
          schema: { type: 'object', properties: { age: { type: 'integer' } } },
        })
      },
    })
    // @ts-expect-error there is no such choice
    tool({ output: chosen, run: () => reply({ structured: { kind: 'c' } }) })
    // @ts-expect-error there is no such choice
    tool({ output: chosen, run: () => ({ kind: 'c' }) })
  })

  it('give arguments the output types of the schema', () => {
    const valibot = toStandardJsonSchema(
      v.object({
        at: v.pipe(
          v.string(),
          v.transform((day) => new Date(day)),
        ),
      }),
    )
    tool({ input: valibot, run: ({ at }) => expectTypeOf(at).toEqualTypeOf<Date>() && '' })
    tool({ input: type({ n: 'number' }), run: ({ n }) => expectTypeOf(n).toBeNumber() && '' })
    tool({ input: { type: 'object' }, run: ({ any }) => expectTypeOf(any).toBeUnknown() && '' })
    tool({ run: (args) => expectTypeOf(args).toEqualTypeOf<object>() && '' })
    // @ts-expect-error there are no arguments without "input"
    tool({ run: (args) => args.city })
    // @ts-expect-error there are no arguments without "input"
    prompt({ run: ({ city }) => city })
    // @ts-expect-error there is no such argument
    tool({ input: z.object({ item: z.string() }), run: ({ thing }) => thing })
    prompt({ input: z.object({ n: z.coerce.number() }), run: ({ n }) => expectTypeOf(n).toBeNumber() && '' })
  })

  it('accept one of several texts, synchronous or asynchronous, and content without a repeated type', () => {
    const lucky = Math.random() > 0.5
    tool({ run: () => (lucky ? 'done' : 'kept') })
    tool({ run: async () => (lucky ? 'done' : 'kept') })
    tool({
      run: async (_, ctx) => (await ctx.elicitUrl({ message: 'Go', url: 'https://example.com' })).action,
    })
    tool({ run: async () => ({ type: 'text', text: 'done' }) })
    tool({ output: z.object({ size: z.enum(['s', 'm']) }), run: async () => ({ size: lucky ? 's' : 'm' }) })
    // @ts-expect-error a number is no content
    tool({ run: async () => 5 })
    // @ts-expect-error there is no such size
    tool({ output: z.object({ size: z.enum(['s', 'm']) }), run: async () => ({ size: 'xl' }) })
  })

  it('give answers the type of the question', () => {
    tool({
      run: async (_, ctx) => {
        const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        if (answer.action === 'accept') expectTypeOf(answer.content).toEqualTypeOf<{ ok: boolean }>()
        // @ts-expect-error there is content only where the answer was yes
        else answer.content.ok.valueOf()
      },
    })
  })

  it('contain the variables of a template', () => {
    // @ts-expect-error there is no such variable
    template({ uriTemplate: 'weather://{city}', read: ({ town }) => town })
    // @ts-expect-error there is no such variable to complete
    template({ uriTemplate: 'weather://{city}', complete: { town: () => [] }, read: ({ city }) => city })
    template({
      uriTemplate: 'file://{/path*}',
      read: ({ path }) => expectTypeOf(path).toEqualTypeOf<string[]>() && '',
    })
  })

  it('offer each transport the limits that have an effect there', () => {
    const shared = { sessions: 10, connections: 10, messageBytes: 1000 }
    expectTypeOf<typeof shared>().toExtend<ServeStdioOptions['limits']>()
    expectTypeOf<'sessions'>().toExtend<keyof NonNullable<ServeHttpOptions['limits']>>()
    expectTypeOf<'connections'>().toExtend<keyof NonNullable<ServeSocketOptions['limits']>>()
    // @ts-expect-error stdio has one session
    const stdio: ServeStdioOptions = { limits: { sessions: 10 } }
    // @ts-expect-error sockets have no HTTP connections
    const socket: ServeSocketOptions = { limits: { httpConnections: 10 } }
    // @ts-expect-error HTTP has "httpConnections"
    const http: ServeHttpOptions = { limits: { connections: 10 } }
    expect([stdio, socket, http]).toHaveLength(3)
  })
})
