import { expect } from 'vitest'
import { keylessPath } from '../programs/app.ts'
import { type Behaviour, text, until } from './behaviour.ts'
import { connectRaw, Received } from './raw.ts'

/** What calls need, whatever the revision. */
export const calls: readonly Behaviour[] = [
  {
    title: 'completes the handshake',
    async run({ version, connect }) {
      const client = await connect()
      expect(client.server).toMatchObject({ revision: version, info: { name: 'runtimes' } })
      expect((await client.tools()).map(({ name }) => name)).toContain('refund')
    },
  },
  {
    title: 'answers a quick call with one JSON text',
    async run(setting) {
      const response = await (await connectRaw(setting)).call('echo', { text: 'Grüße 🎉' })
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(await response.json()).toMatchObject({
        result: { content: [{ type: 'text', text: 'Grüße 🎉' }] },
      })
    },
  },
  {
    title: 'answers with a complete megabyte',
    async run({ connect }) {
      expect(await text(await connect(), 'big')).toBe('ü'.repeat(500_000))
    },
  },
  {
    title: 'answers many calls at once, each with its own result',
    async run({ connect }) {
      const client = await connect()
      const names = Array.from({ length: 40 }, (_, index) => `call ${index}`)
      const answers = await Promise.all(names.map((name) => client.call('echo', { text: name })))
      expect(answers.map(({ content: [first] }) => first)).toEqual(
        names.map((name) => ({ type: 'text', text: name })),
      )
    },
  },
  {
    title: 'sends progress before the response',
    async run({ connect }) {
      const client = await connect()
      const reports: unknown[] = []
      const call = client.call('gate', {}, { onProgress: (report) => reports.push(report) })
      await until(() => expect(reports).toEqual([{ progress: 1, total: 2, message: 'waiting' }]))
      await client.call('pass')
      expect((await call).content).toEqual([{ type: 'text', text: 'passed' }])
    },
  },
  {
    title: 'sends an event stream uncompressed, unbuffered and with keep-alives',
    async run(setting) {
      const stop = new AbortController()
      setting.later(() => stop.abort())
      const raw = await connectRaw(setting, { 'accept-encoding': 'gzip, br' })
      const response = await raw.call('gate', {}, { signal: stop.signal })
      expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
      expect(response.headers.get('cache-control')).toContain('no-transform')
      expect(response.headers.get('content-encoding')).toBeNull()
      const received = new Received(response)
      await until(() => expect(received.text).toContain('notifications/progress'))
      await until(() => expect(received.comments).toBeGreaterThan(2))
    },
  },
  {
    title: 'sends keep-alives during a call without notifications',
    async run(setting) {
      const raw = await connectRaw(setting)
      await (await raw.call('echo', { text: 'before' })).text()
      const received = new Received(await raw.call('gate', { quiet: true }))
      await until(() => expect(received.comments).toBeGreaterThan(1))
      await (await raw.call('pass')).text()
      await until(() => expect(received.text).toContain('passed'))
    },
  },
  {
    title: 'elicits during a call, with effects that happen once',
    async run({ version, connect }) {
      const kinds: unknown[] = []
      const client = await connect({
        onElicit: ({ message }) => ({ action: 'accept', content: { ok: message.includes('42') } }),
        onMessage: (direction, message) => {
          if (direction !== 'received') return
          if ('result' in message) kinds.push(message.result['resultType'])
          else if ('method' in message) kinds.push(message.method)
        },
      })
      kinds.length = 0
      expect(await text(client, 'refund')).toBe('refunded 0')
      const expected =
        version === '2026-07-28' ? ['input_required', 'complete'] : ['elicitation/create', undefined]
      expect(kinds).toEqual(expected)
    },
  },
  {
    title: 'elicits without configured keys',
    async run({ connect, at }) {
      const client = await connect({ onElicit: () => ({ action: 'decline' }) }, at(keylessPath))
      expect(await text(client, 'refund')).toBe('kept 0')
    },
  },
  {
    title: 'stops the handler of a call that is cancelled',
    async run({ connect }) {
      const client = await connect()
      const stop = new AbortController()
      const call = client.call('hang', {}, { signal: stop.signal, onProgress: () => stop.abort() })
      await expect(call).rejects.toThrow()
      await until(async () => {
        const [hanging, stopped] = (await text(client, 'hangs')).split(' ')
        expect(hanging).not.toBe('0')
        expect(stopped).toBe(hanging)
      })
    },
  },
  {
    title: 'sends change notifications until the subscription ends',
    async run({ connect }) {
      const changes: unknown[] = []
      const [watcher, other] = await Promise.all([connect(), connect()])
      const watch = await watcher.watch({ resourceSubscriptions: ['shop://orders'] }, (change) =>
        changes.push(change),
      )
      await other.call('touch')
      await until(() => expect(changes).toEqual([{ type: 'resource', uri: 'shop://orders' }]))
      await other.call('touch')
      await until(() => expect(changes).toHaveLength(2))
      await watch.close()
      await other.call('touch')
      expect(await text(watcher, 'pass')).toBe('open')
      expect(changes).toHaveLength(2)
    },
  },
]
