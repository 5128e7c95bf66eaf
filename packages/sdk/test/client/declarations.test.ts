import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { checkWire } from '../schema/wire.ts'
import { discovered, failure, type Message, result, scripted, sse, until } from './support/http.ts'
import { questions } from './support/questions.ts'
import { listed } from './support/results.ts'

type Asking = 'roots' | 'sampling' | 'elicitation'

const handlers: Record<Asking, ConnectOptions> = {
  roots: { onRoots: [{ uri: 'file:///a', name: 'a' }] },
  sampling: {
    onSample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'A' } }),
  },
  elicitation: { onElicit: () => ({ action: 'cancel' }) },
}

/** A client of one revision, and every message it sent. A call of "ask" is asked the question first. */
async function connectAs(version: ProtocolVersion, options: ConnectOptions, question?: object) {
  const answers: Message[] = []
  const server = await scripted((one) => {
    const { method, id } = one.message
    if (version === '2026-07-28') {
      if (discovered(one)) return
    } else if (method === 'server/discover') return failure(one, -32601, 'Method not found', 404)
    if (one.method !== 'POST') one.res.writeHead(405).end()
    else if (method === 'initialize') {
      const serverInfo = { name: 'hand', version: '1' }
      result(one, { protocolVersion: version, capabilities: { tools: {}, prompts: {} }, serverInfo })
    } else if (id === undefined || method === undefined) {
      if (id !== undefined) answers.push(one.message)
      one.res.writeHead(202).end()
    } else if (method === 'tools/call' && question !== undefined) sse(one.res)({ data: question })
    else if (method === 'subscriptions/listen') {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      result(one, { resultType: 'complete', _meta })
    } else result(one, listed({ content: [], contents: [], messages: [], tools: [] }))
  })
  const client = await connect(server.url, { revisions: [version], ...options })
  onTestFinished(() => client.close())
  return { client, server, answers, sent: () => server.seen.map((one) => one.message) }
}

const sessions = protocolVersions.filter((version) => version !== '2026-07-28')
const all: ConnectOptions = { ...handlers.roots, ...handlers.sampling, ...handlers.elicitation }

describe.each(sessions)('a client of %s', (version) => {
  it.each<[Asking, object]>([
    ['roots', { roots: { listChanged: true } }],
    ['sampling', { sampling: {} }],
    ['elicitation', { elicitation: { form: {} } }],
  ])('declares %s in initialize if it has a handler, and nothing else', async (kind, capabilities) => {
    const { sent } = await connectAs(version, handlers[kind])
    const initialize = sent().find(({ method }) => method === 'initialize')
    const unknown = kind === 'elicitation' && version < '2025-06-18'
    expect(initialize?.params['capabilities']).toEqual(unknown ? expect.anything() : capabilities)
    expect(checkWire(version, 'client', initialize)).toEqual([])
  })

  it('declares nothing without handlers', async () => {
    const { sent } = await connectAs(version, {})
    const initialize = sent().find(({ method }) => method === 'initialize')
    expect(initialize?.params['capabilities']).toEqual({})
  })

  it('notifies the server when its roots changed', async () => {
    const { client, sent } = await connectAs(version, handlers.roots)
    await client.rootsChanged()
    const [notice] = sent().filter(({ method }) => method === 'notifications/roots/list_changed')
    expect(checkWire(version, 'client', notice)).toEqual([])
    const without = await connectAs(version, {})
    await expect(without.client.rootsChanged()).rejects.toMatchObject({ code: 'CAPABILITY' })
  })

  it('lists its roots as file URIs, without invalid ones', async () => {
    const question = { jsonrpc: '2.0', id: 'q', method: 'roots/list' }
    const good = await connectAs(version, handlers.roots, question)
    good.client.call('ask').catch(() => {})
    await until(() => good.answers.length === 1)
    expect(good.answers[0]?.result).toEqual({ roots: [{ uri: 'file:///a', name: 'a' }] })
    expect(checkWire(version, 'client', good.answers[0], 'roots/list')).toEqual([])
    for (const uri of ['https://example.com/', '/srv', 'file:relative', 'FILE//x']) {
      const bad = await connectAs(version, { onRoots: [{ uri }] }, question)
      bad.client.call('ask').catch(() => {})
      await until(() => bad.answers.length === 1)
      expect([uri, bad.answers[0]?.error?.code]).toEqual([uri, -32603])
    }
  })

  it('answers undeclared requests with -32601', async () => {
    if (version < '2025-06-18') faultyPeer('it elicits, which its revision does not know')
    for (const [method, params] of Object.entries(questions)) {
      const { client, answers } = await connectAs(version, {}, { jsonrpc: '2.0', id: 'q', method, params })
      client.call('ask').catch(() => {})
      await until(() => answers.length === 1)
      expect([method, answers[0]?.error?.code]).toEqual([method, -32601])
    }
  })
})

describe('a client of 2026-07-28', () => {
  it.each<[string, ConnectOptions, object]>([
    ['roots', handlers.roots, { roots: {} }],
    ['sampling', handlers.sampling, { sampling: {} }],
    [
      'sampling with tools',
      { ...handlers.sampling, sampling: { tools: true, context: true } },
      { sampling: { tools: {}, context: {} } },
    ],
    ['elicitation', handlers.elicitation, { elicitation: { form: {} } }],
    ['URLs alone', { ...handlers.elicitation, elicitation: { url: true } }, { elicitation: { url: {} } }],
    ['all of them', all, { roots: {}, sampling: {}, elicitation: { form: {} } }],
    ['nothing', {}, {}],
  ])('declares %s on each of its requests', async (_, options, capabilities) => {
    const { client, sent } = await connectAs('2026-07-28', options)
    await client.tools()
    await client.call('t')
    await client.read('a:b')
    await client.prompt('p')
    await client.ping()
    client.watch({ toolsListChanged: true }).catch(() => {})
    await until(() => sent().length === 7)
    const declared = sent().map(({ params }) => params._meta['io.modelcontextprotocol/clientCapabilities'])
    expect(declared).toEqual(Array.from({ length: 7 }, () => capabilities))
    for (const message of sent()) expect(checkWire('2026-07-28', 'client', message)).toEqual([])
  })
})

describe('a client that declares elicitation', () => {
  it('can show forms, URLs or both, and not neither', async () => {
    const onElicit: ConnectOptions['onElicit'] = () => ({ action: 'cancel' })
    const attempt = connect('http://127.0.0.1:1/', { onElicit, elicitation: { form: false, url: false } })
    await expect(attempt).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/forms, URLs or both/),
    })
  })
})
