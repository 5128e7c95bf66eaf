import { type Definitions, defineServer, McpError, prompt, resource, template, tool } from '@jackfield/sdk'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const base = { name: 'shop', version: '1.0.0' }
const run = () => 'done'
const read = () => 'text'

function refusal(definitions: Definitions & { pageSize?: number; icons?: { src: string }[] }): string {
  try {
    defineServer({ ...base, ...definitions })
  } catch (error) {
    expect(error).toBeInstanceOf(McpError)
    return error instanceof Error ? error.message : ''
  }
  return 'accepted'
}

describe('a definition that cannot be served is rejected by name when the server is defined', () => {
  test.each<[string, Definitions & { pageSize?: number; icons?: { src: string }[] }, string]>([
    ['an empty tool name', { tools: { '': tool({ run }) } }, '"" cannot be a tool\'s name'],
    ['a tool name with a space', { tools: { 'a b': tool({ run }) } }, '"a b" cannot be a tool\'s name'],
    ['a tool name of 129', { tools: { ['a'.repeat(129)]: tool({ run }) } }, "cannot be a tool's name"],
    ['text as input', { tools: { t: tool({ input: z.string(), run }) } }, 'Tool "t" needs an object schema'],
    [
      'a union without objects',
      { tools: { t: tool({ input: z.union([z.string(), z.number()]), run }) } },
      'Tool "t" needs an object schema',
    ],
    [
      'alternatives without objects',
      { tools: { t: tool({ input: { anyOf: [{ type: 'string' }, { oneOf: [{ type: 'array' }] }] }, run }) } },
      'Tool "t" needs an object schema',
    ],
    [
      'a value JSON Schema cannot say',
      { tools: { t: tool({ input: z.object({ at: z.date() }), run }) } },
      'Tool "t": input: the schema cannot be written as JSON Schema: Date cannot be represented',
    ],
    [
      'JSON Schema that is none',
      { tools: { t: tool({ input: { type: 'object', properties: { a: { type: 'text' } } }, run }) } },
      'Tool "t": input: The schema is not valid: "/properties/a/type" must be one or several of',
    ],
    [
      'a network reference',
      { tools: { t: tool({ output: { $ref: 'https://example.com/x' }, run: () => 1 }) } },
      'Tool "t": output: The schema is not valid: "/$ref" refers to "https://example.com/x"',
    ],
    [
      'a header annotation on a number',
      {
        tools: {
          t: tool({
            input: { type: 'object', properties: { n: { type: 'number', 'x-mcp-header': 'N' } } },
            run,
          }),
        },
      },
      'Tool "t": input: "x-mcp-header" on "n"',
    ],
    [
      'an icon over http',
      { tools: { t: tool({ icons: [{ src: 'http://example.com/i.png' }], run }) } },
      'Tool "t" has an icon that is neither https: nor data: (http://example.com/i.png)',
    ],
    ['a script as an icon', { icons: [{ src: 'javascript:alert(1)' }] }, 'Server "shop" has an icon'],
    [
      'a relative URI',
      { resources: { r: resource({ uri: 'a/b', read }) } },
      'Resource "r" needs an absolute URI',
    ],
    [
      'a broken template',
      { resources: { r: template({ uriTemplate: 'x:{a', read }) } },
      'Template "r": uriTemplate: The URI template "x:{a" does not close the expression at 2',
    ],
    [
      'two resources at one URI',
      { resources: { a: resource({ uri: 'x:1', read }), b: resource({ uri: 'x:1', read }) } },
      'Resources "a" and "b" have the same URI, x:1',
    ],
    [
      'one template twice',
      {
        resources: {
          a: template({ uriTemplate: 'x:{n}', read }),
          b: template({ uriTemplate: 'x:{n}', read }),
        },
      },
      'Resources "a" and "b" have the same URI, x:{n}',
    ],
    [
      'a negative time to live',
      { resources: { a: resource({ uri: 'x:1', cache: { ttlMs: -1 }, read }) } },
      'Resource "a": "ttlMs" must be',
    ],
    [
      'a completer of nothing',
      { prompts: { p: prompt({ input: z.object({ a: z.string() }), complete: { b: () => [] }, run }) } },
      'Prompt "p" completes "b", which is not one of its arguments',
    ],
    ['a page of nothing', { pageSize: 0 }, '"pageSize" must be a whole number of at least 1'],
  ])('%s', (_, definitions, why) => {
    expect(refusal(definitions)).toContain(why)
  })

  test('a validator without a JSON Schema causes an error with advice', () => {
    const bare = v.object({ a: v.string() })
    // @ts-expect-error it has no JSON Schema of its own
    const careless = () => defineServer({ ...base, tools: { t: tool({ input: bare, run }) } })
    expect(careless).toThrow('wrap it: toStandardJsonSchema of @valibot/to-json-schema does so for valibot')
  })

  test('names of 128 characters and all allowed ones are accepted', () => {
    expect(refusal({ tools: { [`A-z_0.9${'x'.repeat(121)}`]: tool({ run }) } })).toBe('accepted')
  })

  test('unions of objects are object schemas', () => {
    const union = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), a: z.string() }),
      z.object({ kind: z.literal('b'), b: z.number() }),
    ])
    expect(refusal({ tools: { t: tool({ input: union, run }) } })).toBe('accepted')
  })
})

