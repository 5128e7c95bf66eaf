import type { Fetch } from '@jackfield/sdk/client'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import type { ActiveRequests } from '../../core/active-requests.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import type {
  Host,
  HostConnectOptions,
  HostEvent,
  LogSettings,
  TraceQuery,
  TraceService,
  TraceStatistics,
} from '../../types/index.ts'
import type { TraceTable } from '../store/trace-table.ts'
import { Events } from './events.ts'
import { exported, pairsOf, timelineOf, treeOf } from './export.ts'
import { recordingOf } from './recording.ts'
import { replayed, requestOf } from './replay.ts'
import { createSpanIds, createTap, createTraceparents, storedPayload, type Tap } from './tap.ts'

/** The log as an inspector sees it, and what writes it. */
export interface Trace extends TraceService {
  /** Gives what sees each new connection of a server. */
  tap(server: string, options?: HostConnectOptions): () => Tap
}

type Doing = Pick<Host, 'on' | 'call' | 'read' | 'prompt' | 'tools' | 'prompts'>

const globalFetch: Fetch = (url, init) => fetch(url, init)
const creator = { name: 'Jackfield', version: '0.1.0' }
const maxDepth = 64
/** Makes the room of the log. `table` is asked for when something is written or read, and not before. */
export function createTrace(
  host: Doing,
  activeRequests: ActiveRequests,
  redactor: SecretRedactor,
  table: () => TraceTable,
  log: LogSettings = {},
  fetch: Fetch = globalFetch,
  now: () => number = Date.now,
): Trace {
  const { keep = true } = log
  const events = new Events(table, now)
  /** The last connection of each server. */
  const connections = new Map<string, string>()
  let unwritten = 0
  const tick = (): number => Math.round(performance.now() * 1_000) / 1_000

  const failed = (error: unknown): void => {
    if (table().closed) return
    if (unwritten === 0) process.emitWarning(`An event could not be written to the log: ${reasonOf(error)}`)
    unwritten += 1
  }

  const rootOf = (event: number): number => {
    let root = event
    for (let depth = 0; depth < maxDepth; depth++) {
      const cause = table().all('SELECT cause FROM trace WHERE seq = ?', [root])[0]?.['cause']
      if (typeof cause !== 'number') break
      root = cause
    }
    return root
  }

  const note = (kind: 'stderr' | 'warning', server: string, text: string): void => {
    if (!keep) return
    try {
      const { row } = activeRequests.find(server, undefined)
      table().add({
        ...storedPayload(text),
        at: now(),
        tick: tick(),
        kind,
        server,
        connection: connections.get(server) ?? null,
        direction: null,
        method: null,
        tool: null,
        rpc: null,
        cause: row === null ? null : table().eventOf(row),
        reply: null,
        status: null,
        ms: null,
        summary: oneLine(text),
      })
    } catch (error) {
      failed(error)
    }
  }

  let hears = false
  const hear = (event: HostEvent): void => {
    if (event.type === 'stderr') note('stderr', event.server, event.text)
    if (event.type === 'warning') note('warning', event.server, event.message)
  }

  return {
    tap(server, options = {}) {
      if (!hears) host.on(hear)
      if (!hears && !keep) table().trim()
      hears = true
      return () => {
        const { salt, eventOf } = table()
        const ids = createSpanIds(salt)
        const tap = createTap(server, {
          table: table(),
          activeRequests,
          redactor,
          keep,
          fetch,
          maskedHeaders: [...(options.maskedHeaders ?? []), ...(log.maskedHeaders ?? [])],
          traceparents:
            (options.traceparent ?? log.traceparent) === true
              ? createTraceparents(ids, eventOf, rootOf)
              : undefined,
          failed,
          now,
          tick,
        })
        connections.set(server, tap.connection)
        return tap
      }
    },
    list: (query) => events.list(query),
    get: (id) => events.get(id),
    tree: (query = {}) => treeOf(events, query),
    timeline: (query = {}) => timelineOf(events, query),
    pairs: (query = {}) => pairsOf(events, query),
    statistics: (query = {}) => statisticsOf(events, query),
    counters: () => ({ ...table().counts(), unwritten }),
    export: (format, query = {}) =>
      exported(format, query, { events, ids: createSpanIds(table().salt), creator }),
    recording: (query = {}) => recordingOf(events, query, now()),
    request: (id) => requestOf(events, id),
    replay: (request, options) => replayed(host, request, options),
  }
}

interface Group {
  server: string | null
  method: string
  count: number
  errors: number
  bytes: number
  times: number[]
}

/** How often what was asked for, and what models used. */
function statisticsOf(events: Events, query: TraceQuery): TraceStatistics {
  const groups = new Map<string, Group>()
  const rows = events.rows(
    query,
    (where) => `SELECT t.server, t.method, t.reply, t.status, t.ms, t.bytes FROM trace t
      WHERE t.kind = 'wire' AND t.method IS NOT NULL AND ${where}`,
  )
  for (const row of rows) {
    const server = typeof row['server'] === 'string' ? row['server'] : null
    const method = String(row['method'])
    const key = JSON.stringify([server, method])
    const group = groups.get(key) ?? { server, method, count: 0, errors: 0, bytes: 0, times: [] }
    groups.set(key, group)
    group.bytes += Number(row['bytes'])
    if (row['reply'] === null) group.count += 1
    if (row['status'] === 'error') group.errors += 1
    if (typeof row['ms'] === 'number') group.times.push(row['ms'])
  }
  const methods = [...groups.values()]
    .map(({ times, ...group }) => {
      times.sort((a, b) => a - b)
      return { ...group, p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95) }
    })
    .sort((a, b) => b.count - a.count || (a.method < b.method ? -1 : 1))
  return { methods, models: modelsOf(events, query) }
}

function modelsOf(events: Events, query: TraceQuery): TraceStatistics['models'] {
  const used = (which: string): string => `sum(coalesce(json_extract(a.detail, '$.usage.${which}'),
    json_extract(e.detail, '$.usage.${which}'), 0))`
  const rows = events.rows(
    query,
    (
      where,
    ) => `SELECT coalesce(json_extract(a.detail, '$.model'), json_extract(e.detail, '$.model')) AS model,
        count(*) AS count, ${used('inputTokens')} AS input, ${used('outputTokens')} AS output
      FROM trace t JOIN activity a ON a.id = t.activity LEFT JOIN activity_end e ON e.activity = a.id
      WHERE t.kind IN ('model', 'sampling') AND ${where}
      GROUP BY model HAVING model IS NOT NULL ORDER BY count DESC, model`,
  )
  return rows.map((row) => ({
    model: String(row['model']),
    count: Number(row['count']),
    inputTokens: Number(row['input']),
    outputTokens: Number(row['output']),
  }))
}

/** Of values in rising order. */
function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}
