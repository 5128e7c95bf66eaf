import { existsSync } from 'node:fs'
import {
  constants,
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import {
  type Cell,
  type Column,
  type CommitResult,
  type Effects,
  EngineError,
  haveSameEffects,
  type Page,
  type PageLimits,
  type Parameter,
  type Statement,
} from '../engine.ts'
import { bindParameters, count, firstKeyword, identifier, isBlank } from '../sql.ts'
import { bytesCell, fitRow, integerCell, realCell, sizeOf, textCell } from '../values.ts'
import type { Answer, CatalogRow, Command, Commands } from './messages.ts'

// The process that runs SQLite for one connection. A statement cannot be interrupted from JavaScript: node:sqlite has no
// interrupt, and `Worker.terminate` waits until native code returns. A process can be killed at any time.

const [file = '', mode = ''] = process.argv.slice(2)
const isWriter = mode === 'write'
/** Milliseconds to wait for a lock of another program. */
const busyMs = 5_000
/** Maximum bytes of a text or blob in SQLite, on Node versions that can limit it. */
const maxValueBytes = 67_108_864

/** Statements of this package run with all rights; those of clients as queries or as writes. */
let rights: 'internal' | 'query' | 'write' = 'internal'
let database: DatabaseSync | undefined
let open: OpenRows | undefined

function openDatabase(): DatabaseSync {
  if (database !== undefined) return database
  // SQLite would create a missing file.
  if (!existsSync(file)) throw new EngineError('The file of the database does not exist.')
  const opened = new DatabaseSync(file, { readOnly: !isWriter, allowExtension: false, timeout: busyMs })
  opened.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
  if (!isWriter) opened.exec('PRAGMA query_only = ON')
  // Since Node 24.
  opened.enableDefensive?.(true)
  if (opened.limits !== undefined) opened.limits.length = maxValueBytes
  opened.setAuthorizer?.(authorize)
  database = opened
  return opened
}

/** Pragmas that only read. SQLite itself runs some of them, as for ALTER TABLE and full-text search. */
const readOnlyPragmas: ReadonlySet<string> = new Set(
  `table_list table_info table_xinfo index_list index_info index_xinfo foreign_key_list foreign_key_check quick_check
  integrity_check function_list collation_list compile_options page_count page_size freelist_count encoding
  schema_version data_version user_version application_id`.split(/\s+/),
)

/**
 * What SQLite may compile for a client, beside what the first keyword and the read-only file decide. Extensions such as
 * R-tree prepare writes to their own tables even to read, so writes are left to the read-only file.
 */
function authorize(action: number, subject: string | null, detail: string | null): number {
  if (rights === 'internal') return constants.SQLITE_OK
  switch (action) {
    case constants.SQLITE_SELECT:
    case constants.SQLITE_READ:
    case constants.SQLITE_RECURSIVE:
    case constants.SQLITE_INSERT:
    case constants.SQLITE_UPDATE:
    case constants.SQLITE_DELETE:
      return constants.SQLITE_OK
    case constants.SQLITE_FUNCTION:
      return detail?.toLowerCase() === 'load_extension' ? constants.SQLITE_DENY : constants.SQLITE_OK
    case constants.SQLITE_PRAGMA:
      return readOnlyPragmas.has(subject?.toLowerCase() ?? '') ? constants.SQLITE_OK : constants.SQLITE_DENY
    case constants.SQLITE_ATTACH:
    case constants.SQLITE_DETACH:
    case constants.SQLITE_TRANSACTION:
    case constants.SQLITE_SAVEPOINT:
      return constants.SQLITE_DENY
    default:
      return rights === 'write' ? constants.SQLITE_OK : constants.SQLITE_DENY
  }
}

const queryKeywords = ['SELECT', 'VALUES', 'WITH']
const changeKeywords = ['INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'WITH']
const schemaKeywords = ['CREATE', 'ALTER', 'DROP', 'REINDEX', 'ANALYZE']

/** Prepares one statement. The keyword decides, because SQLite runs some pragmas while it compiles them. */
function prepare({ sql }: Statement, allowed: readonly string[], use: string, prefix = ''): StatementSync {
  if (isBlank(sql)) throw new EngineError('The SQL contains no statement.')
  const keyword = firstKeyword(sql, 'SQLite')
  if (!allowed.includes(keyword)) {
    throw new EngineError(`${keyword === '' ? 'This statement' : keyword} is not allowed here. ${use}`)
  }
  const statement = openDatabase().prepare(prefix + sql)
  if (!isBlank(sql.slice(statement.sourceSQL.length - prefix.length))) {
    throw new EngineError('The SQL contains more than one statement. Send one at a time.')
  }
  statement.setReadBigInts(true)
  statement.setReturnArrays(true)
  return statement
}

function iterate(statement: StatementSync, { sql, parameters }: Statement): Iterator<unknown> {
  const { inOrder, named } = bindParameters(sql, parameters)
  const values = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, inputOf(value)]))
  return statement.iterate(values, ...inOrder.map(inputOf))
}

