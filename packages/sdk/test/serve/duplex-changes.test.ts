import { type JsonObject, MetaKey } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { createSealer } from '../../src/request/state.ts'
import { call, cancel, modernCall, open, text } from './duplex-support.ts'
import { codeOf, initialize, initialized, meta, settle, type Tool } from './support.ts'

describe('stateless requests', () => {
  it('are served with only their own _meta, beside a session', async () => {
    const seen: unknown[] = []
    const who: Tool = (_args, { peer }) => {
      seen.push([peer.revision.version, peer.info?.name, peer.capabilities, peer.logLevel])
      return 'ok'
    }
    const { begin, request } = open({ who })
    const alone = await request(modernCall(1, 'who', { _meta: meta({ [MetaKey.logLevel]: 'debug' }) }))
    expect(alone['result']).toMatchObject({ resultType: 'complete' })
    await begin('2025-06-18')
    const inSession = await request(call(2, 'who'))
    expect(inSession['result']).not.toHaveProperty('resultType')
    await request(modernCall(3, 'who', { _meta: meta({ [MetaKey.clientInfo]: undefined }) }))
    expect(seen).toEqual([
      ['2026-07-28', 'tester', { elicitation: {} }, 'debug'],
      ['2025-06-18', 'tester', { elicitation: {} }, 'info'],
      ['2026-07-28', undefined, { elicitation: {} }, undefined],
    ])
  })

  it.each<[string, JsonObject, number, string?]>([
    ['capabilities missing', { [MetaKey.clientCapabilities]: undefined }, -32602, 'a request without them'],
    ['capabilities of a wrong form', { [MetaKey.clientCapabilities]: [] }, -32602, 'a list in their place'],
    ['a version that is no string', { [MetaKey.protocolVersion]: 20260728 }, -32602],
    ['an unknown version', { [MetaKey.protocolVersion]: 'v999' }, -32022],
    ['a version that has sessions', { [MetaKey.protocolVersion]: '2025-11-25' }, -32022],
  ])('are rejected with %s', async (_, broken, code, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    const { request, server } = open()
    const response = await request(modernCall(1, 'echo', { _meta: meta(broken) }))
    expect(codeOf(response)).toBe(code)
    if (code === -32022) {
      const requested = new Map<string, unknown>(Object.entries(broken)).get(MetaKey.protocolVersion)
      expect(response['error']).toMatchObject({
        data: { supported: expect.arrayContaining(['2026-07-28']), requested },
      })
    }
    expect(server.ran).toEqual([])
  })

  it.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'x'])(
    'do not support %s',
    async (method) => {
      if (method !== 'x') faultyPeer('a method that only sessions have')
      const { request } = open()
      expect(codeOf(await request({ id: 1, method, params: { _meta: meta() } }))).toBe(-32601)
    },
  )

  it('request input with results, never with requests', async () => {
    const keys = ['k'.repeat(32)]
    const backplane = memoryBackplane()
    const first = open(undefined, { keys, backplane })
    const response = await first.request(modernCall(1, 'ask'))
    const { result } = response as {
      result: { resultType: string; requestState: string; inputRequests: JsonObject }
    }
    expect(result.resultType).toBe('input_required')
    const [key = ''] = Object.keys(result.inputRequests)
    const again = open(undefined, { keys, backplane })
    const retry = modernCall(2, 'ask', {
      requestState: result.requestState,
      inputResponses: { [key]: { action: 'accept', content: { name: 'Ada' } } },
    })
    expect(text(await again.request(retry))).toBe('Hello, Ada')
    expect([...first.sent, ...again.sent].filter((message) => 'method' in message)).toEqual([])
    expect(await createSealer(keys).open(result.requestState)).toBeDefined()
  })
})

describe('subscriptions', () => {
  const listen = (id: string | number, notifications: JsonObject): JsonObject => ({
    jsonrpc: '2.0',
    id,
    method: 'subscriptions/listen',
    params: { _meta: meta(), notifications },
  })

  it('notify of changes until the client cancels, and then send nothing more', async () => {
    const { receive, sent, server } = open()
    receive(listen('s', { toolsListChanged: true, resourceSubscriptions: ['a:b'] }))
    await settle()
    server.changes.publish({ type: 'prompts' })
    server.changes.publish({ type: 'tools' })
    server.resourceUpdated('a:b')
    await settle()
    receive(cancel('s'))
    await settle()
    server.changes.publish({ type: 'tools' })
    await settle()
    expect(sent.map((message) => 'method' in message && message.method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      'notifications/resources/updated',
    ])
  })

  it('end with their result when the server shuts down', async () => {
    const { receive, sent, connection } = open()
    receive(listen('s', { toolsListChanged: true }))
    await settle()
    await connection.shutdown()
    expect(sent.slice(1)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 's' } },
      { id: 's', result: { resultType: 'complete', _meta: { [MetaKey.subscriptionId]: 's' } } },
    ])
  })

  it('are rejected without such a result', async () => {
    faultyPeer('a subscription to nothing at all')
    const { request, sent } = open()
    const response = await request({ id: 1, method: 'subscriptions/listen', params: { _meta: meta() } })
    expect(codeOf(response)).toBe(-32602)
    expect(sent).toHaveLength(1)
  })
})

describe('changes in a session', () => {
  it('are notified after initialized: lists always, resources if subscribed', async () => {
    const { request, receive, sent, server } = open()
    await request(initialize())
    server.changes.publish({ type: 'tools' })
    await settle()
    expect(sent).toHaveLength(1)
    receive(initialized)
    receive(initialized)
    const uri = 'file:///a'
    await request({ id: 1, method: 'resources/subscribe', params: { uri } })
    server.changes.publish({ type: 'tools' })
    server.resourceUpdated(uri)
    server.resourceUpdated('file:///b')
    await settle()
    await request({ id: 2, method: 'resources/unsubscribe', params: { uri } })
    server.resourceUpdated(uri)
    await settle()
    expect(sent.filter((message) => 'method' in message)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: {} },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } },
    ])
  })

  const tooLong = `a:${'x'.repeat(9000)}`
  it.each([[undefined], [7], [''], ['no uri'], [tooLong]])(
    'cannot be subscribed without a usable URI (%#)',
    async (uri) => {
      if (uri !== tooLong) faultyPeer('a URI that is none')
      const { begin, request } = open()
      await begin()
      const params = uri === undefined ? {} : { uri }
      expect(codeOf(await request({ id: 1, method: 'resources/subscribe', params }))).toBe(-32602)
    },
  )

  it('have a maximum number', async () => {
    const { begin, request } = open({}, { limits: { subscribedUris: 2 } })
    await begin()
    const subscribe = (id: number, uri: string) =>
      request({ id, method: 'resources/subscribe', params: { uri } })
    expect((await subscribe(1, 'a:1'))['result']).toEqual({})
    expect((await subscribe(2, 'a:2'))['result']).toEqual({})
    expect((await subscribe(3, 'a:2'))['result']).toEqual({})
    expect(codeOf(await subscribe(4, 'a:3'))).toBe(-32602)
  })
})
