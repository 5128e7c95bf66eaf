import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { inTransaction } from '@jackfield/sdk/internal'
import { reasonOf } from '../../shared/text.ts'
import { type Chain, createChain, createInsert, type Link } from './chain.ts'
import { type RowEnded, RowJournal, type RowStarted } from './row-journal.ts'

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

/** An activity row's start or end, or another event. */
type Pending = RowStarted | RowEnded | TraceEntry

/** Milliseconds for which rows stay in the journal, and events in memory. */
const flushMs = 200
/** Number of rows and events that trigger a write. */
const maxPending = 512
/** Total characters of rows and events that trigger a write. */
const maxPendingChars = 1_048_576
/** Estimated bytes of a stored event in addition to its payload. */
const rowBytes = 256
/** Ids of rows that are reserved in one transaction. */
const maxReserved = 256

/**
 * Writes the activity log and the events of the trace. Rows are first appended to a journal beside the store: by `write`, or together
 * at the end of a turn. Every 200 ms, and before a read, one transaction moves them into the log with its hash chain, together with
 * the events. Before a read, the journals of other programs are moved too, including those of killed ones. So a killed process loses
 * no row, and at most the events of 200 ms.
 */
export class LogWriter {
  readonly #statements: Statements
  readonly #append: Chain['append']
  /** Undefined for a store in memory. */
  readonly #journal: RowJournal | undefined
  /** Rows that are not in the journal yet. */
  #unwritten: { rows: (RowStarted | RowEnded)[]; done: PromiseWithResolvers<void> } | undefined
  /** In order. */
  #pending: Pending[] = []
  #chars = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** The next id of a row, and the last one that is reserved for this program. */
  #nextId = 1
  #lastReservedId = 0
  /** Ids that were needed between the last two transactions, and since then. */
  #neededBefore = 0
  #neededSince = 0
  /** Called with the size of the stored events in bytes. */
  onStored: (bytes: number) => void = () => {}
  /** Events that were lost because the store could not be written. Rows then stay in the journal. */
  unwritten = 0
  #isFailing = false

