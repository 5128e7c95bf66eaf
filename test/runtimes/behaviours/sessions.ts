import { expect } from 'vitest'
import { connect } from '@jackfield/sdk/client'
import { type Behaviour, text, until } from './behaviour.ts'
import { Received, session } from './raw.ts'

/** What sessions need. */
export const sessions: readonly Behaviour[] = [
  {
    title: 'goes on with an answer whose stream was lost',
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
    title: 'lets a handler leave its stream, and a client come back for the answer',
    async run({ connect }) {
      expect(await text(await connect(), 'detached')).toBe('came back')
    },
  },
  {
    title: 'has one stream of its own for each, from the first byte on',
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
    title: 'ends with DELETE, and with it its stream',
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
    title: 'is had over HTTP+SSE as well',
    async run({ at, later }) {
      const client = await connect(at('/sse'), {
        revisions: ['2024-11-05'],
        onMessage: () => {},
      })
      later(() => client.close())
      const reports: unknown[] = []
      const call = client.call('gate', {}, { onProgress: (report) => reports.push(report) })
      await until(() => expect(reports).toHaveLength(1))
      await client.call('pass')
      expect((await call).content).toEqual([{ type: 'text', text: 'passed' }])
    },
  },
]
