import { defineServer, RpcError, tool } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { begun, type Message, result, type Scripted, scripted, sse, tick, until } from './support/http.ts'
import { questions } from './support/questions.ts'

type Send = (event: { data?: unknown }) => void

/** A session whose server does `during` while a call is in flight; what this client answers is in `answers`. */
async function session(during: (send: Send) => void, options: ConnectOptions = {}) {
  const answers: Message[] = []
  const warnings: string[] = []
  const server: Scripted = await scripted((one) => {
    if (one.message.method === undefined && one.message.id !== undefined) {
      answers.push(one.message)
      one.res.writeHead(202).end()
    } else if (begun(one, 's')) return
    else if (one.method === 'GET') one.res.writeHead(405).end()
    else if (one.message.method === 'tools/call') during(sse(one.res))
    else result(one, {})
  })
  const client = await connect(server.url, { onWarning: (text) => warnings.push(text), ...options })
  onTestFinished(() => client.close())
  return { client, server, answers, warnings }
}

/** Puts one question and gives what this client answered. */
async function ask(method: string, params: object | undefined, options: ConnectOptions): Promise<Message> {
  const question = { jsonrpc: '2.0', id: 'q', method, ...(params === undefined ? {} : { params }) }
  const { client, answers } = await session((send) => send({ data: question }), options)
  client.call('x').catch(() => {})
  await until(() => answers.length === 1)
  const [answer] = answers
  if (answer === undefined) throw new Error('no answer')
  expect(answer.id).toBe('q')
  return answer
}

const form = (properties: object, required: string[] = []) => ({
  message: 'Please',
  requestedSchema: { type: 'object', properties, required },
})
const accept = (content?: Record<string, string | number | boolean | string[]>) => () =>
  content === undefined ? { action: 'accept' as const } : { action: 'accept' as const, content }
const sampler = () => ({
  role: 'assistant' as const,
  model: 'm',
  content: { type: 'text' as const, text: 'A' },
})
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })
const use = (id: string) => ({ type: 'tool_use', id, name: 't', input: {} })
const used = (toolUseId: string) => ({ type: 'tool_result', toolUseId, content: [] })

describe('a handler that fails in a session', () => {
  it('is printed once by a client without onWarning', async () => {
    const printed: unknown[] = []
    const console = vi.spyOn(globalThis.console, 'warn').mockImplementation((line) => printed.push(line))
    onTestFinished(() => console.mockRestore())
    const server = defineServer({
      name: 'asks',
      version: '1.0.0',
      tools: {
        roots: tool({ run: async (_args, ctx) => `${(await ctx.roots()).length}` }),
        ask: tool({
          run: async (_args, ctx) => (await ctx.elicit({ message: 'Sure?', schema: z.object({}) })).action,
        }),
      },
      onError: () => {},
    })
    const client = await connect(server, {
      revisions: ['2025-11-25'],
      // @ts-expect-error a root is an object
      onRoots: ['file:///x'],
      onElicit: () => {
        throw new Error('no dialog')
      },
    })
    onTestFinished(() => client.close())
    for (const name of ['roots', 'ask', 'roots', 'ask'] as const) await client.call(name)
    expect(printed).toEqual([
      expect.stringMatching(/^\[mcp client\] .*onRoots must return an array of roots/),
      expect.stringMatching(/^\[mcp client\] .*no dialog/),
    ])
  })
})

