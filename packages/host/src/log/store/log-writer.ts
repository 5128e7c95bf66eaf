import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { reasonOf } from '../../shared/text.ts'
import type { Activity } from '../../types/index.ts'
import { type Chain, createChain, type Link } from './chain.ts'

/** An activity row in its first stored form. */
export interface BegunRow extends Pick<Activity, 'kind' | 'server' | 'summary' | 'cause'> {
  /** ISO 8601. */
  at: string
  /** The tool, prompt or URI. */
  target: string | null
  /** JSON. */
  detail: string
}

export interface EndedRow {
  outcome: string
  durationMs: number | null
  /** JSON. */
  detail: string
}

/** An event that is no activity row. It can be referred to before it is stored. */
export interface TraceEntry {
  readonly row: NewTraceRow
  /** Its id in the log, once stored. */
  seq?: number
}

/** The cause of an event: another event, or an activity row by its id. */
export type TraceCause = TraceEntry | { readonly activity: number }

/** An event that is no activity row, to be written. */
export interface NewTraceRow {
  /** Milliseconds since 1970. */
  at: number
  tick: number
  kind: 'wire' | 'http' | 'stderr' | 'warning'
  server: string
  connection: string | null
  direction: 'sent' | 'received' | null
  method: string | null
  tool: string | null
  rpc: string | null
  cause: TraceCause | null
  reply: TraceEntry | null
  status: string | null
  ms: number | null
  bytes: number
  summary: string
  payload: string
  /** Hash of the whole payload, if it was cut. */
  sha256: string | null
}

/** Milliseconds for which rows stay in the queue, and events in memory. */
const flushMs = 200
/** Number and total characters of rows and events that trigger a write. */
const maxPending = 512
const maxPendingChars = 1_048_576
/** The size of a row in addition to its payload. */
const rowBytes = 256

/**
 * Writes the log. A row of the activity log is committed to a queue in the store before `begin` or `end` returns: one small
 * insert. Every 200 ms, and before something is read, one transaction moves the queue to the log with its hash chain, together
 * with the events of the trace; rows of a killed process are moved by the next one. So a process that is killed loses no row,
 * and events of at most 200 ms.
 */
export class LogWriter {
  readonly #statements: Statements
  readonly #append: Chain['append']
  /** Events, and ids of rows of this program, in order. */
  #pending: (TraceEntry | number)[] = []
  #chars = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Called with the size of the stored events in bytes. */
  onStored: (bytes: number) => void = () => {}
  /** Events that were lost because the store could not be written. Rows then stay in the queue. */
  unwritten = 0
  #isFailing = false

  constructor(database: DatabaseSync) {
    this.#statements = statementsOf(database)
    this.#append = createChain(database).append
  }

  /** Commits a row and returns its id. */
  begin({ at, kind, server, summary, cause, target, detail }: BegunRow): number {
    // `get` would stop at the returned row and hide an error of the commit.
    const [row] = this.#statements.queueRow.all(at, kind, server, summary, cause, target, detail)
    const id = Number(row?.['activity'])
    this.#push(id, detail.length)
    return id
  }

  /** Commits the end of a row. */
  end(id: number, { outcome, durationMs, detail }: EndedRow): void {
    this.#statements.queueEnd.run(id, outcome, durationMs, detail)
    this.#schedule(detail.length)
  }

