import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { createSealer } from '../../src/core/seal.ts'
import { ErrorCode } from '../../src/jsonrpc/error.ts'
import type { JsonObject, JsonRpcMessage } from '../../src/jsonrpc/message.ts'
import { MetaKey } from '../../src/protocol/meta.ts'
import { type DuplexOptions, openConnection } from '../../src/serve/duplex.ts'
import {
  ask,
  echo,
  hang,
  hung,
  initialize,
  initialized,
  meta,
  settle,
  type Tool,
  testServer,
  until,
} from './support.ts'

/** One end of a channel: what was sent to it, and how to answer. */
function open(tools: Record<string, Tool> = { echo, ask, hang, hung }, options: DuplexOptions = {}) {
  const server = testServer(tools)
  const sent: JsonRpcMessage[] = []
  const batches: JsonRpcMessage[][] = []
  const connection = openConnection(server, (message) => sent.push(message), {
    sendBatch: (responses) => batches.push(responses),
    ...options,
  })
  const receive = (value: unknown): void => connection.receive(value)
  const answerTo = async (id: unknown): Promise<JsonObject> => {
    const find = (): JsonRpcMessage | undefined =>
      sent.find((message) => !('method' in message) && message.id === id)
    await until(() => find() !== undefined)
    return { ...find() }
  }
  const request = async (message: JsonObject): Promise<JsonObject> => {
    receive({ jsonrpc: '2.0', ...message })
    return answerTo(message['id'])
  }
  const begin = async (version?: string): Promise<JsonObject> => {
    const response = await request(initialize(version))
    receive(initialized)
    return response
  }
  return { server, sent, batches, connection, receive, request, answerTo, begin }
}

const call = (id: string | number, name: string, more: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...more },
})
const modernCall = (id: string | number, name: string, more: JsonObject = {}): JsonObject =>
  call(id, name, { _meta: meta(), ...more })
const cancel = (requestId: unknown): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})
const text = (response: JsonObject): unknown => {
  const { result } = response as { result?: { content?: { text?: string }[] } }
  return result?.content?.[0]?.text
}
const codeOf = (response: JsonObject): unknown => (response['error'] as JsonObject | undefined)?.['code']

describe('the legacy lifecycle', () => {
  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('agrees on %s', async (version) => {
    const { begin, connection } = open()
    const response = await begin(version)
    expect(response['result']).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: 'test' },
      instructions: 'Be gentle.',
      capabilities: { tools: { listChanged: true } },
    })
    expect(connection.peer?.revision.version).toBe(version)
    expect(connection.peer?.info).toEqual({ name: 'tester', version: '1' })
  })

  it.each(['1999-01-01', '2026-07-28', ''])(
    'offers its newest session revision for "%s"',
    async (version) => {
      const { begin } = open()
      expect((await begin(version))['result']).toMatchObject({ protocolVersion: '2025-11-25' })
    },
  )

  it('serves nothing but ping before initialize', async () => {
    const { request, server } = open()
    expect(await request({ id: 1, method: 'ping' })).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    const refused = await request(call(2, 'echo'))
    expect(codeOf(refused)).toBe(ErrorCode.InvalidRequest)
    expect(server.ran).toEqual([])
  })

  it('refuses a second initialize and keeps the first peer', async () => {
    const { begin, request, connection } = open()
    await begin('2025-06-18')
    expect(codeOf(await request(initialize('2025-11-25', 2)))).toBe(ErrorCode.InvalidRequest)
    expect(connection.peer?.revision.version).toBe('2025-06-18')
  })

  it.each([
    ['no params', undefined],
    ['no version', { capabilities: {}, clientInfo: { name: 'a', version: '1' } }],
    ['no capabilities', { protocolVersion: '2025-11-25', clientInfo: { name: 'a', version: '1' } }],
    ['no client', { protocolVersion: '2025-11-25', capabilities: {} }],
  ])('refuses initialize with %s and can be initialized after', async (_, params) => {
    faultyPeer('a greeting that lacks something')
    const { request, begin } = open()
    expect(codeOf(await request({ id: 1, method: 'initialize', ...(params ? { params } : {}) }))).toBe(-32602)
    expect((await begin())['result']).toBeDefined()
  })

  it('answers ping and setLevel with nothing but {}', async () => {
    faultyPeer('a level that there is not')
    const { begin, request, connection } = open()
    await begin()
    expect((await request({ id: 1, method: 'ping' }))['result']).toEqual({})
    const level = { id: 2, method: 'logging/setLevel', params: { level: 'error' } }
    expect((await request(level))['result']).toEqual({})
    expect(connection.peer?.logLevel).toBe('error')
    const bad = { id: 3, method: 'logging/setLevel', params: { level: 'loud' } }
    expect(codeOf(await request(bad))).toBe(-32602)
  })

  it.each(['server/discover', 'subscriptions/listen', 'no/such', 'elicitation/create'])(
    'does not know %s in a session',
    async (method) => {
      if (method !== 'no/such') faultyPeer('a method that sessions do not have')
      const { begin, request } = open()
      await begin()
      expect(codeOf(await request({ id: 1, method }))).toBe(ErrorCode.MethodNotFound)
    },
  )

  it('does not offer what the server has no capability for', async () => {
    const server = testServer({}, { capabilities: { tools: {} } })
    const sent: JsonRpcMessage[] = []
    const connection = openConnection(server, (message) => sent.push(message))
    connection.receive(initialize())
    connection.receive({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'info' } })
    connection.receive({ jsonrpc: '2.0', id: 2, method: 'resources/subscribe', params: { uri: 'a:b' } })
    await settle()
    expect(sent.slice(1).map((message) => codeOf({ ...message }))).toEqual([-32601, -32601])
    expect(connection.peer?.logLevel).toBeUndefined()
  })
})