describe('an elicitation', () => {
  it('gets defaults for every field the user left out', async () => {
    const schema = form({
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive'], default: 'active' },
      verified: { type: 'boolean', default: true },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a'] },
      left: { type: 'string' },
    })
    const answer = await ask('elicitation/create', schema, { onElicit: accept({ age: 31 }) })
    expect(answer.result).toEqual({
      action: 'accept',
      content: {
        name: 'John Doe',
        age: 31,
        score: 95.5,
        status: 'active',
        verified: true,
        tags: ['a'],
      },
    })
  })

  it.each<[string, object, string?]>([
    ['a nested object', form({ a: { type: 'object', properties: {} } }), 'a field that is an object'],
    ['no schema', { message: 'Please' }, 'a form without a schema'],
    ['no message', { requestedSchema: { type: 'object', properties: {} } }, 'a form without a message'],
    ['a field that is required but not there', form({ a: { type: 'string' } }, ['b'])],
    ['an unknown mode', { mode: 'telepathy', message: 'Please' }, 'a mode that there is not'],
    [
      'a URL elicitation that was not declared',
      { mode: 'url', message: 'Go', url: 'https://example.com/', elicitationId: '1' },
    ],
  ])('with %s is rejected as invalid, without asking the user', async (_, params, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    let asked = 0
    const answer = await ask('elicitation/create', params, {
      onElicit: () => {
        asked++
        return { action: 'cancel' }
      },
    })
    expect(answer.error?.code).toBe(-32602)
    expect(asked).toBe(0)
  })

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'not a url'])('may not open %s', async (url) => {
    if (!URL.canParse(url)) faultyPeer('a URL that is none')
    const options = { onElicit: accept(), elicitation: { url: true } }
    const urlRequest = { mode: 'url', message: 'Go', url, elicitationId: '1' }
    const answer = await ask('elicitation/create', urlRequest, options)
    expect(answer.error?.code).toBe(-32602)
  })

  it('by URL is answered without content; forms are rejected if only URLs were declared', async () => {
    const options = { onElicit: accept({ a: 'b' }), elicitation: { url: true } }
    const urlRequest = { mode: 'url', message: 'Go', url: 'https://example.com/', elicitationId: '1' }
    expect((await ask('elicitation/create', urlRequest, options)).result).toEqual({ action: 'accept' })
    expect((await ask('elicitation/create', form({}), options)).error?.code).toBe(-32602)
  })

  it.each([
    ['a value of another type', { n: 'x' }],
    ['a value outside the choices', { c: 'z' }],
    ['a field the form lacks', { stray: 1 }],
    ['nothing where something is required', {}],
  ])('is not answered with %s', async (_, content) => {
    const params = form(
      { n: { type: 'number' }, c: { type: 'string', enum: ['x'] }, r: { type: 'string' } },
      ['r'],
    )
    const answer = await ask('elicitation/create', params, {
      onElicit: accept({ ...(Object.keys(content).length > 0 ? { r: 'r' } : {}), ...content }),
    })
    expect(answer.error).toEqual({ code: -32603, message: 'The client failed to handle the request' })
  })
})

describe('a sampling request', () => {
  const tools = [{ name: 't', inputSchema: { type: 'object' } }]
  const withTools = { onSample: sampler, sampling: { tools: true } }

  it('is answered', async () => {
    const answer = await ask(
      'sampling/createMessage',
      { messages: [user({ type: 'text', text: 'Q' })], maxTokens: 5 },
      { onSample: sampler },
    )
    expect(answer.result).toEqual(sampler())
  })

  it('with tools is rejected if tools were not declared', async () => {
    const params = { messages: [user({ type: 'text', text: 'Q' })], maxTokens: 5, tools }
    expect((await ask('sampling/createMessage', params, { onSample: sampler })).error?.code).toBe(-32602)
    expect((await ask('sampling/createMessage', params, withTools)).result).toBeDefined()
  })

  it.each<[string, unknown[] | undefined, string?]>([
    ['a use without its result', [assistant(use('1')), user({ type: 'text', text: 'so?' })]],
    ['one result of two', [assistant([use('1'), use('2')]), user([used('1')])]],
    ['a result beside other content', [assistant(use('1')), user([used('1'), { type: 'text', text: 'x' }])]],
    ['a result of no use', [user(used('9'))]],
    ['messages that are none', ['hello'], 'a message that is a text'],
    ['no messages', undefined, 'a request without messages'],
  ])('with %s is rejected as invalid', async (_, messages, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    const answer = await ask('sampling/createMessage', { messages, maxTokens: 5, tools }, withTools)
    expect(answer.error?.code).toBe(-32602)
  })

  it('excludes the context of other servers unless it was declared', async () => {
    const seen: unknown[] = []
    const onSample: ConnectOptions['onSample'] = ({ includeContext }) => {
      seen.push(includeContext)
      return sampler()
    }
    const params = {
      messages: [user({ type: 'text', text: 'Q' })],
      maxTokens: 5,
      includeContext: 'allServers',
    }
    await ask('sampling/createMessage', params, { onSample })
    await ask('sampling/createMessage', params, { onSample, sampling: { context: true } })
    expect(seen).toEqual([undefined, 'allServers'])
  })

  it('that the user refused is rejected with the handler’s own error', async () => {
    const answer = await ask(
      'sampling/createMessage',
      { messages: [user({ type: 'text', text: 'Q' })], maxTokens: 5 },
      {
        onSample: () => {
          throw new RpcError(-1, 'User rejected sampling request')
        },
      },
    )
    expect(answer.error).toEqual({ code: -1, message: 'User rejected sampling request' })
  })
})

