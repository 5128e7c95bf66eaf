import { expect, vi } from 'vitest'
import type { Feature } from './feature.ts'

/** What a server offers: tools, resources, prompts, completions, and word of their changes. */
export const offered: readonly Feature[] = [
  {
    title: 'tools in a list',
    async run({ version, open }) {
      const tools = await (await open()).tools()
      const content = tools.find(({ name }) => name === 'content')
      expect(content).toMatchObject({
        description: 'Gives one block of every kind',
        inputSchema: { type: 'object' },
      })
      expect(content?.annotations).toEqual(version >= '2025-03-26' ? { readOnlyHint: true } : undefined)
      expect(content?.title).toBe(version >= '2025-06-18' ? 'Content' : undefined)
      expect(content?._meta).toEqual(version >= '2025-06-18' ? { 'example.com/kind': 'all' } : undefined)
      expect(content?.icons).toEqual(version >= '2025-11-25' ? [expect.any(Object)] : undefined)
      const sum = tools.find(({ name }) => name === 'sum')
      expect(sum?.outputSchema?.['type']).toBe(version >= '2025-06-18' ? 'object' : undefined)
    },
  },
  {
    title: 'every kind of content',
    async run({ version, open }) {
      const { content } = await (await open()).call('content')
      expect(content[0]).toEqual({ type: 'text', text: 'Grüße 🎉 \u2028 end' })
      expect(content.map(({ type }) => type)).toEqual([
        'text',
        'image',
        version >= '2025-03-26' ? 'audio' : 'text',
        'resource',
        version >= '2025-06-18' ? 'resource_link' : 'text',
      ])
    },
  },
  {
    title: 'structured results',
    since: '2025-06-18',
    async run({ version, open }) {
      const client = await open()
      await client.tools()
      const result = await client.call('sum', { numbers: [1, 2, 3.5] })
      expect(result.structuredContent).toEqual(version >= '2025-06-18' ? { sum: 6.5 } : undefined)
      expect(result.content).toEqual([{ type: 'text', text: '{"sum":6.5}' }])
    },
  },
  {
    title: 'a failed tool, and invalid arguments',
    async run({ open }) {
      const client = await open()
      const failed = { isError: true, content: [{ type: 'text', text: 'It was meant to' }] }
      expect(await client.call('fail')).toMatchObject(failed)
      expect(await client.call('sum', { numbers: 'one' })).toMatchObject({ isError: true })
    },
  },
  {
    title: 'unknown tools and prompts',
    async run({ open }) {
      const client = await open()
      await expect(client.call('nothing')).rejects.toMatchObject({ code: -32602 })
      await expect(client.prompt('nothing')).rejects.toMatchObject({ code: -32602 })
    },
  },
  {
    title: 'resources in a list',
    async run({ version, open }) {
      const resources = await (await open()).resources()
      expect(resources.map(({ uri }) => uri)).toContain('matrix://cities/Porto')
      const text = resources.find(({ name }) => name === 'text')
      expect(text).toMatchObject({ uri: 'matrix://text', mimeType: 'text/plain' })
      expect(text?.title).toBe(version >= '2025-06-18' ? 'Text' : undefined)
      const { lastModified, ...older } = text?.annotations ?? {}
      expect(older).toEqual({ audience: ['user'], priority: 1 })
      expect(lastModified).toBe(version >= '2025-06-18' ? '2026-01-01T00:00:00Z' : undefined)
    },
  },
  {
    title: 'resources as text, as bytes, and by a template',
    async run({ open }) {
      const client = await open()
      const read = async (uri: string): Promise<unknown> => (await client.read(uri)).contents
      expect(await read('matrix://text')).toEqual([
        { uri: 'matrix://text', mimeType: 'text/plain', text: 'hello' },
      ])
      expect(await read('matrix://bytes')).toMatchObject([{ blob: 'AAH+/w==' }])
      expect(await read('matrix://cities/S%C3%A3o%20Paulo?lang=pt')).toMatchObject([
        { text: 'São Paulo in pt' },
      ])
      expect(await client.templates()).toMatchObject([
        { uriTemplate: 'matrix://cities/{city}{?lang}', name: 'city' },
      ])
    },
  },
  {
    title: 'a resource that does not exist',
    async run({ version, open }) {
      const code = version === '2026-07-28' ? -32602 : -32002
      await expect((await open()).read('matrix://nothing')).rejects.toMatchObject({ code })
    },
  },
  {
    title: 'prompts',
    async run({ version, open }) {
      const client = await open()
      const [greet] = await client.prompts()
      expect(greet).toMatchObject({ name: 'greet', description: 'Greets somebody' })
      expect(greet?.title).toBe(version >= '2025-06-18' ? 'Greet' : undefined)
      expect(greet?.arguments).toMatchObject([{ name: 'name', required: true }, { name: 'tone' }])
      const { description, messages } = await client.prompt('greet', { name: 'Ada', tone: 'warm' })
      expect(description).toBe('A greeting')
      expect(messages[0]).toEqual({ role: 'user', content: { type: 'text', text: 'Greet Ada, warm' } })
      expect(messages[1]?.content.type).toBe(version >= '2025-03-26' ? 'audio' : 'text')
      await expect(client.prompt('greet', {})).rejects.toMatchObject({ code: -32602 })
    },
  },
  {
    title: 'completion',
    async run({ open }) {
      const client = await open()
      const ref = { type: 'ref/resource' as const, uri: 'matrix://cities/{city}{?lang}' }
      const cities = await client.complete({ ref, argument: { name: 'city', value: 'P' } })
      expect(cities.values).toEqual(['Paris', 'Porto', 'Prague'])
      const prompt = { type: 'ref/prompt' as const, name: 'greet' }
      const tones = await client.complete({ ref: prompt, argument: { name: 'tone', value: '' } })
      expect(tones.values).toEqual(['warm', 'formal'])
    },
  },
  {
    title: 'completion with the arguments chosen before',
    since: '2025-06-18',
    async run({ version, open }) {
      const ref = { type: 'ref/resource' as const, uri: 'matrix://cities/{city}{?lang}' }
      const context = { arguments: { city: 'Rome' } }
      const client = await open()
      if (version < '2025-06-18') return
      const { values } = await client.complete({ ref, argument: { name: 'lang', value: '' }, context })
      expect(values).toEqual(['it'])
    },
  },
  {
    title: 'notifications of changed lists',
    async run({ open }) {
      const received: string[] = []
      const client = await open({ onChange: ({ type }) => received.push(type) })
      const kinds = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      const watch = await client.watch(kinds)
      expect(watch.acknowledged).toEqual(kinds)
      for (const what of ['tools', 'prompts', 'resources']) await client.call('change', { what })
      await vi.waitFor(() => expect([...new Set(received)].sort()).toEqual(['prompts', 'resources', 'tools']))
      expect((await client.tools()).map(({ name }) => name)).toContain('extra')
      await watch.close()
    },
  },
  {
    title: 'notifications of a changed resource',
    async run({ open }) {
      const received: unknown[] = []
      const client = await open()
      const watch = await client.watch({ resourceSubscriptions: ['matrix://text'] }, (change) =>
        received.push(change),
      )
      await client.call('change', { what: 'resource' })
      await vi.waitFor(() => expect(received).toEqual([{ type: 'resource', uri: 'matrix://text' }]))
      await watch.close()
      await client.call('change', { what: 'resource' })
      await client.ping()
      expect(received).toHaveLength(1)
    },
  },
]
