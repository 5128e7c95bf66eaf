import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@jackfield/sdk'
import type { Activity } from './activity.ts'

/**
 * The kind of an event: an activity log row, or one of these. `wire`: one message. `http`: one HTTP request with its response.
 * `stderr`: output of a program besides the protocol. `warning`: a tolerated violation.
 */
export type TraceKind = Activity['kind'] | 'wire' | 'http' | 'stderr' | 'warning'

/** One event in the common order of all events. */
export interface TraceEvent {
  /** Increases with every event of one store. */
  readonly id: number
  /** ISO 8601, by the machine's clock. */
  readonly at: string
  /** Milliseconds of a monotonic clock since the program began; null for rows of the activity log. */
  readonly tickMs: number | null
  /** The kind of the event. */
  readonly kind: TraceKind
  /** The configured server name; null for events outside servers. */
  readonly server: string | null
  /** Unique id of a server connection; null for events outside connections. */
  readonly connection: string | null
  /** Whether this host sent or received the message; null for events that are not messages. */
  readonly direction: 'sent' | 'received' | null
  /** Of a message or its request; of an activity row, the method it comes from. */
  readonly method: string | null
  /** The tool, prompt or URI. */
  readonly tool: string | null
  /** The JSON-RPC id, as JSON. */
  readonly rpcId: string | null
  /** The row of the activity log. */
  readonly activity: number | null
  /** The event that caused this one. */
  readonly cause: number | null
  /** The event of the request, for a response. */
  readonly reply: number | null
  /** `ok` or `error` for responses; the outcome of an activity row, `running` until it ends. */
  readonly status: string | null
  /** Milliseconds from the request to the response, or of the activity; null if unknown. */
  readonly durationMs: number | null
  /** Bytes of the whole payload as JSON. */
  readonly bytes: number
  /** One line for a person. */
  readonly summary: string
}

/** An event with its stored payload. */
export interface WholeTraceEvent extends TraceEvent {
  /** The message, the HTTP exchange, the detail of the activity row, or the text of `stderr`. */
  readonly payload: unknown
  /** Set if the payload was too long: it is then the start of its JSON text. */
  readonly cut?: { readonly sha256: string }
}

/** Which events to return. */
export interface TraceQuery {
  /**
   * A filter, as in `server:files kind:call status:error dur:>500 text:"not found" -kind:wire since:1h`.
   * @see TraceFilterError
   */
  filter?: string
  /** Maximum events: the newest, or the oldest with `after`. Default 1 000. */
  limit?: number
  /** Only events after the one with this id. */
  after?: number
}

/** An event in the tree of causes. */
export interface TraceNode {
  /** The event itself. */
  readonly event: TraceEvent
  /** False for an ancestor that is included only for context. */
  readonly matched: boolean
  /** The events that it caused, oldest first. */
  readonly children: readonly TraceNode[]
}

/** A timeline lane: the events of one server, or of none (null). */
export interface TraceLane {
  /** The configured server name. */
  readonly server: string | null
  /** By start time. Times are milliseconds since 1970. */
  readonly spans: readonly { readonly event: TraceEvent; readonly fromMs: number; readonly toMs: number }[]
}

/** A request with its response, or a notification. */
export interface TracePair {
  /** The request or notification. */
  readonly message: WholeTraceEvent
  /** Undefined if there is none. */
  readonly answer?: WholeTraceEvent
}

/** Counts and times of one method. */
export interface TraceTally {
  /** The configured server name; null for events outside servers. */
  readonly server: string | null
  /** The JSON-RPC method. */
  readonly method: string
  /** The number of requests and notifications. */
  readonly count: number
  /** The number of error responses. */
  readonly errors: number
  /** Median response time in milliseconds; null without timings. */
  readonly p50Ms: number | null
  /** The 95th percentile of response times in milliseconds. */
  readonly p95Ms: number | null
  /** Bytes of requests and responses together. */
  readonly bytes: number
}

/** Statistics of events. */
export interface TraceStatistics {
  /** By server and method, the most frequent first. */
  readonly methods: readonly TraceTally[]
  /** Tokens reported by models, by model. */
  readonly models: readonly {
    readonly model: string
    readonly count: number
    readonly inputTokens: number
    readonly outputTokens: number
  }[]
}

/** Which events are counted, and the bins of a period. */
export interface TraceBinsQuery {
  /** As in a `TraceQuery`. */
  filter?: string
  /** Milliseconds since 1970. Default: the time of the first event. */
  fromMs?: number
  /** Milliseconds since 1970. Default: the time of the last event. */
  toMs?: number
  /** The number of bins, from 1 to 10 000. */
  bins: number
}

/** Counts of events by time and server. */
export interface TraceBins {
  /** Start of the period, in milliseconds since 1970. */
  readonly fromMs: number
  /** End of the period, in milliseconds since 1970. */
  readonly toMs: number
  /** In the order of the servers' first events. */
  readonly lanes: readonly {
    /** Null for events outside servers. */
    readonly server: string | null
    /** One count for each bin; bin `i` starts at `fromMs + i * (toMs - fromMs) / bins`. The last one includes `toMs`. */
    readonly events: readonly number[]
    /** The same for events with status `error`. */
    readonly errors: readonly number[]
  }[]
}

