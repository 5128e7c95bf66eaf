import type {
  CallToolResult,
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  Implementation,
  JsonRpcMessage,
  McpErrorCode,
  Prompt,
  Resource,
  ResourceTemplate,
  Root,
  Tool,
} from '@jackfield/sdk'
import type { ConnectOptions, ServerChange, Watch } from '@jackfield/sdk/client'

/** One server as the person configured it, in the field's own form (`mcpServers`). */
export type ServerConfig =
  | { command: string; args?: string[]; env?: Record<string, string>; cwd?: string; disabled?: boolean }
  | { url: string; headers?: Record<string, string>; disabled?: boolean }

/** A failure with its code, as data: a server's JSON-RPC error (a number), or one of this side (a word). */
export interface Failure {
  code: number | McpErrorCode
  message: string
  /** What the server sent along, or facts such as an HTTP status. */
  data?: unknown
}

/** The state of one connection, always with its reason. */
export type ConnectionState =
  | { state: 'connecting' }
  | { state: 'ready'; era: 'session' | 'stateless'; revision: string; sinceMs: number }
  /** Connected, but a list could not be fetched. */
  | { state: 'degraded'; reason: string; error?: Failure }
  | { state: 'reconnecting'; attempt: number; reason: string; inMs: number }
  | { state: 'failed'; reason: string; error?: Failure }
  | { state: 'disabled' }

/** A tool as the host shows it to a model and a person. */
export interface CatalogTool {
  /** Unique in the host and stable across restarts: `server__tool`, shortened in the middle when too long. */
  readonly name: string
  /** The configured server name. */
  readonly server: string
  /** As the server declared it, with its own name. */
  readonly tool: Tool
}

/**
 * A prompt as the host shows it: the name it has in the host, the server it is from, and what that server
 * declared.
 */
export interface CatalogPrompt {
  readonly name: string
  readonly server: string
  readonly prompt: Prompt
}

/** A resource with the server it is from. Its URI is unique on that server only. */
export interface CatalogResource {
  readonly server: string
  readonly resource: Resource
}

/** A resource template with the server it is from. */
export interface CatalogTemplate {
  readonly server: string
  readonly template: ResourceTemplate
}

/** Who wants an effect to happen. */
export type Caller = 'chat' | 'person' | 'cli'

/** What policy says about a call: let it happen, ask the person first, or refuse it. */
export type Verdict = 'allow' | 'ask' | 'deny'

/**
 * One rule of the policy. The strictest matching verdict wins: deny, then ask, then allow. Globs know `*` (any
 * characters) and `?` (one).
 */
export interface PolicyRule {
  /** Shown with every decision the rule made. */
  id: string
  verdict: Verdict
  /** Server name, or a glob. Default any. */
  server?: string
  /** The server's own tool name, or a glob. Default any. */
  tool?: string
  /** Matches only tools that say so about themselves; a hint, never a proof. */
  hint?: 'readOnly' | 'destructive'
  /** On an `ask` rule: how long the person's answer may be remembered. Left out, every call asks. */
  scope?: 'session' | 'always'
}

/** What policy said about one call, and by which rule. */
export interface Decision {
  verdict: Verdict
  /**
   * The rule that decided; `default` when none matched, `remembered:session` or `remembered:always` for an earlier
   * answer, `typed` for a call that the person wrote themselves.
   */
  rule: string
}

/** An answer that is remembered beyond one call. */
export interface Grant {
  /** For `revoke`. */
  readonly id: string
  /** The server as it was called when the answer was given. */
  readonly server: string
  readonly tool: string
  readonly verdict: 'allow' | 'deny'
  /** Until the host closes, or in the store. */
  readonly scope: 'session' | 'always'
  /** ISO 8601. */
  readonly at: string
}

/** What a question is about and where it comes from. */
export interface Cause {
  server: string
  /** The tool call that led to it, where known. */
  tool?: string
  arguments?: Record<string, unknown>
  caller?: Caller
}

/** A question to the person. Nothing is ever answered on their behalf unless they said so before. */
export type HostQuestion =
  | {
      kind: 'approval'
      id: string
      cause: Cause
      tool: CatalogTool
      arguments: Record<string, unknown>
      decision: Decision
      /** For how long an answer may be remembered; offer nothing else. */
      remember: readonly ('session' | 'always')[]
    }
  | { kind: 'elicitation'; id: string; cause: Cause; params: ElicitParams }
  | {
      kind: 'sampling-request'
      id: string
      cause: Cause
      params: CreateMessageParams
      /** The model that would answer; chosen again from the preferences in `params` if they are edited. */
      model: string
      /** Why that model. */
      why: string
    }
  | {
      kind: 'sampling-result'
      id: string
      cause: Cause
      params: CreateMessageParams
      result: CreateMessageResult
    }
  | { kind: 'roots'; id: string; cause: Cause; roots: Root[] }

/** What a person may answer, by kind of question. */
export interface HostAnswers {
  approval:
    | { verdict: 'allow'; arguments?: Record<string, unknown>; remember?: 'session' | 'always' }
    | { verdict: 'deny'; reason?: string; remember?: 'session' | 'always' }
  elicitation: ElicitResult
  'sampling-request':
    | { verdict: 'allow'; params?: CreateMessageParams }
    | { verdict: 'deny'; reason?: string }
  'sampling-result': { verdict: 'allow'; result?: CreateMessageResult } | { verdict: 'deny'; reason?: string }
  roots: { verdict: 'allow' } | { verdict: 'deny' }
}

