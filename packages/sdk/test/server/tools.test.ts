import { defineServer, RpcError, reply, ToolError, tool } from '@jackfield/sdk'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { call, request, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }

describe('a call that cannot run is a protocol error', () => {
  const server = defineServer({ ...base, tools: { hi: tool({ run: () => 'hi' }) } })

  test.each([
    ['an unknown tool', { name: 'nope' }, 'Unknown tool: nope'],
    ['a member of the prototype', { name: 'constructor' }, 'Unknown tool: constructor'],
    ['__proto__', { name: '__proto__' }, 'Unknown tool: __proto__'],
    ['no name', {}, '"name" must be a string'],
    ['arguments that are a list', { name: 'hi', arguments: [] }, '"arguments" must be an object'],
    ['arguments that are null', { name: 'hi', arguments: null }, '"arguments" must be an object'],
  ])('%s', async (_, params, message) => {
    const calling = request(server, 'tools/call', params)
    await expect(calling).rejects.toBeInstanceOf(RpcError)
    await expect(calling).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) })
  })

  test('a tool name of megabytes is cut in the error', async () => {
    await expect(call(server, 'x'.repeat(1e6))).rejects.toMatchObject({
      message: `Unknown tool: ${'x'.repeat(200)}…`,
    })
  })

  test('missing arguments are an empty object', async () => {
    expect(await call(server, 'hi')).toEqual({ content: [{ type: 'text', text: 'hi' }] })
    expect(await call(server, 'hi', {})).toEqual({ content: [{ type: 'text', text: 'hi' }] })
  })
})

describe('arguments are checked before the tool runs', () => {
  const run = vi.fn(() => 'ran')
  const valibot = toStandardJsonSchema(
    v.object({ city: v.string(), days: v.optional(v.pipe(v.number(), v.maxValue(9))) }),
  )
  const server = defineServer({
    ...base,
    tools: {
      zod: tool({ input: z.object({ city: z.string(), days: z.number().max(9).optional() }), run }),
      valibot: tool({ input: valibot, run }),
      arktype: tool({ input: type({ city: 'string', 'days?': 'number <= 9' }), run }),
      plain: tool({
        input: {
          type: 'object',
          properties: { city: { type: 'string' }, days: { maximum: 9 } },
          required: ['city'],
        },
        run,
      }),
      none: tool({ run }),
      later: tool({ input: z.object({ a: z.string().refine(async (a) => a === 'x', 'must be x') }), run }),
    },
  })

  test.each(['zod', 'valibot', 'arktype', 'plain'])('%s: every issue has its path', async (name) => {
    run.mockClear()
    const result = await call(server, name, { city: 5, days: 10 })
    expect(result['isError']).toBe(true)
    expect(text(result)).toMatch(/^Invalid arguments for ".*": .*city.*;.*days/)
    expect(run).not.toHaveBeenCalled()
    expect(text(await call(server, name, { city: 'Paris', days: 2 }))).toBe('ran')
    expect(run).toHaveBeenCalledWith({ city: 'Paris', days: 2 }, expect.anything())
  })

  test('a tool without input ignores arguments, as the official SDK does', async () => {
    expect(text(await call(server, 'none', { x: 1 }))).toBe('ran')
    const given: unknown[] = []
    const bare = defineServer({
      name: 'bare',
      version: '1.0.0',
      tools: { t: tool({ run: (args) => void given.push(args) }) },
    })
    await call(bare, 't', { x: 1 })
    expect(given).toEqual([{}])
  })

  test('a validator may be asynchronous', async () => {
    expect(text(await call(server, 'later', { a: 'y' }))).toContain('a: must be x')
    expect(text(await call(server, 'later', { a: 'x' }))).toBe('ran')
  })

  test('thousands of issues are cut', async () => {
    const many = defineServer({
      ...base,
      tools: { t: tool({ input: z.object({ a: z.array(z.number()) }), run }) },
    })
    const output = text(await call(many, 't', { a: Array.from({ length: 5000 }, () => 'x') }))
    expect(output.length).toBeLessThan(3000)
    expect(output).toContain('; and 4980 more')
  })

  test('a validator that breaks is a failure of the tool, not of the connection', async () => {
    const reported = vi.fn()
    const broken = z.object({}).refine(() => {
      throw new Error('secret detail')
    })
    const odd = defineServer({ ...base, onError: reported, tools: { t: tool({ input: broken, run }) } })
    expect(text(await call(odd, 't', {}))).toBe(
      `"t" failed unexpectedly. The error is in the server's own log.`,
    )
    expect(reported).toHaveBeenCalledOnce()
  })

  test('defaults and transformations reach the tool', async () => {
    const seen = vi.fn(() => 'ok')
    const input = z.object({ n: z.number().default(3), at: z.iso.date().transform((day) => new Date(day)) })
    await call(defineServer({ ...base, tools: { t: tool({ input, run: seen }) } }), 't', { at: '2026-07-28' })
    expect(seen).toHaveBeenCalledWith({ n: 3, at: new Date('2026-07-28') }, expect.anything())
  })
})

