import { defineServer, prompt, RpcError, ToolError, template } from '@jackfield/sdk'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { request } from './support.ts'

const onError = vi.fn()
const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })

const server = defineServer({
  name: 'shop',
  version: '1.0.0',
  onError,
  prompts: {
    plan: prompt({
      title: 'Plan a trip',
      description: 'Plans a trip',
      input: z.object({
        city: z.string().describe('Where to').meta({ title: 'City' }),
        days: z.coerce.number().int().max(9).optional(),
      }),
      complete: {
        city: (value, { arguments: chosen }) =>
          ['Paris', 'Prague', 'Rome'].filter((name) => name.startsWith(value) && chosen['days'] !== '1'),
        days: () => {
          throw new Error('no database')
        },
      },
      run: ({ city, days }) => `Plan ${days ?? 'some'} days in ${city}`,
    }),
    plain: prompt({ run: () => [user('a'), { role: 'assistant', content: { type: 'text', text: 'b' } }] }),
    one: prompt({ run: async () => user('one') }),
    whole: prompt({
      description: 'General',
      run: () => ({ description: 'Special', messages: [user('x')], _meta: { 'a.b/c': 1 } }),
    }),
    told: prompt({
      run: () => {
        throw new ToolError('Closed.')
      },
    }),
    wrong: prompt({ run: () => JSON.parse('{"content":1}') }),
    many: prompt({
      input: z.object({ n: z.string(), silent: z.string().optional() }),
      complete: { n: () => Array.from({ length: 250 }, (_, i) => `n${i}`) },
      run: () => '',
    }),
  },
  resources: {
    weather: template({
      uriTemplate: 'weather://{city}/{day}',
      complete: {
        city: async (value) => [`${value}is`],
        day: () => Promise.reject(new RpcError(-32001, 'denied')),
      },
      read: () => 'sun',
    }),
  },
})

const get = (name: unknown, args?: object) =>
  request(server, 'prompts/get', args === undefined ? { name } : { name, arguments: args })

describe('getting a prompt', () => {
  test('arguments are strings on the wire, and the output of the schema in the handler', async () => {
    expect(await get('plan', { city: 'Paris', days: '3' })).toEqual({
      description: 'Plans a trip',
      messages: [user('Plan 3 days in Paris')],
    })
    expect(await get('plan', { city: 'Paris' })).toMatchObject({
      messages: [user('Plan some days in Paris')],
    })
  })

  test('messages are accepted as text, one message, several, or the whole result', async () => {
    expect(await get('plain')).toEqual({
      messages: [user('a'), { role: 'assistant', content: { type: 'text', text: 'b' } }],
    })
    expect(await get('one', {})).toEqual({ messages: [user('one')] })
    expect(await get('whole')).toEqual({
      description: 'Special',
      messages: [user('x')],
      _meta: { 'a.b/c': 1 },
    })
  })

  test("the arguments are listed with their schema's descriptions", async () => {
    const { prompts } = await request(server, 'prompts/list')
    expect(prompts).toContainEqual({
      name: 'plan',
      title: 'Plan a trip',
      description: 'Plans a trip',
      arguments: [{ name: 'city', title: 'City', description: 'Where to', required: true }, { name: 'days' }],
    })
    expect(prompts).toContainEqual({ name: 'plain' })
  })

  test.each([
    ['an unknown prompt', 'nope', {}, 'Unknown prompt: nope'],
    ['a member of the prototype', 'toString', {}, 'Unknown prompt: toString'],
    ['no name', undefined, {}, '"name" must be a string'],
    ['a missing argument', 'plan', { days: '1' }, 'prompt "plan" needs the argument "city"'],
    ['an argument out of range', 'plan', { city: 'x', days: '10' }, 'arguments of prompt "plan": days: '],
    ['an argument that is no string', 'plan', { city: 1 }, '"arguments" must be an object of strings'],
    ['arguments as a list', 'plan', ['x'], '"arguments" must be an object of strings'],
    ['arguments of a prompt without arguments', 'plain', { a: 'x' }, 'takes no arguments, so leave out "a"'],
  ])('%s is refused', async (_, name, args, message) => {
    await expect(get(name, args)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(message),
    })
  })

  test('errors reveal only what their author intends', async () => {
    await expect(get('told')).rejects.toMatchObject({ code: -32602, message: 'Closed.' })
    await expect(get('wrong')).rejects.toThrow('Prompt "wrong" must return text, messages')
  })
})

describe('completion', () => {
  const complete = async (ref: object, name: string, value: string, chosen?: object) => {
    const context = chosen === undefined ? {} : { context: { arguments: chosen } }
    const result = await request(server, 'completion/complete', {
      ref,
      argument: { name, value },
      ...context,
    })
    return result['completion']
  }
  const plan = { type: 'ref/prompt', name: 'plan' }
  const weather = { type: 'ref/resource', uri: 'weather://{city}/{day}' }

  test('suggests values, with the arguments chosen so far', async () => {
    expect(await complete(plan, 'city', 'P')).toEqual({
      values: ['Paris', 'Prague'],
      total: 2,
      hasMore: false,
    })
    expect(await complete(plan, 'city', 'P', { days: '1' })).toEqual({ values: [], total: 0, hasMore: false })
    expect(await complete(weather, 'city', 'Par')).toEqual({ values: ['Paris'], total: 1, hasMore: false })
  })

  test('sends a hundred and counts the rest', async () => {
    const given = await complete({ type: 'ref/prompt', name: 'many' }, 'n', '')
    expect(given).toMatchObject({ total: 250, hasMore: true })
    expect(given).toHaveProperty('values.length', 100)
  })

  test('an argument without a completer has no completions', async () => {
    expect(await complete({ type: 'ref/prompt', name: 'many' }, 'silent', 'x')).toEqual({
      values: [],
      total: 0,
      hasMore: false,
    })
  })

  test('a completer that fails suggests no values, and is reported', async () => {
    onError.mockClear()
    expect(await complete(plan, 'days', '')).toEqual({ values: [], total: 0, hasMore: false })
    expect(onError).toHaveBeenCalledWith(expect.any(Error), { method: 'completion/complete' })
    await expect(complete(weather, 'day', '')).rejects.toMatchObject({ code: -32001 })
  })

  test.each([
    ['an unknown prompt', { type: 'ref/prompt', name: 'nope' }, 'a', 'unknown prompt "nope"'],
    [
      'an unknown template',
      { type: 'ref/resource', uri: 'weather://{town}' },
      'a',
      'unknown resource template',
    ],
    ['a kind of reference there is not', { type: 'ref/tool', name: 'plan' }, 'a', '"ref" must be'],
    ['an argument there is not', plan, 'constructor', 'prompt "plan" has no argument "constructor"'],
  ])('%s is refused', async (_, ref, name, message) => {
    await expect(complete(ref, name, '')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(message),
    })
  })

  test('malformed params are refused', async () => {
    await expect(request(server, 'completion/complete', { ref: plan })).rejects.toThrow(
      '"argument" must have',
    )
    await expect(complete(plan, 'city', '', { days: 1 })).rejects.toThrow('must be an object of strings')
  })
})
