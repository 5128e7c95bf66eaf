// For `Symbol.asyncDispose` in the published types, whatever "lib" their users compile with.
/// <reference lib="esnext.disposable" preserve="true" />

import type { JsonObject, JsonRpcMessage, RequestId } from '../jsonrpc/message.ts'
import type {
  CallToolResult,
  ClientCapabilities,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  Implementation,
  LoggingLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  SubscriptionFilter,
  Tool,
} from '../protocol/definitions.ts'
import type {
  ClientMethod,
  ClientRequests,
  ProtocolVersion,
  ServerNotifications,
} from '../protocol/methods.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  QuestionMethod,
  Root,
} from '../protocol/server-requests.ts'
import type { InputOf, OutputOf } from '../server/schema.ts'
import type { Definitions, Server } from '../server/server.ts'
import type { ClientExtension } from './extension.ts'
import type { ClientTelemetry } from './telemetry.ts'

/** The client that a proxy relays a request for. */
export interface Relay {
  /** Its capabilities, declared in place of the connection's own (2026-07-28). */
  readonly capabilities: ClientCapabilities
}

/** The context of a request from the server. */
export interface AskContext {
  /** The request whose handler sent it, if the transport identifies it: always on 2026-07-28 and over HTTP. */
  readonly cause:
    | {
        readonly id: RequestId
        readonly method: string
        readonly params: JsonObject
        /** The client that the request was relayed for. */
        readonly relay?: Relay
      }
    | undefined
  /** Aborts when the server cancels the request or the call ends. */
  readonly signal: AbortSignal
}

/**
 * Handlers for requests of the server, the same for every revision. Each declares its capability. Throw an RpcError to
 * refuse. On a session any other error is reported to `onWarning`, and the server gets -32603 without its text; on
 * 2026-07-28 the call that needs the response rejects with what the handler threw.
 */
export interface AnswerHandlers {
  /**
   * Handles `elicitation/create`: shows a form or a URL to the user. Default: elicitation is not declared.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
   */
  onElicit?: (question: ElicitParams, context: AskContext) => ElicitResult | Promise<ElicitResult>
  /**
   * Handles `sampling/createMessage` with a model, after the user approved it. Default: sampling is not declared.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
   */
  onSample?: (
    request: CreateMessageParams,
    context: AskContext,
  ) => CreateMessageResult | Promise<CreateMessageResult>
  /**
   * Handles `roots/list`: the roots of this server, or a function that returns them. Default: roots are not declared.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/roots
   */
  onRoots?: Root[] | ((context: AskContext) => Root[] | Promise<Root[]>)
}

/** A client's handlers, and the capabilities declared with them. */
export interface AnswerOptions extends AnswerHandlers {
  /**
   * Supported elicitation modes. Default: forms with `onElicit`, none without it. `{ url: true }` is URLs alone;
   * `{ form: true, url: true }` is both.
   */
  elicitation?: { form?: boolean; url?: boolean }
  /** Supported sampling features. Default: neither tools nor context. */
  sampling?: {
    tools?: boolean
    context?: boolean
    /** Consecutive rounds of tool use in one request; more are refused with -32602. Default 20. */
    maxToolRounds?: number
    /**
     * Accepts sampling requests while no request of this client is in flight. Default false: they are refused with
     * -32602.
     */
    unrelated?: boolean
  }
}

/** A result that requests input (2026-07-28). Plain JSON, so that it can be stored. */
export interface Round {
  /** Requests by the keys that the server chose. */
  readonly inputRequests?: JsonObject
  /** Opaque: returned to the server unchanged. */
  readonly requestState?: string
}

/** The progress of a request. `progress` always increases; without `total`, the end is unknown. */
export interface ProgressReport {
  /** The progress so far, in a unit of the server. */
  progress: number
  /** The progress at the end, in the same unit. */
  total?: number
  /** One line for the user. Since 2025-03-26. */
  message?: string
}