describe('questions in a session', () => {
  it('go out as requests and the answer resumes the handler', async () => {
    const { begin, receive, answerTo, sent } = open()
    await begin()
    receive(call(1, 'ask'))
    await until(() => sent.some((message) => 'method' in message && message.method === 'elicitation/create'))
    const question = sent.at(-1)
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Who?' } })
    const id = question !== undefined && 'id' in question ? question.id : undefined
    receive({ jsonrpc: '2.0', id: String(id), result: { action: 'decline' } })
    receive({ jsonrpc: '2.0', id: 4711, result: { action: 'decline' } })
    await settle()
    expect(sent.at(-1)).toBe(question)
    receive({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } })
    expect(text(await answerTo(1))).toBe('Hello, Ada')
  })

  it('are taken back when the client cancels the request that asks, which is then never answered', async () => {
    const { begin, receive, sent } = open()
    await begin()
    receive(call(1, 'ask'))
    await until(() => sent.length === 2)
    receive(cancel(1))
    await settle()
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
    receive({ jsonrpc: '2.0', id: 1, result: { action: 'accept', content: { name: 'Late' } } })
    await settle()
    expect(sent).toHaveLength(3)
  })

  it('are taken back when the handler ends without waiting for the answer', async () => {
    const impatient: Tool = (_args, exchange, round) => {
      ask({}, exchange, round)
      return settle(10).then(() => 'done')
    }
    const { begin, receive, sent } = open({ impatient })
    await begin()
    receive(call(1, 'impatient'))
    await until(() => sent.length === 4)
    expect(sent.slice(2)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 1 } },
      { id: 1, result: {} },
    ])
  })

  it('end the request when the client refuses', async () => {
    const { begin, receive, answerTo, sent } = open()
    await begin()
    receive(call(1, 'ask'))
    await until(() => sent.length === 2)
    receive({ jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } })
    expect(await answerTo(1)).toMatchObject({ result: { isError: true } })
  })
})

