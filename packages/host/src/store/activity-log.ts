import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { JsonRecord } from '../json.ts'
import { isRecord } from '../json.ts'
import type { Activity, ActivityVerification } from '../types/index.ts'
import { activityKinds } from './activity-kinds.ts'
import { detailText } from './bounded.ts'
import { atomically, type Chain, type ChainField, createChain } from './chain.ts'
import { checkChain, headOf } from './chain-check.ts'
import { pruneChain } from './prune.ts'

/** What is known of a row when the thing it tells of begins. */
export type ActivityStart = Pick<Activity, 'kind' | 'server' | 'summary' | 'cause' | 'detail'>

/** What is known when it is over; `detail` adds to what was there. */
export interface ActivityEnd {
  outcome: string
  durationMs: number | null
  detail: JsonRecord
}

export interface ActivityFilter {
  id?: number
  server?: string
  kind?: Activity['kind']
  /** The newest so many. Default 1 000. */
  limit?: number
}

/** The append-only log. A row whose thing never ended, because the program died, stays `running`. */
export interface ActivityLog {
  begin(start: ActivityStart): number
  end(id: number, end: ActivityEnd): Activity
  /** Oldest first. */
  list(filter?: ActivityFilter): Activity[]
  /** Every row of a kind since a time (ISO 8601), oldest first, one after another. */
  since(kind: Activity['kind'], time: string): Iterable<Activity>
  /** Whether everything is as it was written. */
  verify(head?: string): ActivityVerification
  /** Takes rows before this time (ISO 8601) away; gives their count. */
  prune(before: string): number
}

const columns = `a.id, a.at, a.kind, a.server, a.summary, a.cause, a.detail,
  e.outcome, e.duration_ms, e.detail AS end_detail
  FROM activity a LEFT JOIN activity_end e ON e.activity = a.id`

export function createActivityLog(database: DatabaseSync): ActivityLog {
  const chain = createChain(database)
  const insert = database.prepare(
    'INSERT INTO activity (at, kind, server, summary, cause, detail) VALUES (?, ?, ?, ?, ?, ?) RETURNING id',
  )
  const finish = database.prepare(
    'INSERT INTO activity_end (activity, outcome, duration_ms, detail) VALUES (?, ?, ?, ?)',
  )
  const one = database.prepare(`SELECT ${columns} WHERE a.id = ?`)
  adopt(database, chain)
  return {
    begin: ({ kind, server, summary, cause, detail }) =>
      chain.append('row', () => {
        const fields = [new Date().toISOString(), kind, server, summary, cause, detailText(detail)] as const
        return { id: Number(insert.get(...fields)?.['id']), fields }
      }),
    end(id, { outcome, durationMs, detail }) {
      chain.append('end', () => {
        if (one.get(id) === undefined) throw new Error(`There is no activity ${id}.`)
        const fields = [outcome, durationMs, detailText(detail)] as const
        finish.run(id, ...fields)
        return { id, fields }
      })
      const row = one.get(id)
      if (row === undefined) throw new Error(`There is no activity ${id}.`)
      return toActivity(row)
    },
    *since(kind, time) {
      const rows = database.prepare(`SELECT ${columns} WHERE a.kind = ? AND a.at >= ? ORDER BY a.id`)
      for (const row of rows.iterate(kind, time)) yield toActivity(row)
    },
    verify: (head) => checkChain(database, head),
    prune: (before) => pruneChain(database, chain, before),
    list(filter = {}) {
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
    detail: joined(members(row['detail']), members(row['end_detail'])),
  }
}

/** What the beginning and the end tell; both may tell what was cut. */
function joined(begin: JsonRecord, end: JsonRecord): JsonRecord {
  const [first, second] = [begin['cut'], end['cut']]
  const both = isRecord(first) && isRecord(second)
  return { ...begin, ...end, ...(both && { cut: { ...first, ...second } }) }
}

/** Links what was written before there was a chain, as it stands. */
function adopt(database: DatabaseSync, chain: Chain): void {
  if (headOf(database).position > 0) return
  const rows = database.prepare('SELECT * FROM activity ORDER BY id')
  const end = database.prepare('SELECT * FROM activity_end WHERE activity = ?')
  const field = (value: unknown): ChainField =>
    typeof value === 'string' || typeof value === 'number' ? value : null
  atomically(database, () => {
    database.exec('UPDATE activity_head SET pruned = pruned')
    if (headOf(database).position > 0) return
    for (const row of rows.all()) {
      const id = Number(row['id'])
      const told = ['at', 'kind', 'server', 'summary', 'cause', 'detail'].map((name) => field(row[name]))
      chain.append('row', () => ({ id, fields: told }))
      const ended = end.get(id)
      if (ended === undefined) continue
      const fields = ['outcome', 'duration_ms', 'detail'].map((name) => field(ended[name]))
      chain.append('end', () => ({ id, fields }))
    }
  })
}

function members(text: unknown): JsonRecord {
  const value: unknown = typeof text === 'string' ? readJson(text) : undefined
  return isRecord(value) ? value : {}
}