  /** Adds an event. */
  add(row: NewTraceRow): TraceEntry {
    const entry: TraceEntry = { row }
    if (!this.#isClosed) this.#push(entry, row.payload.length)
    return entry
  }

  /** Sets the cause of an event that was found out later. */
  setCause(entry: TraceEntry, cause: TraceCause): void {
    entry.row.cause = cause
    if (entry.seq === undefined) return
    const seq = 'activity' in cause ? this.eventOf(cause.activity) : (cause.seq ?? null)
    this.#statements.setCause.run(seq, entry.seq)
  }

  /** The event of an activity row. */
  eventOf(activity: number): number | null {
    this.flush()
    return numberOf(this.#statements.eventOf.get(activity)?.['seq'])
  }

  /** Moves the queue and the events to the log. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const pending = this.#pending
    if (pending.length === 0 && this.#statements.isQueued.get() === undefined) return
    this.#pending = []
    this.#chars = 0
    const batch = new Batch(this.#statements)
    try {
      this.#append(() => batch.move(pending))
    } catch (error) {
      this.#failed(error, pending.filter((item) => typeof item !== 'number').length)
      return
    }
    this.#isFailing = false
    for (const [entry, seq] of batch.seqs) entry.seq = seq
    if (batch.bytes === 0) return
    try {
      this.onStored(batch.bytes)
    } catch (error) {
      this.#failed(error, 0)
    }
  }

  /** Writes the rest; later events are ignored. */
  close(): void {
    this.flush()
    this.#isClosed = true
  }

  /** A series of failures is reported once. */
  #failed(error: unknown, events: number): void {
    if (!this.#isFailing) process.emitWarning(`Events could not be written to the log: ${reasonOf(error)}`)
    this.#isFailing = true
    this.unwritten += events
  }

  #push(item: TraceEntry | number, chars: number): void {
    this.#pending.push(item)
    this.#schedule(chars)
  }

  #schedule(chars: number): void {
    this.#chars += chars
    if (this.#pending.length >= maxPending || this.#chars >= maxPendingChars) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), flushMs).unref()
  }
}

type QueuedRow = Record<string, SQLOutputValue>

/** One transaction of a `LogWriter`. */
class Batch {
  readonly #statements: Statements
  readonly #begun = new Map<number, QueuedRow>()
  readonly #ends = new Map<number, QueuedRow>()
  /** By position in the queue. */
  readonly #links = new Map<number, Link>()
  /** The events of activity rows. */
  readonly #events = new Map<number, number>()
  readonly seqs = new Map<TraceEntry, number>()
  bytes = 0

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Returns the rows to be added to the chain, in queue order. */
  move(pending: readonly (TraceEntry | number)[]): readonly Link[] {
    const { queue, clear, count } = this.#statements
    for (const row of queue.all()) {
      const id = Number(row['activity'])
      if (row['kind'] !== null) this.#begun.set(id, row)
      // The first end takes effect.
      else if (!this.#ends.has(id)) this.#ends.set(id, row)
    }
    if (this.#begun.size + this.#ends.size > 0) clear.run()
    for (const item of pending) {
      if (typeof item === 'number') this.#moveRow(item)
      else this.#addEvent(item)
    }
    for (const id of this.#begun.keys()) this.#moveRow(id)
    for (const [id, row] of this.#ends) this.#moveEnd(id, row)
    if (this.seqs.size > 0) count.run(this.seqs.size, this.bytes)
    return [...this.#links].sort(([one], [other]) => one - other).map(([, link]) => link)
  }

  #moveRow(id: number): void {
    const row = this.#begun.get(id)
    if (row === undefined) return
    this.#begun.delete(id)
    const at = String(row['at'])
    const kind = String(row['kind'])
    const server = textOf(row['server'])
    const summary = String(row['summary'])
    const detail = String(row['detail'])
    const cause = numberOf(row['cause'])
    const causedBy = cause === null ? null : this.#eventOf(cause)
    this.#statements.activity.run(id, at, kind, server, summary, cause, detail)
    this.#links.set(Number(row['seq']), {
      kind: 'row',
      id,
      fields: [at, kind, server, summary, cause, detail],
    })
    const end = this.#ends.get(id)
    const { lastInsertRowid } = this.#statements.trace.run(
      Date.parse(at),
      null,
      kind,
      server,
      null,
      null,
      methods[kind] ?? null,
      textOf(row['target']),
      null,
      id,
      causedBy,
      null,
      end === undefined ? 'running' : String(end['outcome']),
      end === undefined ? null : numberOf(end['duration_ms']),
      detail.length + String(end?.['detail'] ?? '').length,
      summary,
      null,
      null,
      null,
    )
    this.#events.set(id, Number(lastInsertRowid))
  }

  #moveEnd(id: number, row: QueuedRow): void {
    const outcome = String(row['outcome'])
    const durationMs = numberOf(row['duration_ms'])
    const detail = String(row['detail'])
    const { end, endEvent } = this.#statements
    // If another process ended it first, or it was pruned, this end has no effect.
    if (Number(end.run(id, outcome, durationMs, detail).changes) === 0) return
    this.#links.set(Number(row['seq']), { kind: 'end', id, fields: [outcome, durationMs, detail] })
    if (!this.#events.has(id)) endEvent.run(outcome, durationMs, detail.length, id)
  }

  #addEvent(entry: TraceEntry): void {
    const { at, tick, kind, server, connection, direction, method, tool, rpc, ...rest } = entry.row
    const { cause, reply, status, ms, bytes, summary, payload, sha256 } = rest
    const stored = Buffer.byteLength(payload) + rowBytes
    const { lastInsertRowid } = this.#statements.trace.run(
      at,
      tick,
      kind,
      server,
      connection,
      direction,
      method,
      tool,
      rpc,
      null,
      cause === null ? null : 'activity' in cause ? this.#eventOf(cause.activity) : this.#seqOf(cause),
      reply === null ? null : this.#seqOf(reply),
      status,
      ms,
      bytes,
      summary,
      payload,
      sha256,
      stored,
    )
    this.seqs.set(entry, Number(lastInsertRowid))
    this.bytes += stored
  }