  constructor(database: DatabaseSync) {
    this.#statements = statementsOf(database)
    this.#append = createChain(database).append
    const file = database.location()
    this.#journal = file === null ? undefined : new RowJournal(file)
    moveQueue(database, (rows) => this.#append(() => new Batch(this.#statements).move(rows)))
    this.flush()
  }

  /** The id of the next row. */
  newId(): number {
    if (this.#nextId > this.#lastReservedId) this.#reserve()
    this.#nextId += 1
    this.#neededSince += 1
    return this.#nextId - 1
  }

  /** Adds the start or the end of a row. It is recorded once it is written. */
  addRow(row: RowStarted | RowEnded): void {
    if (this.#unwritten === undefined) {
      const done = Promise.withResolvers<void>()
      // `write` and `written` report the error.
      done.promise.catch(() => {})
      this.#unwritten = { rows: [], done }
      process.nextTick(() => this.#writeAll())
    }
    this.#unwritten.rows.push(row)
  }

  /** Writes the added rows now. Throws the system's error if they could not be written; none of them is recorded then. */
  write(): void {
    const added = this.#unwritten
    if (added === undefined) return
    this.#unwritten = undefined
    try {
      this.#journal?.add(added.rows)
    } catch (error) {
      added.done.reject(error)
      throw error
    }
    for (const row of added.rows) this.#push(row, row.detail.length)
    added.done.resolve()
  }

  /** Resolves when the rows added in this turn are written, with one write for all of them. Rejects as `write` throws. */
  written(): Promise<void> {
    return this.#unwritten?.done.promise ?? Promise.resolve()
  }

  #writeAll(): void {
    try {
      this.write()
    } catch {
      // Reported by `written`.
    }
  }

  /** Adds an event. */
  add(row: NewTraceRow): TraceEntry {
    const entry: TraceEntry = { row }
    this.#push(entry, row.payload.length)
    return entry
  }

  /** Sets the cause of an event, if it becomes known after the event was added. */
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

  /** Moves the rows of all programs, and the events, to the log. */
  flush(): void {
    this.#writeAll()
    const others = this.#journal?.others()
    this.#move(others?.rows ?? [])
    if (!this.#isFailing) others?.done()
  }

  #move(others: readonly Pending[]): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const pending = this.#pending
    if (pending.length + others.length === 0) return
    this.#pending = []
    this.#chars = 0
    this.#neededBefore = this.#neededSince
    this.#neededSince = 0
    const batch = new Batch(this.#statements)
    try {
      this.#append(() => {
        const links = batch.move([...others, ...pending])
        this.#statements.release.run(this.#nextId - 1, this.#lastReservedId)
        return links
      })
    } catch (error) {
      const rows = pending.filter((item) => !('row' in item))
      this.#pending = rows
      this.#failed(error, pending.length - rows.length)
      return
    }
    this.#isFailing = false
    this.#journal?.clear()
    this.#lastReservedId = this.#nextId - 1
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

  /**
   * Reserves ids: as many as were needed before the last transaction, or since then. The next transaction returns the rest, so
   * that ids are in order of time.
   */
  #reserve(): void {
    const count = Math.min(
      1 + Math.max(this.#neededBefore - this.#neededSince, this.#neededSince),
      maxReserved,
    )
    const [row] = this.#statements.reserve.all(count)
    this.#lastReservedId = Number(row?.['seq'])
    this.#nextId = this.#lastReservedId - count + 1
  }

  #push(item: Pending, chars: number): void {
    if (this.#isClosed) return
    this.#pending.push(item)
    this.#chars += chars
    const isFull = this.#pending.length >= maxPending || this.#chars >= maxPendingChars
    if (isFull && !this.#isFailing) this.#move([])
    else this.#timer ??= setTimeout(() => this.#move([]), flushMs).unref()
  }
}

/** One transaction of a `LogWriter`. */
class Batch {
  readonly #statements: Statements
  readonly #ends = new Map<number, RowEnded>()
  readonly #links: Link[] = []
  /** The events of the rows that this transaction begins. */
  readonly #begun = new Map<number, number>()
  /** Values to insert, row by row. */
  readonly #rows: SQLInputValue[] = []
  readonly #rowEnds: SQLInputValue[] = []
  readonly #events: SQLInputValue[] = []
  #seq = 0
  readonly seqs = new Map<TraceEntry, number>()
  bytes = 0

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Returns the rows to be added to the chain. */
  move(pending: readonly Pending[]): readonly Link[] {
    const { moved, last, addRows, addEnds, addEvents, count } = this.#statements
    const starts: number[] = []
    for (const item of pending) {
      if ('row' in item) continue
      if (!('outcome' in item)) starts.push(item.id)
      // The first end takes effect.
      else if (!this.#ends.has(item.id)) this.#ends.set(item.id, item)
    }
    // Another program may have moved some already.
    const known = new Set(moved.all(JSON.stringify(starts)).map((row) => row['id']))
    this.#seq = Number(last.get()?.['seq'] ?? 0)
    for (const item of pending) {
      if ('row' in item) this.#addEvent(item)
      else if ('outcome' in item) this.#moveEnd(item)
      else if (!known.has(item.id) && !this.#begun.has(item.id)) this.#moveStart(item)
    }
    addRows(this.#rows)
    addEnds(this.#rowEnds)
    addEvents(this.#events)
    if (this.seqs.size > 0) count.run(this.seqs.size, this.bytes)
    return this.#links
  }

  #moveStart({ id, at, kind, server, summary, cause, target, detail }: RowStarted): void {
    const fields = [at, kind, server, summary, cause, detail] as const
    this.#rows.push(id, ...fields)
    this.#links.push({ kind: 'row', id, fields })
    const end = this.#ends.get(id)
    this.#seq += 1
    this.#events.push(
      this.#seq,
      Date.parse(at),
      null,
      kind,
      server,
      null,
      null,
      methods[kind] ?? null,
      target,
      null,
      id,
      cause === null ? null : this.#eventOf(cause),
      null,
      end?.outcome ?? 'running',
      end?.durationMs ?? null,
      detail.length + (end?.detail.length ?? 0),
      summary,
      null,
      null,
      null,
    )
    this.#begun.set(id, this.#seq)
  }

  #moveEnd(item: RowEnded): void {
    const { id, outcome, durationMs, detail } = item
    if (this.#begun.has(id)) {
      if (this.#ends.get(id) !== item) return
      this.#rowEnds.push(id, outcome, durationMs, detail)
    } else {
      const { end, endEvent } = this.#statements
      // If another program moved it, or the row was pruned, this end has no effect.
      if (Number(end.run(id, outcome, durationMs, detail).changes) === 0) return
      endEvent.run(outcome, durationMs, detail.length, id)
    }
    this.#links.push({ kind: 'end', id, fields: [outcome, durationMs, detail] })
  }

  #addEvent(entry: TraceEntry): void {
    const { at, tick, kind, server, connection, direction, method, tool, rpc } = entry.row
    const { cause, reply, status, ms, bytes, summary, payload, sha256 } = entry.row
    const stored = Buffer.byteLength(payload) + rowBytes
    this.#seq += 1
    this.#events.push(
      this.#seq,
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
    this.seqs.set(entry, this.#seq)
    this.bytes += stored
  }

  #seqOf(entry: TraceEntry): number | null {
    return this.seqs.get(entry) ?? entry.seq ?? null
  }

  #eventOf(activity: number): number | null {
    return this.#begun.get(activity) ?? numberOf(this.#statements.eventOf.get(activity)?.['seq'])
  }
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
    reserve: prepare("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'activity' RETURNING seq"),
    release: prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'activity' AND seq = ?"),
    moved: prepare('SELECT id FROM activity WHERE id IN (SELECT value FROM json_each(?))'),
    last: prepare('SELECT max(seq) AS seq FROM trace'),
    addRows: createInsert(database, 'activity', 'id, at, kind, server, summary, cause, detail'),
    addEnds: createInsert(database, 'activity_end', 'activity, outcome, duration_ms, detail'),
    end: prepare(
      `INSERT OR IGNORE INTO activity_end (activity, outcome, duration_ms, detail)
       SELECT id, ?2, ?3, ?4 FROM activity WHERE id = ?1`,
    ),
    addEvents: createInsert(
      database,
      'trace',
      `seq, at, tick, kind, server, connection, direction, method, tool, rpc, activity,
       cause, reply, status, ms, bytes, summary, payload, sha256, stored`,
    ),
    endEvent: prepare('UPDATE trace SET status = ?, ms = ?, bytes = bytes + ? WHERE activity = ?'),
    eventOf: prepare('SELECT seq FROM trace WHERE activity = ?'),
    setCause: prepare('UPDATE trace SET cause = ? WHERE seq = ?'),
    count: prepare('UPDATE trace_store SET events = events + ?, bytes = bytes + ?'),
  } as const
}

/**
 * The queue that earlier versions had in place of the journal. Work that triggers did for each row is done for each batch, and
 * kinds and tools are found in the narrow index of all events.
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

/** Ids of rows are reserved in the sequence of their table. */
export const rowIdsMigration: string = `
  INSERT INTO sqlite_sequence (name, seq) SELECT 'activity', 0
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'activity');
`

/** Moves the rows that a killed program of an earlier version left in the queue, and removes the queue. */
function moveQueue(database: DatabaseSync, move: (rows: (RowStarted | RowEnded)[]) => void): void {
  const isThere = (): boolean =>
    database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'activity_queue'").get() !== undefined
  if (!isThere()) return
  inTransaction(database, () => {
    // Another program may have moved them in the meantime.
    if (!isThere()) return
    const queue = database.prepare(
      `SELECT json_object('id', activity, 'at', at, 'kind', kind, 'server', server, 'summary', summary, 'cause', cause,
         'target', target, 'detail', detail) AS start, json_object('id', activity, 'outcome', outcome,
         'durationMs', duration_ms, 'detail', detail) AS "end", kind IS NULL AS ended FROM activity_queue ORDER BY seq`,
    )
    move(queue.all().map(({ start, end, ended }) => JSON.parse(String(ended === 1 ? end : start))))
    database.exec('DROP TABLE activity_queue')
  })
}
