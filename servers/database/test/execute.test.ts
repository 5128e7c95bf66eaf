import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { describe, expect, test } from 'vitest'
import {
  changeFile,
  clientOf,
  eras,
  errorOf,
  folder,
  rowIn,
  shop,
  sqliteFile,
  structuredOf,
  textOf,
} from './fixture.ts'

type Elicit = NonNullable<ConnectOptions['onElicit']>

/** A person who gives these answers, and the messages that they saw. */
function person(...answers: ('yes' | 'no' | 'cancel' | (() => void))[]): {
  seen: string[]
  onElicit: Elicit
} {
  const seen: string[] = []
  return {
    seen,
    onElicit: ({ message }) => {
      seen.push(message)
      const answer = answers[seen.length - 1] ?? 'no'
      if (answer === 'cancel') return { action: 'cancel' }
      if (typeof answer === 'function') answer()
      return { action: 'accept', content: { commit: answer !== 'no' } }
    },
  }
}

const total = (file: string): unknown => rowIn(file, 'SELECT count(*) AS n FROM orders')['n']

describe.each(eras)('execute on %s', (era) => {
  const writable = (file: string) => ({ databases: { sales: file }, allowWrites: true })

  test('commits after a yes to the statement, its parameters and its number of rows', async () => {
    const file = sqliteFile(shop)
    const { seen, onElicit } = person('yes')
    const client = await clientOf(era, writable(file), { onElicit })
    const done = await client.call('execute', {
      sql: "UPDATE orders SET status = 'paid'\nWHERE cents < ?1 RETURNING id",
      parameters: [2000],
    })
    expect(seen).toHaveLength(1)
    expect(seen[0]).toContain('UPDATE of 2 rows')
    expect(seen[0]).toContain("UPDATE orders SET status = 'paid'\nWHERE cents < ?1 RETURNING id")
    expect(seen[0]).toContain('1 = 2000')
    expect(structuredOf(done)).toMatchObject({
      status: 'committed',
      effects: { command: 'UPDATE', rows: 2, furtherRows: 0, schema: [] },
      rows: [[2], [3]],
    })
    expect(rowIn(file, "SELECT count(*) AS n FROM orders WHERE status = 'paid'")).toEqual({ n: 3 })
  })

  test('changes nothing after a decline, and nothing when the form is cancelled', async () => {
    const file = sqliteFile(shop)
    const { onElicit } = person('no', 'cancel')
    const client = await clientOf(era, writable(file), { onElicit })
    const declined = await client.call('execute', { sql: 'DELETE FROM orders' })
    expect(structuredOf(declined)['status']).toBe('declined')
    const cancelled = await client.call('execute', { sql: 'DELETE FROM orders' })
    expect(structuredOf(cancelled)['status']).toBe('cancelled')
    expect(total(file)).toBe(3)
  })

  test('counts the rows of triggers and foreign keys', async () => {
    const file = sqliteFile(`${shop}
      CREATE TABLE log (text TEXT);
      CREATE TRIGGER logged AFTER DELETE ON customers BEGIN INSERT INTO log VALUES (old.name); END;`)
    const { seen, onElicit } = person('yes')
    const client = await clientOf(era, writable(file), { onElicit })
    const done = await client.call('execute', { sql: 'DELETE FROM customers WHERE id = 1' })
    expect(seen[0]).toContain('DELETE of 1 row\n')
    expect(seen[0]).toContain('3 further rows changed by triggers and foreign keys')
    expect(structuredOf(done)).toMatchObject({ effects: { rows: 1, furtherRows: 3 } })
    expect(total(file)).toBe(1)
  })

  test('shows the effect of a schema change', async () => {
    const file = sqliteFile(shop)
    const { seen, onElicit } = person('yes', 'yes', 'yes')
    const client = await clientOf(era, writable(file), { onElicit })
    await client.call('execute', { sql: 'DROP TABLE orders' })
    expect(seen[0]).toContain('drops table orders (3 rows)')
    expect(seen[0]).toContain('drops index orders_by_customer')
    await client.call('execute', { sql: 'CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)' })
    expect(seen[1]).toContain('creates table notes')
    await client.call('execute', { sql: 'ALTER TABLE notes ADD COLUMN author TEXT' })
    expect(seen[2]).toContain('changes table notes to: CREATE TABLE notes')
    expect(rowIn(file, "SELECT group_concat(name) AS names FROM pragma_table_info('notes')")).toEqual({
      names: 'id,body,author',
    })
  })

  test('asks again if the effects changed while the user decided', async () => {
    const file = sqliteFile(shop)
    const { seen, onElicit } = person(
      () => changeFile(file, "INSERT INTO orders VALUES (4, 1, 'open', 5)"),
      'yes',
    )
    const client = await clientOf(era, writable(file), { onElicit })
    const done = await client.call('execute', { sql: "DELETE FROM orders WHERE status = 'open'" })
    expect(seen[0]).toContain('DELETE of 2 rows')
    expect(seen[1]).toContain('The data changed in the meantime')
    expect(seen[1]).toContain('DELETE of 3 rows')
    expect(structuredOf(done)).toMatchObject({ status: 'committed', effects: { rows: 3 } })
    expect(total(file)).toBe(1)
  })

  test('fails after three rounds without equal effects', async () => {
    const file = sqliteFile(shop)
    const add = (): void => changeFile(file, 'INSERT INTO orders (customer_id, cents) VALUES (1, 5)')
    const { seen, onElicit } = person(add, add, add, 'yes')
    const client = await clientOf(era, writable(file), { onElicit })
    expect(errorOf(await client.call('execute', { sql: 'DELETE FROM orders' }))).toContain(
      'Nothing was changed',
    )
    expect(seen).toHaveLength(3)
    expect(total(file)).toBe(6)
  })

  test('does not ask about a statement that changes nothing', async () => {
    const { seen, onElicit } = person('yes')
    const client = await clientOf(era, writable(sqliteFile(shop)), { onElicit })
    const done = await client.call('execute', { sql: 'DELETE FROM orders WHERE id = 99' })
    expect(structuredOf(done)['status']).toBe('unchanged')
    expect(seen).toEqual([])
  })

  test('holds no lock while the user decides', async () => {
    const file = sqliteFile(shop)
    const { onElicit } = person(() => changeFile(file, 'UPDATE customers SET name = upper(name)'))
    const client = await clientOf(era, writable(file), { onElicit })
    const done = await client.call('execute', { sql: 'DELETE FROM orders' })
    expect(structuredOf(done)['status']).toBe('committed')
    expect(rowIn(file, 'SELECT name FROM customers')).toEqual({ name: 'ADA' })
  })

  test('rolls back when the client cancels while the user decides', async () => {
    const file = sqliteFile(shop)
    const cancel = new AbortController()
    const { onElicit } = person(() => cancel.abort())
    const client = await clientOf(era, writable(file), { onElicit })
    await expect(
      client.call('execute', { sql: 'DELETE FROM orders' }, { signal: cancel.signal }),
    ).rejects.toThrow()
    expect(structuredOf(await client.call('query', { sql: 'SELECT count(*) FROM orders' }))['rows']).toEqual([
      [3],
    ])
  })

  test('is stopped by the time limit and leaves the file usable', async () => {
    const file = sqliteFile(shop)
    const { seen, onElicit } = person('yes')
    const client = await clientOf(era, { ...writable(file), limits: { timeoutMs: 2_000 } }, { onElicit })
    const sql = `INSERT INTO orders (customer_id, cents)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 1, i FROM n`
    expect(errorOf(await client.call('execute', { sql }))).toContain('stopped by the time limit')
    expect(seen).toEqual([])
    expect(total(file)).toBe(3)
  })

  test('requires a client that supports elicitation', async () => {
    const file = sqliteFile(shop)
    const client = await clientOf(era, writable(file))
    expect(errorOf(await client.call('execute', { sql: 'DELETE FROM orders' }))).toContain('elicitation')
    expect(total(file)).toBe(3)
  })

  test('is missing without the option', async () => {
    const { onElicit } = person('yes')
    const client = await clientOf(era, { databases: { sales: sqliteFile(shop) } }, { onElicit })
    expect((await client.tools()).map(({ name }) => name)).not.toContain('execute')
    await expect(client.call('execute', { sql: 'DELETE FROM orders' })).rejects.toThrow()
  })
})

