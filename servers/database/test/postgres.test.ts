import type { ConnectOptions } from '@jackfield/sdk/client'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { isInstalled, note, PostgresServer } from '../../../packages/postgres/test/support/postgres-server.ts'
import { clientOf, eras, errorOf, rowsOf, shop, sqliteFile, structuredOf, textOf } from './fixture.ts'

const schema = `
  DROP SCHEMA IF EXISTS public CASCADE; DROP SCHEMA IF EXISTS "My Schema" CASCADE;
  CREATE SCHEMA public AUTHORIZATION writer; GRANT USAGE ON SCHEMA public TO reader;
  SET ROLE writer;
  CREATE TABLE customers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, email text UNIQUE);
  COMMENT ON TABLE customers IS 'People who order';
  COMMENT ON COLUMN customers.email IS 'Where invoices go';
  CREATE TABLE orders (
    id int PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers ON DELETE CASCADE,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid')),
    cents int NOT NULL
  );
  CREATE INDEX orders_by_customer ON orders (customer_id);
  CREATE VIEW open_orders AS SELECT * FROM orders WHERE status = 'open';
  INSERT INTO customers (name, email) VALUES ('Ada', 'ada@example.org'), ('Ben', NULL);
  INSERT INTO orders VALUES (1, 1, 'paid', 4900), (2, 1, 'open', 1250), (3, 2, 'open', 800);
  CREATE SCHEMA "My Schema";
  CREATE TABLE "My Schema"."we""ird\u0007\nname" ("a|b" text);
  GRANT USAGE ON SCHEMA "My Schema" TO reader;
  GRANT SELECT ON ALL TABLES IN SCHEMA public, "My Schema" TO reader;
`

