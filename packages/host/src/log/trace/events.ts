import type { SQLInputValue } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { TraceEvent, TraceQuery, WholeTraceEvent } from '../../types/index.ts'
import { members } from '../store/activity-log.ts'
import type { TraceRow, TraceTable } from '../store/trace-table.ts'
import { parseFilter, traceKinds } from './filter.ts'
import { type Sql, sqlOf } from './filter-sql.ts'

const columns = `t.seq, t.at, t.tick, t.kind, t.server, t.connection, t.direction, t.method, t.tool, t.rpc, t.activity,
  t.cause, t.reply, t.status, t.ms, t.bytes, t.summary`
const wholeColumns = `${columns}, t.payload, t.sha256, a.detail, e.detail AS end_detail`
const joins = 'LEFT JOIN activity a ON a.id = t.activity LEFT JOIN activity_end e ON e.activity = t.activity'
const defaultLimit = 1_000
/** Maximum parameters of one statement. */
const maxParameters = 500

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

  /** The range of ids of a query: its events are after `after`, up to and including `last`. */
  range(query: TraceQuery): [after: number, last: number] {
    const idAt = (order: string, offset: number): number | undefined => {
      const [row] = this.rows(
        query,
        (where) =>
          `SELECT t.seq AS seq FROM trace t WHERE ${where} ORDER BY t.seq ${order} LIMIT 1 OFFSET ${offset}`,
      )
      return row && Number(row['seq'])
    }
    const { after, limit } = query
    const last = idAt('DESC', 0) ?? 0
    if (limit === undefined) return [after ?? 0, last]
    const count = Math.max(0, Math.trunc(limit))
    if (count === 0) return [last, last]
    // The newest `limit` events, or the oldest `limit` after `after`.
    if (after === undefined) return [(idAt('DESC', count - 1) ?? 1) - 1, last]
    return [after, idAt('ASC', count - 1) ?? last]
  }

  /** Oldest first, with payloads. */
  listWhole(query: TraceQuery = {}): WholeTraceEvent[] {
    return this.#select(wholeColumns, joins, query).map(toWhole)
  }

  get(id: number): WholeTraceEvent | undefined {
    return this.wholeByIds([id])[0]
  }

  /** Events by id, with payloads, oldest first. */
  wholeByIds(ids: readonly number[]): WholeTraceEvent[] {
    return inChunks(ids, (batch) =>
      this.#all(
        `SELECT ${wholeColumns} FROM trace t ${joins} WHERE t.seq IN (${placeholders(batch)}) ORDER BY t.seq`,
        batch,
      ),
    ).map(toWhole)
  }

  /** Events by id, oldest first. */
  byIds(ids: readonly number[]): TraceEvent[] {
    return inChunks(ids, (batch) =>
      this.#all(
        `SELECT ${columns} FROM trace t WHERE t.seq IN (${placeholders(batch)}) ORDER BY t.seq`,
        batch,
      ),
    ).map(toEvent)
  }

  /** The events that these caused, and their responses. */
  effectsOf(ids: readonly number[]): TraceEvent[] {
    return inChunks(ids, (batch) =>
      this.#all(
        `SELECT ${columns} FROM trace t WHERE t.cause IN (${placeholders(batch)}) OR t.reply IN (${placeholders(batch)})`,
        [...batch, ...batch],
      ),
    ).map(toEvent)
  }

  /** Responses to these requests. */
  answersTo(ids: readonly number[]): WholeTraceEvent[] {
    return inChunks(ids, (batch) =>
      this.#all(
        `SELECT ${wholeColumns} FROM trace t ${joins} WHERE t.reply IN (${placeholders(batch)})`,
        batch,
      ),
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

  #select(selected: string, moreJoins: string, query: TraceQuery, prefix = ''): TraceRow[] {
    const { text, values } = this.#where(query)
    const limit = Math.max(0, Math.trunc(query.limit ?? defaultLimit))
    const order = query.after === undefined ? 'DESC' : 'ASC'
    const rows = this.#all(
      `${prefix}SELECT ${selected} FROM (SELECT t.seq FROM trace t WHERE ${text} ORDER BY t.seq ${order} LIMIT ?) found
         CROSS JOIN trace t ON t.seq = found.seq ${moreJoins} ORDER BY t.seq ${order}`,
      [...values, limit],
    )
    return order === 'DESC' && prefix === '' ? rows.reverse() : rows
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

function inChunks(ids: readonly number[], select: (batch: readonly number[]) => TraceRow[]): TraceRow[] {
  const rows: TraceRow[] = []
  for (let offset = 0; offset < ids.length; offset += maxParameters)
    rows.push(...select(ids.slice(offset, offset + maxParameters)))
  return rows
}

function placeholders(values: readonly unknown[]): string {
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