/** Timeouts, cancellation, progress and metadata of one request. */
export interface CallOptions {
  /** Cancels the call, which then rejects with McpError 'CANCELLED' and the signal's reason as `cause`. */
  signal?: AbortSignal
  /** Milliseconds without a response or progress before the request fails. Default 60 000. Paused while a handler of this client runs. */
  timeoutMs?: number
  /** Milliseconds in total, with or without progress. Default 3 600 000. */
  maxTotalMs?: number
  /**
   * The request is idempotent, so it is sent again when its response was lost or a gateway responds with 502, 503 or
   * 504: at most five times, with exponential backoff or after `Retry-After`, within the timeouts. Otherwise the request
   * fails with McpError 'OUTCOME_UNKNOWN', or 'HTTP' if the gateway sent `Retry-After`. Default: true for methods that
   * only read, false for tools, whose annotations are not trusted.
   */
  repeatable?: boolean
  /**
   * Called for each progress report of the request whose value increases. Default: none.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
   */
  onProgress?: (report: ProgressReport) => void
  /**
   * Called for log messages of this request. stdio does not say which request they belong to: there it is only called
   * while no other call has `onLog`. `onLog` of `connect` is called for all.
   */
  onLog?: (message: ServerNotifications['notifications/message']) => void
  /** Minimum level of log messages for this request (2026-07-28). Default: the connection's level, or `info` with `onLog`. */
  logLevel?: LoggingLevel
  /** Further `_meta` for the request. Default: none. */
  meta?: JsonObject
  /**
   * Relays the request for another client. A result that requests input, or of a type that an extension adds, is
   * returned unchanged with its `resultType`, and structured content is not validated.
   */
  relay?: Relay
  /**
   * Called for each result that requests input (2026-07-28), before handlers run. Store the round and the call's
   * arguments to `resume` it later.
   */
  onRound?: (round: Round) => void
  /** Called right before the responses of a round are sent; the round cannot be resumed from then on (2026-07-28). */
  onAnswered?: () => void
  /**
   * Resumes a call at a stored round (2026-07-28): runs the handlers for its requests, then sends the request with their
   * responses. The method and params must be those of the original call. The server decides how long a round is valid.
   * Fails with McpError 'INVALID' on a session. `answers` replaces the client's handlers for this round.
   */
  resume?: Round & { readonly answers?: AnswerOptions }
}

/** A change that the server announced. */
export type ServerChange =
  /** The list changed; `resources` is that of templates too. */
  | { type: 'tools' | 'prompts' | 'resources' }
  /** The contents of the resource with this URI changed, or of one whose URI starts with it. */
  | { type: 'resource'; uri: string }

/** Options of a list or read, with its use of the cache. */
export interface ReadOptions extends CallOptions {
  /** `use` a fresh cached result (default), `refresh` it, or `bypass` the cache. */
  cache?: 'use' | 'refresh' | 'bypass'
}

