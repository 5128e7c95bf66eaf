import { describe, expect, test } from 'vitest'
import { acme, alice, clientOf, fill, revisions, textOf, worksAt } from './fixture.ts'

describe.each(revisions)('the memory tools on %s', (revision) => {
  test('have the names and required arguments of the MCP reference server', async () => {
    const client = await clientOf(revision)
    const required = (await client.tools()).map(({ name, inputSchema }) => [
      name,
      inputSchema['required'] ?? [],
    ])
    expect(Object.fromEntries(required)).toEqual({
      create_entities: ['entities'],
      create_relations: ['relations'],
      add_observations: ['observations'],
      delete_entities: ['entityNames'],
      delete_observations: ['deletions'],
      delete_relations: ['relations'],
      read_graph: [],
      search_nodes: ['query'],
      open_nodes: ['names'],
    })
  })

  test('store entities, observations and relations once', async () => {
    const client = await clientOf(revision)
    await fill(client)
    const again = await client.call('create_entities', {
      entities: [
        { ...alice, observations: ['Something else'] },
        { name: 'Bob', entityType: 'person', observations: [] },
      ],
    })
    expect(again.structuredContent).toMatchObject({ entities: [{ name: 'Bob' }], existing: ['Alice'] })
    expect(textOf(again)).toContain('Not changed, since they exist: "Alice"')
    expect((await client.call('create_relations', { relations: [worksAt] })).structuredContent).toEqual({
      relations: [],
    })
    const added = await client.call('add_observations', {
      observations: [{ entityName: 'Alice', contents: ['Prefers tea', 'Plays chess'] }],
    })
    expect(added.structuredContent).toEqual({
      results: [{ entityName: 'Alice', addedObservations: ['Plays chess'] }],
    })
    expect((await client.call('read_graph', {})).structuredContent).toEqual({
      entities: [
        { ...alice, observations: [...alice.observations, 'Plays chess'] },
        acme,
        { name: 'Bob', entityType: 'person', observations: [] },
      ],
      relations: [worksAt],
      total: 3,
    })
  })

  test('reject observations and relations of entities that do not exist, and store nothing', async () => {
    const client = await clientOf(revision)
    await fill(client)
    const related = await client.call('create_relations', {
      relations: [
        { from: 'Acme', to: 'Alice', relationType: 'employs' },
        { from: 'Alice', to: 'Carol', relationType: 'knows' },
      ],
    })
    expect(related.isError).toBe(true)
    expect(textOf(related)).toContain(
      'No entity has the name "Carol". Create them first with create_entities',
    )
    const observed = await client.call('add_observations', {
      observations: [
        { entityName: 'Alice', contents: ['One'] },
        { entityName: 'Carol', contents: ['Two'] },
      ],
    })
    expect(observed.isError).toBe(true)
    expect((await client.call('read_graph', {})).structuredContent).toMatchObject({
      entities: [alice, acme],
      relations: [worksAt],
    })
  })

  test('delete the named entries, and report missing ones', async () => {
    const client = await clientOf(revision)
    await fill(client)
    const observed = await client.call('delete_observations', {
      deletions: [{ entityName: 'Alice', observations: ['Prefers tea', 'Unknown'] }],
    })
    expect(observed.structuredContent).toEqual({
      success: true,
      message: 'Deleted 1 observation. 1 did not exist.',
    })
    const removed = await client.call('delete_entities', { entityNames: ['Acme', 'Nobody'] })
    expect(removed.structuredContent).toEqual({
      success: true,
      message: 'Deleted 1 entity and 1 relation. No entity has the name "Nobody".',
    })
    expect((await client.call('read_graph', {})).structuredContent).toEqual({
      entities: [{ ...alice, observations: ['Lives in Zürich'] }],
      relations: [],
      total: 1,
    })
    await fill(client)
    const unrelated = await client.call('delete_relations', { relations: [worksAt] })
    expect(unrelated.structuredContent).toMatchObject({ message: 'Deleted 1 relation.' })
    expect((await client.call('search_nodes', { query: 'tea' })).structuredContent).toMatchObject({
      total: 0,
    })
  })

  test('open entities with the relations that start or end at them', async () => {
    const client = await clientOf(revision)
    await fill(client)
    const opened = await client.call('open_nodes', { names: ['Acme', 'Nobody', 'Acme'] })
    expect(opened.structuredContent).toEqual({ entities: [acme], relations: [worksAt], missing: ['Nobody'] })
  })

  test('read the graph page by page, each relation with the entity it starts at', async () => {
    const client = await clientOf(revision)
    const names = Array.from({ length: 25 }, (_, at) => `Entity ${at}`)
    await client.call('create_entities', {
      entities: names.map((name) => ({ name, entityType: 'thing', observations: [] })),
    })
    await client.call('create_relations', {
      relations: names.map((to) => ({ from: 'Entity 12', to, relationType: 'precedes' })),
    })
    const pages: { entities: { name: string }[]; relations: object[] }[] = []
    let cursor: string | undefined
    do {
      const { structuredContent: page } = await client.call('read_graph', {
        limit: 10,
        ...(cursor !== undefined && { cursor }),
      })
      if (page === undefined) throw new Error('no page')
      pages.push(page)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(pages.map(({ entities }) => entities.length)).toEqual([10, 10, 5])
    expect(pages.map(({ relations }) => relations.length)).toEqual([0, 25, 0])
    expect(pages.flatMap(({ entities }) => entities.map(({ name }) => name))).toEqual(names)
    const wrong = await client.call('read_graph', { cursor: 'next' })
    expect(textOf(wrong)).toContain('"cursor" must be the nextCursor of a page before')
  })

  test('end a page when its text is long', async () => {
    const client = await clientOf(revision)
    const long = Array.from({ length: 6 }, (_, at) => `${at} `.repeat(4_900))
    for (const name of ['one', 'two', 'three']) {
      await client.call('create_entities', { entities: [{ name, entityType: 'text', observations: long }] })
    }
    const { structuredContent: page } = await client.call('read_graph', {})
    expect(page).toMatchObject({ entities: [{ name: 'one' }], total: 3, nextCursor: expect.any(String) })
    const { structuredContent: opened } = await client.call('open_nodes', { names: ['three', 'one'] })
    expect(opened).toMatchObject({ entities: [{ name: 'three' }], omitted: ['one'] })
  })

  test('reject input that exceeds a limit, naming the limit', async () => {
    const client = await clientOf(revision)
    const entity = (name: string, observations: string[] = []) => ({ name, entityType: 'x', observations })
    const create = async (...entities: ReturnType<typeof entity>[]): Promise<string> => {
      const result = await client.call('create_entities', { entities })
      expect(result.isError).toBe(true)
      return textOf(result)
    }
    expect(await create(entity('n'.repeat(257)))).toContain('name')
    expect(await create(entity('a', ['o'.repeat(10_001)]))).toContain('observations')
    expect(await create(entity('  '))).toContain('name')
    expect(await create(...Array.from({ length: 501 }, (_, at) => entity(`${at}`)))).toContain('entities')
    const long = Array.from({ length: 11 }, (_, at) => `${at} `.padEnd(9_999, 'x'))
    expect(await create(entity('fits'), entity('a', long))).toContain('"a" would have 109')
    expect((await client.call('read_graph', {})).structuredContent).toMatchObject({ total: 0 })
  })

  test('ask before more than 20 entities are deleted at once', async () => {
    const names = Array.from({ length: 21 }, (_, at) => `Entity ${at}`)
    const entities = names.map((name) => ({ name, entityType: 'thing', observations: [] }))
    const questions: string[] = []
    let confirm = false
    const client = await clientOf(revision, undefined, {
      onElicit: ({ message }) => {
        questions.push(message)
        return { action: 'accept', content: { confirm } }
      },
    })
    await client.call('create_entities', { entities })
    const kept = await client.call('delete_entities', { entityNames: names })
    expect(kept.structuredContent).toEqual({
      success: false,
      message: 'The person did not agree. Nothing was deleted.',
    })
    confirm = true
    const deleted = await client.call('delete_entities', { entityNames: names })
    expect(deleted.structuredContent).toEqual({ success: true, message: 'Deleted 21 entities.' })
    expect(questions).toHaveLength(2)
    expect(questions[0]).toContain('Delete 21 entities from memory')
    await client.call('create_entities', { entities })
    await client.call('delete_entities', { entityNames: names.slice(1) })
    expect(questions).toHaveLength(2)
  })

  test('do not delete more than 20 entities at once if the client cannot ask', async () => {
    const client = await clientOf(revision)
    const names = Array.from({ length: 21 }, (_, at) => `Entity ${at}`)
    await client.call('create_entities', {
      entities: names.map((name) => ({ name, entityType: 'thing', observations: [] })),
    })
    const result = await client.call('delete_entities', { entityNames: names })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('Delete at most 20 in one call')
    expect((await client.call('read_graph', {})).structuredContent).toMatchObject({ total: 21 })
  })
})

describe.each(revisions)('search_nodes on %s', (revision) => {
  const find = async (query: string) => {
    const client = await clientOf(revision)
    await fill(client)
    await client.call('create_entities', {
      entities: [
        { name: 'Green tea', entityType: 'drink', observations: ['Grown in Uji'] },
        { name: '東京タワー', entityType: 'landmark', observations: ['東京にある電波塔'] },
        { name: 'snake_case', entityType: 'style', observations: ["l'été, C++"] },
      ],
    })
    const { structuredContent } = await client.call('search_nodes', { query })
    return structuredContent?.entities.map(({ name }) => name)
  }

  test.each([
    ['a word of a name before a word of an observation', 'tea', ['Green tea', 'Alice']],
    [
      'one of several words, those with more of them first',
      'rockets tea person',
      ['Green tea', 'Alice', 'Acme'],
    ],
    ['the beginning of a word, in any case', 'ROCK', ['Acme']],
    ['a word without its accents', 'zurich', ['Alice']],
    ['a type', 'company', ['Acme']],
    ['a part of a joined word', 'case', ['snake_case']],
    ['a script without spaces', '東京', ['東京タワー']],
    ['a part of a word if no word matches', 'ocket', ['Acme']],
    ['signs', '++', ['snake_case']],
    ['nothing', 'xylophone', []],
    ['the syntax of query languages as text', '" OR name:* NEAR(', []],
  ])('finds %s', async (_title, query, expected) => {
    const found = await find(query)
    if (query.startsWith('rockets')) expect(found?.toSorted()).toEqual(expected.toSorted())
    else expect(found).toEqual(expected)
  })

  test('returns at most the limit, and how many match', async () => {
    const client = await clientOf(revision)
    await client.call('create_entities', {
      entities: Array.from({ length: 60 }, (_, at) => ({
        name: `Note ${at}`,
        entityType: 'note',
        observations: [],
      })),
    })
    const { structuredContent } = await client.call('search_nodes', { query: 'note', limit: 7 })
    expect(structuredContent?.entities).toHaveLength(7)
    expect(structuredContent?.total).toBe(60)
  })
})
