import { createServer } from 'node:http'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { tasksExtension } from '@jackfield/sdk/extensions/tasks'
import { expect, onTestFinished } from 'vitest'
import { everyCapability } from '../raw-client.ts'
import { type MatrixCell, type Rule, stateless } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, part } from '../transcript.ts'

const drafts = 'http://json-schema.org/draft-04/schema#'

/** What servers publish about themselves, and what clients make of it. */
export const definitionRules: readonly Rule[] = [
  {
    title: 'a schema is of 2020-12 unless it names another dialect, and an unsupported one is an error',
    since: '2025-11-25',
    async holds(cell) {
      const list = { type: 'array', prefixItems: [{ type: 'string' }] }
      const schema = { type: 'object', properties: { list } }
      const newest = { ...schema, $schema: 'https://json-schema.org/draft/2020-12/schema' }
      const { client, received } = await connectToTools(cell, {
        none: schema,
        newest,
        drafts: { ...schema, $schema: drafts },
      })
      await expect(client.call('drafts')).rejects.toMatchObject({
        code: 'INVALID',
        message: expect.stringMatching(/draft-04.*2020-12/),
      })
      expect(received.filter((one) => at(one, 'method') === 'tools/call')).toEqual([])
      for (const name of ['none', 'newest']) {
        await expect(client.call(name, { list: ['text'] })).resolves.toMatchObject({
          structuredContent: { list: ['text'] },
        })
        await expect(client.call(name, { list: [7] })).rejects.toMatchObject({ code: 'INVALID' })
      }
    },
  },
  {
    title: 'a schema with a network reference is not fetched, and a warning says that nothing was validated',
    since: '2025-06-18',
    async holds(cell) {
      let fetched = 0
      const elsewhere = createServer((_req, res) => {
        fetched++
        res.end('{}')
      })
      await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => {
        elsewhere.close()
      })
      const address = elsewhere.address()
      const port = typeof address === 'object' ? address?.port : undefined
      const away = { type: 'object', properties: { n: { $ref: `http://127.0.0.1:${port}/schema` } } }
      const { client, warnings } = await connectToTools(cell, { away })
      await client.call('away', { n: 7 })
      expect(warnings).toEqual([expect.stringContaining('"away" are not checked')])
      expect(fetched).toBe(0)
    },
  },
  {
    title: 'icons with other URLs than https: and data: are left out',
    since: '2025-11-25',
    async holds(cell) {
      const icons = [
        'https://a.example/i.png',
        'data:image/png;base64,AA==',
        'javascript:alert(1)',
        'file:///etc/passwd',
        'http://a.example/i.png',
      ].map((src) => ({ src }))
      const { listed } = resultsOf(cell.version)
      const tools = [{ name: 'any', inputSchema: { type: 'object' }, icons }]
      const { client } = await cell.connectToScript({ methods: { 'tools/list': () => listed({ tools }) } })
      expect((await client.tools()).map((tool) => tool.icons)).toEqual([icons.slice(0, 2)])
    },
  },
  {
    title: 'an extension that only one side declares is not used, or rejected with an error',
    ...stateless,
    async holds(cell) {
      const raw = await cell.raw(undefined, 'tasks')
      expect(await raw.ask('server/discover')).toMatchObject({
        capabilities: { extensions: { [tasksExtension]: {} } },
      })
      expect(await raw.call('optional')).toBe('optional')
      const refused = await raw.send('tasks/get', { taskId: 'any' })
      expect(refused).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } } },
      })
      const plain = await cell.raw()
      const capabilities = { ...everyCapability(cell.version), extensions: { [tasksExtension]: {} } }
      expect(await plain.call('echo', { text: 'hello' }, { capabilities })).toBe('hello')
      const { client } = await cell.connect({ extensions: [tasksClient()] })
      expect(await client.call('echo', { text: 'hello' })).toMatchObject({ content: [{ text: 'hello' }] })
    },
  },
]

/** A client that knows tools with these output schemas; each gives its arguments as structured content. */
async function connectToTools(cell: MatrixCell, schemas: Readonly<Record<string, object>>) {
  const { called, listed } = resultsOf(cell.version)
  const tools = Object.entries(schemas).map(([name, outputSchema]) => ({
    name,
    inputSchema: { type: 'object' },
    outputSchema,
  }))
  const connected = await cell.connectToScript({
    methods: {
      'tools/list': () => listed({ tools }),
      'tools/call': ({ params }) => called('done', { structuredContent: part(params, 'arguments') }),
    },
  })
  await connected.client.tools()
  return connected
}
