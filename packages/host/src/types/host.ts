import type {
  CallToolResult,
  CompleteParams,
  GetPromptResult,
  Implementation,
  JsonRpcMessage,
  ReadResourceResult,
  Root,
} from '@jackfield/sdk'
import type { ConnectOptions, ServerChange, Watch } from '@jackfield/sdk/client'
import type { Activity, HostEvent } from './activity.ts'
import type { CatalogPrompt, CatalogResource, CatalogTemplate, CatalogTool } from './catalog.ts'
import type { Inbox } from './inbox.ts'
import type { Model } from './model.ts'
import type { Caller, Decision, Grant, PolicyRule, Verdict } from './policy.ts'
import type { Surface } from './questions.ts'
import type { ConnectionState, Failure, ServerConfig } from './server.ts'

/** What calling a tool through the broker gave. */
export interface BrokeredCall {
  result: CallToolResult
  /** Set when policy or the person refused; the result then says so to the model. */
  denied: boolean
  /**
   * Set when there is no result of the tool: the server answered with a JSON-RPC error, or the call failed on this
   * side. `result` then says so to the model. A tool's own failure is only a result with `isError`.
   */
  error?: Failure
  decision: Decision
  /** The arguments that were sent, where the person changed them. */
  edited?: Record<string, unknown>
  /** The activity row of this call. */
  activity: number
}

/** Who wants a call, and how it ends early. */
export interface HostCallOptions {
  caller: Caller
  /** The person wrote this very call: that answers what policy would ask, and overrides no `deny`. */
  typed?: boolean
  /** The conversation it belongs to: answers remembered there count, and labels of data seen there. */
  conversation?: string
  signal?: AbortSignal
  /** The activity row that caused it. */
  cause?: number
}

/** How a host connects, the same for all its servers. */
export interface HostConnectOptions {
  /** Revisions to speak. Default all. */
  revisions?: NonNullable<ConnectOptions['revisions']>
  /** Lists to fetch. Default all. */
  lists?: readonly ('tools' | 'prompts' | 'resources')[]
  /** Whether lists are kept up to date while the connection stands. Default true. */
  follow?: boolean
  /** Sees every message as it crosses the wire, for logs and inspectors. */
  onMessage?: (server: string, direction: 'sent' | 'received', message: JsonRpcMessage) => void
}

/** What a host is made of: servers, the person and the models. Only `servers` and `models` are needed. */
export interface HostOptions {
  /** Servers by name, as in `mcpServers`. */
  servers: Record<string, ServerConfig>
  /** The face that is there from the start; `attach` adds others. */
  surface?: Surface
  models: Model[]
  /** The SQLite file of policy grants and activity; ':memory:' by default. */
  store?: string
  /** Folders servers may be told of; consent is asked per server. */
  roots?: Root[]
  /** The folder the person works in, which answers can be remembered for. Default: none. */
  workspace?: string
  rules?: PolicyRule[]
  /** Verdict where no rule matches. Default 'ask'. */
  defaultVerdict?: Verdict
  /** Milliseconds to ready or a typed failure. Default 8 000. */
  connectTimeoutMs?: number
  /** Milliseconds a call, read or other request may go without an answer or progress. Default 60 000. */
  callTimeoutMs?: number
  connect?: HostConnectOptions
  /** Who the host says it is to servers. */
  info?: Implementation
}

/** Many servers under one person's control. Every effect goes through `call`. */
export interface Host extends AsyncDisposable {
  /** Connects every enabled server side by side; resolves when each is ready or failed. */
  start(): Promise<void>
  /**
   * Connects one server anew at once, whether it stands, waits for its next attempt or was given up; resolves when it
   * is ready or failed. Throws an McpError 'INVALID' for a server that is unknown or disabled.
   */
  reconnect(server: string): Promise<void>
  /**
   * Adds a face: what it can show is advertised from the next request on (2026-07-28), or from the next connection on.
   * Open questions of its kinds are shown to it. The returned function takes it away again.
   */
  attach(surface: Surface): () => void
  /** Every question to the person. */
  readonly inbox: Inbox
  readonly connections: ReadonlyMap<string, ConnectionState>
  tools(): CatalogTool[]
  prompts(): CatalogPrompt[]
  resources(): CatalogResource[]
  templates(): CatalogTemplate[]
  /** Instructions of each ready server. */
  instructions(): { server: string; text: string }[]
  /**
   * Policy → question → call → activity row. Never throws for a refusal or a failed tool; throws for an unknown name.
   */
  call(name: string, args: Record<string, unknown>, options: HostCallOptions): Promise<BrokeredCall>
  read(server: string, uri: string, options?: { signal?: AbortSignal }): Promise<ReadResourceResult>
  prompt(
    name: string,
    args: Record<string, string>,
    options?: { signal?: AbortSignal },
  ): Promise<GetPromptResult>
  complete(
    server: string,
    params: CompleteParams,
    options?: { signal?: AbortSignal },
  ): Promise<{ values: string[]; total?: number; hasMore?: boolean }>
  /**
   * Tells of changes to these resources and to every list the server can tell of, until the watch is closed or ends
   * with the connection.
   */
  watch(server: string, uris: readonly string[], onChange: (change: ServerChange) => void): Promise<Watch>
  /** Calls `listener` for every event until the returned function is called. */
  on(listener: (event: HostEvent) => void): () => void
  activity(filter?: { server?: string; kind?: Activity['kind']; limit?: number }): Activity[]
  /** Every remembered answer about a tool, oldest first. */
  grants(): Grant[]
  /** Forgets a remembered answer, so that policy decides again; false where there is none of that id. */
  revoke(id: string): boolean
  /** Writes a row about something a face did, such as a model turn; returns its id. */
  record(row: Omit<Activity, 'id' | 'at'>): number
  close(): Promise<void>
}