function inputOf(value: Parameter): SQLInputValue {
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
}

function rowOf(value: unknown): Cell[] {
  if (!Array.isArray(value)) throw new TypeError('SQLite returned a row that is not an array')
  return value.map(cellOf)
}

function cellOf(value: SQLOutputValue): Cell {
  if (typeof value === 'bigint') return integerCell(value)
  if (typeof value === 'number') return realCell(value)
  if (typeof value === 'string') return textCell(value)
  return value === null ? null : bytesCell(value)
}

function columnsOf(statement: StatementSync): Column[] {
  return statement.columns().map(({ name, type }) => ({ name, type: type ?? '' }))
}

/**
 * The rows of one query. Between pages a database in WAL mode keeps its read transaction, which blocks no writer. In other
 * journal modes it would, so the query runs again for each page, and only if the database was not changed.
 */
class OpenRows {
  readonly columns: Column[]
  readonly #source: Statement
  readonly #statement: StatementSync
  readonly #keepsTransaction: boolean
  #rows: Iterator<unknown> | undefined
  /** The row that follows the last page. */
  #next: Cell[] | undefined
  #delivered = 0
  #version: unknown

  constructor(source: Statement) {
    this.#source = source
    this.#statement = prepare(
      source,
      queryKeywords,
      'Use SELECT, VALUES or WITH. Information of pragmas is in functions such as pragma_table_info(table).',
    )
    this.columns = columnsOf(this.#statement)
    if (this.columns.length === 0) throw new EngineError('Only statements that return rows can be queried.')
    this.#keepsTransaction = runInternal('PRAGMA journal_mode')?.['journal_mode'] === 'wal'
  }

  read(limits: PageLimits): Page {
    this.#resume()
    const rows: Cell[][] = []
    let bytes = 0
    for (let row = this.#next; row !== undefined && rows.length < limits.rows; row = this.#next) {
      bytes += sizeOf(row) + 1
      if (rows.length > 0 && bytes > limits.bytes) break
      rows.push(fitRow(row, limits.bytes))
      this.#next = this.#step()
    }
    this.#delivered += rows.length
    const isLast = this.#next === undefined
    if (isLast) this.close()
    else if (!this.#keepsTransaction) this.#suspend()
    return { rows, isLast }
  }

  close(): void {
    this.#rows?.return?.()
    this.#rows = undefined
    this.#next = undefined
  }

  #step(): Cell[] | undefined {
    const step = this.#rows?.next()
    return step === undefined || step.done === true ? undefined : rowOf(step.value)
  }

