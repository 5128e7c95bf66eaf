import { McpError } from '@jackfield/sdk'
import type { TraceBins, TraceBinsQuery, TraceQuery, TraceStatistics } from '../../types/index.ts'
import type { Events } from './events.ts'

interface Group {
  server: string | null
  method: string
  count: number
  errors: number
  bytes: number
  times: number[]
}

/** Request counts, and model usage. */
export function statisticsOf(events: Events, query: TraceQuery): TraceStatistics {
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

/** The value at a percentile of sorted values. */
function quantile(sorted: readonly number[], percentile: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * percentile) - 1)] ?? null
}

const maxBins = 10_000

/** Counts of events by time and server. */
export function binsOf(events: Events, { bins, filter = '', ...period }: TraceBinsQuery): TraceBins {
  if (!Number.isInteger(bins) || bins < 1 || bins > maxBins)
    throw new McpError('INVALID', `The number of bins is from 1 to ${maxBins}, not ${bins}.`)
  const [edges] = events.rows(
    { filter },
    (where) => `SELECT min(t.at) AS first, max(t.at) AS last FROM trace t WHERE ${where}`,
  )
  const fromMs = period.fromMs ?? Number(edges?.['first'] ?? 0)
  const toMs = period.toMs ?? Math.max(fromMs, Number(edges?.['last'] ?? 0))
  if (!Number.isFinite(fromMs) || !Number.isFinite(toMs) || toMs < fromMs)
    throw new McpError('INVALID', `A period cannot go from ${fromMs} to ${toMs}.`)
  const width = Math.max(toMs - fromMs, 1) / bins
  const rows = events.rows(
    { filter },
    (
      where,
    ) => `SELECT t.server, min(${bins - 1}, CAST((t.at - ${fromMs}) / ${width} AS INTEGER)) AS bin, min(t.seq) AS first,
        count(*) AS events, sum(t.status IS 'error') AS errors
      FROM trace t WHERE ${where} AND t.at >= ${fromMs} AND t.at <= ${toMs}
      GROUP BY t.server, bin ORDER BY first`,
  )
  const lanes = new Map<string | null, { events: number[]; errors: number[] }>()
  const empty = (): number[] => new Array<number>(bins).fill(0)
  for (const row of rows) {
    const server = typeof row['server'] === 'string' ? row['server'] : null
    const lane = lanes.get(server) ?? { events: empty(), errors: empty() }
    lanes.set(server, lane)
    const bin = Number(row['bin'])
    lane.events[bin] = Number(row['events'])
    lane.errors[bin] = Number(row['errors'])
  }
  return { fromMs, toMs, lanes: [...lanes].map(([server, counts]) => ({ server, ...counts })) }
}
