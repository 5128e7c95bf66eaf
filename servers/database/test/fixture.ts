import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { createDatabaseServer, type DatabaseServerOptions } from '@jackfield/server-database'
import { onTestFinished } from 'vitest'

/** Both eras: every behaviour is the same in each. */
export const eras = ['2025-06-18', '2026-07-28'] as const
export type Era = (typeof eras)[number]

/** A new folder that is removed after the test. */
export function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'jackfield-database-')))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A new SQLite file, filled by a script. */
export function sqliteFile(script: string, name = 'sales.db'): string {
  const file = join(folder(), name)
  changeFile(file, script)
  return file
}

/** Runs a script on a SQLite file, as another program would. */
export function changeFile(file: string, script: string): void {
  const database = new DatabaseSync(file)
  database.exec(script)
  database.close()
}

/** The first row of a query on a SQLite file. */
export function rowIn(file: string, sql: string): Record<string, unknown> {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return { ...database.prepare(sql).get() }
  } finally {
    database.close()
  }
}

/** A client of a server in this process, closed with it when the test ends. */
export async function clientOf(
  era: Era,
  options: DatabaseServerOptions,
  client: ConnectOptions = {},
): Promise<Client> {
  const { server, close } = createDatabaseServer(options)
  const connected = await connect(server, { revisions: [era], ...client })
  onTestFinished(async () => {
    await connected.close()
    await close()
  })
  return connected
}

type Result = Awaited<ReturnType<Client['call']>>

/** The text of a result. */
export function textOf({ content }: Pick<Result, 'content'>): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

/** The structured content of a call that succeeded. */
export function structuredOf({ structuredContent, ...result }: Result): Record<string, unknown> {
  if (result.isError === true) throw new Error(`The call failed: ${textOf(result)}`)
  return Object(structuredContent)
}

/** The text of a call that failed. */
export function errorOf(result: Result): string {
  if (result.isError !== true) throw new Error(`The call succeeded: ${textOf(result)}`)
  return textOf(result)
}

/** The rows of a query. */
export async function rowsOf(client: Client, args: Record<string, unknown>): Promise<unknown> {
  return structuredOf(await client.call('query', args))['rows']
}

export const shop = `
  CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE);
  CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid')),
    cents INTEGER NOT NULL
  );
  CREATE INDEX orders_by_customer ON orders (customer_id);
  CREATE VIEW open_orders AS SELECT * FROM orders WHERE status = 'open';
  INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org'), (2, 'Ben', NULL);
  INSERT INTO orders VALUES (1, 1, 'paid', 4900), (2, 1, 'open', 1250), (3, 2, 'open', 800);
`
