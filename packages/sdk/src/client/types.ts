// For `Symbol.asyncDispose` in the published types, whatever "lib" their users compile with.
/// <reference lib="esnext.disposable" preserve="true" />
import type { JsonObject, JsonRpcMessage, RequestId } from '../jsonrpc/message.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  QuestionMethod,
  Root,
} from '../protocol/asking.ts'
import type { ClientCapabilities, ServerCapabilities } from '../protocol/capabilities.ts'
import type {
  CallToolResult,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  Implementation,
  LoggingLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  SubscriptionFilter,
  Tool,
} from '../protocol/definitions.ts'
import type {
  ClientMethod,
  ClientRequests,
  ProtocolVersion,
  ServerNotifications,
} from '../protocol/methods.ts'
import type { InputOf, OutputOf } from '../server/schema.ts'
import type { Definitions, Server } from '../server/server.ts'
import type { ClientExtension } from './extension.ts'
import type { ClientTelemetry } from './telemetry.ts'

/** Who a request is passed on for. */
export interface Relay {
  /** What they can answer, declared in place of the connection's own (2026-07-28). */
  readonly capabilities: ClientCapabilities
}

/** Where a question to this client comes from. */
export interface AskContext {
  /** The request whose handler asks, where the transport tells: always on 2026-07-28 and on HTTP. */
  readonly cause:
    | {
        readonly id: RequestId
        readonly method: string
        readonly params: JsonObject
        /** Who the request was passed on for. */
        readonly relay?: Relay
      }
    | undefined
  /** Aborted when the answer is no longer wanted. */
  readonly signal: AbortSignal
}

/** Answers a server's questions, the same in every revision. Throw an RpcError to refuse. */
export interface AnswerHandlers {
  onElicit?: (question: ElicitParams, context: AskContext) => ElicitResult | Promise<ElicitResult>
  onSample?: (
    request: CreateMessageParams,
    context: AskContext,
  ) => CreateMessageResult | Promise<CreateMessageResult>
  /** The folders open to this server, or a way to find out. */
  onRoots?: Root[] | ((context: AskContext) => Root[] | Promise<Root[]>)
}

/** What a client can answer, and what it says of that. */
export interface AnswerOptions extends AnswerHandlers {
  /** Forms and URL visits this client can show. Default: both false unless `onElicit` is given, then forms only. */
  elicitation?: { form?: boolean; url?: boolean }
  /** What sampling may bring along. Default: neither tools nor context. */
  sampling?: {
    tools?: boolean
    context?: boolean
    /** Times in a row the model may use tools and get their results in one request; more are refused with -32602. Default 20. */
    maxToolRounds?: number
    /**
     * Also answers samples that belong to no request of this client: those that come while none is under way. Default
     * false: they are refused with -32602.
     */
    unrelated?: boolean
  }
}

/** What a server asked back instead of a result (2026-07-28). It is plain JSON and can be kept as such. */
export interface Round {
  /** Questions by the names the server gave them. */
  readonly inputRequests?: JsonObject
  /** Opaque; it goes back to the server byte for byte. */
  readonly requestState?: string
}

/** How far a request got. `progress` only ever grows; without a `total` nobody knows how far it has to go. */
export interface ProgressReport {
  progress: number
  total?: number
  message?: string
}

