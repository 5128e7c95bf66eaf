import { ErrorCode, type JsonObject, MetaKey, RpcError } from '@jackfield/sdk'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { afterEach, describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import type { HeaderPlan } from '../../src/protocol/headers.ts'
import { type Ask, adapters, type Mounted, modern } from './http-support.ts'
import {
  ask,
  echo,
  hang,
  hung,
  initialize,
  meta,
  settle,
  type TestServer,
  type Tool,
  testServer,
  until,
} from './support.ts'

const region: HeaderPlan = [
  { header: 'Mcp-Param-Region', path: ['region'], type: 'string' },
  { header: 'Mcp-Param-Count', path: ['count'], type: 'integer' },
]
const progress: Tool = async (_args, { notify, params }) => {
  for (const step of [1, 2, 3]) {
    const progressToken = (params['_meta'] as JsonObject)['progressToken'] as string
    notify({ method: 'notifications/progress', params: { progressToken, progress: step } })
    await settle(1)
  }
  return 'done'
}
const needsSampling: Tool = () => {
  throw new RpcError(ErrorCode.MissingRequiredClientCapability, 'no sampling', {
    requiredCapabilities: { sampling: {} },
  })
}
const late: Tool = (_args, exchange) => {
  setTimeout(
    () => exchange.notify({ method: 'notifications/message', params: { level: 'info', data: 1 } }),
    5,
  )
  return 'over'
}

describe.each(adapters)('stateless requests over the %s adapter', (_, mount) => {
  let mounted: Mounted
  let server: TestServer
  afterEach(() => mounted.close())
  const start = async (options?: ServeHttpOptions): Promise<Mounted['send']> => {
    server = testServer(
      { echo, ask, hang, hung, progress, needsSampling, late, région: echo, 'a, b': echo },
      { plans: { echo: region } },
    )
    mounted = await mount(server, options)
    return mounted.send
  }
  const callEcho = (headers: Record<string, string | undefined> = {}, params: JsonObject = {}) =>
    modern('tools/call', { name: 'echo', ...params }, headers)
  const codeOf = (body: JsonObject): unknown => (body['error'] as JsonObject | undefined)?.['code']

  it('get one JSON text with a length, without a session', async () => {
    const send = await start()
    const answer = await send({ ...callEcho({ 'mcp-session-id': 'whatever' }) })
    expect(answer.status).toBe(200)
    expect(answer.header('content-type')).toBe('application/json')
    expect(answer.header('mcp-session-id')).toBeUndefined()
    expect(await answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        content: [{ type: 'text', text: 'echo' }],
        _meta: { [MetaKey.serverInfo]: { name: 'test', version: '1.0.0' } },
      },
    })
  })

  const ofSessions = 'a method that only sessions have'
  const noMeta = { ...modern('tools/list'), body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }
  const withMeta = (more: JsonObject, headers: Record<string, string | undefined> = {}) =>
    modern('tools/call', { name: 'echo', _meta: meta(more) }, headers)
  it.each<[string, Ask, number, number | undefined, string?]>([
    ['_meta missing', noMeta, 400, -32602, 'a request without _meta'],
    [
      'no params at all',
      { ...modern('server/discover'), body: { jsonrpc: '2.0', id: 1, method: 'server/discover' } },
      400,
      -32602,
      'a request without params',
    ],
    [
      'no version in _meta',
      withMeta({ [MetaKey.protocolVersion]: undefined }),
      400,
      -32602,
      'a lacking version',
    ],
    [
      'no capabilities in _meta',
      withMeta({ [MetaKey.clientCapabilities]: undefined }),
      400,
      -32602,
      'no capabilities',
    ],
    ['no client info', withMeta({ [MetaKey.clientInfo]: undefined }), 200, undefined],
    ['another version in _meta', withMeta({ [MetaKey.protocolVersion]: 'v999.0.0' }), 400, -32020],
    ['no version header', withMeta({}, { 'mcp-protocol-version': undefined }), 400, -32020],
    ['a legacy version header', withMeta({}, { 'mcp-protocol-version': '2025-11-25' }), 400, -32020],
    [
      'an unknown version in both',
      withMeta({ [MetaKey.protocolVersion]: 'v999.0.0' }, { 'mcp-protocol-version': 'v999.0.0' }),
      400,
      -32022,
    ],
    ['no Mcp-Method', callEcho({ 'mcp-method': undefined }), 400, -32020],
    ['another Mcp-Method', callEcho({ 'mcp-method': 'tools/list' }), 400, -32020],
    ['Mcp-Method in other letters', callEcho({ 'mcp-method': 'Tools/Call' }), 400, -32020],
    ['Mcp-Method in spaces', callEcho({ 'mcp-method': '  tools/call ' }), 200, undefined],
    ['no Mcp-Name', callEcho({ 'mcp-name': undefined }), 400, -32020],
    ['another Mcp-Name', callEcho({ 'mcp-name': 'Echo' }), 400, -32020],
    [
      'Mcp-Name where the body has none',
      modern('tools/call', {}, { 'mcp-name': 'echo' }),
      400,
      -32020,
      'no name',
    ],
    ['no name anywhere', modern('tools/call', {}), 200, -32602, 'no name'],
    ['an encoded Mcp-Name', callEcho({ 'mcp-name': '=?base64?ZWNobw==?=' }), 200, undefined],
    ['an Mcp-Name that is no base64', callEcho({ 'mcp-name': '=?base64?ZWNobw?=' }), 400, -32020],
    ['an Mcp-Name in another case of the mark', callEcho({ 'mcp-name': '=?BASE64?ZWNobw==?=' }), 400, -32020],
    [
      'a name outside ASCII, encoded',
      modern('tools/call', { name: 'région' }, { 'mcp-name': '=?base64?csOpZ2lvbg==?=' }),
      200,
      undefined,
    ],
    ['a name outside ASCII, raw', modern('tools/call', { name: 'région' }), 400, -32020],
    [
      'no Mcp-Name on resources/read',
      modern('resources/read', { uri: 'a:b' }, { 'mcp-name': undefined }),
      400,
      -32020,
    ],
    ['Mcp-Name on resources/read', modern('resources/read', { uri: 'a:b' }), 200, undefined],
    ['Mcp-Name where none is due', modern('tools/list', {}, { 'mcp-name': 'x' }), 200, undefined],
    [
      'a mirrored argument',
      callEcho({ 'mcp-param-region': 'eu' }, { arguments: { region: 'eu' } }),
      200,
      undefined,
    ],
    ['a mirrored argument, header missing', callEcho({}, { arguments: { region: 'eu' } }), 400, -32020],
    [
      'a mirrored argument, header wrong',
      callEcho({ 'mcp-param-region': 'us' }, { arguments: { region: 'eu' } }),
      400,
      -32020,
    ],
    [
      'a mirrored argument, header raw',
      callEcho({ 'mcp-param-region': 'é' }, { arguments: { region: 'é' } }),
      400,
      -32020,
    ],
    ['a mirrored header without argument', callEcho({ 'mcp-param-region': 'eu' }), 400, -32020],
    ['a mirrored null', callEcho({}, { arguments: { region: null } }), 200, undefined],
    [
      'a mirrored integer as 42.0',
      callEcho({ 'mcp-param-count': '42.0' }, { arguments: { count: 42 } }),
      200,
      undefined,
    ],
    ['an unknown Mcp-Param header', callEcho({ 'mcp-param-other': 'x' }), 200, undefined],
    ['an unknown tool', modern('tools/call', { name: 'nope' }), 200, -32602],
    ['a tool named like a prototype member', modern('tools/call', { name: '__proto__' }), 200, -32602],
    ['an unknown method', modern('no/such'), 404, -32601],
    ['a method named like a prototype member', modern('constructor'), 404, -32601],
    ['initialize', modern('initialize'), 404, -32601, ofSessions],
    ['ping', modern('ping'), 404, -32601, ofSessions],
    ['logging/setLevel', modern('logging/setLevel', { level: 'info' }), 404, -32601, ofSessions],
    ['resources/subscribe', modern('resources/subscribe', { uri: 'a:b' }), 404, -32601, ofSessions],
    ['resources/unsubscribe', modern('resources/unsubscribe', { uri: 'a:b' }), 404, -32601, ofSessions],
    ['a method the server lacks', modern('prompts/list'), 404, -32601],
    ['a capability the client lacks', modern('tools/call', { name: 'needsSampling' }), 400, -32021],
    [
      'a wrong envelope',
      { ...callEcho(), body: { jsonrpc: '1.0', id: 1, method: 'tools/list' } },
      400,
      -32600,
      'a version of JSON-RPC that there is not',
    ],
  ])('with %s', async (_, request, status, code, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    const send = await start()
    const answer = await send(request)
    const body = await answer.json()
    expect([answer.status, codeOf(body), body['id']]).toEqual([status, code, 1])
    if (code !== undefined && status !== 200) expect(server.ran.filter((name) => name === 'echo')).toEqual([])
    expect(answer.header('mcp-session-id')).toBeUndefined()
  })

  it('with an unknown version get the supported ones', async () => {
    const send = await start()
    const answer = await send(
      withMeta({ [MetaKey.protocolVersion]: '2099-01-01' }, { 'mcp-protocol-version': '2099-01-01' }),
    )
    expect(await answer.json()).toMatchObject({
      error: {
        data: {
          supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
          requested: '2099-01-01',
        },
      },
    })
  })

  it.each([['tools/list'], ['server/discover']])('serve %s', async (method) => {
    const send = await start()
    expect(await (await send(modern(method))).json()).toMatchObject({
      result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    })
  })

  it('become an event stream at the first notification, and end with the response', async () => {
    const send = await start()
    const answer = await send(modern('tools/call', { name: 'progress', _meta: meta({ progressToken: 'p' }) }))
    expect([answer.status, answer.header('content-type')]).toEqual([200, 'text/event-stream'])
    expect(answer.header('cache-control')).toBe('no-cache, no-transform')
    expect(answer.header('x-accel-buffering')).toBe('no')
    await answer.text()
    expect(answer.messages()).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } },
      { method: 'notifications/progress', params: { progress: 2 } },
      { method: 'notifications/progress', params: { progress: 3 } },
      { id: 1, result: { content: [{ text: 'done' }] } },
    ])
    expect(answer.events.every((event) => event.id === undefined)).toBe(true)
  })

  it('send nothing after the response', async () => {
    const send = await start()
    const answer = await send(modern('tools/call', { name: 'late' }))
    expect(await answer.json()).toMatchObject({ result: { content: [{ text: 'over' }] } })
    await settle(20)
    expect(server.reports).toEqual([])
  })

  it('that take long are kept alive with comments, as an event stream', async () => {
    const send = await start({ limits: { keepAliveMs: 20 } })
    const answer = await send(modern('tools/call', { name: 'hang' }))
    expect(answer.header('content-type')).toBe('text/event-stream')
    await settle(60)
    answer.drop()
    expect(await answer.text()).toMatch(/^(: keep-alive\n\n){2,}$/)
    expect(answer.events).toEqual([])
  })

  it('are cancelled when the client disconnects, before and after the stream started', async () => {
    const reasons: unknown[] = []
    const watch: Tool = (args, { signal, notify }) => {
      if (args['notify']) notify({ method: 'notifications/message', params: { level: 'info', data: 1 } })
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          reject(signal.reason)
        }),
      )
    }
    server = testServer({ watch })
    mounted = await mount(server, { limits: { keepAliveMs: 30 } })
    for (const args of [{}, { notify: true }]) {
      const answer = await mounted.send(modern('tools/call', { name: 'watch', arguments: args }))
      const before = reasons.length
      await settle(10)
      expect(reasons).toHaveLength(before)
      answer.drop()
      await until(() => reasons.length > before, 500)
    }
    expect(reasons).toMatchObject([{ code: 'CANCELLED' }, { code: 'CANCELLED' }])
    expect(server.reports).toEqual([])
  })

  it('request input with results, and the retry has the response', async () => {
    const send = await start()
    const first = await (await send(modern('tools/call', { name: 'ask' }))).json()
    const result = first['result'] as { requestState: string; inputRequests: JsonObject }
    const [key = ''] = Object.keys(result.inputRequests)
    const retry = {
      name: 'ask',
      requestState: result.requestState,
      inputResponses: { [key]: { action: 'accept', content: { name: 'Ada' } } },
    }
    expect(await (await send(modern('tools/call', retry))).json()).toMatchObject({
      result: { resultType: 'complete', content: [{ text: 'Hello, Ada' }] },
    })
    expect(await (await send(modern('tools/call', retry))).json()).toMatchObject({ error: { code: -32602 } })
  })

  it('use unrequested responses only with the option for it', async () => {
    const request = modern('tools/call', {
      name: 'keyed',
      inputResponses: { who: { action: 'accept', content: {} } },
    })
    const keyed: Tool = async (_args, _exchange, round) => {
      const question = { message: 'Who?', requestedSchema: { type: 'object' as const, properties: {} } }
      const answer = await round.get().ask({ method: 'elicitation/create', params: question }, 'who')
      return answer.action
    }
    for (const [dangerouslyAcceptUnsentQuestions, resultType] of [
      [false, 'input_required'],
      [true, 'complete'],
    ] as const) {
      mounted = await mount(testServer({ keyed }), { dangerouslyAcceptUnsentQuestions })
      expect(await (await mounted.send(request)).json()).toMatchObject({ result: { resultType } })
      await mounted.close()
    }
  })

  it('listen: acknowledged first, send only requested changes, end with the connection', async () => {
    const send = await start()
    const answer = await send(
      modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, 'sub'),
    )
    expect(answer.header('content-type')).toBe('text/event-stream')
    server.changes.publish({ type: 'prompts' })
    server.changes.publish({ type: 'tools' })
    await until(() => answer.events.length === 2)
    expect(answer.messages()).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged' },
      { method: 'notifications/tools/list_changed', params: { _meta: { [MetaKey.subscriptionId]: 'sub' } } },
    ])
    answer.drop()
    await settle(20)
    expect(server.reports).toEqual([])
  })

  it('listen: end with their result when the server closes', async () => {
    const send = await start()
    const answer = await send(modern('subscriptions/listen', { notifications: {} }))
    await until(() => answer.events.length === 1)
    await mounted.handler.close()
    await answer.text()
    expect(answer.messages().at(-1)).toMatchObject({
      id: 1,
      result: { resultType: 'complete', _meta: { [MetaKey.subscriptionId]: 1 } },
    })
  })

  it('listen: have a maximum number, and a freed place can be used', async () => {
    const send = await start({ limits: { listenStreams: 1 } })
    const listen = modern('subscriptions/listen', { notifications: {} })
    const first = await send(listen)
    await until(() => first.events.length === 1)
    const second = await send(listen)
    expect([second.status, second.header('retry-after')]).toEqual([503, '10'])
    expect(await second.json()).toMatchObject({ id: 1, error: { code: -32603 } })
    first.drop()
    await settle(20)
    const third = await send(listen)
    expect(third.status).toBe(200)
    third.drop()
  })

  it('accept notifications with 202 and reject responses and batches', async () => {
    faultyPeer('a notice without its params, and a batch')
    const send = await start()
    const headers = { 'mcp-protocol-version': '2026-07-28' }
    const notice = await send({ headers, body: { jsonrpc: '2.0', method: 'notifications/cancelled' } })
    expect([notice.status, await notice.text()]).toEqual([202, ''])
    const response = await send({ headers, body: { jsonrpc: '2.0', id: 1, result: {} } })
    expect([response.status, (await response.json())['id']]).toEqual([400, undefined])
    const batch = await send({ headers, body: [callEcho().body] })
    expect([batch.status, codeOf(await batch.json())]).toEqual([400, -32600])
  })

  it.each(['GET', 'DELETE'])('have no %s', async (method) => {
    const send = await start()
    const answer = await send({ method, headers: { 'mcp-protocol-version': '2026-07-28' } })
    expect([answer.status, answer.header('allow')]).toEqual([405, 'POST'])
  })

  it('get 503 while the server closes, and hanging handlers are aborted', async () => {
    const send = await start()
    const pending = send(modern('tools/call', { name: 'hung' }))
    await settle(20)
    const closed = mounted.handler.close()
    if (mounted.url.startsWith('http://localhost')) {
      expect((await send(callEcho())).status).toBe(503)
    }
    expect((await pending).status).toBe(503)
    await closed
  })

  it('are separate from sessions on the same endpoint', async () => {
    const send = await start()
    const first = await send({ body: initialize() })
    expect(first.header('mcp-session-id')).toBeDefined()
    const answer = await send(callEcho({ 'mcp-session-id': first.header('mcp-session-id') }))
    expect(await answer.json()).toMatchObject({ result: { resultType: 'complete' } })
  })
})
