import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  changeFile,
  clientOf,
  eras,
  errorOf,
  folder,
  rowsOf,
  shop,
  sqliteFile,
  structuredOf,
  textOf,
} from './fixture.ts'

const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

describe('a query on SQLite', () => {
  const refused = [
    'DELETE FROM orders',
    'INSERT INTO orders VALUES (9, 1, 1, 1)',
    'WITH gone AS (SELECT 1) DELETE FROM orders',
    'WITH gone AS (SELECT 1) DELETE FROM orders RETURNING *',
    'WITH gone AS (SELECT 1) INSERT INTO orders SELECT 9, 1, 1, 1 RETURNING *',
    'UPDATE sqlite_schema SET sql = NULL',
    'DROP TABLE orders',
    'CREATE TABLE t (a)',
    'CREATE TEMP TABLE t (a)',
    'PRAGMA writable_schema = ON',
    'PRAGMA query_only = OFF',
    'PRAGMA journal_mode = OFF',
    'PRAGMA user_version = 7',
    '/* x */ -- y\n pragma user_version = 7',
    '\ufeffPRAGMA user_version = 7',
    'EXPLAIN PRAGMA user_version = 7',
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    'DETACH main',
    'VACUUM',
    "VACUUM INTO 'copy.db'",
    'BEGIN IMMEDIATE',
    'COMMIT',
    'SAVEPOINT s',
    'REINDEX',
    'ANALYZE',
    "SELECT load_extension('/tmp/evil.so')",
    'SELECT * FROM pragma_database_list',
    'SELECT 1; DROP TABLE orders',
    'SELECT 1; /* */ SELECT 2',
    ';PRAGMA user_version = 7',
    '-- only a comment',
    '',
    'SELECT 1\0; DROP TABLE orders',
    '\u{1f4a5}',
    'SELECT \ud800',
  ]

  test('is rejected if it is anything but one statement that reads, and changes nothing', async () => {
    const file = sqliteFile(shop)
    const before = digest(file)
    const client = await clientOf('2026-07-28', { databases: { sales: file } })
    for (const sql of refused) {
      const message = errorOf(await client.call('query', { sql }))
      expect(message, sql).not.toContain('unexpectedly')
      expect(message, sql).not.toContain(dirname(file))
      expect(digest(file), sql).toBe(before)
    }
    expect(existsSync(join(dirname(file), 'copy.db'))).toBe(false)
    expect(await rowsOf(client, { sql: 'SELECT count(*) FROM orders' })).toEqual([[3]])
  })

  test('writes no copy of the database with VACUUM INTO', async () => {
    const copy = join(folder(), 'copy.db')
    const client = await clientOf('2026-07-28', { databases: { sales: sqliteFile(shop) } })
    expect(errorOf(await client.call('query', { sql: `VACUUM INTO '${copy}'` }))).toContain('not allowed')
    expect(existsSync(copy)).toBe(false)
  })

  test('reads full-text, R-tree and JSON tables, and the schema by functions', async () => {
    const file = sqliteFile(`
      CREATE VIRTUAL TABLE notes USING fts5(body);
      INSERT INTO notes VALUES ('the quick fox'), ('a slow turtle');
      CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);
      INSERT INTO boxes VALUES (1, 0, 5);
    `)
    const client = await clientOf('2026-07-28', { databases: { sales: file } })
    expect(await rowsOf(client, { sql: "SELECT body FROM notes WHERE notes MATCH 'fox'" })).toEqual([
      ['the quick fox'],
    ])
    expect(await rowsOf(client, { sql: 'SELECT id FROM boxes WHERE x1 > 3' })).toEqual([[1]])
    expect(await rowsOf(client, { sql: "SELECT value FROM json_each('[1,2]')" })).toEqual([[1], [2]])
    expect(await rowsOf(client, { sql: "SELECT name FROM pragma_table_info('boxes')" })).toEqual([
      ['id'],
      ['x0'],
      ['x1'],
    ])
    expect(structuredOf(await client.call('list_tables', {}))['tables']).toMatchObject([
      { name: 'boxes', kind: 'virtual table' },
      { name: 'notes', kind: 'virtual table' },
    ])
  })

  test('shows the position of an error, with advice', async () => {
    const client = await clientOf('2026-07-28', { databases: { sales: sqliteFile(shop) } })
    expect(errorOf(await client.call('query', { sql: 'SELECT * FORM orders' }))).toContain('near "FORM"')
    expect(errorOf(await client.call('query', { sql: 'SELECT nme FROM orders' }))).toContain(
      'no such column: nme',
    )
    expect(errorOf(await client.call('query', { sql: 'SELECT'.padEnd(1_000_000, ' ') }))).toContain('sql')
  })

  test('shows names with quotes, newlines and control characters unambiguously', async () => {
    const name = 'we"ird\n| \u001b[31mtable\u202e'
    const quoted = `"${name.replaceAll('"', '""')}"`
    const file = sqliteFile(
      `CREATE TABLE ${quoted} (${quoted} TEXT); INSERT INTO ${quoted} VALUES ('a|b\u0007')`,
    )
    const client = await clientOf('2026-07-28', { databases: { sales: file } })
    const listed = await client.call('list_tables', {})
    expect(structuredOf(listed)['tables']).toMatchObject([{ name: quoted }])
    expect(textOf(listed)).toContain('we""ird\\n| \\u{1b}[31mtable\\u{202e}')
    expect(structuredOf(await client.call('describe_table', { table: name }))).toMatchObject({
      columns: [{ name }],
    })
    const sample = await client.call('sample_rows', { table: quoted })
    expect(structuredOf(sample)).toMatchObject({ columns: [{ name }], rows: [['a|b\u0007']] })
    expect(textOf(sample)).toContain('| a\\|b\\\\u{7} |')
    const uris = (await client.resources()).map(({ uri }) => uri)
    const uri = uris.find((one) => one.includes('/tables/'))
    expect(uri).toMatch(/^[ -~]+$/)
    expect(JSON.stringify(await client.read(String(uri)))).toContain('we')
  })
})