  #resume(): void {
    if (this.#rows !== undefined) return
    this.#rows = iterate(this.#statement, this.#source)
    this.#next = this.#step()
    if (this.#delivered === 0) return
    // Compared after the first row, when the read lock is held.
    if (this.#version !== dataVersion()) {
      this.close()
      throw new EngineError(
        'The database was changed since the last page, so its pages would not fit together. Run the query again.',
      )
    }
    for (let skipped = 0; skipped < this.#delivered; skipped++) this.#next = this.#step()
  }

  #suspend(): void {
    this.#version = dataVersion()
    this.close()
  }
}

/** Runs a statement of this package and returns its first row. */
function runInternal(sql: string): Record<string, SQLOutputValue> | undefined {
  const before = rights
  rights = 'internal'
  try {
    return openDatabase().prepare(sql).get()
  } finally {
    rights = before
  }
}

/** A number that changes with every commit of another connection. */
function dataVersion(): unknown {
  return runInternal('PRAGMA data_version')?.['data_version']
}

/** The result of one run of a statement in the open transaction. */
interface Run {
  effects: Effects
  columns: Column[]
  rows: Cell[][]
  rowsLeft: number
}

type SchemaEntry = { description: string; name: string; isTable: boolean; sql: string }

function run(source: Statement, limits: PageLimits): Run & { dropped: string[] } {
  const command = firstKeyword(source.sql, 'SQLite')
  const statement = prepare(
    source,
    [...changeKeywords, ...schemaKeywords],
    queryKeywords.includes(command)
      ? 'Use the tool query to read.'
      : `Use one of ${[...changeKeywords, ...schemaKeywords].join(', ')}.`,
  )
  const before = schemaOf()
  const changesBefore = changes()
  const columns = columnsOf(statement)
  const rows: Cell[][] = []
  let rowsLeft = 0
  let bytes = 0
  const returned = iterate(statement, source)
  for (let step = returned.next(); step.done !== true; step = returned.next()) {
    const row = rowOf(step.value)
    bytes += sizeOf(row) + 1
    if (rowsLeft === 0 && rows.length < limits.rows && bytes <= limits.bytes) rows.push(row)
    else rowsLeft++
  }
  const total = changes().total - changesBefore.total
  const direct = total === 0 || !changeKeywords.includes(command) ? 0 : changes().last
  const { schema, dropped } = difference(before, schemaOf())
  const effects: Effects = {
    command,
    rows: direct,
    furtherRows: Math.max(0, total - direct),
    tables: [],
    schema,
  }
  return { effects, columns, rows, rowsLeft, dropped }
}

/** Runs a statement and counts the rows of the tables that it drops, for which it has to run twice. */
function measure(source: Statement, limits: PageLimits): Run {
  runInternal('SAVEPOINT measured')
  const { dropped, ...first } = run(source, limits)
  if (dropped.length === 0) return first
  runInternal('ROLLBACK TO measured')
  const counted = dropped.map((table) => {
    const rows = Number(runInternal(`SELECT count(*) AS n FROM main.${identifier(table)}`)?.['n'])
    return [`drops table ${identifier(table)}`, `drops table ${identifier(table)} (${count(rows, 'row')})`]
  })
  const { dropped: _dropped, effects, ...second } = run(source, limits)
  const withRowCounts = new Map(counted.map(([plain = '', withRows = '']) => [plain, withRows]))
  return {
    ...second,
    effects: { ...effects, schema: effects.schema.map((line) => withRowCounts.get(line) ?? line) },
  }
}

function changes(): { last: number; total: number } {
  const row = runInternal('SELECT changes() AS last, total_changes() AS total')
  return { last: Number(row?.['last']), total: Number(row?.['total']) }
}

function schemaOf(): Map<string, SchemaEntry> {
  const rows = openDatabase()
    .prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name')
    .all()
  return new Map(
    rows.map(({ type, name, sql }) => [
      `${type} ${name}`,
      {
        description: `${type} ${identifier(String(name))}`,
        name: String(name),
        isTable: type === 'table',
        sql: String(sql),
      },
    ]),
  )
}

function difference(
  before: ReadonlyMap<string, SchemaEntry>,
  after: ReadonlyMap<string, SchemaEntry>,
): { schema: string[]; dropped: string[] } {
  const gone = [...before].filter(([key]) => !after.has(key)).map(([, entry]) => entry)
  const added = [...after].filter(([key]) => !before.has(key)).map(([, entry]) => entry)
  const changed = [...after].flatMap(([key, entry]) => {
    const old = before.get(key)
    return old === undefined || old.sql === entry.sql ? [] : [entry]
  })
  return {
    schema: [
      ...gone.map(({ description }) => `drops ${description}`),
      ...added.map(({ description }) => `creates ${description}`),
      ...changed.map(({ description, sql }) => `changes ${description} to: ${sql}`),
    ],
    dropped: gone.filter(({ isTable }) => isTable).map(({ name }) => name),
  }
}

function inTransaction<T>(work: () => { output: T; isCommitted: boolean }): T {
  runInternal('BEGIN IMMEDIATE')
  try {
    rights = 'write'
    const { output, isCommitted } = work()
    runInternal(isCommitted ? 'COMMIT' : 'ROLLBACK')
    return output
  } catch (error) {
    // SQLite ends the transaction itself after some errors.
    if (openDatabase().isTransaction) runInternal('ROLLBACK')
    throw error
  }
}

const noRows: PageLimits = { rows: 0, bytes: 0 }

const commands: { [Name in keyof Commands]: (input: Commands[Name]['input']) => Commands[Name]['output'] } = {
  catalog({ sql, parameters }) {
    const rows = openDatabase()
      .prepare(sql)
      .all(...parameters.map(inputOf))
    return rows.map(
      (row): CatalogRow =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            typeof value === 'number' || value === null ? value : String(value),
          ]),
        ),
    )
  },
  open(statement) {
    rights = 'query'
    open = new OpenRows(statement)
    return open.columns
  },
  read(limits) {
    if (open === undefined) throw new EngineError('The result is no longer open. Run the query again.')
    rights = 'query'
    return open.read(limits)
  },
  end() {
    open?.close()
    open = undefined
    return null
  },
  explain(source) {
    // Compiling a statement that writes needs the rights to; it is not run.
    rights = 'write'
    const statement = prepare(
      source,
      ['SELECT', 'VALUES', ...changeKeywords],
      'Only queries and changes of rows have a plan.',
      'EXPLAIN QUERY PLAN ',
    )
    statement.setReturnArrays(false)
    const { inOrder, named } = bindParameters(source.sql, source.parameters)
    const values = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, inputOf(value)]))
    const depths = new Map<unknown, number>()
    const lines = statement.all(values, ...inOrder.map(inputOf)).map(({ id, parent, detail }) => {
      const depth = depths.get(parent) ?? 0
      depths.set(id, depth + 1)
      return `${'  '.repeat(depth)}${detail}`
    })
    return lines.join('\n')
  },
  preview: (statement) =>
    inTransaction(() => ({ output: measure(statement, noRows).effects, isCommitted: false })),
  commit: ({ statement, confirmed, limits }) =>
    inTransaction((): { output: CommitResult; isCommitted: boolean } => {
      const { effects, ...rest } = measure(statement, limits)
      return haveSameEffects(effects, confirmed)
        ? { output: { status: 'committed', effects, ...rest }, isCommitted: true }
        : { output: { status: 'changed', effects }, isCommitted: false }
    }),
}

