import { MetaKey } from '@jackfield/sdk'
import { expect } from 'vitest'
import { textOf } from '../raw-client.ts'
import { type Rule, revisionsOf, stateless } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, part, results } from '../transcript.ts'

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const log = 'notifications/message'

/** What tools, resources, prompts, completions and log messages are made of, and how they fail. */
export const contentRules: readonly Rule[] = [
  {
    title: 'the input schema of a tool describes an object',
    async holds(cell) {
      const tools = results(await cell.everything(), 'server', 'tools/list').flatMap(({ tools }) =>
        Array.isArray(tools) ? tools : [],
      )
      expect(tools.length).toBeGreaterThan(20)
      for (const tool of tools) expect(at(tool, 'inputSchema', 'type')).toBe('object')
    },
  },
  {
    title: 'names of tools differ by case',
    async holds(cell) {
      const raw = await cell.raw()
      expect(await raw.call('echo', { text: 'Hello' })).toBe('Hello')
      expect(await raw.call('Echo', { text: 'Hello' })).toBe('HELLO')
      expect(await raw.send('tools/call', { name: 'ECHO' })).toMatchObject({ error: { code: -32602 } })
    },
  },
  {
    title:
      'arguments are validated before a handler runs, and an internal failure does not reveal its reason',
    async holds(cell) {
      const raw = await cell.raw()
      const wrong = await raw.ask('tools/call', { name: 'echo', arguments: { text: 7 } })
      expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('text') }] })
      const tooLong = { topic: 'x'.repeat(21) }
      for (const params of [{ name: 'show' }, { name: 'show', arguments: tooLong }, { name: 'none' }]) {
        expect(await raw.send('prompts/get', params)).toMatchObject({ error: { code: -32602 } })
      }
      expect(await raw.ask('tools/call', { name: 'fail' })).toMatchObject({ isError: true })
      for (const [method, params] of [
        ['prompts/get', { name: 'fails' }],
        ['resources/read', { uri: 'rules://fails' }],
      ] as const) {
        expect(await raw.send(method, params)).toMatchObject({ error: { code: -32603 } })
      }
      expect(JSON.stringify(raw.received)).not.toContain('secret')
    },
  },
  {
    title: 'images, sounds and resources have their type, and bytes in base64',
    async holds(cell) {
      const raw = await cell.raw()
      const inTool = await raw.ask('tools/call', { name: 'media' })
      const inPrompt = await raw.ask('prompts/get', { name: 'show', arguments: { topic: 'tea' } })
      const { contents } = await raw.ask('resources/read', { uri: 'rules://bytes' })
      expect(contents).toEqual([{ uri: 'rules://bytes', mimeType: 'image/png', blob: 'AP/+' }])
      const { messages } = inPrompt
      const blocks = [
        inTool['content'],
        Array.isArray(messages) ? messages.map((one) => at(one, 'content')) : [],
      ]
      const media = blocks.flat().filter((block) => at(block, 'type') !== 'text')
      const kinds = new Set(media.map((block) => at(block, 'type')))
      expect(kinds).toContain('image')
      expect(kinds).toContain('resource')
      expect(kinds.has('audio')).toBe(cell.version >= '2025-03-26')
      for (const block of media) {
        const holder = at(block, 'type') === 'resource' ? part(block, 'resource') : part(block)
        if (at(block, 'type') === 'resource_link') continue
        expect(holder['mimeType']).toMatch(/\//)
        if (at(block, 'type') === 'resource') expect(holder['uri']).toMatch(/^rules:/)
        const bytes = holder['data'] ?? holder['blob']
        if (bytes === undefined) expect(holder['text']).toBe('hello')
        else expect(bytes).toMatch(base64)
      }
      expect(await raw.call('broken')).toContain('failed unexpectedly')
    },
  },
  {
    title: 'structured content matches its schema, and is sent as text as well',
    since: '2025-06-18',
    async holds(cell) {
      const raw = await cell.raw()
      expect(await raw.ask('tools/call', { name: 'sum', arguments: { numbers: [1, 2.5] } })).toMatchObject({
        structuredContent: { sum: 3.5 },
        content: [{ type: 'text', text: '{"sum":3.5}' }],
      })
      const unkept = await raw.ask('tools/call', { name: 'unkept' })
      expect(unkept).toMatchObject({ isError: true })
      expect(textOf(unkept)).toContain('does not match its output schema')
      expect(JSON.stringify(unkept)).not.toContain('seven')
    },
  },
  {
    title: 'a client rejects structured content that violates the schema of its tool',
    since: '2025-06-18',
    async holds(cell) {
      const { called, listed } = resultsOf(cell.version)
      const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
      const { client } = await cell.connectToScript({
        methods: {
          'tools/list': () =>
            listed({ tools: [{ name: 'n', inputSchema: { type: 'object' }, outputSchema }] }),
          'tools/call': ({ params }) => called('text', part(params, 'arguments')),
        },
      })
      await client.tools()
      const right = await client.call('n', { structuredContent: { n: 7 } })
      expect(right.structuredContent).toEqual({ n: 7 })
      for (const args of [{ structuredContent: { n: 'seven' } }, {}]) {
        await expect(client.call('n', args)).rejects.toMatchObject({ code: 'INVALID' })
      }
    },
  },
  {
    title: 'a resource that does not exist is an error, never an empty result',
    async holds(cell) {
      cell.faulty('it reads what is no URI')
      const raw = await cell.raw()
      const code = cell.stateless ? -32602 : -32002
      for (const uri of ['rules://nowhere', 'rules://gone']) {
        expect(await raw.send('resources/read', { uri })).toMatchObject({ error: { code } })
      }
      for (const uri of ['not a uri', '../../etc/passwd', `rules://${'x'.repeat(10_000)}`]) {
        expect(await raw.send('resources/read', { uri })).toMatchObject({ error: {} })
      }
      expect(await raw.ask('resources/read', { uri: 'rules://empty' })).toMatchObject({
        contents: [{ uri: 'rules://empty', text: '' }],
      })
    },
  },
  {
    title: 'a path in a file URI does not leave its folder',
    async holds(cell) {
      const raw = await cell.raw()
      expect(await raw.ask('resources/read', { uri: 'file:///notes/one' })).toMatchObject({
        contents: [{ text: 'note one' }],
      })
      for (const name of [
        '..',
        '%2e%2e',
        '..%2f..%2fetc%2fpasswd',
        '..%5cwindows',
        'a%00.txt',
        '../secret',
      ]) {
        expect(await raw.send('resources/read', { uri: `file:///notes/${name}` })).toHaveProperty('error')
      }
    },
  },
  {
    title: 'completions are at most a hundred, and an unknown reference is an error',
    async holds(cell) {
      const raw = await cell.raw()
      const complete = (ref: object, argument: object) => raw.send('completion/complete', { ref, argument })
      const item = { type: 'ref/resource', uri: 'rules://items/{name}' }
      const { result } = await complete(item, { name: 'name', value: 'v' })
      const { values, total, hasMore } = part(result, 'completion')
      expect(values).toEqual(Array.from({ length: 100 }, (_, at) => `v${at}`))
      expect([total, hasMore]).toEqual([150, true])
      const show = { type: 'ref/prompt', name: 'show' }
      expect(await complete(show, { name: 'tone', value: '' })).toMatchObject({
        result: { completion: { values: ['warm', 'formal'] } },
      })
      for (const [ref, name] of [
        [{ type: 'ref/prompt', name: 'none' }, 'tone'],
        [show, 'none'],
        [{ type: 'ref/resource', uri: 'rules://none/{name}' }, 'name'],
      ] as const) {
        expect(await complete(ref, { name, value: '' })).toMatchObject({ error: { code: -32602 } })
      }
    },
  },
  {
    title: 'an invalid log level is rejected',
    async holds(cell) {
      cell.faulty('it asks for a log level that is none')
      const raw = await cell.raw()
      const answer = cell.stateless
        ? await raw.send('tools/list', {}, { meta: { [MetaKey.logLevel]: 'loud' } })
        : await raw.send('logging/setLevel', { level: 'loud' })
      expect(answer).toMatchObject({ error: { code: -32602 } })
    },
  },
  {
    title: 'a session gets log messages at its level, and no others',
    ...revisionsOf('logging/setLevel'),
    async holds(cell) {
      const raw = await cell.raw({})
      expect(await raw.ask('logging/setLevel', { level: 'info' })).toEqual({})
      await raw.call('work')
      expect(raw.notifications(log)).toHaveLength(5)
      await raw.ask('logging/setLevel', { level: 'error' })
      raw.forget()
      await raw.call('work')
      await raw.settle()
      expect(raw.notifications(log)).toEqual([])
    },
  },
  {
    title: 'log messages are sent only for requests with a level, on their own stream',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw()
      const listening = await raw.begin('subscriptions/listen', { notifications: { toolsListChanged: true } })
      await raw.until(() => raw.received.length > 0)
      raw.forget()
      const [quiet, loud] = await Promise.all([
        raw.begin('tools/call', { name: 'work' }),
        raw.begin('tools/call', { name: 'work' }, { meta: { [MetaKey.logLevel]: 'info' } }),
      ])
      await Promise.all([raw.answer(quiet), raw.answer(loud)])
      await raw.settle()
      const causes = raw.received.flatMap(({ message, cause }) => (message['method'] === log ? [cause] : []))
      expect(causes).toEqual(Array.from({ length: 5 }, () => (cell.streams ? loud : undefined)))
      await raw.cancel(listening)
    },
  },
]