/** How long to wait for one request, how to give it up, and who hears of its progress. */
export interface CallOptions {
  signal?: AbortSignal
  /** Milliseconds without an answer or progress before giving up. Default 60 000. Time a person takes to answer a question does not count. */
  timeoutMs?: number
  /** Milliseconds in all, progress or not. Default 3 600 000. */
  maxTotalMs?: number
  /**
   * The server may run this request twice without harm, because what it does is the same the second time. It is then
   * sent again where its answer was lost, and where a gateway answers 502, 503 or 504 in the server's place: five times
   * at most, with growing pauses or as `Retry-After` wishes, as long as the call may last. Otherwise it fails with McpError
   * 'OUTCOME_UNKNOWN', or with 'HTTP' where it was told when to come again. Default: whatever only reads is, a tool is
   * not, as what its annotations say is only the server's word.
   */
  repeatable?: boolean
  onProgress?: (report: ProgressReport) => void
  /**
   * Hears of log messages about this request. Over stdio nothing says which request they are about, so they come
   * here only while no other call listens; `onLog` of `connect` hears of all.
   */
  onLog?: (message: ServerNotifications['notifications/message']) => void
  /** Asks for log messages about this request (2026-07-28). Default: the connection's level, or `info` with `onLog`. */
  logLevel?: LoggingLevel
  /** Further `_meta` for the request. */
  meta?: JsonObject
  /**
   * Passes the request on for somebody else. A result that asks for input, or of a type an extension adds, is handed
   * back as it came, with its `resultType`, and no structured content is checked: that is up to them.
   */
  relay?: Relay
  /**
   * Hears of each round the server asks back (2026-07-28), before its questions are put. Whoever keeps the round, and
   * what was called, can take the call up later with `resume`.
   */
  onRound?: (round: Round) => void
  /** Called when a round is answered, right before the answers go out: from here on the round is used up (2026-07-28). */
  onAnswered?: () => void
  /**
   * Takes a call up at a round that was kept (2026-07-28): its questions are answered and the request is sent with the
   * answers, as if this client had just been asked. The method and its params must be those of that call. How long the
   * round stays good is up to the server. A session refuses it with an McpError 'INVALID'. `answers` answers this round
   * in place of what the client can answer, for answers that were given before.
   */
  resume?: Round & { readonly answers?: AnswerOptions }
}

/** Something about a server that changed. */
export type ServerChange = { type: 'tools' | 'prompts' | 'resources' } | { type: 'resource'; uri: string }

/** How a cached list or read may be used. */
export interface ReadOptions extends CallOptions {
  /** `use` a fresh cached answer (default), `refresh` it, or `bypass` the cache. */
  cache?: 'use' | 'refresh' | 'bypass'
}

/** Who this client is, what it speaks, what it can answer, and what it hears. All of it has defaults. */
export interface ConnectOptions extends AnswerOptions {
  /** Who this client says it is. */
  info?: Implementation
  /** Revisions this client will speak, default all five. */
  revisions?: readonly ProtocolVersion[]
  experimental?: Record<string, JsonObject>
  /** What this client speaks beyond the core protocol. Default: nothing. */
  extensions?: readonly ClientExtension[]
  /**
   * Declares these capabilities and hands every question over unread, in place of the handlers and what they can show:
   * for proxies. Throw an RpcError to refuse.
   */
  relay?: Relay & {
    answer(
      question: { readonly method: QuestionMethod; readonly params: JsonObject },
      context: AskContext,
    ): Promise<JsonObject>
  }
  /** Milliseconds until the server must be ready. Default 30 000. */
  connectTimeoutMs?: number
  /**
   * Milliseconds to wait for the answer to `server/discover` before taking the server for legacy. Default 5 000. Where a
   * gateway answers 502, 503 or 504 in the server's place, the question is put again, as long as `connectTimeoutMs` allows.
   */
  probeTimeoutMs?: number
  timeoutMs?: number
  maxTotalMs?: number
  /** How often one call may be asked back. Default 10. */
  maxRounds?: number
  /** Questions of one request that are answered at once (2026-07-28); more fail with McpError 'LIMIT'. Default 64. */
  maxQuestions?: number
  /** Level of log messages wanted from the start. */
  logLevel?: LoggingLevel
  onLog?: (message: ServerNotifications['notifications/message']) => void
  /**
   * Hears of every change the server tells of; the matching cached answers are already dropped. A server of
   * 2026-07-28 tells nothing unless `watch` asks for it.
   */
  onChange?: (change: ServerChange) => void
  /** Bytes of one list, all its pages together, before it is given up with McpError 'LIMIT'. Default 16 MiB. */
  maxListBytes?: number
  /** Pages of one list before it is given up with McpError 'LIMIT'. Default 1000. */
  maxListPages?: number
  /** Turns the answer cache off. */
  cache?: false
  /**
   * Called for what was tolerated (stray output, tools left out, late answers) and for handlers of this client that failed.
   * Default: `console.warn`, each message once for a connection, the first 100 of them.
   */
  onWarning?: (message: string) => void
  /** Follows requests and questions, for tracing. Default: nothing. */
  telemetry?: ClientTelemetry
  /** Sees every message as it crosses the wire, for logs and inspectors. */
  onMessage?: (direction: 'sent' | 'received', message: JsonRpcMessage) => void
  /** Hears that the person finished a URL visit, by its `elicitationId` (2025-11-25). */
  onElicitationComplete?: (id: string) => void
  /** Called once, when the connection is over. */
  onClose?: (reason: Error | undefined) => void
  /** Gives up connecting; a connection that stands is not touched. */
  signal?: AbortSignal
}

