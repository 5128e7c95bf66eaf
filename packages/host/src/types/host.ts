import type {
  CallToolResult,
  CompleteParams,
  GetPromptResult,
  Implementation,
  JsonRpcMessage,
  ReadResourceResult,
  Root,
} from '@jackfield/sdk'
import type { ConnectOptions, ProgressReport, ServerChange, Watch } from '@jackfield/sdk/client'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import type { Activity, ActivityVerification, HostEvent } from './activity.ts'
import type { CatalogPrompt, CatalogResource, CatalogTemplate, CatalogTool } from './catalog.ts'
import type { Code } from './code.ts'
import type { ConsentDesk } from './consents.ts'
import type { ConversationDesk } from './conversation.ts'
import type { DoctorReport, DoctorStep } from './doctor.ts'
import type { PromptValues } from './forms.ts'
import type { GatewayDesk } from './gateway.ts'
import type { Inbox } from './inbox.ts'
import type { Library } from './library.ts'
import type { LoginDesk } from './login.ts'
import type { Model } from './model.ts'
import type { Caller, Decision, PolicyDesk, PolicyRule, Verdict } from './policy.ts'
import type { Surface } from './questions.ts'
import type { Results } from './results.ts'
import type { RootsDesk } from './roots.ts'
import type { SamplingDesk, SamplingSettings } from './sampling.ts'
import type { Scale } from './scale.ts'
import type { AskInput, SecretStore, Secrets } from './secrets.ts'
import type { ConnectionState, Failure, ServerConfig } from './server.ts'
import type { TaskService } from './task.ts'
import type { TraceDesk } from './trace.ts'
import type { TrustDesk } from './trust.ts'

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
  /** The face whose person answered in place of the tool, which was not called. */
  answeredBy?: string
  /** Where a rule about results matched: whether the caller got the tool's own result. */
  release?: { decision: Decision; outcome: 'passed' | 'edited' | 'withheld' }
  /**
   * Set when the host was closed while the call waited for an answer: its questions stay in the inbox, and answering
   * them goes on with the call.
   */
  parked?: boolean
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
  onProgress?: (report: ProgressReport) => void
  /** Hears the activity row of the call as soon as it is written. */
  onRow?: (activity: number) => void
}

/** Options of reading a resource and of getting a prompt. */
export interface HostReadOptions {
  signal?: AbortSignal
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
  /** Whether lists are kept up to date while the connection stands. Default true. */
  follow?: boolean
  /**
   * Milliseconds of silence after which a server over the network is asked whether it is there. Default 60 000; 0 for
   * never.
   */
  idlePingMs?: number
  /** Headers whose values the log does not keep, beside those that always hold credentials. */
  maskedHeaders?: readonly string[]
  /** Whether calls tell servers in `_meta` which trace they are a part of (`traceparent`). Default false. */
  traceparent?: boolean
  /** Sees every message as it crosses the wire, for logs and inspectors. */
  onMessage?: (server: string, direction: 'sent' | 'received', message: JsonRpcMessage) => void
}

/** What is kept of the messages beside the activity log. */
export interface LogSettings {
  /** Whether anything is. Default true. What was kept before goes with its time. */
  keep?: boolean
  /** Millions of bytes of all messages together; the oldest go first. Default 200, and 8 where the store is in memory. */
  megabytes?: number
  /** Days that a message is kept at most. Default 30. */
  days?: number
  /** Headers whose values are not kept, beside those of `connect`. */
  maskedHeaders?: string[]
  /** As in `connect`, which wins. */
  traceparent?: boolean
}

/** What a host is made of: servers, the person and the models. Only `servers` and `models` are needed. */
export interface HostOptions {
  /** Servers by name, as in `mcpServers`. */
  servers: Record<string, ServerConfig>
  /** The face that is there from the start; `attach` adds others. */
  surface?: Surface
  models: Model[]
  /** What was decided about servers that ask for a model's answer. Default: every look is taken, and default limits hold. */
  sampling?: SamplingSettings
  /**
   * The SQLite file of policy grants and activity. Default ':memory:', for the life of the host. A file that cannot be
   * opened is an error, never replaced.
   */
  store?: string
  /** Where secrets are kept that configurations refer to. Default: in memory. */
  secrets?: SecretStore
  /** Where tokens of servers are kept that the person signed in at. Default: in memory. */
  credentials?: CredentialStore
  /** Opens a page that the person agreed to: to sign in, or for a visit. Default: their browser. */
  openPage?: (url: URL) => Promise<void>
  /** Asks for values that configurations want the person to type. Default: nobody is asked, and such a server fails. */
  askInput?: AskInput
  /**
   * Where variables of configurations are looked up when a server is started, and which proxy its connections go through
   * (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Default `process.env`.
   */
  env?: Readonly<Record<string, string | undefined>>
  /** What `${userHome}` stands for. Default: the home folder of the account. */
  home?: string
  /** Starts what files of the working folder name without asking the person first. Default false. */
  startProjectServers?: boolean
  /**
   * Servers whose changed definitions are accepted and reported by the event `trust` instead of put out of use: those
   * that a person starts by a command they typed. What is known of them is kept apart from configured servers.
   */
  unpinned?: readonly string[]
  /** Folders servers may be told of, besides `workspace` and its repository; the person is asked per server. */
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
  /**
   * Further configurations, whose servers are not connected: the secret values that they name are redacted too. Read once,
   * before the first server is started.
   */
  redactFor?: () => Promise<Iterable<ServerConfig>>
  /** What is kept of the messages. The activity log is not meant: it is kept until it is pruned. */
  log?: LogSettings
  /** Who the host says it is to servers. */
  info?: Implementation
}

