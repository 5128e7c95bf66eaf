import type {
  TraceCounters,
  TraceEvent,
  TraceLane,
  TraceNode,
  TracePair,
  TraceStatistics,
  WholeTraceEvent,
} from '@jackfield/host'
import { formatBytes, prettyJson } from './content.ts'
import type { Palette } from './palette.ts'
import { count, oneLine, plain } from './sanitize.ts'
import { table } from './table.ts'
import { widthOf } from './width.ts'

/** Layout of a log. */
export interface LogAppearance {
  palette: Palette
  columns: number | undefined
}

const minSummaryColumns = 24
const defaultColumns = 120

/** Events, one per line, oldest first. Times are UTC. */
export function eventTable(events: readonly TraceEvent[], appearance: LogAppearance): string {
  const dated = new Set(events.map(({ at }) => at.slice(0, 10))).size > 1
  const facts = events.map((event) => [
    String(event.id),
    event.at.slice(dated ? 0 : 11, 23).replace('T', ' '),
    event.kind,
    oneLine(event.server ?? '', 20),
    statusText(event),
    durationText(event),
  ])
  const heads = ['ID', 'TIME', 'KIND', 'SERVER', 'STATUS', 'TOOK']
  const used = heads.reduce(
    (sum, head, n) => sum + 2 + Math.max(head.length, ...facts.map((fact) => widthOf(fact[n] ?? ''))),
    0,
  )
  const room = Math.max(minSummaryColumns, (appearance.columns ?? defaultColumns) - used)
  const cells = facts.map((fact, n) => [...fact, summaryOf(events[n], room)])
  return table([...heads, 'WHAT'], cells, appearance)
}

/** One event as one line, for a log that is followed. */
export function eventLine(event: TraceEvent, { palette, columns = defaultColumns }: LogAppearance): string {
  const head = `${String(event.id).padStart(6)}  ${event.at.slice(11, 23)}  `
  const facts = `${event.kind.padEnd(11)} ${oneLine(event.server ?? '-', 14).padEnd(14)} `
  const tail = [statusText(event), durationText(event)].filter((text) => text !== '').join(' ')
  const room = Math.max(minSummaryColumns, columns - head.length - facts.length - tail.length - 2)
  return `${palette.bold(head)}${palette.dim(facts)}${summaryOf(event, room)}${tail === '' ? '' : `  ${withStatusColour(event, tail, palette)}`}`
}

