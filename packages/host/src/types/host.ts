import type {
  CallToolResult,
  CompleteParams,
  GetPromptResult,
  Implementation,
  JsonObject,
  JsonRpcMessage,
  LoggingLevel,
  ReadResourceResult,
  Root,
} from '@jackfield/sdk'
import type { ConnectOptions, ProgressReport, ServerChange, Watch } from '@jackfield/sdk/client'
import type { CredentialStore, Revocation } from '@jackfield/sdk/client/auth'
import type { Activity, ActivityVerification, HostEvent } from './activity.ts'
import type { AppService } from './apps.ts'
import type { CatalogPrompt, CatalogResource, CatalogTemplate, CatalogTool } from './catalog.ts'
import type { Code } from './code.ts'
import type { ConsentService } from './consents.ts'
import type { ConversationStore } from './conversation.ts'
import type { DoctorReport, DoctorStep } from './doctor.ts'
import type { PromptValues } from './forms.ts'
import type { GatewayService } from './gateway.ts'
import type { Inbox } from './inbox.ts'
import type { Library } from './library.ts'
import type { Model } from './model.ts'
import type { Caller, Decision, PolicyRule, PolicyService, Verdict } from './policy.ts'
import type { Installation, QuestionKind, Surface } from './questions.ts'
import type { Results } from './results.ts'
import type { RootsService } from './roots.ts'
import type { SamplingService, SamplingSettings } from './sampling.ts'
import type { SecretStore, Secrets } from './secrets.ts'
import type { ConnectionState, Failure, ServerConfig, ServerDetails } from './server.ts'
import type { TaskService } from './task.ts'
import type { ToolSearchService } from './tool-search.ts'
import type { TraceService } from './trace.ts'
import type { TrustService } from './trust.ts'

/** The result of a tool call through the broker. */
export interface BrokeredCall {
  /**
   * The result as released to the caller; after a refusal or failure, a result with `isError` that states it.
   */
  result: CallToolResult
  /** Set if policy or the user refused; `result` then states it for the model. */
  denied: boolean
  /**
   * Set if the tool gave no result: the server responded with a JSON-RPC error, or the call failed in this program.
   * `result` then states it for the model. A tool's own failure is a result with `isError` only.
   */
  error?: Failure
  /** The policy decision about the call, including the user's answer if policy asked. */
  decision: Decision
  /** The arguments that were sent, if the user changed them. */
  edited?: Record<string, unknown>
  /** The surface on which the user wrote the result; the tool was not called. */
  answeredBy?: string
  /** Whether the caller got the tool's own result, if a rule about results matched. */
  release?: { decision: Decision; outcome: 'passed' | 'edited' | 'withheld' }
  /**
   * Set if the host was closed while the call waited for an answer: its questions stay in the inbox, and answering
   * them resumes the call.
   */
  suspended?: boolean
  /** The activity row of this call. */
  activity: number
}

/** Options of a call. */
export interface HostCallOptions {
  /** The caller, which rules can match. */
  caller: Caller
  /** The user typed this call, which answers the approval that policy would ask for. It does not override `deny`. */
  typed?: boolean
  /** The conversation of the call: its remembered answers and its data labels apply. */
  conversation?: string
  /** Cancels the call; the server receives `notifications/cancelled`. */
  signal?: AbortSignal
  /** Further `_meta` of the request. */
  meta?: JsonObject
  /** Milliseconds without a response or progress before the call fails. Default: that of the server. */
  timeoutMs?: number
  /** Minimum level of the log messages of this call, on 2026-07-28. Default: that of the connection. */
  logLevel?: LoggingLevel
  /** The activity row that caused the call. */
  cause?: number
  /** Called for each `notifications/progress` of the call. */
  onProgress?: (report: ProgressReport) => void
  /** Called with the activity row of the call as soon as it is written. */
  onRow?: (activity: number) => void
}

/** Options of reading a resource and of getting a prompt. */
export interface HostReadOptions {
  /** Cancels the request. */
  signal?: AbortSignal
  /** The activity row that caused the read. */
  cause?: number
  /** The conversation that sees the contents, for labels. */
  conversation?: string
  /** Called with the id of the activity row as soon as it is written. */
  onRow?: (activity: number) => void
  /** Whether `Library.search` may find the text later (`read` only). Default true. */
  searchable?: boolean
}

