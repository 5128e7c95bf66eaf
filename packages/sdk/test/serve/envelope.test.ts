import {
  ask,
  defineServer,
  inputRequired,
  type JsonObject,
  type JsonRpcMessage,
  MetaKey,
  RpcError,
  resource,
  type Server,
  template,
  tool,
} from '@jackfield/sdk'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { isObject } from '../../../../test/setup/json.ts'
import { DuplexConnection } from '../../src/transports/server/duplex-connection.ts'
import { type Adapter, adapters, modern, session } from './http-support.ts'
import { initialize, initialized, meta, settle, until } from './support.ts'

/** The outcome of one request: its response, the notifications before it, and the HTTP status where there is one. */
interface Answered {
  response: JsonObject
  before: JsonObject[]
  status: number | undefined
}

type Ask = (method: string, params?: JsonObject) => Promise<Answered>

function overDuplex(server: Server): Ask {
  const sent: JsonObject[] = []
  const keep = (message: JsonRpcMessage): number => sent.push({ ...message })
  const connection = new DuplexConnection(server, keep)
  onTestFinished(() => connection.close())
  let id = 0
  return async (method, params = {}) => {
    const own = ++id
    const since = sent.length
    connection.receive({ jsonrpc: '2.0', id: own, method, params: { _meta: meta(), ...params } })
    const at = (): number => sent.findIndex((message) => message['id'] === own && !('method' in message))
    await until(() => at() !== -1)
    return { response: sent[at()] ?? {}, before: sent.slice(since, at()), status: undefined }
  }
}

function overHttp(mount: Adapter): (server: Server) => Promise<Ask> {
  return async (server) => {
    const mounted = await mount(server)
    onTestFinished(() => mounted.close())
    return async (method, params = {}) => {
      const answer = await mounted.send(modern(method, params))
      const text = await answer.text()
      const all =
        answer.header('content-type') === 'text/event-stream' ? answer.messages() : [JSON.parse(text)]
      return { response: all.at(-1) ?? {}, before: all.slice(0, -1), status: answer.status }
    }
  }
}

const places: [string, (server: Server) => Ask | Promise<Ask>][] = [
  ['one channel', overDuplex],
  ...adapters.map(([name, mount]): [string, (server: Server) => Promise<Ask>] => [
    `the ${name} adapter of HTTP`,
    overHttp(mount),
  ]),
]

const base = { name: 'shop', version: '1.0.0', onError: () => {} }
const errorOf = ({ response }: Answered): JsonObject => (isObject(response['error']) ? response['error'] : {})
const resultOf = ({ response }: Answered): JsonObject =>
  isObject(response['result']) ? response['result'] : {}
const throws = (code: number) =>
  tool({
    run: () => {
      throw new RpcError(code, 'no', { requiredCapabilities: { sampling: {} } })
    },
  })

