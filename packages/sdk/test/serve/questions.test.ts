import {
  type ClientCapabilities,
  type CreateMessageParams,
  defineServer,
  type ElicitSchema,
  type JsonObject,
  type JsonRpcMessage,
  MetaKey,
  type ProtocolVersion,
  protocolVersions,
  RpcError,
  type SamplingMessage,
  type Server,
  tool,
} from '@jackfield/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import { DuplexConnection } from '../../src/transports/server/duplex-connection.ts'
import { checkWire } from '../schema/wire.ts'
import { type Adapter, adapters, type Mounted, modern, session } from './http-support.ts'
import { initialize, initialized, meta, settle, until } from './support.ts'

const urls = ['https://shop.example/sign-in', 'not a url', '/relative', '']
const user = (content: SamplingMessage['content']): SamplingMessage => ({ role: 'user', content })
const use = { type: 'tool_use' as const, id: 'u1', name: 't', input: {} }
const used = { type: 'tool_result' as const, toolUseId: 'u1', content: [] }
const text = { type: 'text' as const, text: 'Q' }
const lookup = { name: 't', inputSchema: { type: 'object' as const } }
const samples: Record<string, Omit<CreateMessageParams, '_meta'>> = {
  plain: { messages: [user(text)], maxTokens: 5 },
  tools: { messages: [user(text)], maxTokens: 5, tools: [lookup] },
  choice: { messages: [user(text)], maxTokens: 5, toolChoice: { mode: 'none' } },
  answered: {
    messages: [user(text), { role: 'assistant', content: [use] }, user([used])],
    maxTokens: 5,
    tools: [lookup],
  },
  unanswered: {
    messages: [user(text), { role: 'assistant', content: [use] }],
    maxTokens: 5,
    tools: [lookup],
  },
  late: {
    messages: [{ role: 'assistant', content: [use] }, user(text), user([used])],
    maxTokens: 5,
    tools: [lookup],
  },
  mixed: {
    messages: [{ role: 'assistant', content: [use] }, user([used, text])],
    maxTokens: 5,
    tools: [lookup],
  },
  endless: { messages: [user(text)], maxTokens: 0 },
}
const form: ElicitSchema = {
  type: 'object',
  properties: { seat: { type: 'string', title: 'Seat', default: 'aisle' }, ok: { type: 'boolean' } },
  required: ['ok'],
}

function shop(): Server {
  return defineServer({
    name: 'shop',
    version: '1',
    onError: () => {},
    tools: {
      form: tool({ run: async (_, ctx) => (await ctx.elicit({ message: 'Seat?', schema: form })).action }),
      ...Object.fromEntries(
        urls.map((url, n) => [
          `visit${n}`,
          tool({
            run: async (_, ctx) => (await ctx.elicitUrl({ message: 'Sign in', url, id: `v${n}` })).action,
          }),
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(samples).map(([name, params]) => [
          name,
          tool({ run: async (_, ctx) => (await ctx.sample(params)).model }),
        ]),
      ),
      roots: tool({ run: async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join() }),
      required: tool({
        run: () => {
          throw new RpcError(-32042, 'Visit first', {
            elicitations: [
              { mode: 'url', elicitationId: 'e1', url: 'https://a.example/', message: 'Sign in' },
            ],
          })
        },
      }),
    },
  })
}

interface Put {
  /** Questions that reached the client, as requests or in a result. */
  questions: JsonObject[]
  /** The last message about the call. */
  answer: JsonObject | undefined
  faults: string[]
}

/** Calls a tool as a client with these capabilities and gives what came back, up to the question or the answer. */
async function callTool(
  version: ProtocolVersion,
  name: string,
  capabilities: ClientCapabilities,
): Promise<Put> {
  const sent: JsonRpcMessage[] = []
  const connection = new DuplexConnection(shop(), (message) => sent.push(message), { keys: ['k'.repeat(32)] })
  const isModern = version === '2026-07-28'
  if (!isModern) {
    const handshake = initialize(version)
    const params = handshake['params'] as JsonObject
    connection.receive({ ...handshake, params: { ...params, capabilities } })
    connection.receive(initialized)
  }
  const _meta = isModern ? { _meta: meta({ [MetaKey.clientCapabilities]: capabilities }) } : {}
  connection.receive({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name, ..._meta } })
  const requests = (): JsonObject[] =>
    sent.filter((message) => 'method' in message && 'id' in message).map((message) => ({ ...message }))
  const answer = (): JsonObject | undefined => {
    const found = sent.find((message) => !('method' in message) && message.id === 'call')
    return found && { ...found }
  }
  await until(() => requests().length > 0 || answer() !== undefined)
  await connection.close()
  const result = answer()?.['result'] as JsonObject | undefined
  const inResult = Object.values((result?.['inputRequests'] ?? {}) as Record<string, JsonObject>)
  const faults = sent.flatMap((message) => {
    const about =
      'method' in message || 'error' in message
        ? undefined
        : message.id === 'call'
          ? 'tools/call'
          : 'initialize'
    return checkWire(version, 'server', message, about)
  })
  return { questions: [...requests(), ...inResult], answer: answer(), faults }
}

const everything: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
}
const withUrlElicitations: ProtocolVersion[] = ['2025-11-25', '2026-07-28']