type DefinedBy<S, K extends keyof Definitions> =
  S extends Server<infer D> ? (D extends Definitions ? Named<NonNullable<D[K]>> : never) : never
type ToolsOf<S> = DefinedBy<S, 'tools'>
type PromptsOf<S> = DefinedBy<S, 'prompts'>
type ResourcesOf<S> = DefinedBy<S, 'resources'>
/** Nothing where the names are not known, so that such a server's client is like any other. */
type Named<T> = string extends keyof T ? never : T
type InOf<T> = T extends { input?: infer In } ? Exclude<In, undefined> : never
type OutOf<T> = T extends { output?: infer Out } ? Exclude<Out, undefined> : never

/** Names of a server's tools; any string where the server's type is not known. */
export type ToolName<S> = [ToolsOf<S>] extends [never] ? string : keyof ToolsOf<S> & string
/** Arguments of one tool. */
export type ToolArguments<S, N> = [ToolsOf<S>] extends [never]
  ? JsonObject
  : N extends keyof ToolsOf<S>
    ? [InOf<ToolsOf<S>[N]>] extends [never]
      ? JsonObject
      : InputOf<InOf<ToolsOf<S>[N]>>
    : never
/** Result of one tool, with its structured content typed where the server's type is known. */
export type ToolResult<S, N> = [ToolsOf<S>] extends [never]
  ? CallToolResult
  : N extends keyof ToolsOf<S>
    ? [OutOf<ToolsOf<S>[N]>] extends [never]
      ? CallToolResult
      : Omit<CallToolResult, 'structuredContent'> & { structuredContent?: OutputOf<OutOf<ToolsOf<S>[N]>> }
    : never

/** Names of a server's prompts; any string where the server's type is not known. */
export type PromptName<S> = [PromptsOf<S>] extends [never] ? string : keyof PromptsOf<S> & string
/** Arguments of one prompt: on the wire every one is a string. */
export type PromptArguments<S, N> = [PromptsOf<S>] extends [never]
  ? Record<string, string | undefined>
  : N extends keyof PromptsOf<S>
    ? [InOf<PromptsOf<S>[N]>] extends [never]
      ? Record<string, never>
      : Texts<InputOf<InOf<PromptsOf<S>[N]>>>
    : never
/** The members as text: those that are text already keep their choices. */
type Texts<T> = T extends object
  ? { [M in keyof T]: [T[M]] extends [string | undefined] ? T[M] : string }
  : Record<string, string>
/**
 * URIs of a server's resources, for the editor to offer: those of its resources and the form of its templates. Any other
 * string is accepted too, because URIs also come in results.
 */
export type ResourceUri<S> = [ResourcesOf<S>] extends [never]
  ? string
  : UriOf<ResourcesOf<S>[keyof ResourcesOf<S>]> | (string & {})
type UriOf<R> = R extends { readonly kind: 'template'; uriTemplate: infer T extends string }
  ? Expanded<T>
  : R extends { uri: infer U extends string }
    ? U
    : never
/** A URI template with text in place of every expression. */
type Expanded<T extends string> = string extends T
  ? string
  : T extends `${infer Before}{${string}}${infer After}`
    ? `${Before}${string}${Expanded<After>}`
    : T