describe.each(places)('a stateless request over %s', (_, open) => {
  it.each([
    ['an undefined code', -32050, -32603],
    ['the last reserved code', -32099, -32603],
    ['a missing capability', -32021, -32021],
    ['a resource that is not there, as it was called', -32002, -32602],
    ['a URL to visit first, as it was called', -32042, -32600],
    ['a code of the application', 77, 77],
    ['a code below the reserved ones', -32100, -32100],
  ])('is answered with %s only as specified', async (_what, thrown, code) => {
    const send = await open(defineServer({ ...base, tools: { t: throws(thrown) } }))
    expect(errorOf(await send('tools/call', { name: 't' }))).toMatchObject({ code })
  })

  it('with an invalid log level is rejected', async () => {
    faultyPeer('a level that there is not')
    const send = await open(defineServer({ ...base, tools: { t: tool({ run: () => 'x' }) } }))
    const answered = await send('tools/call', { name: 't', _meta: meta({ [MetaKey.logLevel]: 'loud' }) })
    expect(errorOf(answered)).toMatchObject({ code: -32602, message: expect.stringContaining('emergency') })
    expect([undefined, 400]).toContain(answered.status)
  })

  it('may have unknown reserved keys with any value, and trace context', async () => {
    const seen: unknown[] = []
    const server = defineServer({
      ...base,
      tools: {
        t: tool({
          run: (_args, ctx) => {
            seen.push(ctx.meta)
            return 'x'
          },
        }),
      },
    })
    const more = {
      'io.modelcontextprotocol/somethingNew': [null, { deep: 1 }],
      'dev.mcp/other': 7,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'vendor=1',
      baggage: 'user=1',
    }
    const send = await open(server)
    expect(resultOf(await send('tools/call', { name: 't', _meta: meta(more) }))).toMatchObject({
      resultType: 'complete',
    })
    expect(seen).toMatchObject([more])
  })

  it('is served alike for any client name', async () => {
    const send = await open(defineServer({ ...base, tools: { t: tool({ run: () => 'x' }) } }))
    const results = []
    for (const name of ['claude-ai', 'inspector', 'admin', undefined]) {
      const info = name === undefined ? undefined : { name, version: '9' }
      const { response } = await send('tools/call', {
        name: 't',
        _meta: meta({ [MetaKey.clientInfo]: info }),
      })
      results.push(response['result'])
    }
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
  })

  it.each<[string, string, JsonObject]>([
    ['elicit', 'in line', { elicitation: {} }],
    ['visit', 'in line', { elicitation: { url: {} } }],
    ['sample', 'in line', { sampling: {} }],
    ['roots', 'in line', { roots: {} }],
    ['explicit', 'in a result', { sampling: {} }],
  ])(
    'that would request %s %s from a client without it names what is missing',
    async (name, _how, missing) => {
      const form = { message: 'Sure?', schema: z.object({ ok: z.boolean() }) }
      const prompt = {
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Q' } }],
        maxTokens: 5,
      }
      const server = defineServer({
        ...base,
        tools: {
          elicit: tool({ run: async (_args, ctx) => (await ctx.elicit(form)).action }),
          visit: tool({
            run: async (_args, ctx) =>
              (await ctx.elicitUrl({ message: 'Go', url: 'https://a.example' })).action,
          }),
          sample: tool({ run: async (_args, ctx) => (await ctx.sample(prompt)).model }),
          roots: tool({ run: async (_args, ctx) => `${(await ctx.roots()).length}` }),
          explicit: tool({ run: () => inputRequired({ requests: { one: ask.sample(prompt) } }) }),
        },
      })
      const send = await open(server)
      const answered = await send('tools/call', { name, _meta: meta({ [MetaKey.clientCapabilities]: {} }) })
      expect(errorOf(answered)).toMatchObject({ code: -32021, data: { requiredCapabilities: missing } })
      expect([undefined, 400]).toContain(answered.status)
    },
  )

  it('gets log messages only if it names a level', async () => {
    const server = defineServer({
      ...base,
      tools: {
        t: tool({
          run: (_args, ctx) => {
            ctx.log('emergency', 'fire')
            return 'x'
          },
        }),
      },
    })
    const send = await open(server)
    expect((await send('tools/call', { name: 't' })).before).toEqual([])
    const wanting = { name: 't', _meta: meta({ [MetaKey.logLevel]: 'debug' }) }
    expect((await send('tools/call', wanting)).before).toMatchObject([{ method: 'notifications/message' }])
  })

  it('for a list is never answered with an input request', async () => {
    const server = defineServer({
      ...base,
      resources: {
        family: template({
          uriTemplate: 'x:{n}',
          list: async (ctx) => (await ctx.roots()).map(({ uri }) => ({ uri, name: uri })),
          read: () => 'x',
        }),
      },
    })
    const send = await open(server)
    const answered = await send('resources/list', {
      _meta: meta({ [MetaKey.clientCapabilities]: { roots: {} } }),
    })
    expect(errorOf(answered)).toMatchObject({ code: -32603 })
  })

  it('for a resource that does not exist is an error, distinct from an empty resource', async () => {
    faultyPeer('a URI that is none')
    const server = defineServer({
      ...base,
      resources: {
        gone: resource({ uri: 'x:gone', read: () => undefined }),
        empty: resource({ uri: 'x:empty', read: () => '' }),
      },
    })
    const send = await open(server)
    for (const uri of ['x:gone', 'x:nowhere', '../../etc/passwd', 'not a uri']) {
      expect(errorOf(await send('resources/read', { uri }))).toMatchObject({ code: -32602 })
    }
    expect(resultOf(await send('resources/read', { uri: 'x:empty' }))).toMatchObject({
      contents: [{ text: '' }],
    })
  })
})