describe.each(protocolVersions)('an input request of %s', (version) => {
  const elicits = version >= '2025-06-18'

  it("has the revision's content: message and form, prompt and limit", async () => {
    for (const [name, method, params] of [
      ['form', 'elicitation/create', { message: 'Seat?', requestedSchema: form }],
      ['plain', 'sampling/createMessage', { messages: [user(text)], maxTokens: 5 }],
      ['roots', 'roots/list', {}],
    ] as const) {
      const { questions, faults } = await callTool(version, name, everything)
      const possible = elicits || name !== 'form'
      expect(questions).toMatchObject(possible ? [{ method, params }] : [])
      expect(faults).toEqual([])
    }
  })

  it.each<[string, ClientCapabilities]>([
    ['form', { sampling: {}, roots: {} }],
    ['form', { elicitation: { url: {} } }],
    ['visit0', { elicitation: {} }],
    ['visit0', { elicitation: { form: {} } }],
    ['plain', { elicitation: {}, roots: {} }],
    ['tools', { sampling: {} }],
    ['choice', { sampling: {} }],
    ['answered', { sampling: { context: {} } }],
    ['roots', { elicitation: {}, sampling: {} }],
  ])('is not sent to a client that did not declare it: %s with %j', async (name, capabilities) => {
    const { questions, answer } = await callTool(version, name, capabilities)
    expect(questions).toEqual([])
    if (version === '2026-07-28') expect(answer).toMatchObject({ error: { code: -32021 } })
    else expect(answer).toMatchObject({ result: { isError: true } })
  })

  it.each(['unanswered', 'late', 'mixed', 'endless', 'visit1', 'visit2', 'visit3'])(
    'is not sent if it is invalid: %s',
    async (name) => {
      const { questions, answer } = await callTool(version, name, everything)
      expect(questions).toEqual([])
      expect(JSON.stringify(answer)).not.toContain('accept')
    },
  )
})

describe.each(withUrlElicitations)('a URL elicitation, on %s', (version) => {
  it('has its mode, message and URL', async () => {
    const { questions, faults } = await callTool(version, 'visit0', everything)
    const { params } = questions[0] ?? {}
    expect(params).toEqual({
      mode: 'url',
      message: 'Sign in',
      url: urls[0],
      ...(version === '2025-11-25' ? { elicitationId: 'v0' } : {}),
    })
    expect(faults).toEqual([])
  })
})

describe.each(withUrlElicitations)('tools in sampling, on %s', (version) => {
  it('have uses and results in order', async () => {
    for (const name of ['tools', 'choice', 'answered']) {
      const { questions, faults } = await callTool(version, name, everything)
      expect(questions).toMatchObject([{ method: 'sampling/createMessage', params: samples[name] }])
      expect(faults).toEqual([])
    }
  })
})

describe('the error that requires URL elicitations first', () => {
  it('reaches a client of 2025-11-25 with its URLs, and is never generated otherwise', async () => {
    const { answer, faults } = await callTool('2025-11-25', 'required', everything)
    expect(answer).toMatchObject({
      error: { code: -32042, data: { elicitations: [{ mode: 'url', elicitationId: 'e1' }] } },
    })
    expect(faults).toEqual([])
    for (const capabilities of [everything, {}]) {
      const refused = await callTool('2025-11-25', 'visit0', capabilities)
      expect(refused.answer).not.toMatchObject({ error: { code: -32042 } })
    }
  })
})

