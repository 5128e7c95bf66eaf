import { describe, expect, test } from 'vitest'
import { changeFile, clientOf, eras, shop, sqliteFile } from './fixture.ts'

const books = 'CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE "Odd name" (a)'

describe.each(eras)('the schema as resources on %s', (era) => {
  const twoDatabases = () => ({ databases: { sales: sqliteFile(shop), library: sqliteFile(books) } })
  const textAt = (contents: readonly object[]): unknown => Object(contents[0])['text']

  test('lists the schema and the tables of every database', async () => {
    const client = await clientOf(era, twoDatabases())
    expect((await client.resources()).map(({ uri }) => uri).sort()).toEqual([
      'db://library/schema',
      'db://library/tables/%22Odd%20name%22',
      'db://library/tables/books',
      'db://sales/schema',
      'db://sales/tables/customers',
      'db://sales/tables/open_orders',
      'db://sales/tables/orders',
    ])
    const schema = textAt((await client.read('db://sales/schema')).contents)
    expect(schema).toContain('# sales (SQLite)')
    expect(schema).toContain("- status TEXT, not null, default 'open'")
    expect(schema).toContain('Foreign key (customer_id) references customers (id)')
    expect(textAt((await client.read('db://library/tables/%22Odd%20name%22')).contents)).toContain(
      '## "Odd name"',
    )
    for (const uri of ['db://library/tables/orders', 'db://missing/schema', 'db://missing/tables/books']) {
      await expect(client.read(uri)).rejects.toThrow()
    }
  })

  test('completes databases and the tables of the chosen one', async () => {
    const client = await clientOf(era, twoDatabases())
    const complete = async (
      ref: { type: 'ref/resource'; uri: string } | { type: 'ref/prompt'; name: string },
      name: string,
      value: string,
      args: Record<string, string> = {},
    ): Promise<readonly string[]> =>
      (await client.complete({ ref, argument: { name, value }, context: { arguments: args } })).values
    const table = { type: 'ref/resource', uri: 'db://{database}/tables/{table}' } as const
    const prompt = { type: 'ref/prompt', name: 'analyse' } as const
    expect(await complete(table, 'database', '')).toEqual(['sales', 'library'])
    expect(await complete(table, 'database', 'L')).toEqual(['library'])
    expect(await complete(table, 'table', 'ord', { database: 'sales' })).toEqual(['orders', 'open_orders'])
    expect(await complete(table, 'table', 'o', { database: 'library' })).toEqual(['"Odd name"', 'books'])
    expect(await complete(table, 'table', '', {})).toEqual([])
    expect(await complete(prompt, 'table', 'cust', { database: 'sales' })).toEqual(['customers'])
    expect(await complete(prompt, 'question', 'which')).toHaveLength(1)
  })

  test('contains the question and the schemas in the prompt', async () => {
    const client = await clientOf(era, twoDatabases())
    const { messages } = await client.prompt('analyse', { question: 'Who owes most?' })
    expect(messages).toMatchObject([
      { content: { text: expect.stringContaining('Who owes most?') } },
      { content: { type: 'resource_link', uri: 'db://sales/schema' } },
      { content: { type: 'resource_link', uri: 'db://library/schema' } },
    ])
    const one = await client.prompt('analyse', { question: 'Which?', database: 'library', table: 'books' })
    expect(one.messages[1]).toMatchObject({ content: { uri: 'db://library/tables/books' } })
    await expect(client.prompt('analyse', { question: 'Which?', database: 'none' })).rejects.toThrow(
      'There are: sales, library',
    )
  })

  test('notifies of a committed change, and lists a new table', async () => {
    const file = sqliteFile(shop)
    const client = await clientOf(
      era,
      { databases: { sales: file }, allowWrites: true },
      { onElicit: () => ({ action: 'accept', content: { commit: true } }) },
    )
    const changes: unknown[] = []
    const received = Promise.withResolvers<void>()
    const watch = await client.watch(
      { resourceSubscriptions: ['db://sales/schema'], resourcesListChanged: true },
      (change) => {
        changes.push(change)
        if (changes.length === 2) received.resolve()
      },
    )
    await client.call('execute', { sql: 'CREATE TABLE notes (body TEXT)' })
    await received.promise
    await watch.close()
    expect(changes).toEqual(
      expect.arrayContaining([{ type: 'resource', uri: 'db://sales/schema' }, { type: 'resources' }]),
    )
    expect((await client.resources()).map(({ uri }) => uri)).toContain('db://sales/tables/notes')
  })

  test('lists a schema of many tables that it describes in part', async () => {
    const tables = Array.from({ length: 60 }, (_, at) => `CREATE TABLE t${String(at).padStart(2, '0')} (a)`)
    const file = sqliteFile(tables.join(';'))
    const client = await clientOf(era, { databases: { sales: file } })
    const schema = textAt((await client.read('db://sales/schema')).contents)
    expect(schema).toContain('## t49')
    expect(schema).toContain('## 10 more tables\n\n- t50 (table)')
    changeFile(file, 'DROP TABLE t00')
    expect(textAt((await client.read('db://sales/schema', { cache: 'bypass' })).contents)).toContain('## t50')
  })
})
