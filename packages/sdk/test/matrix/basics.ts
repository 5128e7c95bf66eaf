import { expect, vi } from 'vitest'
import type { Feature } from './feature.ts'

export const basics: readonly Feature[] = [
  {
    title: 'names and versions of client and server',
    async run({ version, open }) {
      const { server } = await open()
      expect(server.revision).toBe(version)
      expect(server.era).toBe(version === '2026-07-28' ? 'stateless' : 'session')
      expect(server.instructions).toBe('Try all of it.')
      expect(server.info).toMatchObject({ name: 'matrix', version: '1.0.0' })
      expect(server.info?.title).toBe(version >= '2025-06-18' ? 'Matrix' : undefined)
      expect(server.info?.description).toBe(version >= '2025-11-25' ? 'Has one of everything' : undefined)
      expect(server.info?.icons).toEqual(version >= '2025-11-25' ? [expect.any(Object)] : undefined)
      expect(server.capabilities.tools).toEqual({ listChanged: true })
      expect(server.capabilities.completions).toEqual(version >= '2025-03-26' ? {} : undefined)
    },
  },
  {
    title: 'ping',
    async run({ open }) {
      await (await open()).ping()
    },
  },
  {
    title: 'pagination',
    async run({ open }) {
      const client = await open()
      const tools = await client.tools({ cache: 'bypass' })
      expect(tools.length).toBeGreaterThan(8)
      const first = await client.request('tools/list', {})
      expect(first.tools).toHaveLength(4)
      const second = await client.request('tools/list', { cursor: first.nextCursor ?? '' })
      expect(second.tools[0]?.name).toBe(tools[4]?.name)
      await expect(client.request('tools/list', { cursor: 'made up' })).rejects.toMatchObject({
        code: -32602,
      })
    },
  },
  {
    title: 'progress',
    async run({ version, open }) {
      const client = await open()
      const seen: unknown[] = []
      await client.call('work', {}, { onProgress: (report) => seen.push(report) })
      await vi.waitFor(() => expect(seen).toHaveLength(3))
      const message = version >= '2025-03-26' ? { message: 'step 3' } : {}
      expect(seen[2]).toEqual({ progress: 3, total: 3, ...message })
    },
  },
  {
    title: 'log messages at the requested level',
    async run({ open }) {
      const received: unknown[] = []
      const client = await open({
        logLevel: 'info',
        onLog: ({ level, logger, data }) => received.push([level, logger, data]),
      })
      await client.call('work')
      await vi.waitFor(() => expect(received).toHaveLength(3))
      expect(received[0]).toEqual(['info', 'matrix', 'step 1'])
      await client.setLogLevel('error')
      await client.call('work')
      await client.ping()
      expect(received).toHaveLength(3)
    },
  },
  {
    title: 'cancellation',
    async run({ open }) {
      const client = await open()
      const stop = new AbortController()
      const call = client.call('hang', {}, { signal: stop.signal, onProgress: () => stop.abort() })
      await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
      await vi.waitFor(async () => {
        const { content } = await client.call('aborts')
        expect(content).toEqual([{ type: 'text', text: '1' }])
      })
    },
  },
  {
    title: 'time limits',
    async run({ open }) {
      const client = await open()
      await expect(client.call('hang', {}, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' })
      await client.ping()
    },
  },
  {
    title: 'many calls at once',
    async run({ open }) {
      const client = await open()
      const texts = Array.from({ length: 50 }, (_, at) => `call ${at}`)
      const results = await Promise.all(texts.map((text) => client.call('echo', { text })))
      expect(results.map(({ content }) => content)).toEqual(texts.map((text) => [{ type: 'text', text }]))
    },
  },
  {
    title: 'large and unusual text',
    async run({ open }) {
      const text = `${'\u2028\r\n\u0000"\\😀ü'.repeat(2000)}${'x'.repeat(500_000)}`
      const { content } = await (await open()).call('echo', { text })
      expect(content).toEqual([{ type: 'text', text }])
    },
  },
  {
    title: 'request metadata',
    async run({ open }) {
      const result = await (await open()).call('meta', {}, { meta: { 'example.com/trace': 'abc' } })
      expect(result._meta).toMatchObject({ 'example.com/echo': 'abc' })
    },
  },
  {
    title: 'unknown methods',
    async run({ open }) {
      const client = await open()
      await expect(client.request('example/none', {})).rejects.toMatchObject({ code: -32601 })
    },
  },
  {
    title: 'cached lists and reads',
    since: '2026-07-28',
    async run({ version, open }) {
      const modern = version === '2026-07-28'
      const client = await open()
      const list = await client.request('prompts/list', {})
      expect([list.ttlMs, list.cacheScope]).toEqual(modern ? [60_000, 'public'] : [undefined, undefined])
      const read = await client.request('resources/read', { uri: 'matrix://text' })
      expect([read.ttlMs, read.cacheScope]).toEqual(modern ? [1000, 'private'] : [undefined, undefined])
    },
  },
]
