import { type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { expect } from 'vitest'
import { resultsOf } from '../played.ts'
import { info } from '../raw.ts'
import { type Rule, revisionsOf, sessions } from '../rule.ts'
import { at, messages } from '../transcript.ts'

const batches = { since: '2025-03-26', until: '2025-03-26' } as const

/** How sessions begin, and which revision they speak. */
export const sessionRules: readonly Rule[] = [
  {
    title:
      'a session starts with initialize, its response and the initialized notification, and nothing before',
    ...revisionsOf('initialize'),
    async holds(ground) {
      const [first, second, third] = await ground.everything()
      expect(first).toMatchObject({ by: 'client', message: { method: 'initialize' } })
      expect(at(first?.message, 'params')).toMatchObject({
        protocolVersion: ground.version,
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
    async holds(ground) {
      const { received } = await ground.meet({}, { revisions: upTo(ground.version) })
      expect(received[0]).toMatchObject({ method: 'initialize', params: { protocolVersion: ground.version } })
    },
  },
  {
    title:
      'the response to initialize has the offered revision, and the identity and capabilities of the server',
    ...sessions,
    async holds(ground) {
      const { greeting } = await ground.raw()
      expect(greeting).toMatchObject({
        protocolVersion: ground.version,
        serverInfo: { name: 'rules', version: '1.0.0' },
        capabilities: { tools: {}, prompts: {}, resources: {} },
      })
    },
  },
  {
    title: 'the response to an unsupported revision has the newest of the server',
    ...sessions,
    async holds(ground) {
      const raw = await ground.raw({ begin: false })
      const params = { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: info }
      expect(await raw.ask('initialize', params)).toMatchObject({ protocolVersion: '2025-11-25' })
    },
  },
  {
    title: 'nothing but a ping is served before initialize',
    ...sessions,
    async holds(ground) {
      const raw = await ground.raw({ begin: false })
      for (const method of ['tools/list', 'tools/call', 'logging/setLevel']) {
        const answer = await raw.send(method, { name: 'echo', arguments: { text: 'x' }, level: 'info' })
        expect(answer).toMatchObject({ error: { code: -32600 } })
      }
      // Over HTTP a message without a session belongs to nothing, a ping neither.
      if (!ground.streams) expect(await raw.ask('ping')).toEqual({})
    },
  },
  {
    title: 'a client disconnects from a server that responds with an unsupported revision',
    ...sessions,
    async holds(ground) {
      const { received, connect } = await ground.play({
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
    async holds(ground) {
      const stop = new AbortController()
      const { received, connect } = await ground.play({
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
    async holds(ground) {
      const { received } = await ground.meet({})
      expect(received.filter((one) => Array.isArray(one))).toEqual([])
      ground.faulty('it begins a session in a batch')
      const raw = await ground.raw({ begin: false })
      const params = { protocolVersion: ground.version, capabilities: {}, clientInfo: info }
      await raw.say([{ jsonrpc: '2.0', id: 'first', method: 'initialize', params }])
      await raw.until((all) => all.length > 0)
      expect(raw.received[0]?.message).toMatchObject({ error: { code: -32600 } })
    },
  },
  {
    title: 'an array of messages is accepted from either side',
    ...batches,
    async holds(ground) {
      const raw = await ground.raw()
      const { length } = raw.received
      await raw.say([
        { jsonrpc: '2.0', id: 'one', method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'nothing' } },
        { jsonrpc: '2.0', id: 'two', method: 'tools/call', params: { name: 'none' } },
      ])
      await raw.until((all) => all.length === length + 2)
      expect(await raw.answer('one')).toMatchObject({ result: {} })
      expect(await raw.answer('two')).toMatchObject({ error: { code: -32602 } })

      const { called } = resultsOf(ground.version)
      const logs: unknown[] = []
      const { client } = await ground.meet(
        {
          methods: {
            'tools/call': ({ id, utter }) => {
              const params = { level: 'info', data: 'batched' }
              const log = { jsonrpc: '2.0', method: 'notifications/message', params }
              utter([log, { jsonrpc: '2.0', id, result: called('in a batch') }])
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
    async holds(ground) {
      const raw = await ground.raw()
      expect(await raw.ask('ping')).toEqual({})
      const { client, received } = await ground.meet({
        methods: {
          'tools/call': ({ say }) => {
            say({ id: 'ping', method: 'ping' })
            return resultsOf(ground.version).called('pinged')
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
    async holds(ground) {
      const said = await ground.everything()
      expect(messages(said, 'client').filter(({ method }) => method === 'ping')).toHaveLength(2)
      const { client } = await ground.meet({ methods: { ping: () => undefined } })
      await expect(client.ping({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    },
  },
]

function upTo(version: ProtocolVersion): ProtocolVersion[] {
  return protocolVersions.filter((one) => one <= version)
}