describe.each(eras)('a long query on SQLite on %s', (era) => {
  test('is stopped by the time limit', async () => {
    const databases = { sales: sqliteFile(shop) }
    const client = await clientOf(era, { databases, limits: { timeoutMs: 1_000 } })
    const long = await client.call('query', { sql: `${endless} SELECT count(*) FROM n` })
    expect(errorOf(long)).toContain('stopped by the time limit')
  })

  test('does not delay other queries', async () => {
    const databases = { sales: sqliteFile(shop) }
    const client = await clientOf(era, { databases, limits: { timeoutMs: 600_000 } })
    const cancel = new AbortController()
    const long = client.call('query', { sql: `${endless} SELECT count(*) FROM n` }, { signal: cancel.signal })
    expect(await rowsOf(client, { sql: 'SELECT count(*) FROM orders' })).toEqual([[3]])
    cancel.abort()
    await expect(long).rejects.toThrow()
  })

  test('is stopped when its client cancels it', async () => {
    const client = await clientOf(era, {
      databases: { sales: sqliteFile(shop) },
      limits: { maxConnections: 1, timeoutMs: 600_000 },
    })
    const cancel = new AbortController()
    const long = client.call('query', { sql: `${endless} SELECT count(*) FROM n` }, { signal: cancel.signal })
    const next = client.call('query', { sql: 'SELECT 1' })
    cancel.abort()
    await expect(long).rejects.toThrow()
    // The only connection is free again.
    expect(structuredOf(await next)['rows']).toEqual([[1]])
  })

  test('ends at its first page if its rows never end', async () => {
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) } })
    const page = structuredOf(await client.call('query', { sql: `${endless} SELECT i FROM n`, limit: 2 }))
    expect(page['rows']).toEqual([[1], [2]])
  })

  test('reports values that exceed the memory as an error, and continues', async () => {
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) } })
    const sql =
      "SELECT group_concat(printf('%.*c', 1000000, 'x')) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 900) SELECT i FROM n)"
    expect(errorOf(await client.call('query', { sql }))).toMatch(/too big|too long|memory/)
    expect(await rowsOf(client, { sql: 'SELECT 1' })).toEqual([[1]])
  })
})

describe('pages of SQLite', () => {
  test('end with an error if the database changed in between, outside of WAL mode', async () => {
    const file = sqliteFile(shop)
    const client = await clientOf('2026-07-28', { databases: { sales: file } })
    const { nextCursor } = structuredOf(
      await client.call('query', { sql: 'SELECT id FROM orders', limit: 1 }),
    )
    changeFile(file, 'DELETE FROM orders WHERE id = 1')
    expect(errorOf(await client.call('next_page', { cursor: nextCursor }))).toContain(
      'was changed since the last page',
    )
  })

  test('show one snapshot of the database in WAL mode, which can be changed meanwhile', async () => {
    const file = sqliteFile(`PRAGMA journal_mode = WAL; ${shop}`)
    const client = await clientOf('2026-07-28', { databases: { sales: file } })
    const { nextCursor } = structuredOf(
      await client.call('query', { sql: 'SELECT id FROM orders', limit: 1 }),
    )
    changeFile(file, 'DELETE FROM orders')
    expect(structuredOf(await client.call('next_page', { cursor: nextCursor }))['rows']).toEqual([[2], [3]])
    expect(await rowsOf(client, { sql: 'SELECT count(*) FROM orders' })).toEqual([[0]])
  })

  test('yield to a query that needs their connection', async () => {
    const client = await clientOf('2026-07-28', {
      databases: { sales: sqliteFile(shop) },
      limits: { maxConnections: 1 },
    })
    const { nextCursor } = structuredOf(
      await client.call('query', { sql: 'SELECT id FROM orders', limit: 1 }),
    )
    expect(await rowsOf(client, { sql: 'SELECT 1' })).toEqual([[1]])
    expect(errorOf(await client.call('next_page', { cursor: nextCursor }))).toContain('cursor is not valid')
  })

  test('are bounded in number', async () => {
    const client = await clientOf('2026-07-28', {
      databases: { sales: sqliteFile(shop) },
      limits: { maxCursors: 4 },
    })
    const first = structuredOf(await client.call('query', { sql: 'SELECT id FROM orders', limit: 1 }))
    const second = structuredOf(await client.call('query', { sql: 'SELECT id FROM orders', limit: 1 }))
    expect(errorOf(await client.call('next_page', { cursor: first['nextCursor'] }))).toContain('not valid')
    expect(structuredOf(await client.call('next_page', { cursor: second['nextCursor'] }))['rows']).toEqual([
      [2],
      [3],
    ])
  })
})
