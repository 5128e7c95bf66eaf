import type { SQLInputValue } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { TraceEvent, TraceQuery, WholeTraceEvent } from '../../types/index.ts'
import { members } from '../store/activity-log.ts'
import type { TraceRow, TraceTable } from '../store/trace-table.ts'
import { parseFilter, traceKinds } from './filter.ts'
import { type Sql, sqlOf } from './filter-sql.ts'

const columns = `t.seq, t.at, t.tick, t.kind, t.server, t.connection, t.direction, t.method, t.tool, t.rpc, t.activity,
  t.cause, t.reply, t.status, t.ms, t.bytes, t.summary`
const whole = `${columns}, t.payload, t.sha256, a.detail, e.detail AS end_detail`
const joins = 'LEFT JOIN activity a ON a.id = t.activity LEFT JOIN activity_end e ON e.activity = t.activity'
const defaultLimit = 1_000
/** Maximum parameters of one statement. */
const chunk = 500

/** Reads events from the store. */
export class Events {
  readonly #table: () => Pick<TraceTable, 'all'>
  readonly #now: () => number

  constructor(table: () => Pick<TraceTable, 'all'>, now: () => number) {
    this.#table = table
    this.#now = now
  }

  /** Oldest first. */
  list(query: TraceQuery = {}): TraceEvent[] {
    return this.#select(columns, '', query).map(toEvent)
  }

  /** Oldest first; all of them unless the query has a limit. */
  ids(query: TraceQuery): number[] {
    const newestFirst = query.after === undefined && query.limit !== undefined
    const limit = query.limit === undefined ? '' : ` LIMIT ${Math.max(0, Math.trunc(query.limit))}`
    const rows = this.rows(
      query,
      (where) =>
        `SELECT t.seq AS seq FROM trace t WHERE ${where} ORDER BY t.seq ${newestFirst ? 'DESC' : 'ASC'}${limit}`,
    )
    const ids = rows.map((row) => Number(row['seq']))
    return newestFirst ? ids.reverse() : ids
  }

  /** Two ids: the events of a query are after the first, up to the second. */
  range(query: TraceQuery): [after: number, last: number] {
    const edge = (order: string, offset: number): number | undefined => {
      const [row] = this.rows(
        query,
        (where) =>
          `SELECT t.seq AS seq FROM trace t WHERE ${where} ORDER BY t.seq ${order} LIMIT 1 OFFSET ${offset}`,
      )
      return row && Number(row['seq'])
    }
    const { after, limit } = query
    const last = edge('DESC', 0) ?? 0
    if (limit === undefined) return [after ?? 0, last]
    const most = Math.max(0, Math.trunc(limit))
    if (most === 0) return [last, last]
    // The newest `limit` events, or the oldest `limit` after `after`.
    if (after === undefined) return [(edge('DESC', most - 1) ?? 1) - 1, last]
    return [after, edge('ASC', most - 1) ?? last]
  }

  wholes(query: TraceQuery = {}): WholeTraceEvent[] {
    return this.#select(whole, joins, query).map(toWhole)
  }

  get(id: number): WholeTraceEvent | undefined {
    return this.wholesOf([id])[0]
  }

  wholesOf(ids: readonly number[]): WholeTraceEvent[] {
    return inChunks(ids, (some) =>
      this.#all(`SELECT ${whole} FROM trace t ${joins} WHERE t.seq IN (${marks(some)}) ORDER BY t.seq`, some),
    ).map(toWhole)
  }

  byIds(ids: readonly number[]): TraceEvent[] {
    return inChunks(ids, (some) =>
      this.#all(`SELECT ${columns} FROM trace t WHERE t.seq IN (${marks(some)}) ORDER BY t.seq`, some),
    ).map(toEvent)
  }

  /** The effects of these events, and their responses. */
  effectsOf(ids: readonly number[]): TraceEvent[] {
    return inChunks(ids, (some) =>
      this.#all(
        `SELECT ${columns} FROM trace t WHERE t.cause IN (${marks(some)}) OR t.reply IN (${marks(some)})`,
        [...some, ...some],
      ),
    ).map(toEvent)
  }

  /** Responses to these requests. */
  answersTo(ids: readonly number[]): WholeTraceEvent[] {
    return inChunks(ids, (some) =>
      this.#all(`SELECT ${whole} FROM trace t ${joins} WHERE t.reply IN (${marks(some)})`, some),
    ).map(toWhole)
  }

  /** Rows of a statement with the query's conditions. */
  rows(query: TraceQuery, sql: (where: string) => string): TraceRow[] {
    const { text, values } = this.#where(query)
    return this.#all(sql(text), values)
  }

  /** The query plan of a filter, one step per line. */
  plan(query: TraceQuery): string[] {
    return this.#select(columns, '', query, 'EXPLAIN QUERY PLAN ').map((row) => String(row['detail']))
  }

  #select(what: string, more: string, query: TraceQuery, before = ''): TraceRow[] {
    const { text, values } = this.#where(query)
    const limit = Math.max(0, Math.trunc(query.limit ?? defaultLimit))
    const order = query.after === undefined ? 'DESC' : 'ASC'
    const rows = this.#all(
      `${before}SELECT ${what} FROM (SELECT t.seq FROM trace t WHERE ${text} ORDER BY t.seq ${order} LIMIT ?) found
         CROSS JOIN trace t ON t.seq = found.seq ${more} ORDER BY t.seq ${order}`,
      [...values, limit],
    )
    return order === 'DESC' && before === '' ? rows.reverse() : rows
  }

  #where({ filter = '', after }: TraceQuery): Sql {
    const { text, values } = sqlOf(parseFilter(filter, this.#now()))
    if (after === undefined) return { text, values }
    return { text: `(${text}) AND t.seq > ?`, values: [...values, after] }
  }

  #all(sql: string, values: readonly SQLInputValue[]): TraceRow[] {
    return this.#table().all(sql, values)
  }
}

function inChunks(ids: readonly number[], select: (some: readonly number[]) => TraceRow[]): TraceRow[] {
  const rows: TraceRow[] = []
  for (let at = 0; at < ids.length; at += chunk) rows.push(...select(ids.slice(at, at + chunk)))
  return rows
}

function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}

function toEvent(row: TraceRow): TraceEvent {
  const text = (name: string): string | null => (typeof row[name] === 'string' ? row[name] : null)
  const number = (name: string): number | null => (typeof row[name] === 'number' ? row[name] : null)
  const { direction } = row
  return {
    id: Number(row['seq']),
    at: new Date(Number(row['at'])).toISOString(),
    tickMs: number('tick'),
    kind: traceKinds.find((known) => known === row['kind']) ?? 'warning',
    server: text('server'),
    connection: text('connection'),
    direction: direction === 'sent' || direction === 'received' ? direction : null,
    method: text('method'),
    tool: text('tool'),
    rpcId: text('rpc'),
    activity: number('activity'),
    cause: number('cause'),
    reply: number('reply'),
    status: text('status'),
    durationMs: number('ms'),
    bytes: Number(row['bytes']),
    summary: String(row['summary']),
  }
}

function toWhole(row: TraceRow): WholeTraceEvent {
  const event = toEvent(row)
  const { payload, sha256, detail, end_detail: endDetail } = row
  if (typeof detail === 'string') {
    return { ...event, payload: { ...members(detail), ...members(endDetail) } }
  }
  if (typeof payload !== 'string') return { ...event, payload: null }
  if (typeof sha256 === 'string') return { ...event, payload, cut: { sha256 } }
  const isText = event.kind === 'stderr' || event.kind === 'warning'
  return { ...event, payload: isText ? payload : readJson(payload) }
}
