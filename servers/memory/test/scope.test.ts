import { type Client, connect, http } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { conversationMetaKey, type MemoryServer } from '@jackfield/server-memory'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  alice,
  clientOf,
  fill,
  memoryServer,
  readJson,
  revisions,
  temporaryFile,
  textOf,
  until,
} from './fixture.ts'

const thing = (name: string) => ({ name, entityType: 'thing', observations: [] })

async function names(client: Client<MemoryServer>, args: { conversation?: string } = {}): Promise<string[]> {
  const { structuredContent } = await client.call('read_graph', args)
  return structuredContent?.entities.map(({ name }) => name) ?? []
}

describe.each(revisions)('memory of conversations on %s', (revision) => {
  test('is separate from the shared memory, and from that of other conversations', async () => {
    const client = await clientOf(revision)
    await fill(client)
    await client.call('create_entities', { entities: [thing('Draft')], conversation: 'trip' })
    expect(await names(client)).toEqual(['Alice', 'Acme'])
    expect(await names(client, { conversation: 'trip' })).toEqual(['Draft'])
    expect(await names(client, { conversation: 'other' })).toEqual([])
    expect(await readJson(client, 'memory://entities/Draft?conversation=trip')).toMatchObject(thing('Draft'))
    await expect(client.read('memory://entities/Draft')).rejects.toThrow('Resource not found')
    const search = await client.call('search_nodes', { query: 'Alice', conversation: 'trip' })
    expect(search.structuredContent).toMatchObject({ total: 0 })
    const removed = await client.call('delete_entities', { entityNames: ['Alice'], conversation: 'trip' })
    expect(textOf(removed)).toContain('No entity has the name "Alice"')
    expect(await names(client)).toEqual(['Alice', 'Acme'])
  })

  test('is named by the host in _meta, which arguments cannot override', async () => {
    const client = await clientOf(revision)
    const meta = { [conversationMetaKey]: 'trip' }
    await client.call('create_entities', { entities: [thing('Draft')] }, { meta })
    expect(await names(client, { conversation: 'trip' })).toEqual(['Draft'])
    const other = await client.call('read_graph', { conversation: 'other' }, { meta })
    expect(other.isError).toBe(true)
    expect(textOf(other)).toContain('Leave "conversation" out')
  })
})

describe('the scope "conversation"', () => {
  test('keeps a graph for each session, and deletes it when the session ends', async () => {
    const file = temporaryFile()
    const server = memoryServer({ file, scope: 'conversation' })
    const one = await connect(server, { revisions: ['2025-06-18'] })
    const two = await clientOf('2025-06-18', server)
    await fill(one)
    expect(await names(one)).toEqual(['Alice', 'Acme'])
    expect(await readJson(one, 'memory://entities/Alice')).toMatchObject(alice)
    expect(await names(two)).toEqual([])
    expect((await two.resources()).map(({ uri }) => uri)).toEqual(['memory://knowledge-graph'])
    await one.call('create_entities', { entities: [thing('Kept')], conversation: 'trip' })
    await one.close()
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(file)
    onTestFinished(() => database.close())
    const left = (): unknown[] =>
      database
        .prepare('SELECT name FROM entities')
        .all()
        .map(({ name }) => name)
    await until(() => left().length === 1, 'the graph of the session is deleted')
    expect(left()).toEqual(['Kept'])
  })

  test('requires a name where there is no session', async () => {
    const client = await clientOf('2026-07-28', memoryServer({ scope: 'conversation' }))
    const refused = await client.call('create_entities', { entities: [alice] })
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('Name the conversation in "conversation"')
    await client.call('create_entities', { entities: [alice], conversation: 'trip' })
    expect(await names(client, { conversation: 'trip' })).toEqual(['Alice'])
    expect((await client.resources()).map(({ uri }) => uri)).toEqual(['memory://knowledge-graph'])
  })
})

describe.each(revisions)('principals over HTTP on %s', (revision) => {
  test('have separate graphs, and are not notified of others', async () => {
    const server = memoryServer()
    const served = await serveHttp(server, {
      authenticate: async (request) => ({ principal: request.header('x-principal') ?? 'none' }),
    }).listen({ port: 0 })
    onTestFinished(() => served.close())
    const as = async (principal: string): Promise<Client<MemoryServer>> => {
      const client = await connect<MemoryServer>(
        http(served.url, { headers: { 'x-principal': principal } }),
        {
          revisions: [revision],
        },
      )
      onTestFinished(() => client.close())
      return client
    }
    const ann = await as('ann')
    const ben = await as('ben')
    await fill(ann)
    expect(await names(ben)).toEqual([])
    await expect(ben.read('memory://entities/Alice')).rejects.toThrow('Resource not found')
    const heard: string[] = []
    const filter = { resourceSubscriptions: ['memory://entities/Alice'], resourcesListChanged: true }
    const watch = await ben.watch(filter, (change) => heard.push('uri' in change ? change.uri : change.type))
    onTestFinished(() => watch.close())
    await ann.call('delete_entities', { entityNames: ['Alice'] })
    await ann.call('create_entities', { entities: [alice] })
    await ben.call('create_entities', { entities: [{ ...alice, observations: ['of Ben'] }] })
    await until(() => heard.includes('memory://entities/Alice'), 'Ben is notified of his own change')
    expect(heard.filter((one) => one === 'memory://entities/Alice')).toHaveLength(1)
    expect(await readJson(ann, 'memory://entities/Alice')).toMatchObject(alice)
  })
})