describe.skipIf(!isInstalled)(`PostgreSQL${note}`, () => {
  let postgres: PostgresServer

  beforeAll(async () => {
    postgres = await PostgresServer.start()
    await postgres.addShop()
    await postgres.run('shop', 'GRANT CREATE ON DATABASE shop TO writer')
  }, 120_000)
  afterAll(() => postgres?.stop())
  beforeEach(async () => {
    await postgres.run('shop', schema)
  })

  const reading = (): { databases: Record<string, string> } => ({
    databases: { crm: postgres.url('shop', 'reader', 'open sesame') },
  })
  const orders = async (): Promise<unknown> =>
    (await postgres.run('shop', 'SELECT count(*) FROM orders'))[0]?.[0]
  /** Sessions of the server under test that run something, or hold a transaction. */
  const busy = async (): Promise<unknown> =>
    (
      await postgres.run(
        'postgres',
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'jackfield-server-database' AND state <> 'idle'",
      )
    )[0]?.[0]

  describe.each(eras)('on %s', (era) => {
    test('is listed without its password, and described', async () => {
      const client = await clientOf(era, reading())
      const listed = await client.call('list_databases', {})
      expect(structuredOf(listed)).toEqual({
        databases: [
          {
            name: 'crm',
            engine: 'PostgreSQL',
            target: `postgres://reader@127.0.0.1:${postgres.port}/shop`,
            writable: false,
          },
        ],
      })
      expect(structuredOf(await client.call('list_tables', {}))['tables']).toMatchObject([
        { name: '"My Schema"."we""ird\u0007\nname"', kind: 'table' },
        { name: 'public.customers', kind: 'table', comment: 'People who order' },
        { name: 'public.open_orders', kind: 'view' },
        { name: 'public.orders', kind: 'table' },
      ])
      expect(structuredOf(await client.call('describe_table', { table: 'orders' }))).toMatchObject({
        name: 'public.orders',
        columns: [
          { name: 'id', type: 'integer', nullable: false },
          { name: 'customer_id', type: 'bigint' },
          { name: 'status', default: "'open'::text" },
          { name: 'cents' },
        ],
        primaryKey: ['id'],
        foreignKeys: [{ columns: ['customer_id'], table: 'public.customers', references: ['id'] }],
        indexes: expect.arrayContaining([
          expect.objectContaining({ name: 'orders_by_customer', unique: false }),
        ]),
        constraints: [expect.stringContaining('CHECK')],
      })
      expect(structuredOf(await client.call('describe_table', { table: 'public.customers' }))).toMatchObject({
        columns: [{ generated: true }, {}, { comment: 'Where invoices go' }],
      })
      expect(textOf(await client.call('list_tables', {}))).toContain('we""ird\\u{7}\\nname')
      expect(
        structuredOf(await client.call('sample_rows', { table: '"My Schema"."we""ird\u0007\nname"' })),
      ).toMatchObject({ columns: [{ name: 'a|b', type: 'text' }], rows: [] })
    })

    test('answers queries with parameters, with exact values', async () => {
      const client = await clientOf(era, reading())
      expect(
        structuredOf(
          await client.call('query', {
            sql: 'SELECT name, cents FROM orders JOIN customers ON customers.id = customer_id WHERE cents > $1 ORDER BY cents',
            parameters: [1000],
          }),
        ),
      ).toEqual({
        database: 'crm',
        columns: [
          { name: 'name', type: 'text' },
          { name: 'cents', type: 'integer' },
        ],
        rows: [
          ['Ada', 1250],
          ['Ada', 4900],
        ],
      })
      expect(
        await rowsOf(client, {
          sql: `SELECT 9007199254740993::bigint, 1.10::numeric(5, 2), 'NaN'::float8, '-Infinity'::float4, 0.1::float8, true, NULL,
            '\\x00ff'::bytea, '{"n": 1.50}'::jsonb, '2027-06-15 10:00:00.123456+00'::timestamptz AT TIME ZONE 'UTC', '2027-06-15'::date,
            ARRAY[1, 2], 'a' AS same, 'b' AS same`,
        }),
      ).toEqual([
        [
          '9007199254740993',
          '1.10',
          'NaN',
          '-Infinity',
          0.1,
          true,
          null,
          { base64: 'AP8=', bytes: 2 },
          '{"n": 1.50}',
          '2027-06-15 10:00:00.123456',
          '2027-06-15',
          '{1,2}',
          'a',
          'b',
        ],
      ])
      expect(errorOf(await client.call('query', { sql: 'SELECT $1 || $2', parameters: ['a'] }))).toContain(
        'requires 2',
      )
    })

    test('reads a result page by page from one snapshot', async () => {
      const client = await clientOf(era, reading())
      const first = structuredOf(
        await client.call('query', { sql: 'SELECT id FROM orders ORDER BY id', limit: 2 }),
      )
      expect(first['rows']).toEqual([[1], [2]])
      await postgres.run('shop', 'DELETE FROM orders')
      const last = structuredOf(await client.call('next_page', { cursor: first['nextCursor'] }))
      expect(last['rows']).toEqual([[3]])
      expect(last['nextCursor']).toBeUndefined()
      await vi.waitFor(async () => expect(await busy()).toBe('0'), 20_000)
    })

    test('stops a long query at the time limit and when it is cancelled', async () => {
      const limited = await clientOf(era, { ...reading(), limits: { timeoutMs: 1_500 } })
      expect(errorOf(await limited.call('query', { sql: 'SELECT pg_sleep(600)' }))).toMatch(/time limit/)
      const client = await clientOf(era, { ...reading(), limits: { timeoutMs: 600_000, maxConnections: 1 } })
      const cancel = new AbortController()
      const long = client.call('query', { sql: 'SELECT pg_sleep(600)' }, { signal: cancel.signal })
      await vi.waitFor(async () => expect(await busy()).toBe('1'), 20_000)
      cancel.abort()
      await expect(long).rejects.toThrow()
      await vi.waitFor(async () => expect(await busy()).toBe('0'), 20_000)
      expect(await rowsOf(client, { sql: 'SELECT 1' })).toEqual([[1]])
    })
  })

  test('refuses every query that writes, or uses more than SQL', async () => {
    const client = await clientOf('2026-07-28', { databases: { crm: postgres.url('shop', 'writer') } })
    const before = await postgres.run('shop', 'SELECT pg_current_wal_lsn() IS NOT NULL, count(*) FROM orders')
    for (const sql of [
      'DELETE FROM orders',
      'WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone',
      'SELECT * INTO copy FROM orders',
      'CREATE TABLE t (a int)',
      'CREATE TEMP TABLE t (a int)',
      'TRUNCATE orders',
      "COPY (SELECT 1) TO PROGRAM 'id'",
      "COPY orders TO '/tmp/orders'",
      'SELECT 1; DROP TABLE orders',
      'COMMIT; DROP TABLE orders',
      'COMMIT',
      'SELECT 1 FOR UPDATE; COMMIT',
      'SELECT * FROM orders FOR UPDATE',
      'SET default_transaction_read_only = off',
      'SET TRANSACTION READ WRITE',
      "SELECT set_config('transaction_read_only', 'off', false)",
      "SELECT pg_read_file('/etc/passwd')",
      "SELECT pg_ls_dir('/')",
      "SELECT lo_export(1, '/tmp/x')",
      'SELECT lo_unlink(1)',
      "SELECT nextval('customers_id_seq')",
      "SELECT query_to_xml('DELETE FROM orders RETURNING 1', true, false, '')",
      'DO $$ BEGIN DELETE FROM orders; END $$',
      'CALL missing()',
      'PREPARE p AS SELECT 1',
      'LISTEN x',
      'VACUUM',
      'EXPLAIN ANALYZE DELETE FROM orders',
      'DECLARE other CURSOR FOR SELECT 1',
      '-- comment only',
      'SELECT 1\0',
    ]) {
      const message = errorOf(await client.call('query', { sql }))
      expect(message, sql).not.toContain('unexpectedly')
    }
    expect(errorOf(await client.call('explain', { sql: 'ANALYZE DELETE FROM orders' }))).toContain(
      'syntax error',
    )
    expect(errorOf(await client.call('explain', { sql: 'SELECT 1; DELETE FROM orders' }))).toContain(
      'multiple',
    )
    expect(
      await postgres.run('shop', 'SELECT pg_current_wal_lsn() IS NOT NULL, count(*) FROM orders'),
    ).toEqual(before)
    expect(await orders()).toBe('3')
  })

  test('keeps no setting, lock or prepared statement after a query', async () => {
    const client = await clientOf('2026-07-28', { ...reading(), limits: { maxConnections: 1 } })
    expect(
      await rowsOf(client, {
        sql: "SELECT set_config('search_path', 'pg_catalog', false), set_config('default_transaction_read_only', 'off', false), pg_advisory_lock(7)",
      }),
    ).toHaveLength(1)
    expect(await rowsOf(client, { sql: 'SELECT count(*) FROM orders' })).toEqual([[3]])
    expect(await postgres.run('shop', 'SELECT pg_try_advisory_lock(7)')).toEqual([[true]])
    expect(
      errorOf(await client.call('query', { sql: "SELECT set_config('transaction_read_only', 'off', true)" })),
    ).toContain('must be set before any query')
  })

  test('refuses a role that can use files of the database server, unless it is allowed', async () => {
    const databases = { crm: postgres.url('shop') }
    const refused = await clientOf('2026-07-28', { databases })
    expect(errorOf(await refused.call('query', { sql: 'SELECT 1' }))).toContain('--allow-superuser')
    await postgres.run('postgres', 'GRANT pg_read_server_files TO writer')
    onTestFinished(
      async () => void (await postgres.run('postgres', 'REVOKE pg_read_server_files FROM writer')),
    )
    const member = await clientOf('2026-07-28', { databases: { crm: postgres.url('shop', 'writer') } })
    expect(errorOf(await member.call('query', { sql: 'SELECT 1' }))).toContain('pg_read_server_files')
    const allowed = await clientOf('2026-07-28', { databases, allowSuperuser: true })
    expect(await rowsOf(allowed, { sql: 'SELECT 1' })).toEqual([[1]])
    expect(errorOf(await allowed.call('query', { sql: "COPY (SELECT 1) TO PROGRAM 'id'" }))).toContain(
      'syntax error',
    )
  })

  test('bounds the rows that one page reads from the database', async () => {
    const client = await clientOf('2026-07-28', reading())
    const rows = await rowsOf(client, { sql: "SELECT repeat('x', 1000000) FROM generate_series(1, 3)" })
    expect(rows).toMatchObject([[{ characters: 1_000_000, cut: true }], [{ cut: true }], [{ cut: true }]])
    expect(errorOf(await client.call('query', { sql: "SELECT repeat('x', 200000000)" }))).toContain('32 MiB')
    expect(await rowsOf(client, { sql: 'SELECT 1' })).toEqual([[1]])
    const many = structuredOf(
      await client.call('query', { sql: "SELECT repeat('x', 8000) FROM generate_series(1, 1000000)" }),
    )
    expect(Object(many['rows']).length).toBe(12)
    expect(many['nextCursor']).toBeDefined()
  })

  test('shows position, detail and hint of an error, and no password', async () => {
    const client = await clientOf('2026-07-28', reading())
    const column = errorOf(await client.call('query', { sql: 'SELECT name,\n  nme FROM customers' }))
    expect(column).toContain('column "nme" does not exist (SQLSTATE 42703)')
    expect(column).toContain('At line 2, column 3: nme FROM customers')
    expect(column).toContain('Hint: Perhaps you meant to reference the column "customers.name"')
    expect(errorOf(await client.call('explain', { sql: 'SELECT \u{1f4a5}; x' }))).not.toContain(
      'unexpectedly',
    )
    await postgres.run('postgres', "ALTER ROLE reader PASSWORD 'open sesame'")
    const hidden = 'not the pass%word'
    for (const url of [
      `postgres://nobody:${encodeURIComponent(hidden)}@127.0.0.1:${postgres.port}/shop`,
      `postgres://reader:${encodeURIComponent(hidden)}@127.0.0.1:${postgres.port}/missing`,
      `postgres://reader:${encodeURIComponent(hidden)}@127.0.0.1:1/shop`,
    ]) {
      const wrong = await clientOf('2026-07-28', { databases: { crm: url } })
      const message = errorOf(await wrong.call('query', { sql: 'SELECT 1' }))
      expect(message).toContain('Cannot connect')
      for (const secret of [hidden, encodeURIComponent(hidden), '127.0.0.1'])
        expect(message).not.toContain(secret)
      const listed = await wrong.call('list_databases', {})
      for (const secret of [hidden, encodeURIComponent(hidden)])
        expect(JSON.stringify(listed)).not.toContain(secret)
      await expect(wrong.read('db://crm/schema')).rejects.toThrow('Cannot connect')
      expect((await wrong.resources()).map(({ uri }) => uri)).toEqual(['db://crm/schema'])
    }
  })

  describe.each(eras)('execute on %s', (era) => {
    const answering = (...answers: (boolean | (() => Promise<unknown>))[]) => {
      const seen: string[] = []
      const onElicit: NonNullable<ConnectOptions['onElicit']> = async ({ message }) => {
        const answer = answers[seen.length] ?? false
        seen.push(message)
        if (typeof answer === 'function') await answer()
        return { action: 'accept', content: { commit: answer !== false } }
      }
      return { seen, onElicit }
    }
    const writing = () => ({ databases: { crm: postgres.url('shop', 'writer') }, allowWrites: true })

    test('commits after acceptance of the rows of every table, and nothing after a decline', async () => {
      const { seen, onElicit } = answering(false, true)
      const client = await clientOf(era, writing(), { onElicit })
      const call = { sql: 'DELETE FROM customers WHERE id = $1 RETURNING name', parameters: [1] }
      expect(structuredOf(await client.call('execute', call))['status']).toBe('declined')
      expect(await orders()).toBe('3')
      const done = structuredOf(await client.call('execute', call))
      expect(done).toMatchObject({
        status: 'committed',
        effects: {
          rows: 1,
          tables: [
            { table: 'public.customers', inserted: 0, updated: 0, deleted: 1 },
            { table: 'public.orders', inserted: 0, updated: 0, deleted: 2 },
          ],
        },
        rows: [['Ada']],
      })
      expect(seen[1]).toContain('public.orders: 2 rows deleted')
      expect(await orders()).toBe('1')
    })

    test('asks again if the effects changed, and shows schema changes', async () => {
      const { seen, onElicit } = answering(
        () => postgres.run('shop', "INSERT INTO orders VALUES (4, 1, 'open', 1)"),
        true,
        true,
        true,
        true,
      )
      const client = await clientOf(era, writing(), { onElicit })
      const done = await client.call('execute', { sql: "UPDATE orders SET cents = 0 WHERE status = 'open'" })
      expect(seen[0]).toContain('UPDATE of 2 rows')
      expect(seen[1]).toContain('UPDATE of 3 rows')
      expect(structuredOf(done)['status']).toBe('committed')
      await postgres.run('shop', 'ANALYZE orders')
      await client.call('execute', { sql: 'TRUNCATE orders' })
      expect(seen[2]).toContain('empties or rewrites table public.orders (about 4 rows)')
      await client.call('execute', { sql: 'ALTER TABLE orders ADD COLUMN note text' })
      expect(seen[3]).toContain('changes columns of table public.orders')
      await client.call('execute', { sql: 'DROP TABLE orders CASCADE' })
      expect(seen[4]).toContain('drops table public.orders')
      expect(seen[4]).toContain('drops view public.open_orders')
      expect(await postgres.run('shop', "SELECT to_regclass('public.orders')")).toEqual([[null]])
    })

    test('holds no transaction while the user decides, and rejects statements that could end its own', async () => {
      const { seen, onElicit } = answering(async () => {
        await vi.waitFor(async () => expect(await busy()).toBe('0'), 20_000)
        await postgres.run('shop', "SET lock_timeout = '5s'; UPDATE orders SET cents = cents + 1")
      })
      const client = await clientOf(era, writing(), { onElicit })
      expect(structuredOf(await client.call('execute', { sql: 'DELETE FROM orders' }))['status']).toBe(
        'committed',
      )
      for (const sql of [
        'COMMIT',
        'DELETE FROM orders; COMMIT',
        '--\rCALL x() /*\nUPDATE */',
        'DO $$ BEGIN END $$',
        'SELECT 1',
        'SET x.y = 1',
      ]) {
        expect(errorOf(await client.call('execute', { sql })), sql).not.toContain('unexpectedly')
      }
      expect(seen).toHaveLength(1)
    })
  })

  test('two databases of different engines are served at once', async () => {
    const client = await clientOf('2026-07-28', {
      databases: { ...reading().databases, sales: sqliteFile(shop) },
    })
    expect(await rowsOf(client, { database: 'crm', sql: 'SELECT count(*) FROM orders' })).toEqual([[3]])
    expect(await rowsOf(client, { database: 'sales', sql: 'SELECT count(*) FROM orders' })).toEqual([[3]])
    expect(errorOf(await client.call('query', { sql: 'SELECT 1' }))).toContain('database')
  })
})
