import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import type { TraceCounters } from '../../types/index.ts'
import type { LogWriter, NewTraceRow, TraceCause, TraceEntry } from './log-writer.ts'

export type TraceRow = Record<string, SQLOutputValue>

/** All events in one order. Activity rows are events without being added. */
export interface TraceTable {
  /** Undefined for a store in memory. */
  readonly file: string | undefined
  /** Unique to the store. */
  readonly salt: string
  /** Bytes of the whole store. */
  size(): number
  /** Whether events are no longer written. */
  readonly closed: boolean
  /** Writes pending events and stops writing. */
  close(): void
  add(row: NewTraceRow): TraceEntry
  /** Sets the cause of an event, if it becomes known after the event was added. */
  setCause(entry: TraceEntry, cause: TraceCause): void
  /** Removes events beyond the age and size limits, as also happens after additions. */
  trim(): void
  /** The event of an activity row. */
  eventOf(activity: number): number | null
  counts(): TraceCounters
  /** Writes added events, so that other connections see them. */
  flush(): void
  /** Rows of `trace t`, by generated SQL. */
  all(sql: string, values?: readonly SQLInputValue[]): TraceRow[]
}

export interface TraceBounds {
  /** Bytes of all payloads besides the activity log. */
  bytes: number
  ageMs: number
}

export const traceBounds: TraceBounds = { bytes: 209_715_200, ageMs: 30 * 86_400_000 }
/** The limit of a host without a file. */
export const memoryTraceBounds: TraceBounds = { bytes: 8_388_608, ageMs: traceBounds.ageMs }

/** The share of the limit to which events are removed, so that not every addition removes some. */
const trimmedShare = 0.98
/** Events removed in one batch, since calls wait meanwhile. */
const maxDroppedAtOnce = 1_000

export function createTraceTable(
  database: DatabaseSync,
  writer: LogWriter,
  bounds: TraceBounds = traceBounds,
  now: () => number = Date.now,
): TraceTable {
  const store = database.prepare('SELECT * FROM trace_store')
  const pages = database.prepare(
    'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
  )
  const oldest = database.prepare('SELECT seq, at, stored FROM trace WHERE activity IS NULL ORDER BY seq')
  const drop = database.prepare('DELETE FROM trace WHERE activity IS NULL AND seq <= ?')
  let bytesSincePruned = Number.POSITIVE_INFINITY
  let closed = false

  function prune(): void {
    let dropped = 0
    const excessBytes = Number(store.get()?.['bytes']) - bounds.bytes
    let excess = excessBytes <= 0 ? 0 : excessBytes + bounds.bytes * (1 - trimmedShare)
    const tooOld = now() - bounds.ageMs
    let last = 0
    for (const row of oldest.iterate()) {
      if (dropped === maxDroppedAtOnce || (excess <= 0 && Number(row['at']) >= tooOld)) break
      dropped += 1
      last = Number(row['seq'])
      excess -= Number(row['stored'])
    }
    if (last > 0) drop.run(last)
    // The next batch continues with the rest.
    bytesSincePruned = dropped === maxDroppedAtOnce ? Number.POSITIVE_INFINITY : 0
  }

  writer.onStored = (bytes) => {
    bytesSincePruned += bytes
    if (bytesSincePruned > bounds.bytes / 50) prune()
  }
  return {
    file: database.location() ?? undefined,
    salt: String(store.get()?.['salt']),
    size: () => Number(pages.get()?.['bytes']),
    get closed() {
      return closed
    },
    close() {
      writer.close()
      closed = true
    },
    add: (row) => writer.add(row),
    trim() {
      writer.flush()
      do prune()
      while (bytesSincePruned > 0)
    },
    setCause: (entry, cause) => writer.setCause(entry, cause),
    eventOf: (activity) => writer.eventOf(activity),
    counts() {
      writer.flush()
      const { events, bytes, dropped, dropped_bytes: droppedBytes } = store.get() ?? {}
      return {
        events: Number(events),
        bytes: Number(bytes),
        dropped: Number(dropped),
        droppedBytes: Number(droppedBytes),
        unwritten: writer.unwritten,
      }
    },
    flush: () => writer.flush(),
    all(sql, values = []) {
      writer.flush()
      return database.prepare(sql).all(...values)
    },
  }
}

