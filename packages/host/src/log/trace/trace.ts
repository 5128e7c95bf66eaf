import type { Fetch } from '@jackfield/sdk/client'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import type { ActiveRequests } from '../../core/active-requests.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import type { Host, HostConnectOptions, HostEvent, LogSettings, TraceService } from '../../types/index.ts'
import type { TraceTable } from '../store/trace-table.ts'
import { Events } from './events.ts'
import { QueryRunner } from './query-runner.ts'
import { replay, requestOf } from './replay.ts'
import { createSpanIds, storedPayload, Tap } from './tap.ts'

/** The message log, and the recorders that write it. */
export interface Trace extends TraceService {
  /** Returns the recorder of a new connection of a server. */
  tap(server: string, options?: HostConnectOptions): () => Tap
  /** Ends running queries. */
  close(): Promise<void>
}

type TraceHost = Pick<Host, 'on' | 'call' | 'read' | 'prompt' | 'tools' | 'prompts'>

const globalFetch: Fetch = (url, init) => fetch(url, init)
/** Maximum causes that are followed to the root of an event. */
const maxDepth = 64

/** Creates the message log. `table` is called on the first read or write. */
export function createTrace(
  host: TraceHost,
  activeRequests: ActiveRequests,
  redactor: SecretRedactor,
  table: () => TraceTable,
  log: LogSettings = {},
  fetch: Fetch = globalFetch,
  now: () => number = Date.now,
): Trace {
  const { keep = true } = log
  const events = new Events(table, now)
  const queries = new QueryRunner(table, now)
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

  const traceparentOf = (row: number): string | undefined => {
    const { salt, eventOf } = table()
    const event = eventOf(row)
    if (event === null) return undefined
    const ids = createSpanIds(salt)
    return `00-${ids.trace(rootOf(event))}-${ids.span(event)}-01`
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
        ...{ direction: null, method: null, tool: null, rpc: null },
        cause: row === null ? null : { activity: row },
        ...{ reply: null, status: null, ms: null },
        summary: oneLine(text),
      })
    } catch (error) {
      failed(error)
    }
  }

  let isListening = false
  const onEvent = (event: HostEvent): void => {
    if (event.type === 'stderr') note('stderr', event.server, event.text)
    if (event.type === 'warning') note('warning', event.server, event.message)
  }

  return {
    tap(server, options = {}) {
      if (!isListening) host.on(onEvent, ['stderr', 'warning'])
      if (!isListening && !keep) table().trim()
      isListening = true
      return () => {
        const sendsContext = (options.traceparent ?? log.traceparent) === true
        const tap = new Tap(server, {
          table: table(),
          activeRequests,
          redactor,
          keep,
          fetch,
          maskedHeaders: [...(options.maskedHeaders ?? []), ...(log.maskedHeaders ?? [])],
          traceparentOf: sendsContext ? traceparentOf : undefined,
          failed,
          now,
          tick,
        })
        connections.set(server, tap.connection)
        return tap
      }
    },
    list: (query = {}) => queries.run('list', query),
    ids: (query = {}) => queries.run('ids', query),
    rows: (ids) => queries.run('rows', { ids }),
    bins: (query) => queries.run('bins', query),
    get: (id) => events.get(id),
    tree: (query = {}) => queries.run('tree', query),
    timeline: (query = {}) => queries.run('timeline', query),
    pairs: (query = {}) => queries.run('pairs', query),
    statistics: (query = {}) => queries.run('statistics', query),
    counters() {
      const counts = table().counts()
      return { ...counts, unwritten: counts.unwritten + unwritten }
    },
    export: (format, query = {}) => queries.export(format, query),
    recording: (query = {}) => queries.run('recording', query),
    close: () => queries.close(),
    request: (id) => requestOf(events, id),
    replay: (request, options) => replay(host, request, options),
  }
}
