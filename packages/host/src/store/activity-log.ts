import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { JsonRecord } from '../json.ts'
import { isRecord } from '../json.ts'
import type { Activity } from '../types/index.ts'
import { detailText } from './bounded.ts'

/** What is known of a row when the thing it tells of begins. */
export type ActivityStart = Pick<Activity, 'kind' | 'server' | 'summary' | 'cause' | 'detail'>

/** What is known when it is over; `detail` adds to what was there. */
export interface ActivityEnd {
  outcome: string
  durationMs: number | null
  detail: JsonRecord
}

export interface ActivityFilter {
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
}

const kinds: readonly Activity['kind'][] = [
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
  'drift',
  'login',
  'code',
  'conversation',
]

const columns = `a.id, a.at, a.kind, a.server, a.summary, a.cause, a.detail,
  e.outcome, e.duration_ms, e.detail AS end_detail
  FROM activity a LEFT JOIN activity_end e ON e.activity = a.id`

export function createActivityLog(database: DatabaseSync): ActivityLog {
  const insert = database.prepare(
    'INSERT INTO activity (at, kind, server, summary, cause, detail) VALUES (?, ?, ?, ?, ?, ?) RETURNING id',
  )
  const finish = database.prepare(
    'INSERT INTO activity_end (activity, outcome, duration_ms, detail) VALUES (?, ?, ?, ?)',
  )
  const one = database.prepare(`SELECT ${columns} WHERE a.id = ?`)
  return {
    begin(start) {
      const row = insert.get(
        new Date().toISOString(),
        start.kind,
        start.server,
        start.summary,
        start.cause,
        detailText(start.detail),
      )
      return Number(row?.['id'])
    },
    end(id, end) {
      finish.run(id, end.outcome, end.durationMs, detailText(end.detail))
      const row = one.get(id)
      if (row === undefined) throw new Error(`There is no activity ${id}.`)
      return toActivity(row)
    },
    list(filter = {}) {
      const conditions: string[] = []
      const values: SQLInputValue[] = []
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
  const kind = kinds.find((known) => known === row['kind'])
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
    detail: { ...members(row['detail']), ...members(row['end_detail']) },
  }
}

function members(text: unknown): JsonRecord {
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
  return isRecord(value) ? value : {}
}
