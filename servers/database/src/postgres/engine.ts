import {
  abortError,
  type Cell,
  type Column,
  type CommitResult,
  type Effects,
  type Engine,
  EngineError,
  haveSameEffects,
  type OpenResult,
  type Page,
  type PageLimits,
  type Statement,
} from '../engine.ts'
import { Pool } from '../pool.ts'
import { count, firstKeyword } from '../sql.ts'
import { bytesCell, fitRow, integerCell, realCell, sizeOf, textCell } from '../values.ts'
import { describeRelation, findRelation, listRelations } from './catalog.ts'
import { type PostgresAccess, PostgresConnection, type RawResult } from './connection.ts'

export interface PostgresOptions extends PostgresAccess {
  maxConnections: number
  /** The time limit of one statement, which PostgreSQL enforces besides the signal. */
  timeoutMs: number
  /** The time after which PostgreSQL ends a transaction that is not used, such as that of a result between pages. */
  idleMs: number
  /** Closes a result that is kept open for its next page, if there is one. */
  onExhausted(): void
}

const changeKeywords = ['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'WITH']
const schemaKeywords = [
  'CREATE',
  'ALTER',
  'DROP',
  'TRUNCATE',
  'COMMENT',
  'GRANT',
  'REVOKE',
  'REFRESH',
  'ANALYZE',
  'REINDEX',
]
/** `DECLARE` accepts nothing but a query: no COPY, no SELECT INTO, no WITH that writes. */
const declare = 'DECLARE result NO SCROLL CURSOR FOR '
const explain = 'EXPLAIN (FORMAT TEXT) '

/** Opens a PostgreSQL database; it connects with the first request. */
export function openPostgres(options: PostgresOptions): Engine {
  const { maxConnections, onExhausted } = options
  const pool = new Pool({
    connect: (signal) => PostgresConnection.open(options, signal),
    max: maxConnections,
    onExhausted,
  })
  const types = new TypeNames()

  /** Uses a connection of the pool in a transaction, which is rolled back unless `work` commits it. */
  const transaction = async <T>(
    access: 'READ ONLY' | 'READ WRITE',
    signal: AbortSignal,
    work: (connection: PostgresConnection) => Promise<T>,
  ): Promise<T> => {
    const connection = await pool.lease(signal)
    try {
      await connection.begin(access, options, signal)
      return await work(connection)
    } finally {
      pool.release(connection)
    }
  }

  return {
    kind: 'PostgreSQL',
    tables: (signal) =>
      transaction('READ ONLY', signal, async (connection) =>
        (await listRelations(connection, signal)).map(({ oid: _oid, ...table }) => table),
      ),
    describe: (table, signal) =>
      transaction('READ ONLY', signal, async (connection) => {
        const relation = await findRelation(connection, table, signal)
        return relation && describeRelation(connection, relation, signal)
      }),
    async open(statement, signal) {
      const connection = await pool.lease(signal)
      try {
        await connection.begin('READ ONLY', options, signal)
        await connection.run(statement, signal, declare)
        const cursor = new Cursor(connection, () => pool.release(connection))
        await cursor.start(types, signal)
        return cursor
      } catch (error) {
        pool.release(connection)
        throw error
      }
    },
    explain: (statement, signal) =>
      transaction('READ ONLY', signal, async (connection) => {
        const { rows } = await connection.run(statement, signal, explain)
        return rows.map(([line]) => line ?? '').join('\n')
      }),
    preview: (statement, signal) =>
      transaction('READ WRITE', signal, async (connection) => {
        const { effects } = await measure(connection, statement, signal)
        return effects
      }),
    commit: (statement, confirmed, limits, signal) =>
      transaction('READ WRITE', signal, async (connection): Promise<CommitResult> => {
        const { effects, result } = await measure(connection, statement, signal)
        if (!haveSameEffects(effects, confirmed)) return { status: 'changed', effects }
        const columns = await types.columnsOf(result, connection, signal)
        const { rows } = pageOf(
          result.rows.map((row) => cellsOf(row, result)),
          limits,
        )
        await commit(connection, signal)
        return { status: 'committed', effects, columns, rows, rowsLeft: result.rows.length - rows.length }
      }),
    async close() {
      pool.close()
    },
  }
}

async function commit(connection: PostgresConnection, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw abortError(signal)
  try {
    await connection.runInternal('COMMIT', signal)
  } catch (error) {
    if (!connection.isBroken) throw error
    throw new EngineError(
      'The connection was lost during the commit. It may have been committed: read the data before you repeat it.',
    )
  }
}

/** The rows of one query, fetched in batches from a cursor of its transaction. */
class Cursor implements OpenResult {
  columns: Column[] = []
  readonly #connection: PostgresConnection
  readonly #release: () => void
  #result: RawResult | undefined
  /** Fetched rows that no page contained yet. */
  #rows: Cell[][] = []
  #isDrained = false
  #isOpen = true
  /** Average bytes of the rows so far. */
  #rowBytes = 4_096

  constructor(connection: PostgresConnection, release: () => void) {
    this.#connection = connection
    this.#release = release
  }

  /** Fetches the first rows, with which the columns become known. */
  async start(types: TypeNames, signal: AbortSignal): Promise<void> {
    await this.#fetch(1, signal)
    if (this.#result !== undefined) {
      this.columns = await types.columnsOf(this.#result, this.#connection, signal)
    }
  }

  async read(limits: PageLimits, signal: AbortSignal): Promise<Page> {
    if (!this.#isOpen) throw new EngineError('The result is no longer open. Run the query again.')
    try {
      for (;;) {
        const { rows, isFull } = pageOf(this.#rows, limits)
        if (!isFull && !this.#isDrained) {
          const space = limits.bytes - rows.reduce((sum, row) => sum + sizeOf(row), 0)
          const wanted = Math.ceil(space / this.#rowBytes)
          await this.#fetch(Math.min(Math.max(wanted, 1), limits.rows + 1 - this.#rows.length), signal)
          continue
        }
        this.#rows = this.#rows.slice(rows.length)
        const isLast = this.#isDrained && this.#rows.length === 0
        if (isLast) this.close()
        return { rows, isLast }
      }
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    if (this.#isOpen) this.#release()
    this.#isOpen = false
  }

  async #fetch(number: number, signal: AbortSignal): Promise<void> {
    const result = await this.#connection.runInternal(`FETCH FORWARD ${number} FROM result`, signal)
    this.#result = result
    const cells = result.rows.map((row) => cellsOf(row, result))
    this.#isDrained = cells.length < number
    this.#rows = [...this.#rows, ...cells]
    if (cells.length > 0) {
      this.#rowBytes = Math.max(1, cells.reduce((sum, row) => sum + sizeOf(row), 0) / cells.length)
    }
  }
}

/** The rows at the beginning that fit on one page, and whether another row follows that does not. */
function pageOf(all: readonly Cell[][], limits: PageLimits): { rows: Cell[][]; isFull: boolean } {
  const rows: Cell[][] = []
  let bytes = 0
  for (const row of all) {
    bytes += sizeOf(row) + 1
    if (rows.length >= limits.rows || (rows.length > 0 && bytes > limits.bytes)) return { rows, isFull: true }
    rows.push(fitRow(row, limits.bytes))
  }
  return { rows, isFull: false }
}

/** Object identifiers of the types whose values are not text. */
const type = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, oid: 26, float4: 700, float8: 701 }

function cellsOf(row: readonly (string | null)[], { fields }: RawResult): Cell[] {
  return row.map((value, at) => (value === null ? null : cellOf(value, fields[at]?.type)))
}

function cellOf(value: string, oid: number | undefined): Cell {
  switch (oid) {
    case type.bool:
      return value === 't'
    case type.bytea:
      return bytesCell(Buffer.from(value.slice(2), 'hex'))
    case type.int2:
    case type.int4:
    case type.int8:
    case type.oid:
      return integerCell(BigInt(value))
    case type.float4:
    case type.float8:
      return realCell(Number(value))
    default:
      return textCell(value)
  }
}

/** Names of types by object identifier, looked up once. */
class TypeNames {
  readonly #names = new Map<number, string>()

  async columnsOf(result: RawResult, connection: PostgresConnection, signal: AbortSignal): Promise<Column[]> {
    const unknown = result.fields.map(({ type: oid }) => oid).filter((oid) => !this.#names.has(oid))
    if (unknown.length > 0) {
      const { rows } = await connection.runInternal(
        'SELECT oid, format_type(oid, NULL) FROM pg_type WHERE oid = ANY ($1::oid[])',
        signal,
        `{${unknown.join(',')}}`,
      )
      for (const [oid, name] of rows) this.#names.set(Number(oid), name ?? '')
    }
    return result.fields.map(({ name, type: oid }) => ({ name, type: this.#names.get(oid) ?? '' }))
  }
}

/** Runs a statement in the open transaction and compares counters and catalogue before and after. */
async function measure(
  connection: PostgresConnection,
  statement: Statement,
  signal: AbortSignal,
): Promise<{ effects: Effects; result: RawResult }> {
  const command = firstKeyword(statement.sql, 'PostgreSQL')
  const changesSchema = schemaKeywords.includes(command)
  if (!changesSchema && !changeKeywords.includes(command)) {
    const hint = ['SELECT', 'VALUES', 'TABLE', 'SHOW', 'EXPLAIN'].includes(command)
      ? 'Use the tools query and explain to read.'
      : `Use one of ${[...changeKeywords, ...schemaKeywords].join(', ')}.`
    throw new EngineError(`${command === '' ? 'This statement' : command} is not allowed here. ${hint}`)
  }
  const relationsBefore = changesSchema
    ? await relations(connection, signal)
    : new Map<string, RelationState>()
  const countsBefore = await changedRows(connection, signal)
  const result = await connection.run(statement, signal)
  const countsAfter = await changedRows(connection, signal)
  const tables = [...countsAfter].flatMap(([table, [inserted = 0, updated = 0, deleted = 0]]) => {
    const [i = 0, u = 0, d = 0] = countsBefore.get(table) ?? []
    const row = { table, inserted: inserted - i, updated: updated - u, deleted: deleted - d }
    return row.inserted > 0 || row.updated > 0 || row.deleted > 0 ? [row] : []
  })
  const schema = changesSchema ? difference(relationsBefore, await relations(connection, signal)) : []
  if (changesSchema && schema.length === 0) schema.push(`runs ${result.command || command}`)
  const rows = changesSchema || result.command === 'SELECT' ? 0 : result.rowCount
  return { effects: { command, rows, furtherRows: 0, tables, schema }, result }
}

/** Rows that this transaction changed so far, by table; triggers and foreign keys included. */
async function changedRows(
  connection: PostgresConnection,
  signal: AbortSignal,
): Promise<Map<string, number[]>> {
  const { rows } = await connection.runInternal(
    `SELECT quote_ident(schemaname) || '.' || quote_ident(relname), n_tup_ins, n_tup_upd, n_tup_del
     FROM pg_stat_xact_user_tables WHERE n_tup_ins + n_tup_upd + n_tup_del > 0 ORDER BY 1`,
    signal,
  )
  return new Map(rows.map(([table, ...counts]) => [String(table), counts.map(Number)]))
}

interface RelationState {
  name: string
  kind: string
  /** The file of its rows, which changes when a statement empties or rewrites it. */
  file: string
  columns: string
  estimate: number
}

const kindNames: Readonly<Record<string, string>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
  i: 'index',
  I: 'index',
  S: 'sequence',
  c: 'type',
}

async function relations(
  connection: PostgresConnection,
  signal: AbortSignal,
): Promise<Map<string, RelationState>> {
  const { rows } = await connection.runInternal(
    `SELECT c.oid, quote_ident(nspname) || '.' || quote_ident(relname), relkind, pg_relation_filenode(c.oid), reltuples,
       (SELECT md5(string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, atthasdef), ',' ORDER BY attnum))
        FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
     WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg\\_toast%' ORDER BY 2`,
    signal,
  )
  return new Map(
    rows.map(([oid, name, kind, file, estimate, columns]) => [
      String(oid),
      {
        name: String(name),
        kind: kindNames[String(kind)] ?? 'relation',
        file: String(file),
        columns: String(columns),
        estimate: Number(estimate),
      },
    ]),
  )
}

function difference(
  before: ReadonlyMap<string, RelationState>,
  after: ReadonlyMap<string, RelationState>,
): string[] {
  const about = ({ kind, estimate }: RelationState): string =>
    kind === 'table' && estimate >= 0 ? ` (about ${count(estimate, 'row')})` : ''
  const lines: string[] = []
  for (const [oid, old] of before) {
    const now = after.get(oid)
    const name = `${old.kind} ${old.name}`
    if (now === undefined) lines.push(`drops ${name}${about(old)}`)
    else {
      if (now.name !== old.name) lines.push(`renames ${name} to ${now.name}`)
      if (now.columns !== old.columns) lines.push(`changes columns of ${name}`)
      if (now.file !== old.file && old.kind !== 'index' && old.kind !== 'sequence') {
        lines.push(`empties or rewrites ${name}${about(old)}`)
      }
    }
  }
  for (const [oid, { kind, name }] of after) if (!before.has(oid)) lines.push(`creates ${kind} ${name}`)
  return lines
}
