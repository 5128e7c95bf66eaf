import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@jackfield/sdk'
import type { Activity } from './activity.ts'

/**
 * What an event is about: a row of the activity log, or something beside it. `wire`: one message. `http`: one request
 * over HTTP with its answer. `stderr`: what a program wrote beside the protocol. `warning`: something was tolerated.
 */
export type TraceKind = Activity['kind'] | 'wire' | 'http' | 'stderr' | 'warning'

/** One thing that happened, in the order in which everything happened. */
export interface TraceEvent {
  /** Grows with every event of one store. */
  readonly id: number
  /** ISO 8601, by the clock of the machine. */
  readonly at: string
  /** Milliseconds by a clock that never goes back, since the program began; null for rows of the activity log. */
  readonly tickMs: number | null
  readonly kind: TraceKind
  readonly server: string | null
  /** One connection of one server, unlike any other; null beside connections. */
  readonly connection: string | null
  readonly direction: 'sent' | 'received' | null
  /** Of a message or of the request that it answers; of an activity row, the method that it comes from. */
  readonly method: string | null
  /** The tool, prompt or URI. */
  readonly tool: string | null
  /** The JSON-RPC id, as JSON. */
  readonly rpcId: string | null
  /** The row of the activity log that this is. */
  readonly activity: number | null
  /** The event that caused this one. */
  readonly cause: number | null
  /** The event that this one answers. */
  readonly reply: number | null
  /** `ok` or `error` for answers; the outcome of an activity row, `running` until it is over. */
  readonly status: string | null
  readonly durationMs: number | null
  /** Bytes of the whole payload as JSON. */
  readonly bytes: number
  /** One line for a person. */
  readonly summary: string
}

/** An event with all that was kept of it. */
export interface WholeTraceEvent extends TraceEvent {
  /** The message, the facts of the HTTP exchange, the detail of the activity row; the text of `stderr`. */
  readonly payload: unknown
  /** Set where the payload was too long to be kept whole: it is then the beginning of its JSON text. */
  readonly cut?: { readonly sha256: string }
}

/** Which events are wanted. */
export interface TraceQuery {
  /**
   * What they must be, as in `server:files kind:call status:error dur:>500 text:"not found" -kind:wire since:1h`.
   * @see TraceFilterError
   */
  filter?: string
  /** So many of the newest. Default 1 000. */
  limit?: number
  /** Only events after this one, oldest first where there are more than `limit`. */
  after?: number
}

/** An event among what it caused. */
export interface TraceNode {
  readonly event: TraceEvent
  /** False for what is only there to say where the others come from. */
  readonly matched: boolean
  readonly children: readonly TraceNode[]
}

/** What happened at one server, or beside them all (null), side by side with the others. */
export interface TraceLane {
  readonly server: string | null
  /** In the order of their beginnings. Times are milliseconds since 1970. */
  readonly spans: readonly { readonly event: TraceEvent; readonly fromMs: number; readonly toMs: number }[]
}

/** A request with its answer, or a message that wants none. */
export interface TracePair {
  readonly message: WholeTraceEvent
  /** Undefined where none came, or none is wanted. */
  readonly answer?: WholeTraceEvent
}

/** How often something was asked for, and how that went. */
export interface TraceTally {
  readonly server: string | null
  readonly method: string
  readonly count: number
  readonly errors: number
  /** Milliseconds that half of the answers took at most; null where none was timed. */
  readonly p50Ms: number | null
  /** Milliseconds that 95 of 100 answers took at most. */
  readonly p95Ms: number | null
  /** Of requests and answers together. */
  readonly bytes: number
}

/** What the events come to. */
export interface TraceStatistics {
  /** By server and method, the most frequent first. */
  readonly methods: readonly TraceTally[]
  /** Tokens that models counted, by model. */
  readonly models: readonly {
    readonly model: string
    readonly count: number
    readonly inputTokens: number
    readonly outputTokens: number
  }[]
}

/** Which events are counted, and in how many parts of a period. */
export interface TraceBinsQuery {
  /** As in a `TraceQuery`. */
  filter?: string
  /** Milliseconds since 1970. Default: the time of the first event. */
  fromMs?: number
  /** Milliseconds since 1970. Default: the time of the last event. */
  toMs?: number
  /** From 1 to 10 000. */
  bins: number
}

/** Counts of events by time and server. */
export interface TraceBins {
  readonly fromMs: number
  readonly toMs: number
  /** In the order of the servers' first events. */
  readonly lanes: readonly {
    /** Null beside servers. */
    readonly server: string | null
    /** One count for each bin; bin `i` begins at `fromMs + i * (toMs - fromMs) / bins`. The last one includes `toMs`. */
    readonly events: readonly number[]
    /** Of these, the ones with status `error`. */
    readonly errors: readonly number[]
  }[]
}