/** Options of `connect`. All have defaults. */
export interface ConnectOptions extends AnswerOptions {
  /** The name and version that the client sends. Default `jackfield`, version `0`. */
  info?: Implementation
  /** Protocol revisions to allow. Default: all; the newest that the server supports is used. */
  revisions?: readonly ProtocolVersion[]
  /** Declared under `capabilities.experimental`. Default: none. */
  experimental?: Record<string, JsonObject>
  /** Protocol extensions to declare. Default: none. */
  extensions?: readonly ClientExtension[]
  /**
   * For proxies: declares these capabilities and passes every request of the server to `answer` without validation, in
   * place of the handlers. Throw an RpcError to refuse.
   */
  relay?: Relay & {
    answer(
      question: { readonly method: QuestionMethod; readonly params: JsonObject },
      context: AskContext,
    ): Promise<JsonObject>
  }
  /** Milliseconds until the connection must be ready. Default 30 000. */
  connectTimeoutMs?: number
  /**
   * Milliseconds to wait for the response to `server/discover` before `initialize` is sent. Default 5 000. Gateway
   * failures (502, 503, 504) are retried within `connectTimeoutMs`.
   */
  probeTimeoutMs?: number
  /** `timeoutMs` of every call without its own. Default 60 000 ms. */
  timeoutMs?: number
  /** `maxTotalMs` of every call without its own. Default 3 600 000 ms. */
  maxTotalMs?: number
  /** How often the server may request input for one call; more fail with McpError 'TOO_MANY_ROUNDS'. Default 10. */
  maxRounds?: number
  /** Requests in one result that requests input (2026-07-28); more fail with McpError 'LIMIT'. Default 64. */
  maxQuestions?: number
  /** Initial minimum level of log messages. Default: that of the server; on 2026-07-28 `info` with `onLog`, otherwise none. */
  logLevel?: LoggingLevel
  /** Called for every log message of the server. Default: they are dropped. */
  onLog?: (message: ServerNotifications['notifications/message']) => void
  /**
   * Called for every change that the server announces, after the matching cached results are dropped. Servers of
   * 2026-07-28 announce only what `watch` subscribes to.
   */
  onChange?: (change: ServerChange) => void
  /** Bytes of one list, all pages together; more fail with McpError 'LIMIT'. Default 16 MiB. */
  maxListBytes?: number
  /** Pages of one list; more fail with McpError 'LIMIT'. Default 1000. */
  maxListPages?: number
  /** `false` disables the result cache. Default: results are cached for the `ttlMs` that the server gives. */
  cache?: false
  /**
   * Called for tolerated faults of the server (invalid output, ignored tools, late or unexpected responses) and for handlers of
   * this client that failed. Default: `console.warn`, each message once per connection, the first 100 of them.
   */
  onWarning?: (message: string) => void
  /** Traces requests in both directions. Default: none. */
  telemetry?: ClientTelemetry
  /** Called for every message that is sent or received, for logs and inspectors. */
  onMessage?: (direction: 'sent' | 'received', message: JsonRpcMessage) => void
  /** Called with the `elicitationId` when the user completed a URL elicitation (2025-11-25). */
  onElicitationComplete?: (id: string) => void
  /** Called once when the connection closed; `reason` is undefined after `close()`. */
  onClose?: (reason: Error | undefined) => void
  /** Aborts connecting. Has no effect on an established connection. */
  signal?: AbortSignal
}

type DefinedBy<S, K extends keyof Definitions> =
  S extends Server<infer D> ? (D extends Definitions ? Named<NonNullable<D[K]>> : never) : never
type ToolsOf<S> = DefinedBy<S, 'tools'>
type PromptsOf<S> = DefinedBy<S, 'prompts'>
type ResourcesOf<S> = DefinedBy<S, 'resources'>
/** `never` if the names are not known to the compiler. */
type Named<T> = string extends keyof T ? never : T
type InOf<T> = T extends { input?: infer In } ? Exclude<In, undefined> : never
type OutOf<T> = T extends { output?: infer Out } ? Exclude<Out, undefined> : never

/** Names of a server's tools; `string` if the server's type is unknown. */
export type ToolName<S> = [ToolsOf<S>] extends [never] ? string : keyof ToolsOf<S> & string
/** Arguments of one tool; any JSON object if the server's type is unknown. */
export type ToolArguments<S, N> = [ToolsOf<S>] extends [never]
  ? JsonObject
  : N extends keyof ToolsOf<S>
    ? [InOf<ToolsOf<S>[N]>] extends [never]
      ? JsonObject
      : InputOf<InOf<ToolsOf<S>[N]>>
    : never
/** Result of one tool, with typed structured content if the server's type is known. */
export type ToolResult<S, N> = [ToolsOf<S>] extends [never]
  ? CallToolResult
  : N extends keyof ToolsOf<S>
    ? [OutOf<ToolsOf<S>[N]>] extends [never]
      ? CallToolResult
      : Omit<CallToolResult, 'structuredContent'> & { structuredContent?: OutputOf<OutOf<ToolsOf<S>[N]>> }
    : never

/** Names of a server's prompts; `string` if the server's type is unknown. */
export type PromptName<S> = [PromptsOf<S>] extends [never] ? string : keyof PromptsOf<S> & string
/** Arguments of one prompt: strings, as on the wire. */
export type PromptArguments<S, N> = [PromptsOf<S>] extends [never]
  ? Record<string, string | undefined>
  : N extends keyof PromptsOf<S>
    ? [InOf<PromptsOf<S>[N]>] extends [never]
      ? Record<string, never>
      : Texts<InputOf<InOf<PromptsOf<S>[N]>>>
    : never
/** The members as strings; string literals are kept. */
type Texts<T> = T extends object
  ? { [M in keyof T]: [T[M]] extends [string | undefined] ? T[M] : string }
  : Record<string, string>
