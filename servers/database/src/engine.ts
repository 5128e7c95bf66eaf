/** A parameter of a statement. Integers beyond 2^53 and other types are written as text. */
export type Parameter = string | number | boolean | null

/** One SQL statement with its parameters: the first is `?1` for SQLite and `$1` for either engine. */
export interface Statement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/**
 * A value of a result as JSON: integers as numbers while they are exact and as digits otherwise, decimals, dates and JSON
 * as text, NaN and infinities by name, bytes as base64, long texts with their length.
 */
export type Cell =
  | string
  | number
  | boolean
  | null
  | { text: string; characters: number; cut: true }
  | { base64: string; bytes: number; cut?: true }

export interface Column {
  name: string
  /** The type as the engine writes it; empty if it has none, as for an expression of SQLite. */
  type: string
}

export interface Page {
  rows: Cell[][]
  /** Whether no rows follow. */
  isLast: boolean
}

/** Limits of one page. At least one row is returned if there is one. */
export interface PageLimits {
  rows: number
  /** Bytes of the rows as JSON. */
  bytes: number
}

/** The rows of a query, read page by page from one state of the database. It uses a connection until its last page or `close`. */
export interface OpenResult {
  readonly columns: readonly Column[]
  /** @throws EngineError, after which the result is closed */
  read(limits: PageLimits, signal: AbortSignal): Promise<Page>
  close(): void
}

export interface TableSummary {
  /** The name as SQL, quoted if necessary. */
  name: string
  kind: 'table' | 'view' | 'materialized view' | 'virtual table' | 'foreign table'
  /** The engine's estimate from its last analysis; null without one. */
  estimatedRows: number | null
  comment: string | null
}

export interface TableColumn {
  name: string
  type: string
  nullable: boolean
  /** The default, or the expression of a generated column, as SQL. */
  default: string | null
  generated: boolean
  comment: string | null
}

export interface ForeignKey {
  columns: string[]
  /** The referenced table as SQL. */
  table: string
  /** The referenced columns. */
  references: string[]
}

export interface TableIndex {
  name: string
  unique: boolean
  /** The definition, or the indexed columns and expressions. */
  definition: string
}

export interface TableDescription extends TableSummary {
  columns: TableColumn[]
  primaryKey: string[]
  foreignKeys: ForeignKey[]
  indexes: TableIndex[]
  /** Other constraints as SQL. */
  constraints: string[]
  /** The statement that created a table or view, if the engine stores it. */
  definition: string | null
}

/** What a statement changes, measured by running it in a transaction. */
export interface Effects {
  /** The first keyword of the statement, such as UPDATE. */
  command: string
  /** Rows that the statement itself inserts, updates or deletes. */
  rows: number
  /** Rows that triggers and foreign keys change besides, where the engine counts them together. */
  furtherRows: number
  /** Changed rows by table, where the engine counts them by table. */
  tables: { table: string; inserted: number; updated: number; deleted: number }[]
  /** Changes of the schema as text, such as "drops table orders (120 rows)". */
  schema: string[]
}

/** The outcome of a confirmed statement. `changed`: its effects now differ from those confirmed, so it was rolled back. */
export type CommitResult =
  | { status: 'committed'; effects: Effects; columns: Column[]; rows: Cell[][]; rowsLeft: number }
  | { status: 'changed'; effects: Effects }

/** One database. Promises reject with an `EngineError` if the engine or a limit rejects the request. */
export interface Engine {
  readonly kind: 'SQLite' | 'PostgreSQL'
  /** Tables and views that can be read, by name. */
  tables(signal: AbortSignal): Promise<TableSummary[]>
  /** One table or view by its name, as `tables` lists it or as it is stored; undefined if it does not exist. */
  describe(table: string, signal: AbortSignal): Promise<TableDescription | undefined>
  /** Runs a query; the engine refuses any statement that writes. */
  open(statement: Statement, signal: AbortSignal): Promise<OpenResult>
  /** The plan of a statement, which is not run. */
  explain(statement: Statement, signal: AbortSignal): Promise<string>
  /** Runs a statement in a transaction, which is rolled back, and reports its effects. */
  preview(statement: Statement, signal: AbortSignal): Promise<Effects>
  /** Runs a statement in a transaction, which is committed only if its effects are those confirmed. */
  commit(
    statement: Statement,
    confirmed: Effects,
    limits: PageLimits,
    signal: AbortSignal,
  ): Promise<CommitResult>
  close(): Promise<void>
}

/** A statement or request that the engine or a limit rejected. The message is for the client. */
export class EngineError extends Error {
  override readonly name: string = 'EngineError'
}

/** Whether two runs of a statement had the same effects. */
export function haveSameEffects(one: Effects, other: Effects): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const theStatement = 'The statement'

/** The error for a call whose signal was aborted: by its time limit, or by its client. */
export function abortError(signal: AbortSignal, during: string = theStatement): EngineError {
  const timedOut = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  if (!timedOut) return new EngineError(`${during} was cancelled.`)
  const hint =
    during === theStatement ? ' Read less: add a condition or an index, or aggregate fewer rows.' : ''
  return new EngineError(`${during} was stopped by the time limit.${hint}`)
}
