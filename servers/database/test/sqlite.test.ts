import { describe, expect, test } from 'vitest'
import { clientOf, eras, errorOf, rowsOf, shop, sqliteFile, structuredOf, textOf } from './fixture.ts'

describe.each(eras)('a SQLite database on %s', (era) => {
  test('is listed, with its tables and their description', async () => {
    const file = sqliteFile(shop)
    const client = await clientOf(era, { databases: { sales: file } })
    expect(structuredOf(await client.call('list_databases', {}))).toEqual({
      databases: [{ name: 'sales', engine: 'SQLite', target: file, writable: false }],
    })
    const { tables } = structuredOf(await client.call('list_tables', {}))
    expect(tables).toMatchObject([
      { name: 'customers', kind: 'table' },
      { name: 'open_orders', kind: 'view' },
      { name: 'orders', kind: 'table' },
    ])
    expect(structuredOf(await client.call('describe_table', { table: 'orders' }))).toMatchObject({
      columns: [
        { name: 'id', type: 'INTEGER', nullable: false },
        { name: 'customer_id', nullable: false },
        { name: 'status', default: "'open'" },
        { name: 'cents', type: 'INTEGER' },
      ],
      primaryKey: ['id'],
      foreignKeys: [{ columns: ['customer_id'], table: 'customers', references: ['id'] }],
      indexes: [{ name: 'orders_by_customer', unique: false }],
      definition: expect.stringContaining("CHECK (status IN ('open', 'paid'))"),
    })
    expect(errorOf(await client.call('describe_table', { table: 'ordrs' }))).toContain('list_tables')
  })

  test('answers queries with parameters, as a table and as structured content', async () => {
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) } })
    const found = await client.call('query', {
      sql: 'SELECT name, cents FROM orders JOIN customers ON customers.id = customer_id WHERE cents > ?1 ORDER BY cents',
      parameters: [1000],
    })
    expect(structuredOf(found)).toEqual({
      database: 'sales',
      columns: [
        { name: 'name', type: 'TEXT' },
        { name: 'cents', type: 'INTEGER' },
      ],
      rows: [
        ['Ada', 1250],
        ['Ada', 4900],
      ],
    })
    expect(textOf(found)).toContain('| Ada | 1250 |')
    expect(await rowsOf(client, { sql: 'SELECT ?, $2, ?1, typeof(?1)', parameters: [5, 'five'] })).toEqual([
      [5, 'five', 5, 'integer'],
    ])
    expect(errorOf(await client.call('query', { sql: 'SELECT ?, ?', parameters: [1] }))).toContain(
      'has 2 parameters, but 1 was given',
    )
    expect(errorOf(await client.call('query', { sql: 'SELECT :id', parameters: [1] }))).toContain(
      'placeholder :id has no number',
    )
  })

  test('returns every value exactly, or reports how it was cut', async () => {
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) } })
    expect(
      await rowsOf(client, {
        sql: `SELECT 9007199254740993, -5, 1.5, 9e999, NULL, x'00ff', 'a' AS same, 'b' AS same, json('{"n":1}'), 'ein "Wort"'`,
      }),
    ).toEqual([
      [
        '9007199254740993',
        -5,
        1.5,
        'Infinity',
        null,
        { base64: 'AP8=', bytes: 2 },
        'a',
        'b',
        '{"n":1}',
        'ein "Wort"',
      ],
    ])
    expect(await rowsOf(client, { sql: "SELECT printf('%.*c', 100000, 'x'), zeroblob(100000)" })).toEqual([
      [
        { text: 'x'.repeat(8192), characters: 100_000, cut: true },
        { base64: 'A'.repeat(8192), bytes: 100_000, cut: true },
      ],
    ])
    expect(await rowsOf(client, { sql: "SELECT CAST(x'61ff62' AS TEXT)" })).toEqual([['a\ufffdb']])
  })

  test.each(['DELETE', 'WAL'])('reads a result page by page in journal mode %s', async (mode) => {
    const file = sqliteFile(`PRAGMA journal_mode = ${mode}; ${shop}`)
    const client = await clientOf(era, { databases: { sales: file } })
    const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7) SELECT i FROM n'
    let page = structuredOf(await client.call('query', { sql, limit: 3 }))
    expect(page['rows']).toEqual([[1], [2], [3]])
    page = structuredOf(await client.call('next_page', { cursor: page['nextCursor'], limit: 3 }))
    expect(page['rows']).toEqual([[4], [5], [6]])
    const last = structuredOf(await client.call('next_page', { cursor: page['nextCursor'], limit: 3 }))
    expect(last).toEqual({ database: 'sales', columns: [{ name: 'i', type: '' }], rows: [[7]] })
    expect(errorOf(await client.call('next_page', { cursor: page['nextCursor'] }))).toContain('not valid')
  })

  test('ends a page at its bytes, and returns at least one row', async () => {
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) }, limits: { maxBytes: 1000 } })
    const sql =
      "SELECT printf('%.*c', value, 'x') AS text FROM (VALUES (400), (400), (5000), (1)) AS sizes(value)"
    const sizes = (rows: unknown): number[] =>
      Array.from(Object(rows), (row) => String(Object(row)[0]).length)
    const first = structuredOf(
      await client.call('query', { sql: sql.replace('AS sizes(value)', '').replace('value', 'column1') }),
    )
    expect(sizes(first['rows'])).toEqual([400, 400])
    const second = structuredOf(await client.call('next_page', { cursor: first['nextCursor'] }))
    // Longer than a page: the value is cut.
    expect(second['rows']).toEqual([[{ text: 'x'.repeat(512), characters: 5000, cut: true }]])
    const third = structuredOf(await client.call('next_page', { cursor: second['nextCursor'] }))
    expect(sizes(third['rows'])).toEqual([1])
    expect(third['nextCursor']).toBeUndefined()
  })

  test('cuts the values of a row that is larger than a page', async () => {
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) } })
    const columns = Array.from({ length: 1500 }, (_, at) =>
      at % 2 === 0 ? `printf('%.*c', 9000, 'x')` : 'zeroblob(9000)',
    )
    const rows = await rowsOf(client, { sql: `SELECT ${columns.join(', ')}` })
    expect(JSON.stringify(rows).length).toBeLessThan(110_000)
    expect(Object(rows)[0]).toHaveLength(1500)
    expect(Object(rows)[0].slice(0, 2)).toMatchObject([
      { text: expect.stringMatching(/^x+$/), characters: 9000, cut: true },
      { base64: expect.stringMatching(/^A+$/), bytes: 9000, cut: true },
    ])
  })

  test('explains queries and changes without running them', async () => {
    const file = sqliteFile(shop)
    const client = await clientOf(era, { databases: { sales: file } })
    const plan = await client.call('explain', {
      sql: 'SELECT * FROM orders WHERE customer_id = ?1',
      parameters: [1],
    })
    expect(textOf(plan)).toContain('orders_by_customer')
    expect(textOf(await client.call('explain', { sql: 'DELETE FROM orders' }))).toContain('SCAN orders')
    expect(await rowsOf(client, { sql: 'SELECT count(*) FROM orders' })).toEqual([[3]])
    expect(errorOf(await client.call('explain', { sql: 'PRAGMA writable_schema = ON' }))).toContain(
      'not allowed',
    )
  })
})