/**
 * URIs of a server's resources and templates, for completion in editors. Any other string is accepted too, because
 * results contain URIs.
 */
export type ResourceUri<S> = [ResourcesOf<S>] extends [never]
  ? string
  : UriOf<ResourcesOf<S>[keyof ResourcesOf<S>]> | (string & {})
type UriOf<R> = R extends { readonly kind: 'template'; uriTemplate: infer T extends string }
  ? Expanded<T>
  : R extends { uri: infer U extends string }
    ? U
    : never
/** A URI template with `string` in place of every expression. */
type Expanded<T extends string> = string extends T
  ? string
  : T extends `${infer Before}{${string}}${infer After}`
    ? `${Before}${string}${Expanded<After>}`
    : T

/** Arguments and options of a call; the arguments are optional if none is required. */
type Given<Args, Options> =
  Record<never, never> extends Args ? [args?: Args, options?: Options] : [args: Args, options?: Options]

/** The server's info, revision and capabilities, as negotiated while connecting. */
export interface ServerFacts {
  /** Name and version of the server; undefined if it sent none. */
  readonly info: Implementation | undefined
  /** The negotiated protocol revision. */
  readonly revision: ProtocolVersion
  /** `session` for revisions up to 2025-11-25, `stateless` for 2026-07-28. */
  readonly era: 'session' | 'stateless'
  /** The capabilities that the server declared. */
  readonly capabilities: ServerCapabilities
  /** The server's instructions for the model; undefined if it sent none. */
  readonly instructions: string | undefined
}

/** An open subscription to a server's changes. */
export interface Watch {
  /** The part of the filter that the server acknowledged. */
  readonly acknowledged: SubscriptionFilter
  /** Resolves when the subscription has ended. Never rejects. */
  readonly closed: Promise<void>
  /** Ends the subscription. Idempotent. */
  close(): Promise<void>
}