/** Arguments and options of a call; the arguments may be left out where none is required. */
type Given<Args, Options> =
  Record<never, never> extends Args ? [args?: Args, options?: Options] : [args: Args, options?: Options]

/** What the client learned about its server. */
export interface ServerFacts {
  readonly info: Implementation | undefined
  readonly revision: ProtocolVersion
  readonly era: 'session' | 'stateless'
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
}

/** An open watch on a server's changes. */
export interface Watch {
  /** What the server agreed to tell. */
  readonly honored: SubscriptionFilter
  /** Settles when the watch is over; rejects never. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

/** What every client has, whatever is known about its server. */
export interface BaseClient {
  readonly server: ServerFacts
  /**
   * Every tool, all pages; none where the server did not declare tools, and likewise for the other lists. Tools whose header annotations are invalid are
   * left out with a warning (HTTP).
   */
  tools(options?: ReadOptions): Promise<Tool[]>
  resources(options?: ReadOptions): Promise<Resource[]>
  templates(options?: ReadOptions): Promise<ResourceTemplate[]>
  prompts(options?: ReadOptions): Promise<Prompt[]>
  complete(params: CompleteParams, options?: CallOptions): Promise<CompleteResult['completion']>
  /**
   * Watches for changes, in the way the server's era has; `onChange` of `connect` is called for them too.
   * @throws McpError 'CAPABILITY' for a server that declared neither `listChanged` nor `subscribe`
   */
  watch(filter: SubscriptionFilter, onChange?: ConnectOptions['onChange']): Promise<Watch>
  /** Sets the level of log messages: for the session (legacy), or for every later request (2026-07-28). */
  setLogLevel(level: LoggingLevel | undefined): Promise<void>
  /**
   * Replaces what this client can answer. Every later request declares it (2026-07-28); a session is held to what
   * `initialize` declared until it begins anew. Questions that came before are answered as they were meant.
   * @throws McpError 'INVALID' for what `connect` would refuse too
   */
  setAnswers(answers: AnswerOptions): void
  /** Tells a legacy server that the roots changed. */
  rootsChanged(): Promise<void>
  /** Legacy: `ping`. 2026-07-28: `server/discover`, uncached. */
  ping(options?: CallOptions): Promise<void>
  /** Sends any request; one page of a list, for example. */
  request<M extends ClientMethod>(
    method: M,
    params?: ClientRequests[M]['params'],
    options?: CallOptions,
  ): Promise<ClientRequests[M]['result']>
  /** Sends a request of an extension. */
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** Ends the connection and, for a child process, its whole process tree. */
  close(): Promise<void>
  readonly closed: Promise<Error | undefined>
  [Symbol.asyncDispose](): Promise<void>
}

/** A client of a server whose tools the compiler does not know. */
export interface UntypedClient extends BaseClient {
  /** Calls a tool, answering the server's questions on the way. A tool's own failure is a result with `isError`. */
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult>
  prompt(
    name: string,
    args?: Record<string, string | undefined>,
    options?: CallOptions,
  ): Promise<GetPromptResult>
  read(uri: string, options?: ReadOptions): Promise<ReadResourceResult>
}

/** A client of a server whose tools the compiler knows: their names, arguments and results are checked. */
export interface TypedClient<S> extends BaseClient {
  /** Calls a tool, answering the server's questions on the way. A tool's own failure is a result with `isError`. */
  call<N extends ToolName<S>>(
    name: N,
    ...given: Given<ToolArguments<S, N>, CallOptions>
  ): Promise<ToolResult<S, N>>
  prompt<N extends PromptName<S>>(
    name: N,
    ...given: Given<PromptArguments<S, N>, CallOptions>
  ): Promise<GetPromptResult>
  read(uri: ResourceUri<S>, options?: ReadOptions): Promise<ReadResourceResult>
}

/** One connection to one server. Give the server's type (`Client<typeof server>`) to have tool names, arguments and results checked. */
export type Client<S = unknown> = [ToolsOf<S> | PromptsOf<S> | ResourcesOf<S>] extends [never]
  ? UntypedClient
  : TypedClient<S>