  #seqOf(entry: TraceEntry): number | null {
    return this.seqs.get(entry) ?? entry.seq ?? null
  }

  #eventOf(activity: number): number | null {
    this.#moveRow(activity)
    return this.#events.get(activity) ?? numberOf(this.#statements.eventOf.get(activity)?.['seq'])
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** The method of an activity row's kind. */
const methods: Readonly<Record<string, string>> = {
  call: 'tools/call',
  read: 'resources/read',
  prompt: 'prompts/get',
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
}

type Statements = ReturnType<typeof statementsOf>

function statementsOf(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql)
  return {
    // The next id follows the last one in the queue or, if the queue is empty, in the log. SELECT instead of VALUES would create
    // a temporary table.
    queueRow: prepare(
      `INSERT INTO activity_queue (activity, at, kind, server, summary, cause, target, detail)
       VALUES (1 + coalesce((SELECT activity FROM activity_queue WHERE kind IS NOT NULL ORDER BY seq DESC LIMIT 1),
         (SELECT seq FROM sqlite_sequence WHERE name = 'activity'), 0), ?, ?, ?, ?, ?, ?, ?) RETURNING activity`,
    ),
    queueEnd: prepare(
      'INSERT INTO activity_queue (activity, outcome, duration_ms, detail) VALUES (?, ?, ?, ?)',
    ),
    isQueued: prepare('SELECT 1 FROM activity_queue LIMIT 1'),
    queue: prepare('SELECT * FROM activity_queue ORDER BY seq'),
    clear: prepare('DELETE FROM activity_queue'),
    activity: prepare(
      'INSERT INTO activity (id, at, kind, server, summary, cause, detail) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    end: prepare(
      `INSERT OR IGNORE INTO activity_end (activity, outcome, duration_ms, detail)
       SELECT id, ?2, ?3, ?4 FROM activity WHERE id = ?1`,
    ),
    trace: prepare(
      `INSERT INTO trace (at, tick, kind, server, connection, direction, method, tool, rpc, activity, cause, reply,
         status, ms, bytes, summary, payload, sha256, stored)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    endEvent: prepare('UPDATE trace SET status = ?, ms = ?, bytes = bytes + ? WHERE activity = ?'),
    eventOf: prepare('SELECT seq FROM trace WHERE activity = ?'),
    setCause: prepare('UPDATE trace SET cause = ? WHERE seq = ?'),
    count: prepare('UPDATE trace_store SET events = events + ?, bytes = bytes + ?'),
  } as const
}

/**
 * The queue of the activity log: starts have a kind, ends have none. Work that triggers did for each row is done for each batch,
 * and kinds and tools are found in the narrow index of all events.
 */
export const logQueueMigration: string = `
  CREATE TABLE activity_queue (
    seq INTEGER PRIMARY KEY,
    activity INTEGER NOT NULL,
    at TEXT,
    kind TEXT,
    server TEXT,
    summary TEXT,
    cause INTEGER,
    target TEXT,
    outcome TEXT,
    duration_ms REAL,
    detail TEXT NOT NULL
  ) STRICT;
  DROP INDEX trace_kind;
  DROP INDEX trace_tool;
  DROP TRIGGER trace_row;
  DROP TRIGGER trace_end;
  DROP TRIGGER trace_added;
`