const methodOfKind = (kind: string): string => `CASE ${kind}
  WHEN 'call' THEN 'tools/call' WHEN 'read' THEN 'resources/read' WHEN 'prompt' THEN 'prompts/get'
  WHEN 'elicitation' THEN 'elicitation/create' WHEN 'sampling' THEN 'sampling/createMessage'
  WHEN 'roots' THEN 'roots/list' END`
const target = (detail: string): string =>
  `coalesce(json_extract(${detail}, '$.tool'), json_extract(${detail}, '$.prompt'), json_extract(${detail}, '$.uri'))`

export const traceMigration: string = `
  CREATE TABLE trace (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    tick REAL,
    kind TEXT NOT NULL,
    server TEXT,
    connection TEXT,
    direction TEXT,
    method TEXT,
    tool TEXT,
    rpc TEXT,
    activity INTEGER,
    cause INTEGER,
    reply INTEGER,
    status TEXT,
    ms REAL,
    bytes INTEGER NOT NULL,
    summary TEXT NOT NULL,
    payload TEXT,
    sha256 TEXT,
    stored INTEGER
  ) STRICT;
  CREATE TABLE trace_store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    salt TEXT NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    dropped_bytes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO trace_store VALUES (1, hex(randomblob(16)), 0, 0, 0, 0);
  INSERT INTO trace (at, kind, server, method, tool, activity, status, ms, bytes, summary)
    SELECT unixepoch(a.at, 'subsec') * 1000, a.kind, a.server, ${methodOfKind('a.kind')}, ${target('a.detail')},
      a.id, coalesce(e.outcome, 'running'), e.duration_ms, length(a.detail) + length(coalesce(e.detail, '')), a.summary
    FROM activity a LEFT JOIN activity_end e ON e.activity = a.id ORDER BY a.id;
  CREATE UNIQUE INDEX trace_activity ON trace (activity) WHERE activity IS NOT NULL;
  UPDATE trace SET cause = (
    SELECT t.seq FROM activity a JOIN trace t ON t.activity = a.cause WHERE a.id = trace.activity
  );
  CREATE INDEX trace_kind ON trace (kind, seq);
  CREATE INDEX trace_tool ON trace (tool, seq) WHERE tool IS NOT NULL;
  CREATE INDEX trace_status ON trace (status, seq) WHERE status <> 'ok';
  CREATE INDEX trace_cause ON trace (cause) WHERE cause IS NOT NULL;
  CREATE INDEX trace_reply ON trace (reply) WHERE reply IS NOT NULL;
  CREATE TRIGGER trace_row AFTER INSERT ON activity BEGIN
    INSERT INTO trace (at, kind, server, method, tool, activity, cause, status, bytes, summary) VALUES (
      unixepoch(NEW.at, 'subsec') * 1000, NEW.kind, NEW.server, ${methodOfKind('NEW.kind')}, ${target('NEW.detail')},
      NEW.id, (SELECT seq FROM trace WHERE activity = NEW.cause), 'running', length(NEW.detail), NEW.summary
    );
  END;
  CREATE TRIGGER trace_end AFTER INSERT ON activity_end BEGIN
    UPDATE trace SET status = NEW.outcome, ms = NEW.duration_ms, bytes = bytes + length(NEW.detail)
    WHERE activity = NEW.activity;
  END;
  CREATE TRIGGER trace_added AFTER INSERT ON trace WHEN NEW.activity IS NULL BEGIN
    UPDATE trace_store SET events = events + 1, bytes = bytes + NEW.stored;
  END;
  CREATE TRIGGER trace_dropped AFTER DELETE ON trace WHEN OLD.activity IS NULL BEGIN
    UPDATE trace_store SET events = events - 1, bytes = bytes - OLD.stored, dropped = dropped + 1,
      dropped_bytes = dropped_bytes + OLD.stored;
  END;
  CREATE TRIGGER trace_gone AFTER DELETE ON activity BEGIN DELETE FROM trace WHERE activity = OLD.id; END;
`

/** The narrow columns of all events in order, to search without reading payloads. */
export const traceFactsMigration: string = `
  CREATE INDEX trace_facts ON trace (seq, at, kind, server, connection, direction, method, tool, status, ms, bytes);
`
