import { ask, defineServer, inputRequired, prompt, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { call, eras, request, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }

describe('an object of schemas is the object schema with these members', () => {
  const server = defineServer({
    ...base,
    tools: {
      add: tool({
        input: { a: z.number(), b: z.number().default(1), note: z.string().optional() },
        output: { sum: z.number(), note: z.string().optional() },
        run: ({ a, b, note }) => {
          expectTypeOf(a).toEqualTypeOf<number>()
          expectTypeOf(b).toEqualTypeOf<number>()
          expectTypeOf(note).toEqualTypeOf<string | undefined>()
          return note === undefined ? { sum: a + b } : { sum: a + b, note }
        },
      }),
      mixed: tool({
        input: { zod: z.string(), ark: type('number'), vali: toStandardJsonSchema(v.boolean()) },
        run: (args) => {
          expectTypeOf(args).toEqualTypeOf<{ zod: string; ark: number; vali: boolean }>()
          return JSON.stringify(args)
        },
      }),
      late: tool({
        input: { name: z.string().refine(async (name) => name !== 'taken', 'is taken') },
        run: ({ name }) => name,
      }),
    },
    prompts: {
      plan: prompt({
        input: { to: z.string().describe('Where'), days: z.coerce.number().optional() },
        run: ({ to, days }) => {
          expectTypeOf(days).toEqualTypeOf<number | undefined>()
          return `${to} ${typeof days}`
        },
      }),
    },
  })

  test('in the list, on both sides', async () => {
    const { tools } = await request(server, 'tools/list')
    expect(tools).toMatchObject([
      {
        inputSchema: {
          type: 'object',
          properties: {
            a: { type: 'number' },
            b: { type: 'number', default: 1 },
            note: { type: 'string' },
          },
          required: ['a'],
        },
        outputSchema: {
          type: 'object',
          properties: { sum: { type: 'number' }, note: { type: 'string' } },
          required: ['sum'],
          additionalProperties: false,
        },
      },
      {
        inputSchema: {
          properties: { zod: { type: 'string' }, ark: { type: 'number' }, vali: { type: 'boolean' } },
          required: ['zod', 'ark', 'vali'],
        },
      },
      { inputSchema: { required: ['name'] } },
    ])
    expect(JSON.stringify(tools)).not.toContain('~standard')
    expect(JSON.stringify(tools)).not.toContain('"$schema"')
  })

  test('in accepted values, defaults and optional members', async () => {
    expect(await call(server, 'add', { a: 2, stray: true })).toMatchObject({ structuredContent: { sum: 3 } })
    expect(text(await call(server, 'add', {}))).toContain('Invalid arguments for "add": a: Invalid input')
    expect(text(await call(server, 'add', { a: 'x', b: 'y' }))).toMatch(/a: .*; b: /)
    expect(text(await call(server, 'mixed', { zod: 'a', ark: 1, vali: true }))).toBe(
      '{"zod":"a","ark":1,"vali":true}',
    )
    expect(text(await call(server, 'mixed', { zod: 'a', ark: 'x', vali: 1 }))).toMatch(/ark.*vali/)
    expect(text(await call(server, 'late', { name: 'free' }))).toBe('free')
    expect(text(await call(server, 'late', { name: 'taken' }))).toContain('is taken')
  })

  test('for prompts', async () => {
    expect(await request(server, 'prompts/list')).toMatchObject({
      prompts: [{ arguments: [{ name: 'to', description: 'Where', required: true }, { name: 'days' }] }],
    })
    const params = { name: 'plan', arguments: { to: 'Rome', days: '3' } }
    expect(await request(server, 'prompts/get', params)).toMatchObject({
      messages: [{ content: { text: 'Rome number' } }],
    })
  })

  test('for a client typed by its server', async () => {
    const client = await connect(server)
    onTestFinished(() => client.close())
    const { structuredContent } = await client.call('add', { a: 1 })
    expectTypeOf(structuredContent).toEqualTypeOf<{ sum: number; note?: string | undefined } | undefined>()
    expect(structuredContent).toEqual({ sum: 2 })
    // @ts-expect-error "a" is a number
    expect(await client.call('add', { a: 'one' })).toHaveProperty('isError', true)
  })

  test('with references that still resolve', async () => {
    const node = z.object({
      value: z.string(),
      get kids() {
        return z.array(z.union([node, z.null()]))
      },
    })
    const tree = defineServer({
      ...base,
      tools: {
        walk: tool({
          input: { 'a/b': node, other: node },
          run: ({ 'a/b': one }) => one.kids[0]?.value ?? '',
        }),
      },
    })
    const client = await connect(tree)
    onTestFinished(() => client.close())
    const [listed] = await client.tools()
    expect(JSON.stringify(listed?.inputSchema)).toContain('"#/properties/a~1b"')
    const leaf = { value: 'leaf', kids: [] }
    const args = { 'a/b': { value: 'root', kids: [leaf] }, other: leaf }
    expect(await client.call('walk', args)).toMatchObject({ content: [{ text: 'leaf' }] })
  })
})

describe('forms', () => {
  const answer = async () => ({ action: 'accept' as const, content: { size: 's', count: 2 } })
  const server = defineServer({
    ...base,
    tools: {
      order: tool({
        run: async (_, ctx) => {
          const form = { size: z.enum(['s', 'm']), count: z.number().int().default(1) }
          const answered = await ctx.elicit({ message: 'What?', schema: form })
          if (answered.action !== 'accept') return 'no'
          expectTypeOf(answered.content).toEqualTypeOf<{ size: 's' | 'm'; count: number }>()
          return JSON.stringify(answered.content)
        },
      }),
      explicit: tool({
        run: (_, ctx) =>
          ctx.answers['q'] === undefined
            ? inputRequired({
                requests: { q: ask.elicit({ message: 'What?', schema: { size: z.enum(['s']) } }) },
              })
            : 'answered',
      }),
    },
  })

  test.each(['live', 'replay'] as const)('accept an object of schemas (%s)', async (era) => {
    const asked: unknown[] = []
    const result = await eras[era](server, 'tools/call', { name: 'order' }, async (_, params) => {
      asked.push(params['requestedSchema'])
      return answer()
    })
    expect(text(result)).toBe('{"size":"s","count":2}')
    expect(asked[0]).toEqual({
      type: 'object',
      properties: {
        size: { type: 'string', enum: ['s', 'm'] },
        count: { type: 'integer', default: 1 },
      },
      required: ['size'],
    })
    expect(text(await eras[era](server, 'tools/call', { name: 'explicit' }, answer))).toBe('answered')
  })

  test('explain an elicitation without a schema', async () => {
    const reports: unknown[] = []
    const received = defineServer({
      ...base,
      tools: {
        renamed: tool({
          run: async (_, ctx) => {
            // @ts-expect-error it is "schema"
            await ctx.elicit({ message: 'What?', requestedSchema: { type: 'object', properties: {} } })
          },
        }),
        none: tool({
          run: async (_, ctx) => {
            // @ts-expect-error "schema" is needed
            await ctx.elicit({ message: 'What?' })
          },
        }),
        bare: tool({
          run: async (_, ctx) => {
            // @ts-expect-error these cannot describe themselves as JSON Schema
            await ctx.elicit({ message: 'What?', schema: { a: v.string() } })
          },
        }),
      },
      onError: (error) => reports.push(error),
    })
    for (const name of ['renamed', 'none', 'bare']) await call(received, name)
    expect(reports.map(String)).toEqual([
      expect.stringContaining('rename "requestedSchema" to "schema"'),
      expect.stringContaining('A question needs a "schema"'),
      expect.stringContaining('"a": a valibot schema of this kind cannot describe itself as JSON Schema'),
    ])
  })
})

describe('anything but JSON Schema or an object of described schemas is rejected', () => {
  const run = () => 'done'
  test.each<[string, () => unknown, string]>([
    [
      'schemas of plain valibot',
      // @ts-expect-error it has no JSON Schema of its own
      () => tool({ input: { a: v.string() }, run }),
      'Tool "t": input: "a": a valibot schema of this kind cannot describe itself as JSON Schema',
    ],
    [
      'schemas of zod/mini',
      // @ts-expect-error it has no JSON Schema of its own
      () => tool({ input: { a: mini.string() }, run }),
      'Tool "t": input: "a": a zod schema of this kind cannot describe itself',
    ],
    [
      'a plain object among schemas',
      () => tool({ input: { a: z.string(), b: { c: z.string() } }, run }),
      'Tool "t": input: "b" is not a schema, but other members are',
    ],
    [
      'a validator within JSON Schema',
      () => tool({ input: { type: 'object', properties: { a: { anyOf: [z.string()] } } }, run }),
      'Tool "t": input: "properties.a.anyOf.0" is not JSON, so that the schema cannot be sent',
    ],
    [
      'a function within JSON Schema',
      () => tool({ output: { type: 'object', default: () => ({}) }, run: () => ({}) }),
      'Tool "t": output: "default" is not JSON',
    ],
  ])('%s', (_, define, why) => {
    // What is refused may also be refused by its type.
    const t = define() as ReturnType<typeof tool>
    expect(() => defineServer({ ...base, tools: { t } })).toThrow(why)
  })

  test('JSON Schema without validators is used unchanged', async () => {
    const input = { type: 'object', properties: { a: { type: 'string' } }, description: undefined }
    const server = defineServer({
      ...base,
      tools: { t: tool({ input, run }), any: tool({ input: {}, run }) },
    })
    expect(text(await call(server, 't', { a: 1 }))).toContain('Invalid arguments')
    expect(text(await call(server, 'any', { whatever: 1 }))).toBe('done')
  })
})
