import { runInNewContext } from 'node:vm'
import type { JsonObject, Outcome } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { call, cancel, modernCall, open } from './duplex-support.ts'
import { codeOf, echo, hung, initialize, initialized, settle, type Tool, until } from './support.ts'

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

  it('of notifications alone are not answered', async () => {
    const { begin, receive, batches, sent } = open()
    await begin('2025-03-26')
    receive([initialized, cancel(1)])
    await settle()
    expect([batches, sent.length]).toEqual([[], 1])
  })

  it.each(['2024-11-05', '2025-06-18', '2025-11-25'])('are rejected on %s', async (version) => {
    faultyPeer('a batch, which its revision does not have')
    const { begin, receive, sent, server } = open()
    await begin(version)
    receive(batch)
    await settle()
    expect(sent[1]).toMatchObject({ error: { code: -32600 } })
    expect(sent[1]).not.toHaveProperty('id')
    expect(server.ran).toEqual([])
  })

  it('are rejected before initialize, empty, too long, and with disallowed messages', async () => {
    faultyPeer('a batch without a revision, and one of numbers')
    const { begin, receive, batches, sent } = open(undefined, { limits: { batch: 3 } })
    receive(batch)
    await until(() => sent.length > 0)
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

describe('a failure', () => {
  it('inside the server is reported, and answered without its reason', async () => {
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

  it('before a server returned a promise is answered as well', async () => {
    const { connection, request, server } = open()
    server.handle = () => {
      throw new Error('at once')
    }
    const error = { code: -32603, message: 'Internal error' }
    expect(await request(modernCall(1, 'echo'))).toEqual({ jsonrpc: '2.0', id: 1, error })
    expect(connection.running).toBe(0)
    expect(server.reports).toMatchObject([{ message: 'at once' }])
  })

  it.each([
    ['both a result and an error', { result: {}, error: { code: 1, message: 'm' } }],
    ['an error without words', { error: { code: 1 } }],
    ['a result that is none', { result: 'yes' }],
  ])('in the response to a question, as %s, is passed to the waiting handler', async (_, answer) => {
    const { begin, receive, sent, answerTo } = open()
    await begin('2025-11-25')
    receive(call(1, 'ask'))
    await until(() => sent.some((message) => 'method' in message))
    const question = sent.find((message) => 'method' in message)
    const id = question !== undefined && 'id' in question ? question.id : undefined
    receive({ jsonrpc: '2.0', id, ...answer })
    expect(await answerTo(1)).toMatchObject({
      result: {
        isError: true,
        content: [{ text: expect.stringContaining('the client sent an invalid response') }],
      },
    })
  })

  it.each([
    ['a notice', { method: 'notifications/initialized', params: 7 }],
    ['a response without a request', { id: 'nobody', result: 7 }],
  ])('in %s is reported, and not answered', async (_, message) => {
    if ('method' in message) faultyPeer('params that are a number')
    const { begin, receive, sent, server } = open()
    receive({ jsonrpc: '2.0', ...message })
    await begin('2025-03-26')
    receive({ jsonrpc: '2.0', ...message })
    receive([{ jsonrpc: '2.0', ...message }])
    await settle()
    expect(server.reports).toMatchObject(Array.from({ length: 3 }, () => ({ code: -32600 })))
    expect(sent).toHaveLength(1)
  })

  it('does not occur for a promise of another realm', async () => {
    const { request, server } = open()
    const outcome: Outcome = { type: 'complete', result: { content: [] } }
    server.handle = () => runInNewContext('Promise.resolve(outcome)', { outcome })
    expect(await request(modernCall(1, 'echo'))).toMatchObject({ id: 1, result: { content: [] } })
  })

  it('with cancelled requests that continue is bounded like the others', async () => {
    const { request, receive } = open({ hung, echo }, { limits: { inFlight: 2 } })
    for (const id of [1, 2]) {
      receive(modernCall(id, 'hung'))
      receive(cancel(id))
    }
    expect(await request(modernCall(3, 'echo'))).toMatchObject({
      error: { message: expect.stringContaining('Too many requests in flight') },
    })
  })

  it('inside the reporter affects nothing else', async () => {
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

  it('never answers a response, a notification or an unknown response', async () => {
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

  it('never throws and never leaves a request unanswered, for any input', () => {
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
  it('aborts running handlers, settles what waits, and sends and accepts nothing more', async () => {
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

  it('waits one second for a handler that does not stop', async () => {
    const { begin, receive, connection } = open()
    await begin()
    receive(call(1, 'hung'))
    await settle()
    const began = Date.now()
    await connection.close()
    expect(Date.now() - began).toBeGreaterThan(850)
    expect(connection.running).toBe(1)
  })
})
