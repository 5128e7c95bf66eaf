import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { expect } from 'vitest'
import { info } from '../raw-client.ts'
import { type Rule, revisionsOf, sessions } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, messages } from '../transcript.ts'

const batches = { since: '2025-03-26', until: '2025-03-26' } as const

/** How sessions begin, and which revision they use. */
export const sessionRules: readonly Rule[] = [
  {
    title:
      'a session starts with initialize, its response and the initialized notification, and nothing before',
    ...revisionsOf('initialize'),
    async holds(cell) {
      const [first, second, third] = await cell.everything()
      expect(first).toMatchObject({ by: 'client', message: { method: 'initialize' } })
      expect(at(first?.message, 'params')).toMatchObject({
        protocolVersion: cell.version,
        capabilities: expect.any(Object),
        clientInfo: { name: 'talker', version: '1.0.0' },
      })
      expect(second).toMatchObject({ by: 'server', answers: { method: 'initialize' } })
      expect(third).toMatchObject({ by: 'client', message: { method: 'notifications/initialized' } })
    },
  },
  {
    title: 'initialize offers the newest revision that the client supports',
    ...sessions,
    async holds(cell) {
      const { received } = await cell.connectToScript({}, { revisions: upTo(cell.version) })
      expect(received[0]).toMatchObject({ method: 'initialize', params: { protocolVersion: cell.version } })
    },
  },
  {
    title:
      'the response to initialize has the offered revision, and the identity and capabilities of the server',
    ...sessions,
    async holds(cell) {
      const { initializeResult } = await cell.raw()
      expect(initializeResult).toMatchObject({
        protocolVersion: cell.version,
        serverInfo: { name: 'rules', version: '1.0.0' },
        capabilities: { tools: {}, prompts: {}, resources: {} },
      })
    },
  },
  {
    title: 'the response to an unsupported revision has the newest of the server',
    ...sessions,
    async holds(cell) {
      const raw = await cell.raw({ begin: false })
      const params = { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: info }
      expect(await raw.ask('initialize', params)).toMatchObject({ protocolVersion: '2025-11-25' })
    },
  },
  {
    title: 'nothing but a ping is served before initialize',
    ...sessions,
    async holds(cell) {
      const raw = await cell.raw({ begin: false })
      for (const method of ['tools/list', 'tools/call', 'logging/setLevel']) {
        const answer = await raw.send(method, { name: 'echo', arguments: { text: 'x' }, level: 'info' })
        expect(answer).toMatchObject({ error: { code: -32600 } })
      }
      // Over HTTP a message without a session belongs to nothing, a ping neither.
      if (!cell.streams) expect(await raw.ask('ping')).toEqual({})
    },
  },
  {
    title: 'a client disconnects from a server that responds with an unsupported revision',
    ...sessions,
    async holds(cell) {
      const { received, connect } = await cell.serveScript({
        methods: {
          initialize: () => ({ protocolVersion: '1999-01-01', capabilities: {}, serverInfo: info }),
        },
      })
      await expect(connect()).rejects.toMatchObject({
        code: 'VERSION_MISMATCH',
        message: expect.stringContaining('1999-01-01'),
      })
      expect(received.map((one) => at(one, 'method'))).toEqual(['initialize'])
    },
  },
  {
    title: 'initialize is never cancelled, even if its caller no longer waits',
    ...sessions,
    async holds(cell) {
      const stop = new AbortController()
      const { received, connect } = await cell.serveScript({
        methods: {
          initialize: () => {
            stop.abort()
            return undefined
          },
        },
      })
      await expect(connect({ signal: stop.signal })).rejects.toBeInstanceOf(Error)
      expect(received.map((one) => at(one, 'method'))).toEqual(['initialize'])
    },
  },
  {
    title: 'initialize is not sent or accepted in a batch',
    ...batches,
    async holds(cell) {
      const { received } = await cell.connectToScript({})
      expect(received.filter((one) => Array.isArray(one))).toEqual([])
      cell.faulty('it begins a session in a batch')
      const raw = await cell.raw({ begin: false })
      const params = { protocolVersion: cell.version, capabilities: {}, clientInfo: info }
      await raw.sendValue([{ jsonrpc: '2.0', id: 'first', method: 'initialize', params }])
      await raw.until((all) => all.length > 0)
      expect(raw.received[0]?.message).toMatchObject({ error: { code: -32600 } })
    },
  },
  {
    title: 'an array of messages is accepted from either side',
    ...batches,
    async holds(cell) {
      const raw = await cell.raw()
      const { length } = raw.received
      await raw.sendValue([
        { jsonrpc: '2.0', id: 'one', method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'nothing' } },
        { jsonrpc: '2.0', id: 'two', method: 'tools/call', params: { name: 'none' } },
      ])
      await raw.until((all) => all.length === length + 2)
      expect(await raw.answer('one')).toMatchObject({ result: {} })
      expect(await raw.answer('two')).toMatchObject({ error: { code: -32602 } })

      const { called } = resultsOf(cell.version)
      const logs: unknown[] = []
      const { client } = await cell.connectToScript(
        {
          methods: {
            'tools/call': ({ id, sendValue }) => {
              const params = { level: 'info', data: 'batched' }
              const log = { jsonrpc: '2.0', method: 'notifications/message', params }
              sendValue([log, { jsonrpc: '2.0', id, result: called('in a batch') }])
              return undefined
            },
          },
        },
        { onLog: ({ data }) => logs.push(data) },
      )
      await expect(client.call('any')).resolves.toMatchObject({ content: [{ text: 'in a batch' }] })
      expect(logs).toEqual(['batched'])
    },
  },
  {
    title: 'a ping is answered at once with an empty result, by either side',
    ...revisionsOf('ping'),
    async holds(cell) {
      const raw = await cell.raw()
      expect(await raw.ask('ping')).toEqual({})
      const { client, received } = await cell.connectToScript({
        methods: {
          'tools/call': ({ send }) => {
            send({ id: 'ping', method: 'ping' })
            return resultsOf(cell.version).called('pinged')
          },
        },
      })
      await client.call('any')
      await client.ping()
      expect(received).toContainEqual({ jsonrpc: '2.0', id: 'ping', result: {} })
    },
  },
  {
    title: 'a ping has its own timeout, and none is sent unless requested',
    ...revisionsOf('ping'),
    async holds(cell) {
      const recorded = await cell.everything()
      expect(messages(recorded, 'client').filter(({ method }) => method === 'ping')).toHaveLength(2)
      const { client } = await cell.connectToScript({ methods: { ping: () => undefined } })
      await expect(client.ping({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    },
  },
]

function upTo(version: ProtocolVersion): ProtocolVersion[] {
  return protocolVersions.filter((one) => one <= version)
}