describe('cancelling', () => {
  it.each([
    ['legacy', call],
    ['modern', modernCall],
  ])('%s: aborts the handler, sends no answer and frees the id', async (_, make) => {
    faultyPeer('a cancellation of null')
    const aborted: unknown[] = []
    const watch: Tool = (_args, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason)
          reject(signal.reason)
        }),
      )
    const { begin, receive, request, sent, server } = open({ watch, echo })
    await begin()
    receive(make(7, 'watch'))
    receive(cancel('7'))
    receive(cancel(8))
    receive(cancel(null))
    await settle()
    expect(aborted).toEqual([])
    receive(cancel(7))
    await settle()
    expect(aborted).toHaveLength(1)
    expect(sent).toHaveLength(1)
    expect(server.reports).toEqual([])
    expect(text(await request(make(7, 'echo')))).toBe('echo')
  })

  it('does not let a late cancel or a handler that goes on touch a later request with the same id', async () => {
    let release = (): void => {}
    const stubborn: Tool = (_args, exchange) =>
      new Promise((resolve) => {
        release = () => {
          exchange.notify({ method: 'notifications/message', params: { level: 'info', data: 'late' } })
          resolve('late')
        }
      })
    const { begin, receive, answerTo, sent, connection } = open({ stubborn, hang, echo })
    await begin()
    receive(call(1, 'stubborn'))
    receive(cancel(1))
    receive(call(1, 'echo'))
    expect(text(await answerTo(1))).toBe('echo')
    receive(call(1, 'hang'))
    release()
    await settle()
    expect(sent).toHaveLength(2)
    receive(call(1, 'echo'))
    await until(() => sent.length === 3)
    expect(sent[2]).toMatchObject({ id: 1, error: { code: -32600 } })
    receive(cancel(1))
    await settle()
    expect(connection.running).toBe(0)
  })
})

describe('ids', () => {
  it('in flight are refused a second time while the first goes on', async () => {
    let release = (): void => {}
    const slow: Tool = () =>
      new Promise((resolve) => {
        release = () => resolve('first')
      })
    const { begin, receive, sent } = open({ slow, echo })
    await begin()
    receive(call(1, 'slow'))
    receive(call('1', 'echo'))
    receive(modernCall(1, 'echo'))
    receive(call(1, 'echo'))
    await settle()
    release()
    await until(() => sent.length === 5)
    const answers = sent.slice(1).map((message) => ({ ...message }) as JsonObject)
    expect(answers.filter((answer) => codeOf(answer) === -32600).map((answer) => answer['id'])).toEqual([
      1, 1,
    ])
    expect(
      answers.filter((answer) => 'result' in answer).map((answer) => [answer['id'], text(answer)]),
    ).toEqual([
      ['1', 'echo'],
      [1, 'first'],
    ])
  })

  it('are bounded in number', async () => {
    const { begin, receive, sent } = open({ hang }, { limits: { inFlight: 2 } })
    await begin()
    for (const id of [1, 2, 3]) receive(call(id, 'hang'))
    await until(() => sent.length === 2)
    expect(sent[1]).toMatchObject({ id: 3, error: { code: -32600 } })
    receive(cancel(1))
    await settle()
    receive(call(4, 'hang'))
    await settle()
    expect(sent).toHaveLength(2)
  })
})

