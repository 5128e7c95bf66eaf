import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation, LoggingLevel } from '../protocol/definitions.ts'
import type { ServerNotification } from '../protocol/methods.ts'
import type { Revision } from '../protocol/revision.ts'
import type { InputRequests, Question, QuestionMethod, Questions } from '../protocol/server-requests.ts'
import type { RequestLimits } from './limits.ts'
import type { Journal } from './state.ts'

/** The sender of a request, as the transport identified it. */
export interface Caller {
  /** The authenticated principal; null without authentication. */
  readonly principal: string | null
  /**
   * The key that limits per client count by: the principal or, without authentication, the network address. Absent if callers
   * cannot be distinguished; only global limits then apply.
   */
  readonly quotaKey?: string
  /** Granted OAuth scopes; 'any' on transports without authorization, such as stdio. */
  readonly scopes: ReadonlySet<string> | 'any'
  /** The OAuth client, if there is one. */
  readonly clientId?: string
  /** Further verified claims of the token, never the token itself. */
  readonly claims: Readonly<JsonObject>
}

/** The caller on a private channel: a child process, memory, a socket file. */
export const localCaller: Caller = { principal: null, scopes: 'any', claims: {} }

/** The caller of an unauthenticated request over a network. */
export const anonymousCaller: Caller = { principal: null, scopes: new Set(), claims: {} }

/** The client of one exchange. */
export interface Peer extends Caller {
  /** The protocol revision of the request, with what it supports; `revision.version` is its date. */
  readonly revision: Revision
  /** The capabilities that the client declared, for the session or with this request. */
  readonly capabilities: ClientCapabilities
  /** The client's `clientInfo`, if it sent one. */
  readonly info: Implementation | undefined
  /** The minimum level of log messages to send; undefined sends none. */
  readonly logLevel: LoggingLevel | undefined
}

/** A session of a revision up to 2025-11-25, as handlers see it: the same object for all of its requests. */
export interface ClientSession {
  /** The session id of the transport, if it has one. It may suffice to use the session, so do not log it. */
  readonly id?: string
  /** Aborted when the session is over. */
  readonly ended: AbortSignal
}

/** The channel of a request: pipes of a process, a network, or a socket file. */
export type Transport = 'pipe' | 'tcp' | 'unix'

/** One request being served: its message, its sender, and how to reach the client. The first argument of middleware. */
export interface Exchange {
  /** The JSON-RPC id of the request. */
  readonly id: RequestId
  /** The method, such as `tools/call`. */
  readonly method: string
  /** The params as the client sent them, without validation. */
  readonly params: Readonly<JsonObject>
  /** The sender of the request. */
  readonly peer: Peer
  /** Aborted when the client cancels or disconnects. */
  readonly signal: AbortSignal
  /** How requests for input (elicitation, sampling, roots) reach the client. */
  readonly inputStrategy: InputStrategy
  /** The limits of the transport that received the request. */
  readonly limits: RequestLimits
  /** Its session; absent for stateless requests. */
  readonly session?: ClientSession
  /** Its channel; absent within one process. */
  readonly transport?: Transport
  /** The headers of its HTTP request by lower-case name, without credentials. Absent on other transports. */
  headers?(): Readonly<Record<string, string>>
  /** Sends a notification about this request before its response. Ignored afterwards. */
  notify(notification: ServerNotification): void
  /** Closes the response stream now; the client reconnects for the rest. Absent where nothing can be resumed. */
  detach?(): void
  /**
   * Continues this request in the background from its journal, and returns the outcome to send now. Absent where that is not
   * supported.
   */
  takeOver?(journal: Journal): Promise<Outcome>
}

/**
 * How requests for input reach the client: `liveInput` sends a request and waits, `replay` ends the run and takes the response
 * from the journal when the handler runs again, `noInput` rejects.
 */
export interface InputStrategy {
  /** Begins the first run of a handler. */
  begin(exchange: Exchange): HandlerRun
  /** Begins a later run from the retried request. Rejects with an RpcError if its `requestState` is invalid. */
  resume(exchange: Exchange): Promise<HandlerRun>
  /**
   * Sends a request as it is and returns the client's unchecked result, or rejects with its error; for proxies. The params
   * are in the client's revision already. Absent where a question ends the run.
   */
  relay?(method: QuestionMethod, params: JsonObject, options: { signal: AbortSignal }): Promise<unknown>
}

/** One run of a handler: its questions, its steps, and how it ends early. */
export interface HandlerRun {
  /** Resolves with a valid response. Otherwise `ended` settles; a request for roots can also reject instead. */
  ask<M extends QuestionMethod>(
    question: Extract<Question, { method: M }>,
    key?: string,
  ): Promise<Questions[M]['answer']>
  /** Runs `work` once per request and records its result. */
  step<T>(name: string, work: (idempotencyKey: string) => T | Promise<T>): Promise<T>
  /** Ends the run and continues the request as a task; resolves at once if that is not supported, or is done already. */
  continueAsTask(): Promise<void>
  /** Settles if the run ends before its handler returned: with the outcome, or the error to respond with. */
  readonly ended: Promise<Outcome>
  /** Aborted when the run ended early: the handler's return value is ignored. */
  readonly parked: AbortSignal
  /** Whether the handler still repeats steps of an earlier run. */
  readonly replaying: boolean
  /** State and answers of the explicit form (`inputRequired`). */
  readonly carried: Carried
  /** Returns the outcome for an `InputRequired`, or on a session the answers for the next run. */
  require(needed: InputRequired): Promise<Outcome | Carried>
}

/** What a handler that returned `inputRequired` receives on its next run. */
export interface Carried {
  readonly state: unknown
  readonly answers: Readonly<Record<string, unknown>>
}

/** The explicit form: returned by a handler that needs these answers to continue. */
export class InputRequired {
  /** The requests for input, by keys that the handler chose. */
  readonly requests: InputRequests
  /** Any JSON value; encrypted on the wire and available as `ctx.state` on the next run. */
  readonly state: unknown

  constructor(requests: InputRequests, state: unknown) {
    this.requests = requests
    this.state = state
  }
}

/** How an exchange ends, unless it fails: with a result, or with requests for input. */
export type Outcome =
  /** The result of the method. */
  | { readonly type: 'complete'; readonly result: JsonObject }
  /** Requests for input, and the `requestState` to send with them (2026-07-28). */
  | { readonly type: 'input_required'; readonly requests: InputRequests; readonly state?: string }
  /** A result type of an extension; `resultType` is sent since 2026-07-28. */
  | { readonly type: 'extension'; readonly resultType: string; readonly result: JsonObject }

/** Whether a caller has all of these scopes. */
export function allows({ scopes }: Caller, needed: readonly string[]): boolean {
  return scopes === 'any' || needed.every((scope) => scopes.has(scope))
}

const scopeName = /^[\x21\x23-\x5B\x5D-\x7E]+$/

/** Whether a text is a valid scope (RFC 6749, section 3.3). */
export function isScope(text: string): boolean {
  return scopeName.test(text)
}
