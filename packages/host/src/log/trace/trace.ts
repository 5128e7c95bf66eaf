import type { Fetch } from '@jackfield/sdk/client'
import type { Redactor } from '../../config/secrets/redactor.ts'
import type { Origins } from '../../core/active-requests.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import type { Host, HostConnectOptions, HostEvent, LogSettings, TraceDesk } from '../../types/index.ts'
import type { TraceTable } from '../store/trace-table.ts'
import { Events } from './events.ts'
import { exported } from './export.ts'
import { recordingOf } from './recording.ts'
import { replayed, requestOf } from './replay.ts'
import { statisticsOf } from './statistics.ts'
import { createTap, kept, type Tap } from './tap.ts'
import { createSpanIds, createTraceparents } from './traceparent.ts'
import { pairsOf, timelineOf, treeOf } from './views.ts'

/** The log as an inspector sees it, and what writes it. */
export interface Trace extends TraceDesk {
  /** Gives what sees each new connection of a server. */
  tap(server: string, options?: HostConnectOptions): () => Tap
}

type Doing = Pick<Host, 'on' | 'call' | 'read' | 'prompt' | 'tools' | 'prompts'>

const globalFetch: Fetch = (url, init) => fetch(url, init)
const creator = { name: 'Jackfield', version: '0.1.0' }
const maxDepth = 64
/** Events that are taken out at once, where nobody says how many. */
const exportLimit = 100_000

/** Makes the room of the log. `table` is asked for when something is written or read, and not before. */
export function createTrace(
  host: Doing,
  origins: Origins,
  redactor: Redactor,
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
      const { row } = origins.find(server, undefined)
      table().add({
        ...kept(text),
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
          origins,
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
      exported(
        format,
        { limit: exportLimit, ...query },
        { events, ids: createSpanIds(table().salt), creator },
      ),
    recording: (query = {}) => recordingOf(events, query, now()),
    request: (id) => requestOf(events, id),
    replay: (request, options) => replayed(host, request, options),
  }
}