/** As query builders are: a promise that is none of the engine's. */
class Query<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'Query'
  readonly #result: Promise<T>

  constructor(value: T) {
    this.#result = Promise.resolve(value)
  }

  // biome-ignore lint/suspicious/noThenProperty: what makes it a promise
  then: Promise<T>['then'] = (...callbacks) => this.#result.then(...callbacks)
  catch: Promise<T>['catch'] = (callback) => this.#result.catch(callback)
  finally: Promise<T>['finally'] = (callback) => this.#result.finally(callback)
}

describe('the return value of a tool becomes its result', () => {
  const image = { type: 'image' as const, data: 'AA==', mimeType: 'image/png' }
  const server = defineServer({
    ...base,
    tools: {
      text: tool({ run: () => 'hello' }),
      nothing: tool({ run: () => {} }),
      block: tool({ run: () => image }),
      blocks: tool({ run: async () => [{ type: 'text' as const, text: 'a' }, image] }),
      reply: tool({ run: () => reply({ content: 'no', isError: true, meta: { 'example.com/a': 1 } }) }),
      loose: tool({ run: () => reply({ structured: { a: 1 } }) }),
      shaped: tool({ output: z.object({ n: z.number() }), run: () => ({ n: 1 }) }),
      list: tool({ output: z.array(z.string()), run: () => ['a'] }),
      both: tool({
        output: z.object({ n: z.number() }),
        run: () => reply({ content: 'One.', structured: { n: 1 } }),
      }),
      refused: tool({
        output: z.object({ n: z.number() }),
        run: () => reply({ content: 'No.', isError: true }),
      }),
      defaulted: tool({ output: z.object({ n: z.number().default(5) }), run: () => ({}) }),
      query: tool({ output: z.object({ n: z.number() }), run: () => new Query({ n: 2 }) }),
    },
  })

  test.each([
    ['text', { content: [{ type: 'text', text: 'hello' }] }],
    ['nothing', { content: [] }],
    ['block', { content: [image] }],
    ['blocks', { content: [{ type: 'text', text: 'a' }, image] }],
    ['reply', { content: [{ type: 'text', text: 'no' }], isError: true, _meta: { 'example.com/a': 1 } }],
    ['loose', { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } }],
    ['shaped', { content: [{ type: 'text', text: '{"n":1}' }], structuredContent: { n: 1 } }],
    ['list', { content: [{ type: 'text', text: '["a"]' }], structuredContent: ['a'] }],
    ['both', { content: [{ type: 'text', text: 'One.' }], structuredContent: { n: 1 } }],
    ['refused', { content: [{ type: 'text', text: 'No.' }], isError: true }],
    ['defaulted', { content: [{ type: 'text', text: '{"n":5}' }], structuredContent: { n: 5 } }],
    ['query', { content: [{ type: 'text', text: '{"n":2}' }], structuredContent: { n: 2 } }],
  ])('%s', async (name, result) => {
    expect(await call(server, name)).toEqual(result)
  })
})