/** How a host connects, the same for all its servers. */
export interface HostConnectOptions {
  /** Revisions to speak. Default all. */
  revisions?: NonNullable<ConnectOptions['revisions']>
  /** Lists to fetch. Default all. */
  lists?: readonly ('tools' | 'prompts' | 'resources')[]
  /** Whether lists are kept up to date while connected. Default true. */
  follow?: boolean
  /**
   * Milliseconds without a message after which a server over the network is pinged. Default 60 000; 0 for never.
   */
  idlePingMs?: number
  /** Headers whose values are masked in the log, besides those that always hold credentials. */
  maskedHeaders?: readonly string[]
  /** Whether calls carry a `traceparent` in `_meta`. Default false. */
  traceparent?: boolean
  /** Called with every message sent or received, for logs and inspectors. */
  onMessage?: (server: string, direction: 'sent' | 'received', message: JsonRpcMessage) => void
}

/** Settings of the message log, which is separate from the activity log. */
export interface LogSettings {
  /** Whether messages are logged. Default true. Messages logged earlier expire as before. */
  keep?: boolean
  /** Megabytes of all messages together; the oldest are removed first. Default 200, or 8 for a store in memory. */
  megabytes?: number
  /** Days after which a message is removed. Default 30. */
  days?: number
  /** Headers whose values are masked, besides those of `connect`. */
  maskedHeaders?: string[]
  /** As in `connect`, which takes precedence. */
  traceparent?: boolean
}

/** Options of a host. Only `servers` and `models` are required. */
export interface HostOptions {
  /** Servers by name, as in `mcpServers`. */
  servers: Record<string, ServerConfig>
  /** The first surface; `attach` adds others. */
  surface?: Surface
  /** The models, the default first. */
  models: Model[]
  /** Settings for sampling requests of servers. Default: every request and result is reviewed, with the default limits. */
  sampling?: SamplingSettings
  /**
   * The SQLite file of policy grants and activity. Default ':memory:', for the life of the host. A file that cannot be
   * opened is an error, never replaced.
   */
  store?: string
  /** Store of the secrets that configurations refer to. Default: in memory. */
  secrets?: SecretStore
  /** Store of OAuth tokens. Default: in memory. */
  credentials?: CredentialStore
  /** Opens a page that the user accepted: a login, or a URL elicitation. Default: the system's browser. */
  openPage?: (url: URL) => Promise<void>
  /**
   * The environment: for variables in configurations when a server is started, and for the proxy of its connections
   * (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Default `process.env`.
   */
  env?: Readonly<Record<string, string | undefined>>
  /** The value of `${userHome}`. Default: the home folder of the account. */
  home?: string
  /** Starts servers of files in the working folder without consent. Default false. */
  startProjectServers?: boolean
  /**
   * Servers whose changed definitions are accepted and reported by the event `trust` instead of quarantined: those that
   * the user starts by typing their command. Their pinned definitions are separate from those of configured servers.
   */
  unpinned?: readonly string[]
  /** Folders that may be offered to servers as roots, besides `workspace` and its repository; the user decides per server. */
  roots?: Root[]
  /** The working folder, for which answers can be remembered. Default: none. */
  workspace?: string
  /** The policy rules. Default none: `defaultVerdict` decides every call. */
  rules?: PolicyRule[]
  /** Verdict where no rule matches. Default 'ask'. */
  defaultVerdict?: Verdict
  /**
   * Milliseconds within which a server must be connected. Default 8 000, and 60 000 for commands that may download their program
   * first, such as `npx`, `uvx` and `docker run`.
   */
  connectTimeoutMs?: number
  /** Milliseconds that a request may take without a response or progress. Default 60 000. */
  callTimeoutMs?: number
  /** Options of all connections. */
  connect?: HostConnectOptions
  /**
   * Further configurations, whose servers are not connected: the secret values that they name are redacted too. Read once,
   * before the first server is started.
   */
  redactFor?: () => Promise<Iterable<ServerConfig>>
  /** Settings of the message log. The activity log is kept until it is pruned. */
  log?: LogSettings
  /** The `clientInfo` sent to servers. */
  info?: Implementation
}

/** The servers that `reconfigure` changed, by name. */
export interface Reconfigured {
  /** Servers that are new in the configuration. */
  added: string[]
  /** Servers that are no longer in the configuration; their connections are closed. */
  removed: string[]
  /** Restarted because their configuration changed. */
  changed: string[]
}