describe.each(adapters)('log messages over the %s adapter of HTTP', (_, mount) => {
  it('are sent only on their own request’s stream', async () => {
    const server = defineServer({
      ...base,
      tools: {
        t: tool({
          run: (_args, ctx) => {
            ctx.log('error', 'mine')
            return 'x'
          },
        }),
      },
    })
    const mounted = await mount(server)
    onTestFinished(() => mounted.close())
    const _meta = meta({ [MetaKey.logLevel]: 'debug' })
    const listening = await mounted.send(
      modern('subscriptions/listen', { notifications: { toolsListChanged: true }, _meta }),
    )
    await until(() => listening.events.length === 1)
    const [one, other] = await Promise.all([
      mounted.send(modern('tools/call', { name: 't', _meta })),
      mounted.send(modern('tools/call', { name: 't' })),
    ])
    await Promise.all([one.text(), other.text()])
    expect(one.messages().map(({ method }) => method)).toEqual(['notifications/message', undefined])
    expect(await other.json()).toHaveProperty('result')
    await settle(20)
    expect(listening.messages().map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
    ])
    listening.drop()
  })
})

describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('a session of %s', (version) => {
  const server = () =>
    defineServer({
      ...base,
      tools: {
        lacking: tool({ run: async (_args, ctx) => (await ctx.roots()).length.toString() }),
        t: tool({ run: () => 'x' }),
        wait: tool({
          run: (_args, ctx) =>
            new Promise<string>((resolve) => {
              ctx.signal.addEventListener('abort', () => {
                reasons.push(ctx.signal.reason)
                resolve('late')
              })
            }),
        }),
      },
      resources: { r: resource({ uri: 'x:r', read: () => 'x' }) },
    })
  const reasons: unknown[] = []

  async function open() {
    const sent: JsonObject[] = []
    const connection = new DuplexConnection(server(), (message) => sent.push({ ...message }))
    onTestFinished(() => connection.close())
    const answerTo = async (message: JsonObject): Promise<JsonObject> => {
      connection.receive({ jsonrpc: '2.0', ...message })
      const find = (): JsonObject | undefined => sent.find(({ id }) => id === message['id'])
      await until(() => find() !== undefined)
      return find() ?? {}
    }
    await answerTo(initialize(version))
    connection.receive(initialized)
    return { sent, connection, answerTo }
  }

  it('reports a missing resource with the code of its revision', async () => {
    const { answerTo } = await open()
    const answer = await answerTo({ id: 1, method: 'resources/read', params: { uri: 'x:nowhere' } })
    expect(answer).toMatchObject({ error: { code: -32002, data: { uri: 'x:nowhere' } } })
  })

  it('answers ping at once with an empty result', async () => {
    const { answerTo } = await open()
    expect(await answerTo({ id: 1, method: 'ping' })).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  })

  it('gets no request for an undeclared capability', async () => {
    const { answerTo, sent } = await open()
    expect(await answerTo({ id: 1, method: 'tools/call', params: { name: 'lacking' } })).toMatchObject({
      result: { isError: true },
    })
    expect(sent.filter((message) => message['method'] === 'roots/list')).toEqual([])
  })

  it('passes the reason of a cancellation to the handler, and sends no response', async () => {
    const { connection, sent, answerTo } = await open()
    reasons.length = 0
    connection.receive({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait' } })
    await settle()
    const params = { requestId: 1, reason: 'the person pressed stop' }
    connection.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    await until(() => reasons.length === 1)
    expect(reasons).toMatchObject([
      { code: 'CANCELLED', message: expect.stringMatching(/the person pressed stop/) },
    ])
    expect(await answerTo({ id: 2, method: 'ping' })).toMatchObject({ result: {} })
    expect(sent.some(({ id }) => id === 1)).toBe(false)
  })

  it('notifies of changed lists after initialized', async () => {
    const sent: JsonObject[] = []
    const made = server()
    const connection = new DuplexConnection(made, (message) => sent.push({ ...message }))
    onTestFinished(() => connection.close())
    connection.receive(initialize(version))
    await until(() => sent.length === 1)
    made.remove({ tools: ['t'] })
    await settle()
    expect(sent).toHaveLength(1)
    connection.receive(initialized)
    made.remove({ tools: ['lacking'], resources: ['r'] })
    await until(() => sent.length === 3)
    expect(sent.slice(1).map(({ method }) => method)).toEqual([
      'notifications/tools/list_changed',
      'notifications/resources/list_changed',
    ])
  })
})

describe.each(adapters)('a session over the %s adapter of HTTP', (_, mount) => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
    'of %s answers ping and rejects invalid log levels',
    async (version) => {
      faultyPeer('a level that there is not')
      const mounted = await mount(defineServer({ ...base, tools: {} }))
      onTestFinished(() => mounted.close())
      const { post } = await session(mounted, version)
      expect(await (await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        result: {},
      })
      const loud = { jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'loud' } }
      expect(await (await post(loud)).json()).toMatchObject({ error: { code: -32602 } })
    },
  )
})
