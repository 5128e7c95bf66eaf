import { describe, expect, onTestFinished, test } from 'vitest'
import {
  acme,
  alice,
  clientOf,
  fill,
  memoryServer,
  readJson,
  revisions,
  temporaryFile,
  textOf,
  until,
  worksAt,
} from './fixture.ts'

const template = { type: 'ref/resource' as const, uri: 'memory://entities/{name}{?conversation}' }

describe.each(revisions)('memory resources on %s', (revision) => {
  test('are the graph and every entity, each with its relations', async () => {
    const client = await clientOf(revision)
    await fill(client)
    const listed = await client.resources({ cache: 'bypass' })
    expect(listed.map(({ uri }) => uri)).toEqual([
      'memory://knowledge-graph',
      'memory://entities/Acme',
      'memory://entities/Alice',
    ])
    expect(await readJson(client, 'memory://entities/Alice')).toEqual({ ...alice, relations: [worksAt] })
    expect(await readJson(client, 'memory://knowledge-graph')).toMatchObject({
      entities: [alice, acme],
      relations: [worksAt],
    })
  })

  test('have names with any characters in their URIs', async () => {
    const client = await clientOf(revision)
    for (const name of ["Zoë's café (1/2)? #50%", '東京', 'a&conversation=b', '…'.repeat(256)]) {
      await client.call('create_entities', { entities: [{ name, entityType: 'x', observations: [] }] })
      const [, newest] = await client.resources({ cache: 'bypass' })
      expect(await readJson(client, newest?.uri ?? '')).toMatchObject({ name })
    }
  })

  test('complete names, those that begin with the text first', async () => {
    const client = await clientOf(revision)
    await fill(client)
    await client.call('create_entities', {
      entities: [{ name: 'Malice', entityType: 'concept', observations: [] }],
    })
    const complete = async (value: string): Promise<readonly string[]> =>
      (await client.complete({ ref: template, argument: { name: 'name', value } })).values
    expect(await complete('ali')).toEqual(['Alice', 'Malice'])
    expect(await complete('%')).toEqual([])
  })

  test('notify subscribers of changes, of this process and of others that use the file', async () => {
    const file = temporaryFile()
    const client = await clientOf(revision, memoryServer({ file }))
    await fill(client)
    const changes: string[] = []
    const watch = await client.watch(
      { resourceSubscriptions: ['memory://entities/Alice'], resourcesListChanged: true },
      (change) => changes.push('uri' in change ? change.uri : change.type),
    )
    onTestFinished(() => watch.close())
    await client.call('add_observations', { observations: [{ entityName: 'Alice', contents: ['One'] }] })
    await until(() => changes.includes('memory://entities/Alice'), 'a change of this process')
    changes.length = 0
    // A second server has a connection of its own to the file, as another process has.
    const other = await clientOf(revision, memoryServer({ file }))
    await other.call('add_observations', { observations: [{ entityName: 'Alice', contents: ['Two'] }] })
    await until(() => changes.includes('memory://entities/Alice'), 'a change of another process')
    expect(changes).not.toContain('resources')
    await other.call('create_entities', { entities: [{ name: 'New', entityType: 'x', observations: [] }] })
    await until(
      () => changes.some((change) => change.startsWith('resources')),
      'a new entity of another process',
    )
  })
})

describe.each(revisions)('the prompt "remember" on %s', (revision) => {
  test('contains what is known about the fact', async () => {
    const client = await clientOf(revision)
    await fill(client)
    const { messages } = await client.prompt('remember', { fact: 'Alice moved to Bern' })
    const text = textOf({ content: messages.map(({ content }) => content) })
    expect(text).toContain('Remember this: Alice moved to Bern')
    expect(text).toContain('Lives in Zürich')
    const { messages: own } = await client.prompt('remember', { fact: 'Alice moved', conversation: 'trip' })
    const ownText = textOf({ content: own.map(({ content }) => content) })
    expect(ownText).toContain('Pass "conversation": "trip"')
    expect(ownText).toContain('Nothing similar is known yet')
  })
})
