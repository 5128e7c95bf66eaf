import { ask, defineServer, inputRequired, prompt, resource, tool } from '@jackfield/sdk'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { call, eras, request, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
const deleted = vi.fn()
const onError = vi.fn()
const yes = { action: 'accept', content: { sure: true, code: 'ab' } }
const question = {
  message: 'Sure?',
  schema: z.object({ sure: z.boolean(), code: z.string().regex(/^[a-z]+$/) }),
}

beforeEach(() => {
  deleted.mockClear()
  onError.mockClear()
})

const server = defineServer({
  ...base,
  onError,
  tools: {
    form: tool({
      run: async (_, ctx) => {
        const answer = await ctx.elicit({ ...question, key: 'sure' })
        if (answer.action !== 'accept') return `You said ${answer.action}.`
        deleted()
        return `${answer.content.sure} ${answer.content.code.toUpperCase()}`
      },
    }),
    careless: tool({
      run: async (_, ctx) => {
        try {
          await ctx.elicit(question)
        } catch {
          // Takes every failure for "cannot ask", as careless code does.
        }
        deleted()
        return 'deleted'
      },
    }),
    impossible: tool({
      run: async (_, ctx) => {
        try {
          await ctx.elicit({ message: 'Who?', schema: z.object({ who: z.object({ name: z.string() }) }) })
        } catch {
          // The same.
        }
        deleted()
        return 'deleted'
      },
    }),
    url: tool({
      run: async (_, ctx) => (await ctx.elicitUrl({ message: 'Pay', url: 'https://example.com' })).action,
    }),
    sample: tool({
      run: async (_, { sample }) => {
        const { content } = await sample({
          messages: [{ role: 'user', content: { type: 'text', text: 'Capital?' } }],
          maxTokens: 10,
        })
        return Array.isArray(content) ? 'several' : content.type === 'text' ? content.text : content.type
      },
    }),
    roots: tool({ run: async (_, { roots }) => (await roots()).map(({ uri }) => uri).join() }),
    steps: tool({
      run: async (_, { step, elicit }) => {
        const charged = await step('charge', (key) => {
          deleted(key)
          return { id: 7 }
        })
        const { action } = await elicit(question)
        return `${charged.id} ${action}`
      },
    }),
    explicit: tool({
      run: (_, ctx) => {
        const { sure } = ctx.answers
        if (sure === undefined) {
          return inputRequired({ requests: { sure: ask.elicit(question) }, state: { left: 3 } })
        }
        return JSON.stringify([sure, ctx.state])
      },
    }),
    plain: tool({
      run: async (_, ctx) => {
        const schema = { type: 'object' as const, properties: { sure: { type: 'boolean' as const } } }
        const answer = await ctx.elicit({ message: 'Sure?', schema })
        return answer.action === 'accept' ? JSON.stringify(answer.content) : answer.action
      },
    }),
    can: tool({
      run: (_, { can }) =>
        (['elicitation', 'elicitation.url', 'sampling', 'sampling.tools', 'roots'] as const)
          .filter(can)
          .join(),
    }),
  },
  resources: {
    asked: resource({
      uri: 'x:1',
      read: async (ctx) => ((await ctx.elicit(question)).action === 'accept' ? 'secret' : undefined),
    }),
  },
  prompts: { asked: prompt({ run: async (_, ctx) => `${(await ctx.elicit(question)).action}` }) },
})

describe.each(Object.entries(eras))('asking (%s)', (_, serve) => {
  const notify = (name: string, answer: unknown) =>
    serve(server, 'tools/call', { name }, () => Promise.resolve(answer))

  test('an accepted form has the types of its schema', async () => {
    expect(text(await notify('form', yes))).toBe('true AB')
    expect(deleted).toHaveBeenCalledOnce()
  })

  test.each(['decline', 'cancel'])('%s is an answer', async (action) => {
    expect(text(await notify('form', { action }))).toBe(`You said ${action}.`)
    expect(deleted).not.toHaveBeenCalled()
  })

  test('an answer that the validator rejects ends the call with the reason, even if the handler catches', async () => {
    const bad = { action: 'accept', content: { sure: true, code: 'AB' } }
    const result = await notify('careless', bad)
    expect(result['isError']).toBe(true)
    expect(text(result)).toMatch(/^The answer cannot be used: code: /)
    expect(deleted).not.toHaveBeenCalled()
  })

  test('a schema that no form can represent ends the call and is reported, even if the handler catches', async () => {
    const result = await notify('impossible', yes)
    expect(text(result)).toContain('"impossible" failed unexpectedly')
    expect(onError).toHaveBeenCalledWith(
      expect.objectContaining({ message: expect.stringContaining('field "who"') }),
      expect.anything(),
    )
    expect(deleted).not.toHaveBeenCalled()
  })

  test('URLs, samples and roots', async () => {
    expect(text(await notify('url', { action: 'accept' }))).toBe('accept')
    const sampled = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' }
    expect(text(await notify('sample', sampled))).toBe('Paris')
    expect(text(await notify('roots', { roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] }))).toBe(
      'file:///a,file:///b',
    )
  })

  test('a step runs once, however often its handler does', async () => {
    expect(text(await notify('steps', yes))).toBe('7 accept')
    expect(deleted).toHaveBeenCalledOnce()
    expect(deleted).toHaveBeenCalledWith(expect.any(String))
  })

  test('the explicit form gets its answers by key, and its state is returned', async () => {
    expect(JSON.parse(text(await notify('explicit', yes)))).toEqual([yes, { left: 3 }])
  })

  test('a form with a requestedSchema of its own needs no validator', async () => {
    expect(text(await notify('plain', { action: 'accept', content: { sure: false } }))).toBe('{"sure":false}')
  })

  test('resources and prompts can request input too', async () => {
    const answer = () => Promise.resolve(yes)
    expect(await serve(server, 'resources/read', { uri: 'x:1' }, answer)).toMatchObject({
      contents: [{ text: 'secret' }],
    })
    expect(await serve(server, 'prompts/get', { name: 'asked' }, answer)).toMatchObject({
      messages: [{ content: { text: 'accept' } }],
    })
    const bad = () => Promise.resolve({ action: 'accept', content: { sure: true, code: 'AB' } })
    await expect(serve(server, 'resources/read', { uri: 'x:1' }, bad)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('The answer cannot be used'),
    })
  })
})