/** What `reconfigure` did, by the names of servers. */
export interface Reconfigured {
  added: string[]
  removed: string[]
  /** Started anew, since their configuration changed. */
  changed: string[]
}

/** Many servers under one person's control. Every effect goes through `call`. */
export interface Host extends AsyncDisposable {
  /**
   * Connects every enabled server side by side, or those named; resolves when each is ready or failed.
   * @throws McpError 'INVALID' for an unknown name
   */
  start(servers?: readonly string[]): Promise<void>
  /**
   * Connects one server anew at once, whether it stands, waits for its next attempt or was given up; resolves when it
   * is ready or failed. Throws an McpError 'INVALID' for a server that is unknown or disabled.
   */
  reconnect(server: string): Promise<void>
  /**
   * Takes these servers in place of those there are: connects new ones, closes those left out, restarts those that
   * changed and leaves all others alone. Resolves when each new one is ready or failed. With `policy`, calls are
   * decided by that from now on, also those that wait for an answer, and the event `policy` tells where it is another one;
   * without, the policy stays. Remembered answers stay.
   * Throws an McpError 'INVALID' for a rule that cannot be followed, and nothing is changed then.
   */
  reconfigure(
    servers: Record<string, ServerConfig>,
    policy?: Pick<HostOptions, 'rules' | 'defaultVerdict'>,
  ): Promise<Reconfigured>
  /**
   * Looks a server over from outside, step by step, on connections of its own. Throws an McpError 'INVALID' for an
   * unknown server.
   */
  examine(
    server: string,
    options?: { onStep?: (step: DoctorStep) => void; signal?: AbortSignal },
  ): Promise<DoctorReport>
  /**
   * Adds a face: what it can show is advertised from the next request on (2026-07-28), or from the next connection on.
   * Open questions of its kinds are shown to it. The returned function takes it away again.
   */
  attach(surface: Surface): () => void
  /** Asks again what could not be asked when no surface was attached, such as about changed definitions. */
  askAgain(): void
  /** Every question to the person. */
  readonly inbox: Inbox
  /** What the servers offer, shown to other clients as one server. */
  readonly gateway: GatewayDesk
  /** Values that servers need and nobody else may see. */
  readonly secrets: Secrets
  /** What of the servers that files of the working folder name may be started. */
  readonly consents: ConsentDesk
  /** Signing in at servers that want it. */
  readonly logins: LoginDesk
  /** Conversations that are kept. */
  readonly conversations: ConversationDesk
  /** Results that were too large for a model. */
  readonly results: Results
  /** The folders that servers may be told of. */
  readonly roots: RootsDesk
  /** Search among the tools, and what they cost. */
  readonly scale: Scale
  /** Resources and prompts of all servers, and what of them goes along with conversations. */
  readonly library: Library
  /** Arguments that prompts were used with before. */
  readonly promptValues: PromptValues
  /** Programs over the tools. */
  readonly code: Code
  /** What servers use of the models, what passes without asking, and which model would be chosen. */
  readonly sampling: SamplingDesk
  readonly connections: ReadonlyMap<string, ConnectionState>
  /** The command line or the address of a server. @throws McpError 'INVALID' for an unknown server */
  origin(server: string): string
  /** Labels that data of a server has, as configured. @throws McpError 'INVALID' for an unknown server */
  labels(server: string): readonly string[]
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
  /** Calls that servers run as tasks. */
  readonly tasks: TaskService
  read(server: string, uri: string, options?: HostReadOptions): Promise<ReadResourceResult>
  prompt(name: string, args: Record<string, string>, options?: HostReadOptions): Promise<GetPromptResult>
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
  /** A conversation is over: lazy servers that only it used may be ended. */
  leave(conversation: string): void
  /** Calls `listener` for every event until the returned function is called. */
  on(listener: (event: HostEvent) => void): () => void
  /**
   * Calls `listener` soon after another program wrote to the store, until the returned function is called. It does not
   * say what was written.
   */
  onStored(listener: () => void): () => void
  /** Rows of the activity log, oldest first. `id`: only this row. `limit`: the newest so many, default 1 000. */
  activity(filter?: { id?: number; server?: string; kind?: Activity['kind']; limit?: number }): Activity[]
  /** What servers say about themselves, as it was agreed to. */
  readonly trust: TrustDesk
  /** Everything that happened, message by message, and doing it again. */
  readonly trace: TraceDesk
  /** What policy says and why, and what is remembered. */
  readonly policy: PolicyDesk
  /**
   * Whether the activity log is as it was written. `head`: a hash of the chain that was noted before and must still be
   * in it, unless what it ended was pruned.
   */
  verifyActivity(options?: { head?: string }): ActivityVerification
  /**
   * Takes the oldest rows away, up to the first one of `before` (ISO 8601) or later. The log stays verifiable: a row
   * of the chain keeps the hash that it continues from. Texts that were read before are removed from `Library.search`, too.
   * Gives the count of rows.
   * @throws McpError 'INVALID' where `before` is no time
   */
  pruneActivity(before: string): number
  /** Writes a row about something a face did, such as a model turn; returns its id. */
  record(row: Omit<Activity, 'id' | 'at'>): number
  close(): Promise<void>
}
