import { connect } from '@jackfield/sdk/client'
import { expect } from 'vitest'
import { lockedPath, ssePath } from '../programs/app.ts'
import { type Behaviour, text, until } from './behaviour.ts'
import { post, Received, session } from './raw.ts'

/** What sessions need. */
export const sessions: readonly Behaviour[] = [
  {
    title: 'a session resumes a response whose stream was lost',
    async run({ url, version }) {
      const raw = await session(url, version)
      const stop = new AbortController()
      const lost = new Received(await raw.call('gate', {}, { signal: stop.signal }))
      await until(() => expect(lost.text).toContain('notifications/progress'))
      stop.abort()
      await until(() => expect(lost.over).toBe(true))
      await (await raw.call('pass')).text()
      const rest = await fetch(url, {
        headers: { ...raw.headers, accept: 'text/event-stream', 'last-event-id': lost.lastId ?? '' },
      })
      expect(rest.status).toBe(200)
      const received = new Received(rest)
      await until(() => expect(received.over).toBe(true))
      expect(received.text).toContain('passed')
      expect(received.text).not.toContain('notifications/progress')
    },
  },
  {
    title: 'a session lets a handler close its stream, and the client gets the response by resuming',
    async run({ connect }) {
      expect(await text(await connect(), 'detached')).toBe('came back')
    },
  },
  {
    title: 'a session has one stream of its own for each, from the first byte on',
    async run({ url, version, later }) {
      const { headers } = await session(url, version)
      const stop = new AbortController()
      later(() => stop.abort())
      const get = (): Promise<Response> =>
        fetch(url, { headers: { ...headers, accept: 'text/event-stream' }, signal: stop.signal })
      const received = new Received(await get())
      await until(() => expect(received.comments).toBeGreaterThan(1))
      expect((await get()).status).toBe(409)
    },
  },
  {
    title: 'a session ends with DELETE, and so does its stream',
    async run({ url, version }) {
      const raw = await session(url, version)
      const stream = await fetch(url, { headers: { ...raw.headers, accept: 'text/event-stream' } })
      const received = new Received(stream)
      expect((await fetch(url, { method: 'DELETE', headers: raw.headers })).status).toBe(204)
      await until(() => expect(received.over).toBe(true))
      expect((await raw.request('ping')).status).toBe(404)
    },
  },
  {
    title: 'a session is served over HTTP+SSE too',
    async run({ at, later }) {
      const client = await connect(at(ssePath), { revisions: ['2024-11-05'] })
      later(() => client.close())
      const reports: unknown[] = []
      const call = client.call('gate', {}, { onProgress: (report) => reports.push(report) })
      await until(() => expect(reports).toHaveLength(1))
      await client.call('pass')
      expect((await call).content).toEqual([{ type: 'text', text: 'passed' }])
    },
  },
  {
    title: 'a session refuses other callers',
    async run({ at }) {
      const url = at(lockedPath)
      const { headers } = await session(url, '2025-11-25', { authorization: 'Bearer ada' })
      const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
      expect((await post(url, ping, headers)).status).toBe(200)
      expect((await post(url, ping, { ...headers, authorization: 'Bearer eve' })).status).toBe(404)
    },
  },
]