describe('a question that the client cannot answer', () => {
  test('ends the call, even if the handler catches', async () => {
    await call(server, 'careless').then(
      (result) => expect(result['isError']).toBe(true),
      (error) => expect(error).toHaveProperty('code'),
    )
    const mute = { capabilities: {} }
    await call(server, 'careless', {}, { peer: mute }).then(
      (result) => expect(result['isError']).toBe(true),
      (error) => expect(error).toMatchObject({ code: -32021 }),
    )
    expect(deleted).not.toHaveBeenCalled()
  })

  test('can be detected before it is asked', async () => {
    expect(text(await call(server, 'can'))).toBe('elicitation,elicitation.url,sampling,sampling.tools,roots')
    expect(text(await call(server, 'can', {}, { peer: { capabilities: { elicitation: {} } } }))).toBe(
      'elicitation',
    )
    expect(text(await call(server, 'can', {}, { version: '2024-11-05' }))).toBe('sampling,roots')
  })
})

test('a handler without questions has no state and no answers', async () => {
  const seen = vi.fn()
  const quiet = defineServer({
    ...base,
    tools: {
      t: tool({
        run: (_, ctx) => {
          seen(ctx.state, ctx.answers, ctx.meta, ctx.peer.principal, ctx.signal.aborted, ctx.parked.aborted)
        },
      }),
    },
  })
  await request(quiet, 'tools/call', { name: 't', _meta: { 'a.b/c': 1 } })
  expect(seen).toHaveBeenCalledWith(undefined, {}, { 'a.b/c': 1 }, null, false, false)
})
