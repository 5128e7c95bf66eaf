import { ErrorCode, type JsonObject, type JsonRpcMessage } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { DuplexConnection } from '../../src/transports/server/duplex-connection.ts'
import { call, cancel, modernCall, open, text } from './duplex-support.ts'
import { ask, codeOf, echo, hang, initialize, settle, type Tool, testServer, until } from './support.ts'

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

  it('serves only ping before initialize', async () => {
    const { request, server } = open()
    expect(await request({ id: 1, method: 'ping' })).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    const refused = await request(call(2, 'echo'))
    expect(codeOf(refused)).toBe(ErrorCode.InvalidRequest)
    expect(server.ran).toEqual([])
  })

  it('rejects a second initialize and keeps the first peer', async () => {
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
  ])('rejects initialize with %s and can be initialized after', async (_, params) => {
    faultyPeer('a greeting that lacks something')
    const { request, begin } = open()
    expect(codeOf(await request({ id: 1, method: 'initialize', ...(params ? { params } : {}) }))).toBe(-32602)
    expect((await begin())['result']).toBeDefined()
  })

  it('answers ping and setLevel with {}', async () => {
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
    'does not support %s in a session',
    async (method) => {
      if (method !== 'no/such') faultyPeer('a method that sessions do not have')
      const { begin, request } = open()
      await begin()
      expect(codeOf(await request({ id: 1, method }))).toBe(ErrorCode.MethodNotFound)
    },
  )

  it('does not offer methods without their capability', async () => {
    const server = testServer({}, { capabilities: { tools: {} } })
    const sent: JsonRpcMessage[] = []
    const connection = new DuplexConnection(server, (message) => sent.push(message))
    connection.receive(initialize())
    connection.receive({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'info' } })
    connection.receive({ jsonrpc: '2.0', id: 2, method: 'resources/subscribe', params: { uri: 'a:b' } })
    await settle()
    expect(sent.slice(1).map((message) => codeOf({ ...message }))).toEqual([-32601, -32601])
    expect(connection.peer?.logLevel).toBeUndefined()
  })
})

describe('input requests in a session', () => {
  it('are sent as requests, and the response resumes the handler', async () => {
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

  it('are cancelled when the client cancels their request, which is then never answered', async () => {
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

  it('are cancelled when the handler ends without waiting for the response', async () => {
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

  it('end the request when the client rejects them', async () => {
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
  ])('%s: aborts the handler, sends no response and frees the id', async (_, make) => {
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

  it('with a late notification, or a handler that continues, never affects a later request with the same id', async () => {
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
  it('in use are rejected a second time while the first request continues', async () => {
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

  it('have a maximum number', async () => {
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