describe('failures of a tool', () => {
  const onError = vi.fn()
  const fail = (error: unknown) => () => {
    throw error
  }
  const output = z.object({ n: z.number() })
  const server = defineServer({
    ...base,
    onError,
    tools: {
      told: tool({ run: fail(new ToolError('The order is closed.')) }),
      toldLater: tool({ run: async () => fail(new ToolError('Too late.'))() }),
      protocol: tool({ run: fail(new RpcError(-32000, 'busy', { retry: 1 })) }),
      secret: tool({ run: fail(new Error('password=hunter2 at /srv/db.ts')) }),
      oddThrow: tool({ run: fail('password=hunter2') }),
      // A handler written without types can return anything.
      wrong: tool({ output, run: () => JSON.parse('{"n":"hunter2"}') }),
      wrongReply: tool({ output, run: () => reply({ content: 'x', structured: JSON.parse('{}') }) }),
      missing: tool({ output, run: () => reply({ content: 'x' }) }),
      noContent: tool({ run: () => JSON.parse('{"n":1}') }),
      noBlock: tool({ run: () => JSON.parse('[{"type":"video"}]') }),
      bigint: tool({ run: () => reply({ structured: Object(10n) }) }),
    },
  })

  test.each([
    ['told', 'The order is closed.'],
    ['toldLater', 'Too late.'],
  ])("%s: the model gets the tool's message", async (name, message) => {
    onError.mockClear()
    expect(await call(server, name)).toEqual({ content: [{ type: 'text', text: message }], isError: true })
    expect(onError).not.toHaveBeenCalled()
  })

  test('an RpcError becomes the response', async () => {
    await expect(call(server, 'protocol')).rejects.toMatchObject({ code: -32000, data: { retry: 1 } })
  })

  test.each(['secret', 'oddThrow', 'noContent', 'noBlock', 'bigint'])(
    '%s: the reason is not sent',
    async (name) => {
      onError.mockClear()
      const result = await call(server, name)
      expect(result['isError']).toBe(true)
      expect(JSON.stringify(result)).not.toMatch(/hunter2|srv|db\.ts|stack/)
      expect(text(result)).toContain(`"${name}" failed unexpectedly`)
      expect(onError).toHaveBeenCalledWith(expect.anything(), { method: 'tools/call', name })
    },
  )

  test.each(['wrong', 'wrongReply', 'missing'])(
    '%s: a result that breaks its schema is not sent',
    async (name) => {
      onError.mockClear()
      const result = await call(server, name)
      expect(result).toEqual({
        content: [
          {
            type: 'text',
            text: `"${name}" returned a result that does not match its output schema, so it was not sent. This is an error of the server.`,
          },
        ],
        isError: true,
      })
      expect(onError).toHaveBeenCalledOnce()
    },
  )

  test('failures of a cancelled call are not reported', async () => {
    onError.mockClear()
    const controller = new AbortController()
    const started = Promise.withResolvers<void>()
    const cancelled = defineServer({
      ...base,
      onError,
      tools: {
        wait: tool({
          run: (_, ctx) => {
            started.resolve()
            return new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))
          },
        }),
      },
    })
    const calling = call(cancelled, 'wait', {}, { signal: controller.signal })
    await started.promise
    controller.abort()
    await calling
    expect(onError).not.toHaveBeenCalled()
  })

  test('a progress listener that throws does not break the call', async () => {
    const deaf = defineServer({
      ...base,
      onError: fail(new Error('deaf')),
      tools: { secret: tool({ run: fail(new Error('x')) }) },
    })
    expect(await call(deaf, 'secret')).toMatchObject({ isError: true })
  })

  test('by default failures are written to stderr', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('x')
    await call(defineServer({ ...base, tools: { t: tool({ run: fail(error) }) } }), 't')
    expect(written).toHaveBeenCalledWith('[shop] tools/call t:', error)
    written.mockRestore()
  })

  test('names from the client are printed on one line, without control characters', () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('x')
    const name = 'file:///a\n[shop] tools/call: all is well\u001b[2J\u2028%c'
    defineServer(base).report(error, { method: 'resources/read', name })
    expect(written).toHaveBeenCalledWith(
      '[shop] resources/read file:///a [shop] tools/call: all is well [2J %%c:',
      error,
    )
    written.mockRestore()
  })
})

test('plain JSON Schema is sent unchanged', async () => {
  const input = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'a', type: 'object', properties: { street: { type: 'string' } } } },
    properties: { address: { $ref: '#/$defs/address' }, phone: { type: 'string' } },
    if: { properties: { phone: { const: 'x' } }, required: ['phone'] },
    additionalProperties: false,
  }
  const server = defineServer({ ...base, tools: { t: tool({ description: 'T', input, run: () => 'ok' }) } })
  expect(await request(server, 'tools/list')).toMatchObject({ tools: [{ name: 't', inputSchema: input }] })
})