/**
 * The person, as the present surface shows them. Only what is given here is advertised to servers; a kind left out
 * cannot be asked. A promise may stay open as long as the person thinks.
 */
export interface Surface {
  /** For messages: 'terminal', 'answers file', 'script'. */
  readonly name: string
  approval?(
    question: Extract<HostQuestion, { kind: 'approval' }>,
    signal: AbortSignal,
  ): Promise<HostAnswers['approval']>
  elicitation?(
    question: Extract<HostQuestion, { kind: 'elicitation' }>,
    signal: AbortSignal,
  ): Promise<HostAnswers['elicitation']>
  /** Whether URL visits can be shown besides forms. Default false. */
  readonly urlElicitation?: boolean
  samplingRequest?(
    question: Extract<HostQuestion, { kind: 'sampling-request' }>,
    signal: AbortSignal,
  ): Promise<HostAnswers['sampling-request']>
  samplingResult?(
    question: Extract<HostQuestion, { kind: 'sampling-result' }>,
    signal: AbortSignal,
  ): Promise<HostAnswers['sampling-result']>
  roots?(
    question: Extract<HostQuestion, { kind: 'roots' }>,
    signal: AbortSignal,
  ): Promise<HostAnswers['roots']>
}

/** One row of the activity log. */
export interface Activity {
  readonly id: number
  /** ISO 8601. */
  readonly at: string
  readonly kind:
    | 'connection'
    | 'call'
    | 'read'
    | 'prompt'
    | 'approval'
    | 'elicitation'
    | 'sampling'
    | 'roots'
    | 'model'
    | 'change'
  readonly server: string | null
  /** One line for a person. */
  readonly summary: string
  /** How it ended: 'ok', 'error', 'denied', 'declined', 'cancelled' and so on; 'running' until then. */
  readonly outcome: string
  readonly durationMs: number | null
  /** The row that caused this one. */
  readonly cause: number | null
  /** Arguments, verdicts, rule, result, as JSON. */
  readonly detail: Record<string, unknown>
}

/** What happens in the host, for faces to show. */
export type HostEvent =
  | { type: 'connection'; server: string; state: ConnectionState }
  | { type: 'catalog' }
  | { type: 'activity'; row: Activity }
  | { type: 'progress'; server: string; tool: string; progress: number; total?: number; message?: string }
  | { type: 'log'; server: string; level: string; logger?: string; data: unknown }
  /** What a child process wrote beside the protocol. */
  | { type: 'stderr'; server: string; text: string }
  | { type: 'resource-updated'; server: string; uri: string }
  | { type: 'warning'; server: string; message: string }

/** A language model behind one small interface; the offline planner stands behind it too. */
export interface Model {
  /** As the person names it: `anthropic/claude-…`, `offline`. */
  readonly id: string
  /** False for the offline planner, which says so wherever it speaks. */
  readonly isLanguageModel: boolean
  generate(request: ModelRequest): Promise<ModelReply>
}

/** What a model is asked, in the terms of sampling. */
export interface ModelRequest {
  system?: string
  messages: CreateMessageParams['messages']
  tools?: { name: string; description?: string; inputSchema: Tool['inputSchema'] }[]
  toolChoice?: 'auto' | 'required' | 'none'
  /** Never exceeded. */
  maxTokens: number
  temperature?: number
  stopSequences?: string[]
  signal?: AbortSignal
  /** Hears the text as it is made. */
  onText?: (delta: string) => void
}

/** One answer of a model. */
export interface ModelReply {
  /** Text and tool_use blocks in order. */
  content: CreateMessageResult['content']
  stopReason: NonNullable<CreateMessageResult['stopReason']>
  /** The model that answered, as its provider names it. */
  model: string
  usage?: { inputTokens: number; outputTokens: number }
}

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

/**
 * What a host is made of: servers, the person and the models. Only `servers`, `surface` and `models` are
 * needed.
 */
export interface HostOptions {
  /** Servers by name, as in `mcpServers`. */
  servers: Record<string, ServerConfig>
  surface: Surface
  models: Model[]
  /** The SQLite file of policy grants and activity; ':memory:' by default. */
  store?: string
  /** Folders servers may be told of; consent is asked per server. */
  roots?: Root[]
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
  readonly connections: ReadonlyMap<string, ConnectionState>
  tools(): CatalogTool[]
  prompts(): CatalogPrompt[]
  resources(): CatalogResource[]
  templates(): CatalogTemplate[]
  /** Instructions of each ready server. */
  instructions(): { server: string; text: string }[]
  /**
   * Policy → question → call → activity row. Never throws for a refusal or a failed tool; throws for an unknown name.
   * `typed` says that the person wrote this very call: that answers what policy would ask, and overrides no `deny`.
   */
  call(
    name: string,
    args: Record<string, unknown>,
    options: { caller: Caller; typed?: boolean; signal?: AbortSignal; cause?: number },
  ): Promise<BrokeredCall>
  read(
    server: string,
    uri: string,
    options?: { signal?: AbortSignal },
  ): Promise<import('@jackfield/sdk').ReadResourceResult>
  prompt(
    name: string,
    args: Record<string, string>,
    options?: { signal?: AbortSignal },
  ): Promise<import('@jackfield/sdk').GetPromptResult>
  complete(
    server: string,
    params: import('@jackfield/sdk').CompleteParams,
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