describe('stateless requests', () => {
  it('are served with nothing but their own _meta, beside a session', async () => {
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
  ])('are refused with %s', async (_, broken, code, fault) => {
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
    'do not know %s',
    async (method) => {
      if (method !== 'x') faultyPeer('a method that only sessions have')
      const { request } = open()
      expect(codeOf(await request({ id: 1, method, params: { _meta: meta() } }))).toBe(-32601)
    },
  )

  it('ask by results and never by requests', async () => {
    const keys = ['k'.repeat(32)]
    const first = open(undefined, { keys })
    const response = await first.request(modernCall(1, 'ask'))
    const { result } = response as {
      result: { resultType: string; requestState: string; inputRequests: JsonObject }
    }
    expect(result.resultType).toBe('input_required')
    const [key = ''] = Object.keys(result.inputRequests)
    const again = open(undefined, { keys })
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

  it('tell changes until the client cancels, and then say nothing more', async () => {
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

  it('are taken back and answered when the server shuts down', async () => {
    const { receive, sent, connection } = open()
    receive(listen('s', { toolsListChanged: true }))
    await settle()
    await connection.shutdown()
    expect(sent.slice(1)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 's' } },
      { id: 's', result: { resultType: 'complete', _meta: { [MetaKey.subscriptionId]: 's' } } },
    ])
  })

  it('are refused without being taken back', async () => {
    faultyPeer('a subscription to nothing at all')
    const { request, sent } = open()
    const response = await request({ id: 1, method: 'subscriptions/listen', params: { _meta: meta() } })
    expect(codeOf(response)).toBe(-32602)
    expect(sent).toHaveLength(1)
  })
})

describe('changes in a session', () => {
  it('are told after initialized: lists always, resources while subscribed', async () => {
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
    'cannot be subscribed to without a usable URI (%#)',
    async (uri) => {
      if (uri !== tooLong) faultyPeer('a URI that is none')
      const { begin, request } = open()
      await begin()
      const params = uri === undefined ? {} : { uri }
      expect(codeOf(await request({ id: 1, method: 'resources/subscribe', params }))).toBe(-32602)
    },
  )

  it('are bounded in number', async () => {
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

describe('batches', () => {
  const batch = [
    call(1, 'echo'),
    initialized,
    call(2, 'nope'),
    7,
    cancel(99),
    { jsonrpc: '2.0', id: 3, method: 'ping' },
  ]

  it('are served on 2025-03-26 and answered as one array', async () => {
    faultyPeer('a number in a batch')
    const { begin, receive, batches, sent } = open()
    await begin('2025-03-26')
    receive(batch)
    await until(() => batches.length === 1)
    const [responses = []] = batches
    expect(responses.map((message) => ('id' in message ? message.id : undefined))).toEqual([
      1,
      2,
      undefined,
      3,
    ])
    expect(sent).toHaveLength(1)
  })

  it('of notices alone are not answered', async () => {
    const { begin, receive, batches, sent } = open()
    await begin('2025-03-26')
    receive([initialized, cancel(1)])
    await settle()
    expect([batches, sent.length]).toEqual([[], 1])
  })

  it.each(['2024-11-05', '2025-06-18', '2025-11-25'])('are refused on %s', async (version) => {
    faultyPeer('a batch, which its revision does not have')
    const { begin, receive, sent, server } = open()
    await begin(version)
    receive(batch)
    await settle()
    expect(sent[1]).toMatchObject({ error: { code: -32600 } })
    expect(sent[1]).not.toHaveProperty('id')
    expect(server.ran).toEqual([])
  })

  it('are refused before initialize, empty, too long, and with what may not be in them', async () => {
    faultyPeer('a batch without a revision, and one of numbers')
    const { begin, receive, batches, sent } = open(undefined, { limits: { batch: 3 } })
    receive(batch)
    await settle()
    expect(sent).toMatchObject([{ error: { code: -32600 } }])
    await begin('2025-03-26')
    receive([])
    receive([1, 2, 3, 4])
    await settle()
    expect(sent.slice(2)).toMatchObject([{ error: { code: -32600 } }, { error: { code: -32600 } }])
    receive([initialize('2025-03-26', 1), modernCall(2, 'echo')])
    await until(() => batches.length === 1)
    expect(batches[0]).toMatchObject([
      { id: 1, error: { code: -32600 } },
      { id: 2, error: { code: -32600 } },
    ])
  })
})

describe('what goes wrong', () => {
  it('inside the server is reported and answered without a word about it', async () => {
    const secret = 'password=hunter2'
    const broken: Tool = () => {
      throw new Error(secret)
    }
    const cyclic: Tool = () => {
      const result: JsonObject = { content: [] }
      result['self'] = result
      return result
    }
    const { request, server, sent } = open({ broken, cyclic })
    expect(await request(modernCall(1, 'broken'))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: 'Internal error' },
    })
    expect(JSON.stringify(sent)).not.toContain('hunter2')
    expect(server.reports).toMatchObject([{ message: secret }])
  })

  it('before a server gave a promise is answered all the same', async () => {
    const { connection, request, server } = open()
    server.handle = () => {
      throw new Error('at once')
    }
    expect(await request(modernCall(1, 'echo'))).toMatchObject({ id: 1, error: { code: -32603 } })
    expect(connection.running).toBe(0)
    expect(server.reports).toMatchObject([{ message: 'at once' }])
  })

  it('with requests that were taken back and go on is bounded like the others', async () => {
    const { request, receive } = open({ hung, echo }, { limits: { inFlight: 2 } })
    for (const id of [1, 2]) {
      receive(modernCall(id, 'hung'))
      receive(cancel(id))
    }
    expect(await request(modernCall(3, 'echo'))).toMatchObject({
      error: { message: expect.stringContaining('Too many requests in flight') },
    })
  })

  it('inside the reporter takes nothing with it', async () => {
    const { request, server } = open({
      broken: () => {
        throw new Error('first')
      },
    })
    server.report = () => {
      throw new Error('second')
    }
    expect(codeOf(await request(modernCall(1, 'broken')))).toBe(-32603)
  })

  it('in the error of a handler keeps its code and data', async () => {
    const { request } = open()
    expect(codeOf(await request(modernCall(1, 'unknown')))).toBe(-32602)
  })

  it('never answers a response, a notice or an answer nobody waits for', async () => {
    faultyPeer('notices of a wrong envelope')
    const { receive, sent } = open()
    receive({ jsonrpc: '2.0', id: 1, result: {} })
    receive({ jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: 'x' } })
    receive({ jsonrpc: '2.0', error: { code: 1, message: 'x' } })
    receive({ jsonrpc: '1.0', method: 'notifications/initialized' })
    receive({ jsonrpc: '2.0', method: 'no/such', params: [] })
    await settle()
    expect(sent).toEqual([])
  })

  it('never throws and never leaves a request unanswered, whatever comes', () => {
    faultyPeer('any JSON')
    const json = fc.jsonValue()
    const id = fc.oneof(fc.integer(), fc.string({ maxLength: 8 }), json)
    const method = fc.oneof(
      fc.constantFrom('initialize', 'ping', 'tools/call', 'notifications/cancelled', '__proto__', 'toString'),
      fc.string(),
      json,
    )
    const message = fc.record(
      { jsonrpc: fc.oneof(fc.constant('2.0'), json), id, method, params: json, result: json, error: json },
      { requiredKeys: [] },
    )
    return fc.assert(
      fc.asyncProperty(fc.oneof(message, fc.array(message, { maxLength: 3 }), json), async (value) => {
        const { receive, sent } = open()
        receive(value)
        for (let i = 0; i < 20; i++) await Promise.resolve()
        const isRequest =
          typeof value === 'object' &&
          value !== null &&
          !Array.isArray(value) &&
          'id' in value &&
          'method' in value
        if (isRequest) expect(sent).toHaveLength(1)
      }),
      { numRuns: 500 },
    )
  })
})

describe('closing', () => {
  it('aborts what runs, settles what waits, sends nothing more and takes nothing more', async () => {
    const { begin, receive, sent, connection, server } = open()
    await begin()
    receive(call(1, 'ask'))
    receive(call(2, 'hang'))
    receive(modernCall(3, 'hang'))
    await until(() => sent.length === 2)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const closing = connection.close()
    await vi.advanceTimersByTimeAsync(500)
    await closing
    vi.useRealTimers()
    receive(call(4, 'echo'))
    server.changes.publish({ type: 'tools' })
    await settle()
    expect(sent).toHaveLength(2)
    expect(server.reports).toEqual([])
  })

  it('waits one second for a handler that does not let go', async () => {
    const { begin, receive, connection } = open()
    await begin()
    receive(call(1, 'hung'))
    await settle()
    const began = Date.now()
    await connection.close()
    expect(Date.now() - began).toBeGreaterThan(900)
    expect(connection.running).toBe(1)
  })
})