describe('capabilities follow the definitions', () => {
  test('nothing', () => {
    expect(defineServer(base).capabilities).toEqual({ logging: {} })
  })

  test('empty lists declare their capability', () => {
    expect(defineServer({ ...base, tools: {}, resources: {}, prompts: {} }).capabilities).toEqual({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
    })
  })

  test('completers, and experimental ones', () => {
    const server = defineServer({
      ...base,
      prompts: { p: prompt({ input: z.object({ a: z.string() }), complete: { a: () => [] }, run }) },
      experimental: { beam: { level: 2 } },
    })
    expect(server.capabilities).toMatchObject({ completions: {}, experimental: { beam: { level: 2 } } })
    expect(
      defineServer({ ...base, resources: { r: template({ uriTemplate: 'x:{a}', complete: {}, read }) } })
        .capabilities,
    ).not.toHaveProperty('completions')
  })

  test('lists that are added later are declared from then on', () => {
    const server = defineServer(base)
    server.add({ tools: { t: tool({ run }) } })
    expect(server.capabilities).toEqual({ tools: { listChanged: true }, logging: {} })
  })
})

test('the server declares its identity, and cannot be changed from outside', () => {
  const server = defineServer({
    ...base,
    title: 'Shop',
    serverDescription: 'Sells',
    websiteUrl: 'https://example.com',
    icons: [{ src: 'data:image/png;base64,AA==' }],
    instructions: 'Be kind.',
  })
  expect(server.info).toEqual({
    name: 'shop',
    version: '1.0.0',
    title: 'Shop',
    description: 'Sells',
    websiteUrl: 'https://example.com',
    icons: [{ src: 'data:image/png;base64,AA==' }],
  })
  expect(server.instructions).toBe('Be kind.')
  expect(Object.isFrozen(server) && Object.isFrozen(server.info)).toBe(true)
  expect(() => defineServer({ name: '', version: '1' })).toThrow('A server needs a name')
})

test('mirrored arguments are computed once, and only where there are some', () => {
  const input = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
  const server = defineServer({ ...base, tools: { plain: tool({ run }), routed: tool({ input, run }) } })
  expect(server.headerPlan('routed')).toEqual([
    { header: 'Mcp-Param-Region', path: ['region'], type: 'string' },
  ])
  expect(server.headerPlan('plain')).toBeUndefined()
  expect(server.headerPlan('constructor')).toBeUndefined()
})
