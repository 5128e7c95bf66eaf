import { expect } from 'vitest'
import { type Rule, stateless } from '../rule.ts'
import { at, errors, messages, notifications, part, requests, responses, results } from '../transcript.ts'

const sides = ['client', 'server'] as const
const other = { client: 'server', server: 'client' } as const

const definedCodes = new Set([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022])

/** What every message of every conversation keeps to. */
export const messageRules: readonly Rule[] = [
  {
    title: 'every message is a request, a response or a notification of JSON-RPC 2.0',
    async holds(cell) {
      const recorded = await cell.everything()
      expect(recorded.length).toBeGreaterThan(60)
      for (const { message } of recorded) {
        expect(message['jsonrpc']).toBe('2.0')
        expect(['method', 'result', 'error'].filter((name) => name in message)).toHaveLength(1)
      }
    },
  },
  {
    title: 'ids are strings or integers, and no sender reuses one',
    async holds(cell) {
      const recorded = await cell.everything()
      for (const side of sides) {
        const ids = requests(recorded, side).map(({ id }) => id)
        for (const id of ids) expect(typeof id === 'string' || Number.isInteger(id)).toBe(true)
        expect(new Set(ids).size).toBe(ids.length)
      }
      expect(requests(recorded, 'client').length).toBeGreaterThan(40)
    },
  },
  {
    title: 'every request that is not cancelled is answered once, by its id',
    async holds(cell) {
      const recorded = await cell.everything()
      for (const side of sides) {
        const asked = requests(recorded, side)
        const answered = responses(recorded, other[side]).map(({ id }) => id)
        expect(new Set(answered).size).toBe(answered.length)
        expect(answered.filter((id) => !asked.some((one) => one['id'] === id))).toEqual([])
        const left = asked.filter(({ id }) => !answered.includes(id))
        const given = left.map((one) => at(one, 'params', 'name') ?? one['method'])
        expect(given.filter((what) => what !== 'hang' && what !== 'subscriptions/listen')).toEqual([])
      }
    },
  },
  {
    title: 'every error has the id of its request, an integer code and a message',
    async holds(cell) {
      const recorded = await cell.everything()
      const failed = responses(recorded, 'server').filter((one) => 'error' in one)
      expect(failed.length).toBeGreaterThan(10)
      for (const { id, error } of failed) {
        expect(id).toBeDefined()
        expect(Number.isInteger(at(error, 'code'))).toBe(true)
        expect(at(error, 'message')).toMatch(/./)
      }
    },
  },
  {
    title: 'no notification has an id, and none is answered',
    async holds(cell) {
      const recorded = await cell.everything()
      for (const side of sides) {
        const named = messages(recorded, side).filter(({ method }) =>
          String(method).startsWith('notifications/'),
        )
        for (const one of named) expect(one).not.toHaveProperty('id')
        expect(responses(recorded, other[side]).filter(({ id }) => id === undefined)).toEqual([])
      }
      expect(notifications(recorded, 'server').length).toBeGreaterThan(5)
    },
  },
  {
    title: 'every result has its type and its server',
    ...stateless,
    async holds(cell) {
      const all = results(await cell.everything(), 'server')
      expect(all.length).toBeGreaterThan(40)
      for (const result of all) {
        expect(['complete', 'input_required']).toContain(result['resultType'])
        expect(at(result, '_meta', 'io.modelcontextprotocol/serverInfo', 'name')).toBe('rules')
      }
    },
  },
  {
    title: 'no result before 2026-07-28 has a type or a cache lifetime',
    until: '2025-11-25',
    async holds(cell) {
      for (const result of results(await cell.everything(), 'server')) {
        for (const name of ['resultType', 'ttlMs', 'cacheScope']) expect(result).not.toHaveProperty(name)
      }
    },
  },
  {
    title: 'only specified ones of the reserved codes are sent',
    ...stateless,
    async holds(cell) {
      const thrown = new Set([77, -32011])
      const codes = errors(await cell.everything(), 'server').map(({ code }) => Number(code))
      expect(codes).toEqual(expect.arrayContaining([77, -32602, -32603]))
      expect(codes.filter((code) => !thrown.has(code) && !definedCodes.has(code))).toEqual([])
      const raw = await cell.raw()
      for (const [code, sent] of [
        [-32050, -32603],
        [-32099, -32603],
        [-32002, -32602],
        [-32042, -32600],
      ]) {
        const { error } = await raw.send('tools/call', { name: 'refuse', arguments: { code } })
        expect(error).toMatchObject({ code: sent })
      }
    },
  },
  {
    title: 'an error code of an application is passed on without interpretation',
    async holds(cell) {
      const raw = await cell.raw()
      for (const code of [77, -32011, -1]) {
        const { error } = await raw.send('tools/call', { name: 'refuse', arguments: { code } })
        expect(error).toEqual({ code, message: 'Refused', data: { why: 'rain' } })
      }
      const { client } = await cell.connect()
      for (const code of [77, -32011, -1]) {
        const failed = client.call('refuse', { code })
        await expect(failed).rejects.toMatchObject({ name: 'RpcError', code, message: 'Refused' })
      }
    },
  },
  {
    title: 'every key of a _meta is well-formed',
    since: '2025-06-18',
    async holds(cell) {
      const label = '[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
      const key = new RegExp(
        `^(?:${label}(?:\\.${label})*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`,
      )
      const recorded = await cell.everything()
      let seen = 0
      for (const { message } of recorded) {
        for (const meta of [part(message, 'params', '_meta'), part(message, 'result', '_meta')]) {
          for (const name of Object.keys(meta)) {
            seen++
            expect(name).toMatch(key)
          }
        }
      }
      expect(seen).toBeGreaterThan(2)
    },
  },
  {
    title: 'unknown metadata changes nothing and reaches its recipient',
    async holds(cell) {
      const meta = {
        'io.modelcontextprotocol/somethingNew': [null, { deep: 1 }],
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      }
      const raw = await cell.raw()
      const seen: unknown = JSON.parse(await raw.call('seen', {}, { meta }))
      expect(at(seen, 'meta')).toMatchObject(meta)
      const { client } = await cell.connect()
      const tidy = await client.call('tidy')
      expect(tidy._meta).toMatchObject({ 'example.com/kept': [1, { deep: null }] })
    },
  },
  {
    title: 'any text survives in UTF-8',
    async holds(cell) {
      const text = 'Grüße 🎉 \u2028\u2029\r\n\u0000\u0085 "\\ 漢字 \ufeff'
      const raw = await cell.raw()
      expect(await raw.call('echo', { text })).toBe(text)
      const { client } = await cell.connect()
      expect((await client.call('echo', { text })).content).toEqual([{ type: 'text', text }])
    },
  },
  {
    title: 'only requests and notifications are sent to a server without sessions, and it sends no requests',
    ...stateless,
    async holds(cell) {
      const recorded = await cell.everything()
      expect(requests(recorded, 'server')).toEqual([])
      expect(responses(recorded, 'client')).toEqual([])
      expect(results(recorded, 'server').some(({ resultType }) => resultType === 'input_required')).toBe(true)
      expect(messages(recorded, 'client').every((one) => 'method' in one)).toBe(true)
    },
  },
  {
    title: 'a request of a server without sessions is not answered',
    ...stateless,
    async holds(cell) {
      cell.faulty('it asks on a revision where it cannot')
      const { client, received } = await cell.connectToScript(
        {
          methods: {
            'tools/call': ({ send }) => {
              send({ id: 'question', method: 'roots/list' })
              return { resultType: 'complete', content: [] }
            },
          },
        },
        { onRoots: [{ uri: 'file:///home/ada' }] },
      )
      await client.call('any')
      await client.ping()
      expect(received.filter((one) => at(one, 'id') === 'question')).toEqual([])
    },
  },
]
