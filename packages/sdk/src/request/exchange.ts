import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation, LoggingLevel } from '../protocol/definitions.ts'
import type { ServerNotification } from '../protocol/methods.ts'
import type { Revision } from '../protocol/revision.ts'
import type { InputRequests, Question, QuestionMethod, Questions } from '../protocol/server-requests.ts'
import type { RequestLimits } from './limits.ts'
import type { Journal } from './live-run.ts'

/** What the transport found out about who sends a request. */
export interface Caller {
  /** Who authenticated; null when nobody did. */
  readonly principal: string | null
  /**
   * Whom limits for each client count this caller as: its principal or, without authentication, the network address
   * it came from. Absent where callers cannot be distinguished, so that only limits for all apply.
   */
  readonly quotaKey?: string
  /** What they were allowed. 'any' where the transport has no such thing: whoever started a process may use all of it. */
  readonly scopes: ReadonlySet<string> | 'any'
  /** The OAuth client that acts for them, where one does. */
  readonly clientId?: string
  /** What else their token says, verified. Never the token itself. */
  readonly claims: Readonly<JsonObject>
}

/** The caller on a channel that only whoever owns both ends can use: a child process, memory, a socket file. */
export const localCaller: Caller = { principal: null, scopes: 'any', claims: {} }

/** The caller of a request over a network that nobody was asked to authenticate. */
export const anonymousCaller: Caller = { principal: null, scopes: new Set(), claims: {} }

/** Who is on the other end of one exchange. */
export interface Peer extends Caller {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  /** What the client says it is; absent when it does not say. */
  readonly info: Implementation | undefined
  /** The least severe level this peer wants to hear; absent means no log messages. */
  readonly logLevel: LoggingLevel | undefined
}

/** A session of the legacy era, as far as who serves its requests may know it: the same value for every one of them. */
export interface ClientSession {
  /** What the transport calls it, where it has a name. Whoever knows it may be able to use the session. */
  readonly id?: string
  /** Aborted when the session is over. */
  readonly ended: AbortSignal
}

/** What carries a request: pipes of a process, a network, or a socket file. */
export type Transport = 'pipe' | 'tcp' | 'unix'

/** One request being served. Everything known about it was found out at the edge. */
export interface Exchange {
  readonly id: RequestId
  readonly method: string
  readonly params: Readonly<JsonObject>
  readonly peer: Peer
  /** Aborted when the peer cancels, goes away or stops waiting. */
  readonly signal: AbortSignal
  /** How questions reach the client in this exchange. */
  readonly inputStrategy: InputStrategy
  /** The limits that apply to it: those that the server was mounted with. */
  readonly limits: RequestLimits
  /** The session it belongs to; absent where every request stands alone. */
  readonly session?: ClientSession
  /** What it came over; absent within one process. */
  readonly transport?: Transport
  /** The headers of its HTTP request by lower-case name, without credentials. Absent where it came another way. */
  headers?(): Readonly<Record<string, string>>
  /** Sends a notice about this request before its answer. Does nothing once the exchange is over. */
  notify(notification: ServerNotification): void
  /** Closes the response stream now; the client reconnects for the rest. Absent where nothing can be resumed. */
  detach?(): void
  /**
   * Goes on with this request in the background from what it remembers, and gives what to answer now. Absent where
   * that cannot be.
   */
  takeOver?(journal: Journal): Promise<Outcome>
}

/**
 * How an era carries questions. A value, not a flag: `live` sends a request and waits, `replay` ends the round
 * and answers from the journal when the handler runs again, `none` says no.
 */
export interface InputStrategy {
  /** Opens the first run of a handler. */
  begin(exchange: Exchange): HandlerRun
  /** Opens a later run, with what the retry carries. Rejects with an RpcError when its state does not verify. */
  resume(exchange: Exchange): Promise<HandlerRun>
  /**
   * Puts a question as it stands and gives the client's own result, or rejects with its own error: for proxies. The
   * params are in the client's revision already. Absent where a question ends the round.
   */
  relay?(method: QuestionMethod, params: JsonObject, options: { signal: AbortSignal }): Promise<unknown>
}

/** One run of one handler: its questions, its steps, and how it ends early. */
export interface HandlerRun {
  /** Settles only with a valid answer. If there is none the promise never settles, and `ended` does. */
  ask<M extends QuestionMethod>(
    question: Extract<Question, { method: M }>,
    key?: string,
  ): Promise<Questions[M]['answer']>
  /** Runs `work` once in the life of the request and remembers what it gave. */
  step<T>(name: string, work: (idempotencyKey: string) => T | Promise<T>): Promise<T>
  /** Ends the run and has the request taken over in the background; settles at once where that cannot be, or has been. */
  continueAsTask(): Promise<void>
  /** Settles when the run must stop before its handler returned: with the outcome, or with the error to answer. */
  readonly ended: Promise<Outcome>
  /** Aborted when the handler was parked: it will not be resumed. */
  readonly parked: AbortSignal
  /** Whether the handler is still in a part of its run that already happened once. */
  readonly replaying: boolean
  /** What the explicit form carried over: the author's state and the answers by key. */
  readonly carried: Carried
  /** Turns the explicit form into an outcome, or into the next run on a live connection. */
  require(needed: InputRequired): Promise<Outcome | Carried>
}

/** What a handler of the explicit form gets back on its next run. */
export interface Carried {
  readonly state: unknown
  readonly answers: Readonly<Record<string, unknown>>
}

/** The explicit form: what a handler returns to say which answers it needs before it can go on. */
export class InputRequired {
  readonly requests: InputRequests
  /** Any JSON value; sealed on the wire and given back as `ctx.state`. */
  readonly state: unknown

  constructor(requests: InputRequests, state: unknown) {
    this.requests = requests
    this.state = state
  }
}

/** How an exchange ends when it does not fail. */
export type Outcome =
  | { readonly type: 'complete'; readonly result: JsonObject }
  | { readonly type: 'input_required'; readonly requests: InputRequests; readonly state?: string }
  /** A kind of result that an extension adds, as it goes over the wire; `resultType` is told since 2026-07-28. */
  | { readonly type: 'extension'; readonly resultType: string; readonly result: JsonObject }

/** Whether a caller was allowed everything that something needs. */
export function allows({ scopes }: Caller, needed: readonly string[]): boolean {
  return scopes === 'any' || needed.every((scope) => scopes.has(scope))
}

const scopeName = /^[\x21\x23-\x5B\x5D-\x7E]+$/

/** Whether a text can be the name of a scope (RFC 6749, section 3.3). */
export function isScope(text: string): boolean {
  return scopeName.test(text)
}
