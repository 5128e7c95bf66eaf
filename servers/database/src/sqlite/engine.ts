import {
  abortError,
  type Engine,
  EngineError,
  type OpenResult,
  type Statement,
  type TableSummary,
} from '../engine.ts'
import { Pool } from '../pool.ts'
import { identifier } from '../sql.ts'
import { describeTable, listTables, storedName } from './catalog.ts'
import { SqliteConnection } from './connection.ts'
import type { Commands } from './messages.ts'

export interface SqliteOptions {
  /** The absolute path of the file. */
  file: string
  maxConnections: number
  /** Closes a result that is kept open for its next page, if there is one. */
  onExhausted(): void
}

/** Opens a SQLite database; its processes start with the first request. */
export function openSqlite({ file, maxConnections, onExhausted }: SqliteOptions): Engine {
  const readers = new Pool({
    connect: async () => new SqliteConnection(file, false),
    max: maxConnections,
    onExhausted,
  })
  // SQLite has one writer at a time.
  const writers = new Pool({
    connect: async () => new SqliteConnection(file, true),
    max: 1,
    onExhausted() {},
  })

  /** Runs a command that writes. */
  const runWrite = <N extends 'preview' | 'commit'>(
    name: N,
    input: Commands[N]['input'],
    signal: AbortSignal,
  ): Promise<Commands[N]['output']> =>
    withConnection(writers, signal, async (connection) => {
      try {
        return await connection.run(name, input, signal)
      } catch (error) {
        if (!signal.aborted) throw error
        await recover(file)
        if (name === 'preview') throw error
        throw new EngineError(
          `${abortError(signal).message} It may have been committed in that moment: read the data before you repeat it.`,
        )
      }
    })

  return {
    kind: 'SQLite',
    tables: (signal) => withConnection(readers, signal, (connection) => listTables(connection, signal)),
    describe: (table, signal) =>
      withConnection(readers, signal, async (connection) => {
        const found = findTable(await listTables(connection, signal), table)
        return found && describeTable(connection, found, signal)
      }),
    open: (statement, signal) => openResult(readers, statement, signal),
    explain: (statement, signal) =>
      withConnection(readers, signal, (connection) => connection.run('explain', statement, signal)),
    preview: (statement, signal) => runWrite('preview', statement, signal),
    commit: (statement, confirmed, limits, signal) =>
      runWrite('commit', { statement, confirmed, limits }, signal),
    async close() {
      readers.close()
      writers.close()
    },
  }
}

async function withConnection<T>(
  pool: Pool<SqliteConnection>,
  signal: AbortSignal,
  work: (connection: SqliteConnection) => Promise<T>,
): Promise<T> {
  const connection = await pool.lease(signal)
  try {
    return await work(connection)
  } finally {
    pool.release(connection)
  }
}

/** Rolls back the transaction of a killed writer, which a read-only connection cannot do. */
async function recover(file: string): Promise<void> {
  const connection = new SqliteConnection(file, true)
  await connection
    .run('catalog', { sql: 'SELECT count(*) AS n FROM sqlite_schema', parameters: [] })
    .catch(() => {})
  connection.close()
}

/** The table of a name as it is listed, as it is stored, or in another case. */
function findTable(tables: readonly TableSummary[], requested: string): TableSummary | undefined {
  const wanted = storedName(requested).toLowerCase()
  return (
    tables.find(({ name }) => name === requested || name === identifier(requested)) ??
    tables.find(({ name }) => storedName(name).toLowerCase() === wanted)
  )
}

/** Starts a query on a connection of its own, which is released when the result was read, failed or is closed. */
async function openResult(
  readers: Pool<SqliteConnection>,
  statement: Statement,
  signal: AbortSignal,
): Promise<OpenResult> {
  const connection = await readers.lease(signal)
  let isOpen = true
  const close = (): void => {
    if (isOpen) readers.release(connection)
    isOpen = false
  }
  try {
    const columns = await connection.run('open', statement, signal)
    return {
      columns,
      async read(limits, readSignal) {
        if (!isOpen) throw new EngineError('The result is no longer open. Run the query again.')
        try {
          const page = await connection.run('read', limits, readSignal)
          if (page.isLast) close()
          return page
        } catch (error) {
          close()
          throw error
        }
      },
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}
