import type { JsonObject } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { adapters, session, sessionsOver } from './http-support.ts'
import { codeOf, settle, type Tool, until } from './support.ts'

describe.each(adapters)('sessions over the %s adapter', (_, mount) => {
  const place = sessionsOver(mount)
  const { begin } = place

  describe('a lost connection', () => {
    it('cancels nothing, and the client gets the rest with GET and Last-Event-ID, once', async () => {
      let release = (): void => {}
      const signals: AbortSignal[] = []
      const slow: Tool = async (_args, { notify, signal }) => {
        signals.push(signal)
        for (const step of [1, 2]) {
          notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: step } })
        }
        await new Promise<void>((resolve) => {
          release = resolve
        })
        notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 3 } })
        return 'survived'
      }
      const { call, get } = await begin('2025-11-25', {}, { slow })
      const answer = await call(1, 'slow')
      await until(() => answer.events.length === 3)
      answer.drop()
      await settle(20)
      expect(signals[0]?.aborted).toBe(false)

      const live = await get({ 'last-event-id': answer.events[1]?.id })
      expect([live.status, live.header('content-type')]).toEqual([200, 'text/event-stream'])
      await until(() => live.events.length === 1)
      expect(live.messages()).toMatchObject([{ params: { progress: 2 } }])
      release()
      await live.text()
      expect(live.messages().slice(1)).toMatchObject([
        { params: { progress: 3 } },
        { id: 1, result: { content: [{ text: 'survived' }] } },
      ])

      const replayed = await get({ 'last-event-id': answer.events[0]?.id })
      await replayed.text()
      expect(replayed.messages()).toMatchObject([
        { params: { progress: 1 } },
        { params: { progress: 2 } },
        { params: { progress: 3 } },
        { id: 1 },
      ])
      const last = await get({ 'last-event-id': replayed.events.at(-1)?.id })
      await last.text()
      expect(last.events).toEqual([])
    })

    it('at any event loses nothing and repeats nothing', async () => {
      const many: Tool = async (_args, { notify }) => {
        for (let step = 1; step <= 40; step++) {
          notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: step } })
          await settle(step % 4 === 0 ? 1 : 0)
        }
        return 'all'
      }
      const { call, get } = await begin('2025-11-25', {}, { many })
      const first = await call(1, 'many')
      const got: JsonObject[] = []
      let connection = first
      let last: string | undefined
      for (let drops = 0; drops < 100 && !got.some((message) => 'result' in message); drops++) {
        await until(() => connection.events.length > drops % 5 || connection.over())
        connection.drop()
        const events = [...connection.events]
        got.push(...events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data)))
        last = events.at(-1)?.id ?? last
        connection = await get({ 'last-event-id': last })
      }
      connection.drop()
      expect(got.map(({ params }) => (params as JsonObject | undefined)?.['progress'])).toEqual([
        ...Array.from({ length: 40 }, (_, i) => i + 1),
        undefined,
      ])
    })

    it('that was not noticed is replaced when the client reconnects', async () => {
      let release = (): void => {}
      const slow: Tool = async (_args, { notify }) => {
        notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
        await new Promise<void>((resolve) => {
          release = resolve
        })
        return 'slow'
      }
      const { call, get } = await begin('2025-11-25', {}, { slow })
      const old = await call(1, 'slow')
      await until(() => old.events.length === 2)
      const fresh = await get({ 'last-event-id': old.events[0]?.id })
      await until(() => fresh.events.length === 1 && old.over())
      await settle(10)
      release()
      await fresh.text()
      expect(old.messages()).toHaveLength(1)
      expect(fresh.messages()).toMatchObject([{ params: { progress: 1 } }, { id: 1, result: {} }])
    })

    it('of a call with a question keeps the question', async () => {
      const { call, get, post } = await begin()
      const answer = await call(1, 'ask')
      await until(() => answer.events.length === 2)
      answer.drop()
      await settle(10)
      const again = await get({ 'last-event-id': answer.events[0]?.id })
      await until(() => again.messages().length === 1)
      const [question] = again.messages()
      await post({ jsonrpc: '2.0', id: question?.['id'], result: { action: 'decline' } })
      await again.text()
      expect(again.messages()[1]).toMatchObject({ id: 1, result: { content: [{ text: 'decline' }] } })
    })

    it('cannot be resumed from an event that is unknown, foreign, forged or deleted', async () => {
      const mine = await begin('2025-11-25', { limits: { storedEvents: 5 } })
      const other = await session(place.mounted)
      const [a, b] = await Promise.all([mine.call(1, 'progress'), other.call(1, 'progress')])
      await Promise.all([a.text(), b.text()])
      const [first = '', second = ''] = a.events.map(({ id }) => id ?? '')
      const stream = first.slice(0, first.lastIndexOf('_'))
      for (const id of [
        b.events[1]?.id,
        'garbage',
        '',
        `${stream}_0`,
        `${stream}_99`,
        `${stream}_-1`,
        `${stream}_1e3`,
        `${stream}x_2`,
        `_2`,
        `${stream}_${'9'.repeat(400)}`,
      ]) {
        const answer = await mine.get({ 'last-event-id': id })
        expect([id, answer.status, codeOf(await answer.json())]).toEqual([id, 400, -32600])
      }
      const resumed = await mine.get({ 'last-event-id': second })
      await resumed.text()
      expect(resumed.events).toHaveLength(3)
      await (await mine.call(2, 'progress')).text()
      expect((await mine.get({ 'last-event-id': second })).status).toBe(400)
    })

    it('is never answered with events of another stream', async () => {
      const { call, get } = await begin()
      const [a, b] = await Promise.all([call('a', 'progress'), call('b', 'progress')])
      await Promise.all([a.text(), b.text()])
      const again = await get({ 'last-event-id': a.events[0]?.id })
      await again.text()
      expect(again.events).toEqual(a.events.slice(1))
    })

    it('can be chosen by a handler, for the client to reconnect', async () => {
      const polled: Tool = async (_args, exchange) => {
        exchange.detach?.()
        await settle(30)
        return 'later'
      }
      const { call, get } = await begin('2025-11-25', {}, { polled })
      const answer = await call(1, 'polled')
      await answer.text()
      expect(answer.events).toMatchObject([{ data: '', retry: 1000 }])
      const rest = await get({ 'last-event-id': answer.events[0]?.id })
      await rest.text()
      expect(rest.messages()).toMatchObject([{ id: 1, result: { content: [{ text: 'later' }] } }])
    })

    it('cannot be chosen on revisions whose clients do not reconnect', async () => {
      const polled: Tool = async (_args, exchange) => {
        exchange.detach?.()
        return 'now'
      }
      const { call } = await begin('2025-06-18', {}, { polled })
      expect(await (await call(1, 'polled')).json()).toMatchObject({ result: { content: [{ text: 'now' }] } })
    })
  })

  describe('the stream of a GET', () => {
    it('sends changes, also those from before it was opened, and can be resumed', async () => {
      const { get } = await begin()
      place.server.changes.publish({ type: 'tools' })
      place.server.changes.publish({ type: 'tools' })
      const stream = await get()
      await until(() => stream.events.length === 1)
      place.server.changes.publish({ type: 'prompts' })
      await until(() => stream.events.length === 2)
      expect(stream.messages()).toMatchObject([
        { method: 'notifications/tools/list_changed' },
        { method: 'notifications/prompts/list_changed' },
      ])
      stream.drop()
      await settle(10)
      const resumed = await get({ 'last-event-id': stream.events[0]?.id })
      place.server.changes.publish({ type: 'resources' })
      await until(() => resumed.events.length === 2)
      expect(resumed.messages()).toMatchObject([
        { method: 'notifications/prompts/list_changed' },
        { method: 'notifications/resources/list_changed' },
      ])
      resumed.drop()
    })

    it('is one per session, and free again when it was closed', async () => {
      const { get } = await begin()
      const first = await get()
      expect((await get()).status).toBe(409)
      first.drop()
      await settle(20)
      const second = await get()
      expect(second.status).toBe(200)
      second.drop()
    })

    it('is opened at once and kept alive with comments', async () => {
      const { get, end } = await begin('2025-11-25', { limits: { keepAliveMs: 20 } })
      const stream = await get()
      await settle(60)
      await end()
      expect(await stream.text()).toMatch(/^(: keep-alive\n\n){2,}$/)
    })

    it('sends resource updates only while subscribed', async () => {
      const { get, post } = await begin()
      const stream = await get()
      const params = { uri: 'file:///a' }
      await (await post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params })).text()
      place.server.resourceUpdated('file:///a')
      place.server.resourceUpdated('file:///b')
      await until(() => stream.events.length === 1)
      await (await post({ jsonrpc: '2.0', id: 2, method: 'resources/unsubscribe', params })).text()
      place.server.resourceUpdated('file:///a')
      place.server.changes.publish({ type: 'tools' })
      await until(() => stream.events.length === 2)
      expect(stream.messages()).toMatchObject([
        { method: 'notifications/resources/updated', params },
        { method: 'notifications/tools/list_changed' },
      ])
      stream.drop()
    })
  })
})
