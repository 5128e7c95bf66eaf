import { createHash } from 'node:crypto'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { isRecord, type JsonRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { Activity, ActivityVerification, Host } from '../../types/index.ts'
import {
  atomically,
  type Chain,
  type ChainField,
  checkChain,
  createChain,
  headOf,
  type Link,
} from './chain.ts'
import type { LogWriter } from './log-writer.ts'
import type { RowStarted } from './row-journal.ts'
import { cannotRecord } from './store-error.ts'

/** The data of a row at its start. */
type ActivityStart = Pick<Activity, 'kind' | 'server' | 'summary' | 'cause' | 'detail'>

/** The data of a row at its end; `detail` is merged with the detail at the start. */
interface ActivityEnd {
  outcome: string
  durationMs: number | null
  detail: JsonRecord
}

/** The append-only log. A row without an end, because its program died, stays `running`. */
export interface ActivityLog {
  /** Writes the start of a row and returns its id. */
  begin(start: ActivityStart): number
  /** Like `begin`, in one write with the other rows of this turn. */
  beginSoon(start: ActivityStart): Promise<number>
  /** Writes the end of a row and returns a function that reads the whole row. */
  end(id: number, end: ActivityEnd): () => Activity
  /** Like `end`, in one write with the other rows of this turn. */
  endSoon(id: number, end: ActivityEnd): Promise<() => Activity>
  /** Oldest first. */
  list: Host['activity']
  /** Every row of a kind since a time (ISO 8601), oldest first, as an iterator. */
  since(kind: Activity['kind'], time: string): Iterable<Activity>
  /** Verifies the hash chain. */
  verify(head?: string): ActivityVerification
  /** Deletes rows before this time (ISO 8601) and returns their number. */
  prune(before: string): number
}

const columns = `a.id, a.at, a.kind, a.server, a.summary, a.cause, a.detail,
  e.outcome, e.duration_ms, e.detail AS end_detail
  FROM activity a LEFT JOIN activity_end e ON e.activity = a.id`

export function createActivityLog(database: DatabaseSync, writer: LogWriter): ActivityLog {
  const chain = createChain(database)
  const selectRow = database.prepare(`SELECT ${columns} WHERE a.id = ?`)
  /** Rows that began in this program and did not end. */
  const open = new Map<number, RowStarted>()
  chainUnlinkedRows(database, chain)
  const read = (id: number): Activity => {
    writer.flush()
    const row = selectRow.get(id)
    if (row === undefined) throw new Error(`There is no activity ${id}.`)
    return toActivity(row)
  }
  const addStart = ({ kind, server, summary, cause, detail }: ActivityStart): RowStarted => {
    const row = {
      id: writer.newId(),
      at: new Date().toISOString(),
      kind,
      server,
      summary,
      cause,
      target: targetOf(detail),
      detail: detailText(detail),
    }
    writer.addRow(row)
    return row
  }
  const addEnd = (id: number, { outcome, durationMs, detail: given }: ActivityEnd): (() => Activity) => {
    const start = open.get(id)
    if (start === undefined && read(id).outcome !== 'running') throw new Error(`Activity ${id} is over.`)
    const detail = detailText(given)
    writer.addRow({ id, outcome, durationMs, detail })
    if (start === undefined) return () => read(id)
    const { at, kind, server, summary, cause } = start
    return () => ({
      id,
      at,
      kind,
      server,
      summary,
      outcome,
      durationMs,
      cause,
      detail: mergeDetails(members(start.detail), members(detail)),
    })
  }
  return {
    begin(start) {
      const row = addStart(start)
      writer.write()
      open.set(row.id, row)
      return row.id
    },
    async beginSoon(start) {
      const row = addStart(start)
      await writer.written()
      open.set(row.id, row)
      return row.id
    },
    end(id, end) {
      const reader = addEnd(id, end)
      writer.write()
      open.delete(id)
      return reader
    },
    async endSoon(id, end) {
      const reader = addEnd(id, end)
      await writer.written()
      open.delete(id)
      return reader
    },
    *since(kind, time) {
      writer.flush()
      const rows = database.prepare(`SELECT ${columns} WHERE a.kind = ? AND a.at >= ? ORDER BY a.id`)
      for (const row of rows.iterate(kind, time)) yield toActivity(row)
    },
    verify(head) {
      writer.flush()
      return checkChain(database, head)
    },
    prune(before) {
      writer.flush()
      return pruneChain(database, chain, before)
    },
    list(filter = {}) {
      writer.flush()
      const conditions: string[] = []
      const values: SQLInputValue[] = []
      if (filter.id !== undefined) {
        conditions.push('a.id = ?')
        values.push(filter.id)
      }
      if (filter.server !== undefined) {
        conditions.push('a.server = ?')
        values.push(filter.server)
      }
      if (filter.kind !== undefined) {
        conditions.push('a.kind = ?')
        values.push(filter.kind)
      }
      const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
      const newest = database
        .prepare(`SELECT ${columns}${where} ORDER BY a.id DESC LIMIT ?`)
        .all(...values, Math.max(0, Math.trunc(filter.limit ?? 1000)))
      return newest.reverse().map(toActivity)
    },
  }
}

function toActivity(row: Record<string, unknown>): Activity {
  const kind = activityKinds.find((known) => known === row['kind'])
  if (kind === undefined)
    throw new Error(`The store holds an activity of unknown kind ${String(row['kind'])}.`)
  return {
    id: Number(row['id']),
    at: String(row['at']),
    kind,
    server: typeof row['server'] === 'string' ? row['server'] : null,
    summary: String(row['summary']),
    outcome: typeof row['outcome'] === 'string' ? row['outcome'] : 'running',
    durationMs: typeof row['duration_ms'] === 'number' ? row['duration_ms'] : null,
    cause: typeof row['cause'] === 'number' ? row['cause'] : null,
    detail: mergeDetails(members(row['detail']), members(row['end_detail'])),
  }
}

/** The start's and the end's data; both may have been cut. */
function mergeDetails(begin: JsonRecord, end: JsonRecord): JsonRecord {
  const [first, second] = [begin['cut'], end['cut']]
  const bothCut = isRecord(first) && isRecord(second)
  return { ...begin, ...end, ...(bothCut && { cut: { ...first, ...second } }) }
}

/** Adds rows written before the chain existed to the chain. */
function chainUnlinkedRows(database: DatabaseSync, chain: Chain): void {
  if (headOf(database).position > 0) return
  const rows = database.prepare('SELECT * FROM activity ORDER BY id')
  const end = database.prepare('SELECT * FROM activity_end WHERE activity = ?')
  const field = (value: unknown): ChainField =>
    typeof value === 'string' || typeof value === 'number' ? value : null
  chain.append(() => {
    if (headOf(database).position > 0) return []
    return rows.all().flatMap((row): Link[] => {
      const id = Number(row['id'])
      const fields = ['at', 'kind', 'server', 'summary', 'cause', 'detail'].map((name) => field(row[name]))
      const ended = end.get(id)
      if (ended === undefined) return [{ kind: 'row', id, fields }]
      const endFields = ['outcome', 'duration_ms', 'detail'].map((name) => field(ended[name]))
      return [
        { kind: 'row', id, fields },
        { kind: 'end', id, fields: endFields },
      ]
    })
  })
}

function targetOf({ tool, prompt, uri }: JsonRecord): string | null {
  const target = tool ?? prompt ?? uri
  return typeof target === 'string' ? target.slice(0, maxTextCharacters) : null
}

/** Parses a JSON object; any other text has no members. */
export function members(text: unknown): JsonRecord {
  const value: unknown = typeof text === 'string' ? readJson(text) : undefined
  return isRecord(value) ? value : {}
}

/** Every kind of row in the activity log. */
export const activityKinds: readonly Activity['kind'][] = [
  'connection',
  'call',
  'read',
  'prompt',
  'approval',
  'elicitation',
  'sampling',
  'roots',
  'model',
  'change',
  'result',
  'install',
  'start',
  'input',
  'drift',
  'login',
  'app',
  'code',
  'conversation',
]

/** Maximum characters of a row's JSON. */
const maxDetailCharacters = 262_144
const maxTextCharacters = 2_000
const maxItems = 100

/**
 * The detail of a row as JSON text. Parts that are too long are cut and marked; `cut` then has the length and the SHA-256 of each
 * such member's whole JSON.
 */
function detailText(detail: JsonRecord): string {
  const whole = JSON.stringify(detail)
  if (whole.length <= maxDetailCharacters) return whole
  const memberTexts = Object.entries(detail).flatMap(([name, value]) => {
    const text = JSON.stringify(value)
    return text === undefined ? [] : [{ name, value, text, kept: JSON.stringify(shorten(value, 0)) }]
  })
  const cut = Object.fromEntries(
    memberTexts
      .filter(({ text, kept }) => text !== kept)
      .map(({ name, text }) => [
        name,
        { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') },
      ]),
  )
  const shortened = shorten(detail, 0)
  const short = JSON.stringify({ ...(isRecord(shortened) && shortened), cut })
  return short.length <= maxDetailCharacters ? short : JSON.stringify({ cut })
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === 'string' && value.length > maxTextCharacters) {
    return `${value.slice(0, maxTextCharacters)}… [${value.length - maxTextCharacters} more characters]`
  }
  if (depth > 16 && typeof value === 'object' && value !== null) return '… [nested deeper]'
  if (Array.isArray(value)) {
    const shortened = value.slice(0, maxItems).map((item) => shorten(item, depth + 1))
    return value.length > maxItems ? [...shortened, `… [${value.length - maxItems} more items]`] : shortened
  }
  if (!isRecord(value)) return value
  const entries = Object.entries(value)
  const shortMembers = entries
    .slice(0, maxItems)
    .map(([name, member]) => [name, shorten(member, depth + 1)] as const)
  if (entries.length > maxItems) shortMembers.push(['…', `[${entries.length - maxItems} more members]`])
  return Object.fromEntries(shortMembers)
}

/**
 * Deletes every link before the first row at or after `before`, with its contents, and adds a link with the hash from which the
 * chain continues. Returns the number of deleted rows.
 * @throws McpError 'INVALID' if `before` is not a time
 */
function pruneChain(database: DatabaseSync, chain: Chain, before: string): number {
  const time = Date.parse(before)
  if (Number.isNaN(time)) {
    throw new McpError(
      'INVALID',
      `${JSON.stringify(before)} is no time. Write it as 2027-01-31 or 2027-01-31T12:00:00Z.`,
    )
  }
  const firstKept = new Date(time).toISOString()
  return atomically(database, () => {
    // Writes first, so that no other program appends meanwhile.
    database.exec('UPDATE activity_head SET pruned = pruned')
    const oldestKept = database
      .prepare(
        `SELECT min(c.position) AS position FROM activity_chain c JOIN activity r ON r.id = c.activity
         WHERE c.kind = 'row' AND r.at >= ?`,
      )
      .get(firstKept)?.['position']
    const last = database
      .prepare('SELECT position, hash FROM activity_chain WHERE position < ? ORDER BY position DESC LIMIT 1')
      .get(typeof oldestKept === 'number' ? oldestKept : Number.MAX_SAFE_INTEGER)
    if (last === undefined) return 0
    const position = Number(last['position'])
    const hash = String(last['hash'])
    const removedIds = `IN (SELECT activity FROM activity_chain WHERE position <= ${position} AND kind =`
    const rows = Number(
      database
        .prepare(`SELECT count(*) AS n FROM activity_chain WHERE position <= ? AND kind = 'row'`)
        .get(position)?.['n'],
    )
    if (rows === 0) return 0
    database.prepare('UPDATE activity_head SET pruned = ?').run(position)
    database.exec(`
      DELETE FROM activity WHERE id ${removedIds} 'row');
      DELETE FROM activity_end WHERE activity ${removedIds} 'end');
      DELETE FROM activity_prune WHERE id ${removedIds} 'prune');
      DELETE FROM activity_chain WHERE position <= ${position}`)
    chain.append(() => {
      const at = new Date().toISOString()
      const note = database
        .prepare(
          'INSERT INTO activity_prune (position, hash, at, before, rows) VALUES (?, ?, ?, ?, ?) RETURNING id',
        )
        .get(position, hash, at, firstKept, rows)
      return [{ kind: 'prune', id: Number(note?.['id']), fields: [position, hash, at, firstKept, rows] }]
    })
    return rows
  })
}

export type RowStart = Omit<ActivityStart, 'cause' | 'detail'> & {
  cause?: number | null
  detail?: JsonRecord
}

/** A row in progress. */
export interface OpenRow {
  readonly id: number
  /** Ends the row; only the first call takes effect. */
  close(outcome: string, detail?: JsonRecord): void
  /** Like `close`, in one write with the other rows of this turn. */
  closeSoon(outcome: string, detail?: JsonRecord): Promise<void>
}

/** Writes the activity log and emits an event for every finished row. */
export interface Recorder {
  /** Throws a StoreError if the row cannot be written, so that nothing happens without a log entry. */
  open(start: RowStart): OpenRow
  /** Like `open`, in one write with the other rows of this turn. */
  openSoon(start: RowStart): Promise<OpenRow>
  /** Writes a row that is complete. */
  note(start: RowStart, outcome: string, durationMs?: number | null): number
}

export function createRecorder(
  log: ActivityLog,
  listener: {
    started: (id: number) => void
    row: (read: () => Activity) => void
    failed: (error: unknown) => void
  },
): Recorder {
  /** A series of failures is reported once. */
  let isFailing = false
  const completeStart = ({ kind, server, summary, cause = null, detail = {} }: RowStart): ActivityStart => ({
    kind,
    server,
    summary: oneLine(summary),
    cause,
    detail,
  })
  const begin = (start: RowStart): number => {
    const row = completeStart(start)
    try {
      return log.begin(row)
    } catch (error) {
      throw cannotRecord(row.summary, error)
    }
  }
  const ended = (read: () => Activity): void => {
    listener.row(read)
    isFailing = false
  }
  /** The work is done; its result must not be lost because the disk is full. */
  const endFailed = (error: unknown): void => {
    if (!isFailing) listener.failed(error)
    isFailing = true
  }
  const createOpenRow = (id: number): OpenRow => {
    listener.started(id)
    const since = performance.now()
    let isClosed = false
    const endOf = (outcome: string, detail: JsonRecord): ActivityEnd => {
      isClosed = true
      return { outcome, durationMs: Math.round(performance.now() - since), detail }
    }
    return {
      id,
      close(outcome, detail = {}) {
        if (isClosed) return
        try {
          ended(log.end(id, endOf(outcome, detail)))
        } catch (error) {
          endFailed(error)
        }
      },
      async closeSoon(outcome, detail = {}) {
        if (isClosed) return
        try {
          ended(await log.endSoon(id, endOf(outcome, detail)))
        } catch (error) {
          endFailed(error)
        }
      },
    }
  }
  return {
    open: (start) => createOpenRow(begin(start)),
    async openSoon(start) {
      const row = completeStart(start)
      let id: number
      try {
        id = await log.beginSoon(row)
      } catch (error) {
        throw cannotRecord(row.summary, error)
      }
      return createOpenRow(id)
    },
    note(start, outcome, durationMs = null) {
      const id = begin(start)
      listener.row(log.end(id, { outcome, durationMs, detail: {} }))
      return id
    },
  }
}