describe('roots', () => {
  it('are listed without params as well', async () => {
    const roots = [{ uri: 'file:///a', name: 'a' }]
    expect((await ask('roots/list', undefined, { onRoots: roots })).result).toEqual({ roots })
  })

  it('that are no file URIs are left out', async () => {
    const answer = await ask('roots/list', {}, { onRoots: () => [{ uri: 'https://example.com/' }] })
    expect(answer.error?.code).toBe(-32603)
  })
})

describe('a server’s requests', () => {
  it.each([
    ['roots/list', 'onRoots'],
    ['elicitation/create', 'onElicit'],
    ['sampling/createMessage', 'onSample'],
    ['tasks/get', 'no request that a client answers'],
    ['constructor', 'no request that a client answers'],
  ])('for %s are rejected without a handler, and reported', async (method, report) => {
    const onWarning = vi.fn()
    expect((await ask(method, questions[method] ?? {}, { onWarning })).error?.code).toBe(-32601)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(report))
  })

  it('include pings', async () => {
    expect((await ask('ping', undefined, {})).result).toEqual({})
  })

  it('with an id in use are rejected, and the first is answered', async () => {
    let release = (): void => {}
    const question = { jsonrpc: '2.0', id: 1, method: 'roots/list' }
    const { client, answers } = await session(
      (send) => {
        send({ data: question })
        send({ data: question })
      },
      {
        onRoots: () =>
          new Promise((resolve) => {
            release = () => resolve([])
          }),
      },
    )
    client.call('x').catch(() => {})
    await until(() => answers.length === 1)
    expect(answers[0]?.error?.code).toBe(-32600)
    release()
    await until(() => answers.length === 2)
    expect(answers[1]?.result).toEqual({ roots: [] })
  })

  it('that were cancelled are not answered, and the handler is notified', async () => {
    let aborted = false
    const { client, answers } = await session(
      (send) => {
        send({ data: { jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: form({}) } })
        send({ data: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } })
      },
      {
        onElicit: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              aborted = true
              resolve({ action: 'cancel' })
            })
          }),
      },
    )
    client.call('x').catch(() => {})
    await until(() => aborted)
    await tick(50)
    expect(answers).toEqual([])
  })

  it('beyond the limit are rejected', async () => {
    const { client, answers } = await session(
      (send) => {
        for (let id = 0; id < 300; id++) send({ data: { jsonrpc: '2.0', id, method: 'roots/list' } })
      },
      { onRoots: () => new Promise(() => {}) },
    )
    client.call('x').catch(() => {})
    await until(() => answers.length === 44)
    expect(new Set(answers.map(({ error }) => error?.code))).toEqual(new Set([-32603]))
  })
})
