import { connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DuplexConnection } from '../../packages/sdk/src/transports/server/duplex-connection.ts'
import { discovered, result, scripted, sse } from '../../packages/sdk/test/client/support/http.ts'
import { called, listed } from '../../packages/sdk/test/client/support/results.ts'
import { adapters, session } from '../../packages/sdk/test/serve/http-support.ts'
import {
  ask,
  echo,
  initialize,
  initialized,
  meta,
  testServer,
  until,
} from '../../packages/sdk/test/serve/support.ts'
import { faultyPeer } from './faulty-peer.ts'
import { RemoteMessages } from './remote-messages.ts'
import { expectValid, validateSent } from './schema-validation.ts'

/** A client of a hand-played server of 2026-07-28 that answers every call with `value`, after `notice`. */
async function meet(value: object, notice?: object) {
  const server = await scripted((one) => {
    if (discovered(one)) return
    if (notice === undefined) return result(one, value)
    const send = sse(one.res)
    send({ data: { jsonrpc: '2.0', ...notice } })
    send({ data: { jsonrpc: '2.0', id: one.message.id, result: value } })
    one.res.end()
  })
  const client = await connect(server.url, { cache: false })
  onTestFinished(() => client.close())
  return client
}

/** A connection of a server that echoes and asks, and what it sent. */
function serve() {
  const sent: object[] = []
  const connection = new DuplexConnection(testServer({ ask, echo }), (message) => sent.push(message))
  onTestFinished(() => connection.close())
  return { sent, receive: (message: unknown) => connection.receive(message) }
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } }
const nameless = { ...call, params: {} }

describe('a message that a client receives', () => {
  it('fails its test where it is wrong', async () => {
    const client = await meet(listed({ tools: [] }))
    await client.tools()
    expectValid()
    const careless = await meet({ resultType: 'complete', tools: [] })
    await careless.tools()
    expect(expectValid).toThrow(/every message received/)
  })

  it('fails its test if it is no response and has no pending request', async () => {
    const question = { id: 'q', method: 'roots/list' }
    const log = { method: 'notifications/message', params: { level: 'loud', data: 1 } }
    for (const notice of [question, log]) {
      const client = await meet(called(), notice)
      await client.call('x')
      expect(expectValid).toThrow(/every message received/)
    }
  })

  it('may be invalid in a test that declares it, and then has to be', async () => {
    faultyPeer('its content is a text')
    const careless = await meet(called({ content: 'text' }))
    await careless.call('x').catch(() => {})
    expectValid()
    faultyPeer('nothing')
    const client = await meet(called())
    await client.call('x')
    expect(expectValid).toThrow(/was declared faulty \("nothing"\)/)
  })

  it('does not exempt what is sent', async () => {
    faultyPeer('its content is a text')
    const careless = await meet(called({ content: 'text' }))
    await careless.call('x').catch(() => {})
    validateSent('2025-11-25', 'client', nameless)
    expect(expectValid).toThrow(/every message sent/)
  })
})

describe('a message that a server receives', () => {
  it('fails its test where it is wrong, without a session', () => {
    const { receive } = serve()
    receive({ ...call, params: { ...call.params, _meta: meta() } })
    expectValid()
    receive({ ...nameless, params: { _meta: meta() } })
    expect(expectValid).toThrow(/every message received/)
    receive(7)
    expect(expectValid).toThrow(/every message received/)
    receive({ ...initialize(), params: {} })
    expect(expectValid).toThrow(/every message received/)
  })

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'fails its test where it is wrong in a session of %s, alone or in a batch',
    (version) => {
      const { receive } = serve()
      for (const message of [initialize(version), initialized, call]) receive(message)
      if (version === '2025-03-26') receive([call, call])
      expectValid()
      for (const message of [nameless, [nameless]]) {
        receive(message)
        expect(expectValid).toThrow(/every message received/)
      }
    },
  )

  it.each([
    [{ action: 'decline' }, true],
    [{ action: 'perhaps' }, false],
  ])('is checked against the request it answers: %j', async (answer, right) => {
    const { receive, sent } = serve()
    for (const message of [initialize(), initialized, { ...call, params: { name: 'ask' } }]) receive(message)
    await until(() => sent.length === 2)
    receive({ jsonrpc: '2.0', id: 1, result: answer })
    if (right) expectValid()
    else expect(expectValid).toThrow(/every message received/)
  })

  it.each(adapters)('fails its test where it is wrong, over the %s adapter of HTTP', async (_, mount) => {
    const mounted = await mount(testServer({ echo }))
    onTestFinished(() => mounted.close())
    const early = await session(mounted, '2025-03-26')
    await early.post([call, call], { 'mcp-protocol-version': undefined })
    const { post } = await session(mounted)
    await post(call)
    expectValid()
    for (const message of [nameless, [call], { ...nameless, params: { _meta: meta() } }]) {
      await post(message)
      expect(expectValid).toThrow(/every message received/)
    }
  })

  it('fails its test where it is wrong and written by hand to another process', () => {
    const remote = new RemoteMessages()
    const written = (message: unknown): void => void remote.sent(`${JSON.stringify(message)}\n`)
    for (const message of [initialize('2025-03-26'), initialized, call, [call]]) written(message)
    remote.received({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    written({ jsonrpc: '2.0', id: 'q', result: { roots: [] } })
    expectValid()
    for (const message of [nameless, { jsonrpc: '2.0', id: 'q', result: {} }]) {
      written(message)
      expect(expectValid).toThrow(/every message received/)
    }
  })
})