/** How much is kept, and how much was let go. */
export interface TraceCounters {
  readonly events: number
  readonly bytes: number
  /** Events that were let go because there were too many or they were too old. */
  readonly dropped: number
  readonly droppedBytes: number
  /** Events that could not be written. */
  readonly unwritten: number
}

/** What can be taken out of the log. */
export type TraceFormat = 'jsonl' | 'har' | 'otlp'

/** One request that a recorded server was sent, and what it answered. */
export interface RecordedExchange {
  readonly method: string
  readonly params: Record<string, unknown>
  /** What came before the answer: notices, and questions of the session era with the answers they got. */
  readonly before: readonly {
    readonly message: Record<string, unknown>
    readonly answer?: Record<string, unknown>
  }[]
  /** `result` or `error` of the answer; undefined where none came. */
  readonly answer?: Record<string, unknown>
}

/** One server as it answered, to be played back. */
export interface RecordedServer {
  readonly revision: string | null
  readonly exchanges: readonly RecordedExchange[]
}

/** What servers were asked and answered. It is plain JSON. */
export interface Recording {
  readonly format: 'jackfield-recording'
  readonly version: 1
  /** ISO 8601. */
  readonly at: string
  readonly servers: Readonly<Record<string, RecordedServer>>
}

/** A request that is done again. */
export interface ReplayRequest {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get'
  readonly server: string
  /** The tool or prompt by the server's own name for it, or the URI. */
  readonly target: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** What it gave then; undefined where that is not known. */
  readonly result?: unknown
}

/** One place where two results are different. */
export interface ResultChange {
  /** A JSON Pointer; empty for the whole. */
  readonly path: string
  /** Absent where there was nothing. */
  readonly before?: unknown
  /** Absent where there is nothing now. */
  readonly after?: unknown
}

/** What doing a request again gave. */
export interface Replay {
  readonly request: ReplayRequest
  readonly result: CallToolResult | ReadResourceResult | GetPromptResult
  /** Policy or the person refused. */
  readonly denied: boolean
  /** Undefined where it is not known what it gave then. */
  readonly changes?: readonly ResultChange[]
}

/**
 * Everything that happened, as an inspector sees it. Queries run in a thread of their own where the store is a file of more than
 * 4 MB, so that other work of the process continues. All that take a filter reject with a TraceFilterError where it cannot be
 * read.
 */
export interface TraceService {
  /** Oldest first. */
  list(query?: TraceQuery): Promise<TraceEvent[]>
  /** The ids of the events, oldest first: all of them, unless the query has a limit. */
  ids(query?: TraceQuery): Promise<number[]>
  /** Events by id, oldest first. Ids of events that are gone are left out. */
  rows(ids: readonly number[]): Promise<TraceEvent[]>
  /**
   * Counts for a timeline.
   * @throws McpError 'INVALID' where the number of bins or the period is impossible
   */
  bins(query: TraceBinsQuery): Promise<TraceBins>
  /** One event with all that was kept of it; undefined where it is gone. */
  get(id: number): WholeTraceEvent | undefined
  /** Events under what caused them, with everything that they caused. */
  tree(query?: TraceQuery): Promise<TraceNode[]>
  timeline(query?: TraceQuery): Promise<TraceLane[]>
  /** Requests with their responses. */
  pairs(query?: TraceQuery): Promise<TracePair[]>
  statistics(query?: TraceQuery): Promise<TraceStatistics>
  counters(): TraceCounters
  /**
   * Events as text. `jsonl`: one JSON object a line. `har`: HTTP Archive 1.2. `otlp`: traces of OpenTelemetry as JSON.
   * Headers that hold credentials are masked, known secrets are replaced. The text comes in pieces; `otlp` comes in one piece, of
   * at most 100 000 events unless the query says otherwise.
   */
  export(format: TraceFormat, query?: TraceQuery): AsyncGenerator<string, void, undefined>
  /**
   * What the servers of the messages answered, to be played back.
   * @throws McpError 'INVALID' where there is none, or a message was too long to be kept whole
   */
  recording(query?: TraceQuery): Promise<Recording>
  /**
   * The request of a call, read or prompt, or of a message about one.
   * @throws McpError 'INVALID' where the event is none of them, or was not kept whole
   */
  request(id: number): ReplayRequest
  /** Does a request again, with the same policy as any other. */
  replay(request: ReplayRequest, options?: { signal?: AbortSignal }): Promise<Replay>
}