/** What to do about some errors of SQLite, by their primary result code. */
const hints: Readonly<Record<number, string>> = {
  5: 'Another program is writing to the database. Try again later.',
  8: 'The database is opened read-only for this.',
  14: 'Check that the file exists and can be read. A database in WAL mode also needs the right to write to its folder.',
  23: 'This server does not allow the statement.',
  26: 'The file is not a SQLite database, or it is encrypted.',
}

/** The message for the client; undefined for an internal error of this package. */
function clientMessageOf(error: unknown): string | undefined {
  if (error instanceof EngineError) return error.message
  if (!(error instanceof Error) || !('code' in error)) return undefined
  if (error.code === 'ERR_STRING_TOO_LONG') return 'A value is too long. Read a part of it with substr().'
  if (error.code !== 'ERR_SQLITE_ERROR') return undefined
  const number = 'errcode' in error ? Number(error.errcode) : 0
  const hint = hints[number & 0xff]
  return `${error.message} (SQLite error ${number})${hint === undefined ? '' : `. ${hint}`}`
}

function answerTo<N extends keyof Commands>({ name, input }: Command<N>): Answer<Commands[N]['output']> {
  try {
    rights = 'internal'
    return { output: commands[name](input) }
  } catch (error) {
    const rejected = clientMessageOf(error)
    return rejected === undefined
      ? { internalError: error instanceof Error ? (error.stack ?? error.message) : String(error) }
      : { rejected }
  }
}

process.on('message', (command: Command) => process.send?.(answerTo(command)))
process.on('disconnect', () => {
  database?.close()
  process.exit()
})

// A statement that never ends would outlive a parent that was killed, since this thread cannot notice it.
new Worker(
  `const { workerData: parent } = require('node:worker_threads')
  setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 1000)`,
  { eval: true, workerData: process.ppid },
).unref()
