import type {
  Recording,
  TraceBins,
  TraceBinsQuery,
  TraceEvent,
  TraceFormat,
  TraceLane,
  TraceNode,
  TracePair,
  TraceQuery,
  TraceStatistics,
} from '../../types/index.ts'
import type { TraceTable } from '../store/trace-table.ts'
import { Events } from './events.ts'
import { exported, pairsOf, timelineOf, treeOf } from './export.ts'
import { recordingOf } from './recording.ts'
import { binsOf, statisticsOf } from './statistics.ts'
import { createSpanIds } from './tap.ts'

/** Parameters and result of each query of the log. */
interface QueryTypes {
  list: [TraceQuery, TraceEvent[]]
  ids: [TraceQuery, number[]]
  rows: [{ ids: readonly number[] }, TraceEvent[]]
  bins: [TraceBinsQuery, TraceBins]
  tree: [TraceQuery, TraceNode[]]
  timeline: [TraceQuery, TraceLane[]]
  pairs: [TraceQuery, TracePair[]]
  statistics: [TraceQuery, TraceStatistics]
  recording: [TraceQuery, Recording]
}

export type QueryName = keyof QueryTypes
export type QueryInput<K extends QueryName> = QueryTypes[K][0]
export type QueryResult<K extends QueryName> = QueryTypes[K][1]

/** Queries that may take long, over a connection to the store: that of the host, or one of a thread. */
export interface Queries {
  run<K extends QueryName>(name: K, input: QueryInput<K>): QueryResult<K>
  export(format: TraceFormat, query: TraceQuery): AsyncGenerator<string, void, undefined>
}

const creator = { name: 'Jackfield', version: '0.1.0' }

export function createQueries(table: Pick<TraceTable, 'all' | 'salt'>, now: () => number): Queries {
  const events = new Events(() => table, now)
  const all: { readonly [K in QueryName]: (input: QueryInput<K>) => QueryResult<K> } = {
    list: (query) => events.list(query),
    ids: (query) => events.ids(query),
    rows: ({ ids }) => events.byIds(ids.toSorted((a, b) => a - b)),
    bins: (query) => binsOf(events, query),
    tree: (query) => treeOf(events, query),
    timeline: (query) => timelineOf(events, query),
    pairs: (query) => pairsOf(events, query),
    statistics: (query) => statisticsOf(events, query),
    recording: (query) => recordingOf(events, query, now()),
  }
  return {
    run: (name, input) => all[name](input),
    export: (format, query) => exported(format, query, { events, ids: createSpanIds(table.salt), creator }),
  }
}