/** The methods of every client, typed or not. */
export interface BaseClient {
  /** What the server declared while connecting; updated when a session is renewed. */
  readonly server: ServerFacts
  /**
   * All tools, from all pages, or from the cache; empty if the server did not declare tools, and likewise for the other
   * lists. Over HTTP, tools with invalid header annotations are left out with a warning.
   * @throws McpError 'LIMIT' for a list larger than `maxListBytes` or `maxListPages`; other errors as `call`
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#listing-tools
   */
  tools(options?: ReadOptions): Promise<Tool[]>
  /**
   * All resources, from all pages.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#listing-resources
   */
  resources(options?: ReadOptions): Promise<Resource[]>
  /**
   * All resource templates, from all pages.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates
   */
  templates(options?: ReadOptions): Promise<ResourceTemplate[]>
  /**
   * All prompts, from all pages.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#listing-prompts
   */
  prompts(options?: ReadOptions): Promise<Prompt[]>
  /**
   * Values that complete an argument of a prompt or template: at most 100.
   * @throws McpError 'CAPABILITY' if the server did not declare `completions`; others as in `call`
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
   */
  complete(params: CompleteParams, options?: CallOptions): Promise<CompleteResult['completion']>
  /**
   * Subscribes to changes: by `resources/subscribe` on a session, by `subscriptions/listen` on 2026-07-28. `onChange` of
   * `connect` is called too.
   * @throws McpError 'CAPABILITY' for a server that declared neither `listChanged` nor `subscribe`, 'INVALID' for a filter with an
   *   unknown member; other errors as `call`
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
   */
  watch(filter: SubscriptionFilter, onChange?: ConnectOptions['onChange']): Promise<Watch>
  /**
   * Sets the minimum level of log messages: of the session, or of every later request (2026-07-28), where undefined
   * disables them.
   * @throws McpError 'CAPABILITY' for a session whose server did not declare `logging`, 'INVALID' for undefined on one,
   *   and for a level that does not exist
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
   */
  setLogLevel(level: LoggingLevel | undefined): Promise<void>
  /**
   * Replaces the client's handlers. Every later request declares them (2026-07-28); a session keeps those that
   * `initialize` declared until it is renewed. Requests of the server that arrived before use the old handlers.
   * @throws McpError 'INVALID' for options that `connect` would reject too
   */
  setAnswers(answers: AnswerOptions): void
  /**
   * Sends `notifications/roots/list_changed` on a session; does nothing on 2026-07-28.
   * @throws McpError 'CAPABILITY' for a client without `onRoots`
   */
  rootsChanged(): Promise<void>
  /** Sends `ping` on a session, `server/discover` on 2026-07-28. Rejects as `call` if the response does not arrive. */
  ping(options?: CallOptions): Promise<void>
  /**
   * Sends any request, such as one page of a list, and checks its result. Errors as `call`.
   * @throws McpError 'INVALID' for `initialize` and `subscriptions/listen`, which `connect` and `watch` send
   */
  request<M extends ClientMethod>(
    method: M,
    params?: ClientRequests[M]['params'],
    options?: CallOptions,
  ): Promise<ClientRequests[M]['result']>
  /** Sends a request of an extension. Its result is not checked. Errors as `call`. */
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>
  /**
   * Closes the connection and, over stdio, ends the server's whole process tree. Requests in flight reject with McpError
   * 'CONNECTION_CLOSED'. Idempotent.
   */
  close(): Promise<void>
  /** Resolves when the connection closed: with the reason, or undefined after `close()`. Never rejects. */
  readonly closed: Promise<Error | undefined>
  /** Calls `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A client of a server whose type is unknown to the compiler. */
export interface UntypedClient extends BaseClient {
  /**
   * Calls a tool and runs the handlers for the server's requests. A failure of the tool is a result with `isError`.
   * @throws RpcError for a JSON-RPC error of the server, such as -32602 for an unknown tool
   * @throws McpError 'TIMEOUT' and 'CANCELLED'; 'CONNECT_FAILED', 'CONNECTION_CLOSED', 'HTTP' and 'UNAUTHORIZED' if the
   *   request was not served; 'OUTCOME_UNKNOWN' if it may have been; 'CAPABILITY' if the server does not have the method,
   *   or requested input that this client does not declare; 'TOO_MANY_ROUNDS' and 'LIMIT' above `maxRounds` and
   *   `maxQuestions`; 'PROTOCOL' for an invalid result; 'INVALID' for arguments that JSON cannot represent, structured
   *   content that does not match the output schema, and an invalid result of a handler. On 2026-07-28 also what a handler
   *   of this client threw
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools
   */
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult>
  /**
   * Gets a prompt with its arguments filled in. Undefined arguments are left out. Errors as `call`.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt
   */
  prompt(
    name: string,
    args?: Record<string, string | undefined>,
    options?: CallOptions,
  ): Promise<GetPromptResult>
  /**
   * Reads a resource, or returns a cached result. Errors as `call`; for an unknown resource an RpcError with the code
   * -32602 (2026-07-28) or -32002.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources
   */
  read(uri: string, options?: ReadOptions): Promise<ReadResourceResult>
}

/** A client of a server whose type is known: names, arguments and results are checked by the compiler. */
export interface TypedClient<S> extends BaseClient {
  /**
   * Calls a tool and runs the handlers for the server's requests. A failure of the tool is a result with `isError`.
   * Rejects with the errors of `UntypedClient.call`.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools
   */
  call<N extends ToolName<S>>(
    name: N,
    ...given: Given<ToolArguments<S, N>, CallOptions>
  ): Promise<ToolResult<S, N>>
  /**
   * Gets a prompt with its arguments filled in. Undefined arguments are left out. Errors as `call`.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt
   */
  prompt<N extends PromptName<S>>(
    name: N,
    ...given: Given<PromptArguments<S, N>, CallOptions>
  ): Promise<GetPromptResult>
  /**
   * Reads a resource, or returns a cached result. Errors as `call`; for an unknown resource an RpcError with the code
   * -32602 (2026-07-28) or -32002.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources
   */
  read(uri: ResourceUri<S>, options?: ReadOptions): Promise<ReadResourceResult>
}

/** A connection to one server, opened by `connect`. `Client<typeof server>` has typed tool names, arguments and results. */
export type Client<S = unknown> = [ToolsOf<S> | PromptsOf<S> | ResourcesOf<S>] extends [never]
  ? UntypedClient
  : TypedClient<S>