/** Events below their causes. */
export function eventTree(
  nodes: readonly TraceNode[],
  { palette, columns = defaultColumns }: LogAppearance,
): string {
  const lines: string[] = []
  const add = ({ event, children, matched }: TraceNode, first: string, rest: string): void => {
    const tail = [statusText(event), durationText(event)].filter((text) => text !== '').join(' ')
    const id = String(event.id)
    const room = Math.max(
      minSummaryColumns,
      columns - first.length - id.length - event.kind.length - tail.length - 5,
    )
    const text = `${event.kind} ${summaryOf(event, room)}`
    const shown = matched ? text : palette.dim(text)
    lines.push(
      `${palette.dim(first)}${palette.bold(id)} ${shown}${tail === '' ? '' : `  ${withStatusColour(event, tail, palette)}`}`,
    )
    children.forEach((child, n) => {
      const last = n === children.length - 1
      add(child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`)
    })
  }
  for (const node of nodes) add(node, '', '')
  return lines.join('\n')
}

/** Messages in full, each with its response. */
export function eventPairs(pairs: readonly TracePair[], { palette }: LogAppearance): string {
  return pairs
    .map(({ message, answer }) =>
      [message, ...(answer === undefined ? [] : [answer])]
        .map((event) => `${palette.dim(headLine(event))}\n${payloadText(event)}`)
        .join('\n'),
    )
    .join('\n\n')
}

/** One event with everything known about it. */
export function wholeEvent(event: WholeTraceEvent, { palette }: LogAppearance): string {
  const { id, at, kind, server, connection, direction, method, tool, rpcId, activity, cause, reply } = event
  const facts: readonly (readonly [string, string | number | null])[] = [
    ['time', `${at.replace('T', ' ').replace('Z', '')} UTC`],
    ['kind', kind],
    ['server', server],
    ['connection', connection],
    ['direction', direction],
    ['method', method],
    ['about', tool],
    ['JSON-RPC id', rpcId],
    ['status', event.status],
    ['took', durationText(event)],
    ['size', formatBytes(event.bytes)],
    ['activity row', activity === null ? null : `#${activity}`],
    ['caused by', cause],
    ['answers', reply],
  ]
  const lines = facts.flatMap(([name, value]) =>
    value === null || value === '' ? [] : [`  ${palette.dim(name.padEnd(13))} ${oneLine(String(value))}`],
  )
  return [palette.bold(`${id}  ${oneLine(event.summary)}`), ...lines, payloadText(event)].join('\n')
}

const barGlyphs = { lane: '█', part: '▌', tick: '│' }

/** A timeline: a bar for each operation, for all servers. */
export function eventTimeline(
  lanes: readonly TraceLane[],
  { palette, columns = defaultColumns }: LogAppearance,
): string {
  const spans = lanes.flatMap((lane) => lane.spans)
  const from = Math.min(...spans.map(({ fromMs }) => fromMs))
  const to = Math.max(...spans.map(({ toMs }) => toMs), from + 1)
  const label = Math.min(36, Math.max(12, ...spans.map(({ event }) => widthOf(labelOf(event)))))
  const width = Math.max(20, columns - label - 14)
  const columnOf = (ms: number): number =>
    Math.min(width - 1, Math.floor(((ms - from) / (to - from)) * width))
  const start = new Date(from).toISOString()
  const lines = [
    palette.dim(`${start.slice(0, 10)} ${start.slice(11, 23)} UTC, ${duration(to - from)} across`),
  ]
  for (const { server, spans } of lanes) {
    lines.push(palette.bold(server === null ? 'here' : oneLine(server)))
    for (const { event, fromMs, toMs } of spans) {
      const [begin, end] = [columnOf(fromMs), columnOf(toMs)]
      const bar = end === begin ? barGlyphs.part : barGlyphs.lane.repeat(end - begin + 1)
      const row = `${' '.repeat(begin)}${withStatusColour(event, bar, palette)}${' '.repeat(Math.max(0, width - begin - [...bar].length))}`
      const name = oneLine(labelOf(event), label)
      const took = durationText(event)
      lines.push(
        `  ${name}${' '.repeat(Math.max(0, label - widthOf(name)))} ${row} ${palette.dim(took)}`.trimEnd(),
      )
    }
  }
  return lines.join('\n')
}

/** Counts, failures and times by method and server; tokens by model. */
export function eventStatistics({ methods, models }: TraceStatistics, appearance: LogAppearance): string {
  const parts = [
    table(
      ['METHOD', 'SERVER', 'COUNT', 'ERRORS', 'P50', 'P95', 'SIZE'],
      methods.map(({ method, server, count, errors, p50Ms, p95Ms, bytes }) => [
        oneLine(method, 40),
        oneLine(server ?? '', 24),
        String(count),
        errors === 0 ? '–' : String(errors),
        p50Ms === null ? '' : duration(p50Ms),
        p95Ms === null ? '' : duration(p95Ms),
        formatBytes(bytes),
      ]),
      appearance,
    ),
  ]
  if (models.length > 0) {
    parts.push(
      table(
        ['MODEL', 'ASKED', 'TOKENS IN', 'TOKENS OUT'],
        models.map(({ model, count, inputTokens, outputTokens }) => [
          oneLine(model, 40),
          String(count),
          String(inputTokens),
          String(outputTokens),
        ]),
        appearance,
      ),
    )
  }
  return parts.join('\n\n')
}

/** How many events are shown, and how many were discarded. */
export function eventCount(
  shown: number,
  { limited, counters }: { limited: boolean; counters: TraceCounters },
): string {
  const more = limited ? ', the newest; --limit shows more' : ''
  const dropped =
    counters.dropped === 0
      ? ''
      : `. ${counters.dropped} older ones (${formatBytes(counters.droppedBytes)}) were removed to keep the log small`
  return `${count(shown, 'event')}${more}${dropped}`
}

function headLine(event: WholeTraceEvent): string {
  const { id, at, direction, server, rpcId } = event
  const way = direction === 'sent' ? `→ ${server}` : `← ${server}`
  const took = durationText(event)
  const facts = [
    at.slice(11, 23),
    oneLine(way),
    ...(rpcId === null ? ['notice'] : [`id ${rpcId}`]),
    took,
    formatBytes(event.bytes),
  ]
  return `── ${id}  ${facts.filter((fact) => fact !== '').join('  ')}`
}

function payloadText({ payload, cut, bytes }: WholeTraceEvent): string {
  const text = typeof payload === 'string' ? plain(payload) : prettyJson(payload)
  if (cut === undefined) return text
  return `${text}…\nOnly its start was stored, of ${formatBytes(bytes)}. SHA-256 of the whole: ${cut.sha256}`
}

function labelOf(event: TraceEvent): string {
  const { kind, method, tool, summary } = event
  return kind === 'wire' || kind === 'http'
    ? `${arrow(event)}${method ?? ''} ${tool ?? ''}`.trim()
    : `${kind} ${tool ?? summary}`
}

function arrow({ direction }: TraceEvent): string {
  return direction === null ? '' : direction === 'sent' ? '→ ' : '← '
}

function summaryOf(event: TraceEvent | undefined, room: number): string {
  return event === undefined ? '' : oneLine(`${arrow(event)}${event.summary}`, room)
}

function statusText({ status }: TraceEvent): string {
  if (status === null) return ''
  if (isSuccess(status)) return `✓ ${oneLine(status)}`
  return status === 'running' ? '… running' : `✗ ${oneLine(status)}`
}

const successStatuses: readonly string[] = [
  'ok',
  'ready',
  'accepted',
  'allowed',
  'allow',
  'passed',
  'edited',
  'answered',
  'asleep',
  'ended',
]

function isSuccess(status: string): boolean {
  return successStatuses.includes(status)
}

function withStatusColour({ status }: TraceEvent, text: string, palette: Palette): string {
  if (status === null || status === 'running') return palette.dim(text)
  return isSuccess(status) ? palette.green(text) : palette.red(text)
}

function durationText({ durationMs }: TraceEvent): string {
  return durationMs === null ? '' : duration(durationMs)
}

function duration(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
}