/** A host: connections to many servers, under the control of one person. Every tool call goes through `call`. */
export interface Host extends AsyncDisposable {
  /**
   * Connects all enabled servers, or those named, in parallel; resolves when each is ready or failed.
   * @throws McpError 'NOT_FOUND' for an unknown name
   */
  start(servers?: readonly string[]): Promise<void>
  /**
   * Reconnects one server immediately, whatever its state; resolves when it is ready or failed.
   * @throws McpError 'NOT_FOUND' for an unknown server, 'INVALID' for a disabled one
   */
  reconnect(server: string): Promise<void>
  /**
   * Replaces the servers: connects new ones, closes missing ones, restarts changed ones and leaves all others running.
   * Resolves when each new server is ready or failed. With `policy`, it decides all calls from now on, including those
   * that wait for an answer, and the event `policy` is emitted if it changed; without it, the policy stays. Remembered
   * answers stay.
   * @throws McpError 'INVALID' for an invalid rule; nothing is changed then
   */
  reconfigure(
    servers: Record<string, ServerConfig>,
    policy?: Pick<HostOptions, 'rules' | 'defaultVerdict'>,
  ): Promise<Reconfigured>
  /**
   * Diagnoses a server step by step, on connections of its own.
   * @throws McpError 'NOT_FOUND' for an unknown server
   */
  diagnose(
    server: string,
    options?: { onStep?: (step: DoctorStep) => void; signal?: AbortSignal },
  ): Promise<DoctorReport>
  /**
   * Attaches a surface. Its capabilities are advertised from the next request (2026-07-28) or the next connection on,
   * and it is shown the open questions of its kinds. The returned function detaches it.
   */
  attach(surface: Surface): () => void
  /**
   * Repeats questions of these kinds that no surface could show: a surface that is attached already can show them now. About
   * changed definitions the host asks itself; a server that asked for folders is notified, so that it asks again.
   */
  askAgain(kinds: readonly QuestionKind[]): void
  /** Questions to the user. */
  readonly inbox: Inbox
  /** The servers, offered to other clients as one server. */
  readonly gateway: GatewayService
  /** Secrets that configurations refer to. */
  readonly secrets: Secrets
  /** Consents to start servers of files in the working folder. */
  readonly consents: ConsentService
  /** Logins to servers. */
  readonly logins: LoginService
  /** Stored conversations. */
  readonly conversations: ConversationStore
  /** Results that were too large for a model. */
  readonly results: Results
  /** Roots: the folders that servers may see. */
  readonly roots: RootsService
  /** Tool search, and the token cost of definitions. */
  readonly toolSearch: ToolSearchService
  /** Resources and prompts of all servers, and attachments of conversations. */
  readonly library: Library
  /** The last arguments of prompts. */
  readonly promptValues: PromptValues
  /** Programs that call tools. */
  readonly code: Code
  /** Sampling: usage by servers, grants, and model preferences. */
  readonly sampling: SamplingService
  /** The connection state of every configured server, by name. */
  readonly connections: ReadonlyMap<string, ConnectionState>
  /** The command line or URL of a server. @throws McpError 'NOT_FOUND' for an unknown server */
  origin(server: string): string
  /** A connected server's information; undefined while it is not connected. @throws McpError 'NOT_FOUND' for an unknown server */
  details(server: string): ServerDetails | undefined
  /**
   * Sends a ping and returns the milliseconds until its response.
   * @throws McpError 'NOT_FOUND' for an unknown server, or the error if it does not respond
   */
  ping(server: string, options?: { signal?: AbortSignal }): Promise<number>
  /**
   * Sets the minimum level of a server's log messages, until it is connected again.
   * @throws McpError 'NOT_FOUND' for an unknown server, 'CAPABILITY' if it does not support logging
   */
  setLogLevel(server: string, level: LoggingLevel): Promise<void>
  /** The configured data labels of a server. @throws McpError 'NOT_FOUND' for an unknown server */
  labels(server: string): readonly string[]
  /** The tools that models may call, without those visible only to their server's app. */
  tools(): CatalogTool[]
  /** The enabled prompts of all servers, from the lists fetched last. */
  prompts(): CatalogPrompt[]
  /** The enabled resources of all servers, from the lists fetched last, without the pages of apps. */
  resources(): CatalogResource[]
  /** The enabled resource templates of all servers, from the lists fetched last. */
  templates(): CatalogTemplate[]
  /** Instructions of each ready server. */
  instructions(): { server: string; text: string }[]
  /**
   * Calls a tool by its name in the catalog: decides by policy, asks the user if policy requires it, calls, and writes an activity row.
   * A refusal or a failure is a result.
   * @throws McpError 'NOT_FOUND' for an unknown name, 'INVALID' for arguments that are not a JSON object
   */
  call(name: string, args: Record<string, unknown>, options: HostCallOptions): Promise<BrokeredCall>
  /** Calls that servers run as tasks. */
  readonly tasks: TaskService
  /** Pages of servers that show the calls of their tools. */
  readonly apps: AppService
  /**
   * Reads a resource (`resources/read`).
   * @throws McpError 'NOT_FOUND' for an unknown server, 'INVALID' if its definition is not accepted, and the
   * server's error
   */
  read(server: string, uri: string, options?: HostReadOptions): Promise<ReadResourceResult>
  /**
   * Gets a prompt (`prompts/get`) by its qualified name.
   * @throws McpError 'NOT_FOUND' for an unknown prompt, 'INVALID' if its definition is not accepted, and the
   * server's error
   */
  prompt(name: string, args: Record<string, string>, options?: HostReadOptions): Promise<GetPromptResult>
  /**
   * Completions for an argument (`completion/complete`).
   * @throws McpError 'NOT_FOUND' for an unknown server, and the server's error
   */
  complete(
    server: string,
    params: CompleteParams,
    options?: { signal?: AbortSignal },
  ): Promise<{ values: string[]; total?: number; hasMore?: boolean }>
  /**
   * Subscribes to updates of these resources and to all list changes that the server supports, until the watch is
   * closed or the connection ends.
   */
  watch(server: string, uris: readonly string[], onChange: (change: ServerChange) => void): Promise<Watch>
  /** Ends a conversation: its grants and attachments are removed, and lazy servers that only it used may be stopped. */
  endConversation(conversation: string): void
  /** Calls `listener` for every event, or for those of `types` where given, until the returned function is called. */
  on(listener: (event: HostEvent) => void, types?: readonly HostEvent['type'][]): () => void
  /**
   * Calls `listener` soon after another program wrote to the store, until the returned function is called.
   */
  onStored(listener: () => void): () => void
  /** Rows of the activity log, oldest first. `id`: only this row. `limit`: only the newest, default 1 000. */
  activity(filter?: { id?: number; server?: string; kind?: Activity['kind']; limit?: number }): Activity[]
  /** Pinned definitions of servers, and changes to them. */
  readonly trust: TrustService
  /** The message log, recordings and replay. */
  readonly trace: TraceService
  /** Policy rules, decisions and grants. */
  readonly policy: PolicyService
  /**
   * Verifies that the activity log is unchanged. `head`: a hash of the chain noted earlier, which must still be in it
   * unless it was pruned.
   */
  verifyActivity(options?: { head?: string }): ActivityVerification
  /**
   * Removes the rows before the first one at or after `before` (ISO 8601) and returns their number. The log stays
   * verifiable: the chain keeps the hash from which it continues. Texts that were read before are removed from
   * `Library.search` as well.
   * @throws McpError 'INVALID' if `before` is not a time
   */
  pruneActivity(before: string): number
  /**
   * Asks on every surface whether to install a server, and records the decision. `by`: the surface on which the user agreed
   * already, so that no question is asked. Nothing is installed.
   * @throws McpError 'INVALID' if no surface can show the question, 'CANCELLED' if the host is closed, and the reason of the signal
   */
  approveInstallation(
    installation: Installation,
    options?: { by?: string; signal?: AbortSignal },
  ): Promise<boolean>
  /** Writes a row for an action of a surface, such as a model turn; returns its id. */
  record(row: Omit<Activity, 'id' | 'at'>): number
  /**
   * Closes all connections and the store, after pending writes. Open questions of suspended calls stay in the
   * inbox.
   */
  close(): Promise<void>
}

/** Logins to servers. Before a page is opened, a question of the kind `login` is asked. */
export interface LoginService {
  /**
   * Opens the login page without a question; resolves when the server is connected. The event `login` has the URL of the page,
   * for another browser.
   * @throws McpError 'NOT_FOUND' for an unknown server, 'INVALID' for one that is disabled or a program; 'UNAUTHORIZED' if the login failed
   */
  signIn(server: string): Promise<void>
  /** Waits for the pending login question of a server, and for the login that follows if the user agrees. Never rejects. */
  pending(server: string): Promise<void> | undefined
  /**
   * Removes the tokens of a server and its cached lists, and revokes the tokens if the authorization server supports that. If
   * revocation fails, the result has the reason; the tokens are removed anyway.
   * @throws McpError 'NOT_FOUND' for an unknown server, 'INVALID' for a program, or one whose configuration contains credentials
   */
  signOut(server: string): Promise<Revocation>
}
