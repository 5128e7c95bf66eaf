import type { JsonObject, JsonRpcMessage } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { DuplexConnection, type DuplexOptions } from '../../src/transports/server/duplex-connection.ts'
import { type Ask, nodeAdapter, webAdapter } from './http-support.ts'
import { ask, echo, hang, initialize, initialized, meta, settle, testServer, until } from './support.ts'

const call = (id: number, name: string, more: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...more },
})
const modern = (id: number, name: string): JsonObject => call(id, name, { _meta: meta() })
const cancel = (requestId: number): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})
const ping = (id: number): JsonObject => ({ jsonrpc: '2.0', id, method: 'ping' })

/** A connection, with what it sent. */
function open(options: DuplexOptions = {}) {
  const server = testServer({ echo, ask, hang })
  const sent: JsonRpcMessage[] = []
  const connection = new DuplexConnection(server, (message) => sent.push(message), options)
  const ids = (): unknown[] => sent.map((message) => ('id' in message ? message.id : undefined))
  return { server, sent, connection, ids }
}

describe('messages that arrive in one turn of the event loop', () => {
  it('are answered in order, in both eras', async () => {
    const { connection, ids } = open()
    connection.receive(initialize())
    connection.receive(initialized)
    for (const id of [1, 2, 3]) connection.receive(id === 2 ? modern(id, 'echo') : call(id, 'echo'))
    connection.reject(-32700, 'Parse error: not valid JSON')
    connection.receive(ping(4))
    await until(() => ids().length === 6)
    expect(ids().filter((id) => id !== undefined)[0]).toBe('init')
    expect(ids().toSorted()).toEqual([1, 2, 3, 4, 'init', undefined])
  })

  it('are answered as in separate turns', async () => {
    faultyPeer('batches and messages of sessions come in any order')
    const numbered = (make: (id: number) => unknown): fc.Arbitrary<(at: number) => unknown> =>
      fc.constant(make)
    const message = fc.oneof(
      fc
        .constantFrom(initialize('2025-03-26'), initialized, { jsonrpc: '2.0', id: 'x' })
        .map((one) => () => one),
      numbered((at) => ping(at)),
      numbered((at) => call(at, 'echo')),
      numbered((at) => modern(at, 'echo')),
      numbered((at) => modern(100 + at, 'hang')),
      fc.nat(11).map((other) => (at: number) => [ping(at), call(100 + other, 'echo')]),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 12 }),
        fc.integer({ min: 2, max: 64 }),
        async (made, inFlight) => {
          const messages = made.map((make, at) => make(at))
          const together = open({ limits: { inFlight: inFlight + messages.length } })
          const apart = open({ limits: { inFlight: inFlight + messages.length } })
          for (const one of messages) together.connection.receive(one)
          for (const one of messages) {
            apart.connection.receive(one)
            await settle()
          }
          await together.connection.shutdown()
          await apart.connection.shutdown()
          const answers = ({ sent }: typeof apart): string[] =>
            sent.map((one) => JSON.stringify(one)).toSorted()
          expect(answers(together)).toEqual(answers(apart))
          expect(together.server.ran).toEqual(apart.server.ran)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('are cancelled by cancellations among them', async () => {
    const { connection, ids, server } = open()
    connection.receive(initialize())
    connection.receive(initialized)
    connection.receive(call(1, 'hang'))
    connection.receive(cancel(1))
    connection.receive(ping(2))
    await until(() => ids().includes(2))
    await connection.shutdown()
    expect(ids()).toEqual(['init', 2])
    expect(server.ran).toEqual(['hang'])
  })

  it('are still answered if the input ends at once', async () => {
    const { connection, ids } = open()
    connection.receive(initialize())
    connection.receive(initialized)
    connection.receive(call(1, 'echo'))
    await connection.shutdown()
    expect(ids()).toEqual(['init', 1])
  })

  it('are dropped if the client disconnected', async () => {
    const { connection, sent, server } = open()
    connection.receive(initialize())
    connection.receive(modern(1, 'echo'))
    await connection.close()
    await settle()
    expect([sent, server.reports]).toEqual([[], []])
  })

  it('are all served if their handlers are synchronous, even above the limit of running requests', async () => {
    const { connection, ids } = open({ limits: { inFlight: 4 } })
    const expected = [1, 2, 3, 4, 5, 6, 7, 8]
    for (const id of expected) connection.receive(modern(id, 'echo'))
    await until(() => ids().length === expected.length)
    await connection.shutdown()
    expect(ids()).toEqual(expected)
  })

  it('are rejected if too many wait', async () => {
    const { connection, sent } = open({ limits: { inFlight: 2 } })
    for (const id of [1, 2]) connection.receive(modern(id, 'hang'))
    for (const id of [3, 4, 5]) connection.receive(modern(id, 'echo'))
    const refused = { code: -32600, message: expect.stringContaining('Too many requests') }
    expect(sent).toMatchObject([{ id: 5, error: refused }])
    await until(() => sent.length === 3)
    expect(sent.slice(1)).toMatchObject([
      { id: 3, error: refused },
      { id: 4, error: refused },
    ])
    await connection.close()
  })
})

describe.each([
  ['node', nodeAdapter],
  ['web', webAdapter],
] as const)(
  'HTTP requests that arrive in one turn of the event loop, on the %s adapter',
  (_name, adapter) => {
    const begin: Ask = { body: initialize() }

    it('open a session each', async () => {
      const { send, close } = await adapter(testServer({ echo }))
      const answers = await Promise.all([send(begin), send(begin), send(begin)])
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      const ids = answers.map((answer) => answer.header('mcp-session-id') ?? '')
      expect(new Set(ids).size).toBe(3)
      const listed = await send({
        headers: { 'mcp-session-id': ids[1] },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      })
      expect(await listed.json()).toMatchObject({ result: { tools: [{ name: 'echo' }] } })
      await close()
    })

    it('open an HTTP+SSE session each, if served', async () => {
      const { send, close } = await adapter(testServer({ echo }), { sse: '/sse' })
      const streams = await Promise.all([1, 2].map(() => send({ method: 'GET', path: '/sse' })))
      await until(() => streams.every(({ events }) => events.length > 0))
      const [one, two] = streams.map(({ events }) => events[0]?.data)
      expect(one).toMatch(/^\/sse\?sessionId=/)
      expect(one).not.toBe(two)
      const posted = await Promise.all(
        [one, two].map((path) => send({ path: path ?? '', body: initialize('2024-11-05') })),
      )
      expect(posted.map(({ status }) => status)).toEqual([202, 202])
      await close()
    })
  },
)

describe('an HTTP server that closes while a body is read', () => {
  it('reports that it is closing', async () => {
    const handler = serveHttp(testServer({ echo }), { keys: ['k'.repeat(32)] })
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const body = JSON.stringify(initialize())
    const answer = handler.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
    await handler.close()
    const { status } = await answer
    expect(status).toBe(503)
  })
})