describe.each(adapters)('input requests over the %s adapter', (_, mount: Adapter) => {
  let mounted: Mounted
  afterEach(() => mounted.close())
  const authenticate = async (request: { header(name: string): string | undefined }) => ({
    principal: request.header('authorization') ?? 'nobody',
  })

  it('of one client are answered by that client only', async () => {
    mounted = await mount(shop(), { authenticate })
    const headers = { authorization: 'alice' }
    const capabilities = { [MetaKey.clientCapabilities]: everything }
    const ask = modern('tools/call', { name: 'form', _meta: meta(capabilities) }, headers)
    const first = (await (await mounted.send(ask)).json()) as { result: JsonObject }
    const [key = ''] = Object.keys(first.result['inputRequests'] as JsonObject)
    const retry = (authorization: string) =>
      mounted.send(
        modern(
          'tools/call',
          {
            name: 'form',
            _meta: meta(capabilities),
            requestState: first.result['requestState'],
            inputResponses: { [key]: { action: 'accept', content: { ok: true } } },
          },
          { authorization },
        ),
      )
    expect(await (await retry('mallory')).json()).toMatchObject({ error: { code: -32602 } })
    expect(await (await retry('alice')).json()).toMatchObject({ result: { content: [{ text: 'accept' }] } })
  })

  it('on a session cannot be answered through another one, nor by another principal', async () => {
    const server = shop()
    mounted = await mount(server, { authenticate })
    const alice = await session(mounted, '2025-11-25', { authorization: 'alice' })
    const other = await session(mounted, '2025-11-25', { authorization: 'alice' })
    const mallory = await session(mounted, '2025-11-25', { authorization: 'mallory' })
    const call = await alice.call(1, 'form')
    await until(() => call.messages().length === 1)
    const id = call.messages()[0]?.['id']
    const answer = { jsonrpc: '2.0', id, result: { action: 'accept', content: { ok: true } } }
    await other.post(answer)
    await mallory.post(answer)
    const stolen = await mallory.send({ body: answer, headers: { 'mcp-session-id': alice.id } })
    expect(stolen.status).toBe(404)
    await settle(20)
    expect(call.messages()).toHaveLength(1)
    await alice.post({ ...answer, result: { action: 'decline' } })
    await call.text()
    expect(call.messages()[1]).toMatchObject({ result: { content: [{ text: 'decline' }] } })
  })

  it('that opened a URL notify only that session of its completion, with the same id', async () => {
    const server = shop()
    mounted = await mount(server)
    const capabilities = { elicitation: { url: {} } }
    const open = async () => {
      const handshake = initialize('2025-11-25')
      const params = { ...(handshake['params'] as JsonObject), capabilities }
      const first = await mounted.send({ body: { ...handshake, params } })
      const headers = {
        'mcp-session-id': first.header('mcp-session-id'),
        'mcp-protocol-version': '2025-11-25',
      }
      await mounted.send({ headers, body: initialized })
      const stream = await mounted.send({ method: 'GET', headers })
      const elicitUrl = async (): Promise<void> => {
        const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'visit0' } }
        const call = await mounted.send({ headers, body })
        await until(() => call.messages().length === 1)
        const question = call.messages()[0]
        expect(question).toMatchObject({ params: { elicitationId: 'v0' } })
        await mounted.send({
          headers,
          body: { jsonrpc: '2.0', id: question?.['id'], result: { action: 'accept' } },
        })
        await call.text()
      }
      return { stream, elicitUrl }
    }
    const asked = await open()
    const bystander = await open()
    await asked.elicitUrl()
    server.elicitationComplete('v0')
    server.elicitationComplete('v1')
    await until(() => asked.stream.messages().length > 0)
    await settle(20)
    const notice = { method: 'notifications/elicitation/complete', params: { elicitationId: 'v0' } }
    expect(asked.stream.messages()).toMatchObject([notice])
    expect(checkWire('2025-11-25', 'server', asked.stream.messages()[0])).toEqual([])
    expect(bystander.stream.messages()).toEqual([])
    asked.stream.drop()
    bystander.stream.drop()
  })
})