describe('a change', () => {
  test('creates no file, and reports that the database does not exist', async () => {
    const file = join(folder(), 'missing.db')
    const { onElicit } = person('yes')
    const client = await clientOf(
      '2026-07-28',
      { databases: { sales: file }, allowWrites: true },
      { onElicit },
    )
    for (const tool of ['query', 'execute']) {
      const sql = tool === 'query' ? 'SELECT 1' : 'CREATE TABLE t (a)'
      expect(errorOf(await client.call(tool, { sql }))).toContain('does not exist')
    }
    expect(existsSync(file)).toBe(false)
  })

  test('is rejected if it does not end with its own transaction, or reads', async () => {
    const file = sqliteFile(shop)
    const { seen, onElicit } = person()
    const client = await clientOf(
      '2026-07-28',
      { databases: { sales: file }, allowWrites: true },
      { onElicit },
    )
    for (const sql of [
      'COMMIT',
      'BEGIN',
      'END',
      'ROLLBACK',
      'SAVEPOINT s',
      'RELEASE s',
      "ATTACH 'x.db' AS x",
      'DETACH x',
      'VACUUM',
      "VACUUM INTO 'x.db'",
      'PRAGMA journal_mode = OFF',
      'SELECT 1',
      'EXPLAIN DELETE FROM orders',
      'DELETE FROM orders; COMMIT',
      "UPDATE sqlite_schema SET sql = ''",
      'DELETE FROM sqlite_schema',
      "INSERT INTO orders (customer_id, cents) VALUES (1, load_extension('x'))",
      'DELETE FROM missing',
    ]) {
      expect(errorOf(await client.call('execute', { sql })), sql).not.toContain('unexpectedly')
    }
    expect(seen).toEqual([])
    expect(total(file)).toBe(3)
  })

  test('is shown with deceptive characters made visible', async () => {
    const { seen, onElicit } = person()
    const client = await clientOf(
      '2026-07-28',
      { databases: { sales: sqliteFile(shop) }, allowWrites: true },
      { onElicit },
    )
    await client.call('execute', {
      sql: 'DELETE FROM orders /* \u202e\u001b[2K\u200b */ WHERE 1 = ?1',
      parameters: [1],
    })
    expect(seen[0]).toContain('/* \\u{202e}\\u{1b}[2K\\u{200b} */')
    const long = errorOf(await client.call('execute', { sql: `DELETE FROM orders ${' '.repeat(10_000)}` }))
    expect(long).toContain('can review at most 8,000')
    const text = textOf(
      await client.call('execute', {
        sql: 'UPDATE customers SET name = ?1',
        parameters: ['x'.repeat(5_000)],
      }),
    )
    expect(text).toContain('declined')
    expect(seen[1]).toContain('(5,002 characters)')
  })
})
