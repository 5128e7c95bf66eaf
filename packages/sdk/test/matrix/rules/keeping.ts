import { MetaKey } from '@jackfield/sdk'
import { expect, onTestFinished, vi } from 'vitest'
import { type Rule, revisionsOf, stateless } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, results } from '../transcript.ts'

const cacheable = [
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
] as const
const resourceUpdated = 'notifications/resources/updated'
const acknowledged = 'notifications/subscriptions/acknowledged'

/** How long responses may be cached, and how changes are notified. */
export const keepingRules: readonly Rule[] = [
  {
    title: 'only cacheable results have a lifetime and a scope',
    ...stateless,
    async holds(cell) {
      const recorded = await cell.everything()
      const fresh = { ttlMs: expect.any(Number), cacheScope: expect.stringMatching(/^(?:public|private)$/) }
      for (const method of cacheable) {
        const all = results(recorded, 'server', method)
        expect(all.length, method).toBeGreaterThan(0)
        for (const result of all) {
          expect(result).toMatchObject(fresh)
          expect(Number(result['ttlMs'])).toBeGreaterThanOrEqual(0)
        }
      }
      for (const result of results(recorded, 'server', 'tools/call'))
        expect(result).not.toHaveProperty('ttlMs')
    },
  },
  {
    title: 'all pages of a list have the same cache scope',
    ...stateless,
    async holds(cell) {
      const pages = results(await cell.everything(), 'server', 'tools/list')
      expect(pages.length).toBeGreaterThan(2)
      expect(new Set(pages.map(({ cacheScope }) => cacheScope)).size).toBe(1)
    },
  },
  {
    title:
      'a result is cached for its method and params, as long as its server says, and refetched at the next use',
    ...stateless,
    async holds(cell) {
      cell.faulty('it says impossible times')
      const times = new Map<string, number | undefined>([
        ['a:minute', 60_000],
        ['a:zero', 0],
        ['a:negative', -5],
        ['a:none', undefined],
      ])
      const { client, received } = await cell.connectToScript({
        methods: {
          'resources/read': ({ params }) => {
            const uri = String(params['uri'])
            const ttlMs = times.get(uri)
            return {
              resultType: 'complete',
              contents: [{ uri, text: uri }],
              cacheScope: 'public',
              ...(ttlMs !== undefined && { ttlMs }),
            }
          },
        },
      })
      const reads = (uri: string): number => received.filter((one) => at(one, 'params', 'uri') === uri).length
      for (const uri of times.keys()) {
        for (const _ of [1, 2]) expect((await client.read(uri)).contents).toMatchObject([{ text: uri }])
      }
      expect([...times.keys()].map(reads)).toEqual([1, 2, 2, 2])
      const clock = vi.spyOn(performance, 'now')
      onTestFinished(() => clock.mockRestore())
      const now = performance.now()
      clock.mockImplementation(() => now + 61_000)
      await client.ping()
      expect(reads('a:minute')).toBe(1)
      await client.read('a:minute')
      expect(reads('a:minute')).toBe(2)
    },
  },
  {
    title: 'no client gets cached results of another',
    ...stateless,
    async holds(cell) {
      const { received, connect } = await cell.serveScript({
        methods: {
          'resources/read': ({ params }) => ({
            resultType: 'complete',
            contents: [{ uri: String(params['uri']), text: 'kept' }],
            ttlMs: 60_000,
            cacheScope: 'private',
          }),
        },
      })
      const clients = [await connect(), await connect()]
      for (const client of [...clients, ...clients]) await client.read('a:b')
      expect(received.filter((one) => at(one, 'method') === 'resources/read')).toHaveLength(2)
    },
  },
  {
    title: 'a result after input requests is not cached',
    ...stateless,
    async holds(cell) {
      let asked = 0
      const { client, transcript } = await cell.connect({
        onElicit: () => {
          asked++
          return { action: 'decline' }
        },
      })
      for (const _ of [1, 2]) await client.read('rules://guarded')
      expect(asked).toBe(2)
      const complete = results(transcript, 'server', 'resources/read').filter(
        ({ resultType }) => resultType === 'complete',
      )
      expect(complete.map(({ ttlMs }) => ttlMs)).toEqual([0, 0])
    },
  },
  {
    title: 'a stale page is refetched by its cursor, and all pages if that is invalid',
    ...stateless,
    async holds(cell) {
      let epoch = 1
      const cursors: unknown[] = []
      const { client } = await cell.connectToScript({
        methods: {
          'tools/list': ({ params: { cursor } }) => {
            cursors.push(cursor)
            if (cursor !== undefined && cursor !== `c${epoch}`) {
              return { error: { code: -32602, message: 'Invalid cursor' } }
            }
            const first = cursor === undefined
            return {
              resultType: 'complete',
              tools: [{ name: first ? `a${epoch}` : `b${epoch}`, inputSchema: { type: 'object' } }],
              ...(first && { nextCursor: `c${epoch}` }),
              ttlMs: first ? 60_000 : 0,
              cacheScope: 'private',
            }
          },
        },
      })
      const names = async (): Promise<string[]> => (await client.tools()).map(({ name }) => name)
      for (const _ of [1, 2]) expect(await names()).toEqual(['a1', 'b1'])
      expect(cursors).toEqual([undefined, 'c1', 'c1'])
      await client.tools({ cache: 'refresh' })
      expect(cursors.slice(3)).toEqual([undefined, 'c1'])
      epoch = 2
      expect(await names()).toEqual(['a2', 'b2'])
      expect(cursors.slice(5)).toEqual(['c1', undefined, 'c2'])
    },
  },
  {
    title: 'a subscription first acknowledges its filter, then sends matching changes only, each with its id',
    ...revisionsOf('subscriptions/listen'),
    async holds(cell) {
      const raw = await cell.raw()
      const listen = (notifications: object) => raw.begin('subscriptions/listen', { notifications })
      const first = await listen({ toolsListChanged: true, resourceSubscriptions: ['rules://text'] })
      const second = await listen({ promptsListChanged: true })
      await raw.until(() => raw.notifications(acknowledged).length === 2)
      for (const what of ['tools', 'resource', 'other', 'resources', 'prompts']) {
        await raw.call('change', { what })
      }
      await raw.until(() => raw.notifications('notifications/prompts/list_changed').length > 0)
      await raw.settle()
      const of = (id: unknown): unknown[] =>
        raw.received.flatMap(({ message }) =>
          at(message, 'params', '_meta', MetaKey.subscriptionId) === id ? [message] : [],
        )
      expect(methods(of(first))).toEqual([acknowledged, 'notifications/tools/list_changed', resourceUpdated])
      expect(methods(of(second))).toEqual([acknowledged, 'notifications/prompts/list_changed'])
      expect(of(first)[0]).toMatchObject({
        params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['rules://text'] } },
      })
      const notices = raw.received.filter(({ message }) => 'method' in message)
      expect(notices).toHaveLength(of(first).length + of(second).length)
      for (const { message, cause } of notices) {
        if (cell.streams) expect(at(message, 'params', '_meta', MetaKey.subscriptionId)).toBe(cause)
      }
      for (const id of [first, second]) await raw.cancel(id)
      await raw.settle()
      raw.forget()
      await raw.call('change', { what: 'tools' })
      await raw.settle()
      expect(raw.notifications('notifications/tools/list_changed')).toEqual([])
    },
  },
  {
    title: 'a client checks the acknowledged filter',
    ...revisionsOf('subscriptions/listen'),
    async holds(cell) {
      const wanted = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ['rules://text'],
      }
      const bare = await cell.connect(undefined, 'bare')
      await expect(bare.client.watch(wanted)).rejects.toMatchObject({ code: 'CAPABILITY' })
      const { client } = await cell.connect()
      const watch = await client.watch(wanted)
      expect(watch.acknowledged).toEqual(wanted)
      await watch.close()
    },
  },
  {
    title: 'a client distinguishes subscriptions by their id',
    ...revisionsOf('subscriptions/listen'),
    async holds(cell) {
      const { called } = resultsOf(cell.version)
      const subscriptions: ((method: string, params: object) => void)[] = []
      const { client } = await cell.connectToScript({
        methods: {
          'subscriptions/listen': ({ id, params: { notifications }, send }) => {
            const notify = (method: string, params: object): void =>
              send({ method, params: { ...params, _meta: { [MetaKey.subscriptionId]: id } } })
            subscriptions.push(notify)
            notify(acknowledged, { notifications })
            return undefined
          },
          'tools/call': () => {
            const [first, second] = subscriptions
            second?.(resourceUpdated, { uri: 'a:2' })
            first?.(resourceUpdated, { uri: 'a:1' })
            second?.(resourceUpdated, { uri: 'a:3' })
            return called('told')
          },
        },
      })
      const received: Record<string, unknown[]> = { first: [], second: [] }
      for (const name of ['first', 'second']) {
        await client.watch({ resourceSubscriptions: ['a:'] }, (change) => received[name]?.push(change))
      }
      await client.call('any')
      await expect.poll(() => received['second']?.length, { timeout: 5_000 }).toBe(2)
      await expect.poll(() => received['first']?.length, { timeout: 5_000 }).toBe(1)
      expect(received).toEqual({
        first: [{ type: 'resource', uri: 'a:1' }],
        second: [
          { type: 'resource', uri: 'a:2' },
          { type: 'resource', uri: 'a:3' },
        ],
      })
    },
  },
]

function methods(messages: readonly unknown[]): unknown[] {
  return messages.map((one) => at(one, 'method'))
}