/** Size of the log, and what was discarded. */
export interface TraceCounters {
  /** The number of stored events. */
  readonly events: number
  /** Bytes of the stored payloads. */
  readonly bytes: number
  /** Events removed because of the size or age limit. */
  readonly dropped: number
  /** Bytes of the payloads of removed events. */
  readonly droppedBytes: number
  /** Events that could not be written. */
  readonly unwritten: number
}

/** Export formats of the log. */
export type TraceFormat = 'jsonl' | 'har' | 'otlp'

/** One recorded request with its response. */
export interface RecordedExchange {
  /** The JSON-RPC method of the request. */
  readonly method: string
  /** The params of the request. */
  readonly params: Record<string, unknown>
  /** Messages before the response: notifications, and server requests of the session era with their responses. */
  readonly before: readonly {
    readonly message: Record<string, unknown>
    readonly answer?: Record<string, unknown>
  }[]
  /** `result` or `error` of the response; undefined if there was none. */
  readonly answer?: Record<string, unknown>
}

/** One recorded server, for playback. */
export interface RecordedServer {
  /** The negotiated revision; null if the recording has no handshake. */
  readonly revision: string | null
  /** The requests with their responses, in the order they were sent. */
  readonly exchanges: readonly RecordedExchange[]
}

/** Recorded requests and responses of servers, as plain JSON. */
export interface Recording {
  /** Identifies the format of the file. */
  readonly format: 'jackfield-recording'
  /** The version of the format. */
  readonly version: 1
  /** ISO 8601. */
  readonly at: string
  /** The recorded servers by name. */
  readonly servers: Readonly<Record<string, RecordedServer>>
}

/** A request to repeat. */
export interface ReplayRequest {
  /** The JSON-RPC method to call. */
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get'
  /** The configured server name. */
  readonly server: string
  /** The tool or prompt by the server's own name, or the URI. */
  readonly target: string
  /** Arguments of the tool or prompt; empty for a read. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** The recorded result; undefined if unknown. */
  readonly result?: unknown
}

/** One difference of two results. */
export interface ResultChange {
  /** A JSON Pointer; empty for the whole. */
  readonly path: string
  /** The old value; absent if there was none. */
  readonly before?: unknown
  /** The new value; absent if there is none. */
  readonly after?: unknown
}

/** The result of a replay. */
export interface Replay {
  /** The request that was repeated. */
  readonly request: ReplayRequest
  /** The new result, as released to the caller. */
  readonly result: CallToolResult | ReadResourceResult | GetPromptResult
  /** Policy or the user refused. */
  readonly denied: boolean
  /** Undefined if the recorded result is unknown. */
  readonly changes?: readonly ResultChange[]
}

/**
 * The message log for inspectors. Queries run in a separate thread if the store is a file of more than 4 MB, so that they do not
 * block the process. All methods with a filter reject with a TraceFilterError if it is invalid.
 */
export interface TraceService {
  /** Oldest first. */
  list(query?: TraceQuery): Promise<TraceEvent[]>
  /** The ids of the events, oldest first: all of them, unless the query has a limit. */
  ids(query?: TraceQuery): Promise<number[]>
  /** Events by id, oldest first. Deleted ones are left out. */
  rows(ids: readonly number[]): Promise<TraceEvent[]>
  /**
   * Counts for a timeline.
   * @throws McpError 'INVALID' if the number of bins or the period is invalid
   */
  bins(query: TraceBinsQuery): Promise<TraceBins>
  /** One event with its payload; undefined if it was deleted. */
  get(id: number): WholeTraceEvent | undefined
  /** Events below their causes, with all their effects. */
  tree(query?: TraceQuery): Promise<TraceNode[]>
  /** Events as spans, in one lane for each server. */
  timeline(query?: TraceQuery): Promise<TraceLane[]>
  /** Requests with their responses. */
  pairs(query?: TraceQuery): Promise<TracePair[]>
  /** Counts, response times and bytes by method, and tokens by model. */
  statistics(query?: TraceQuery): Promise<TraceStatistics>
  /** The size of the log. */
  counters(): TraceCounters
  /**
   * Events as text. `jsonl`: one JSON object per line. `har`: HTTP Archive 1.2. `otlp`: OpenTelemetry traces as JSON. Credentials
   * in headers are masked, known secrets are replaced. The text comes in chunks; `otlp` in one, of at most 100 000 events unless
   * the query has a limit.
   */
  export(format: TraceFormat, query?: TraceQuery): AsyncGenerator<string, void, undefined>
  /**
   * The recorded responses of servers, for playback.
   * @throws McpError 'INVALID' if there are none, or a message was too long to be stored whole
   */
  recording(query?: TraceQuery): Promise<Recording>
  /**
   * The request of a call, read or prompt, or of one of their messages.
   * @throws McpError 'NOT_FOUND' for an unknown event, 'INVALID' if it is none of them, or was not stored whole
   */
  request(id: number): ReplayRequest
  /** Repeats a request, under the same policy as any other. */
  replay(request: ReplayRequest, options?: { signal?: AbortSignal }): Promise<Replay>
}
