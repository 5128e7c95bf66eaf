import type { JsonObject } from '../jsonrpc/message.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitSchema,
  ElicitValue,
  Root,
} from '../protocol/server-requests.ts'
import type { Peer, Transport } from '../request/exchange.ts'
import type { InputKind } from '../request/input-support.ts'
import type { JsonOf } from '../request/json-value.ts'
import type { DescribedSchema, OutputOf, SchemaShape } from './schema.ts'

/** The person's answer to a form: their values, or the way they refused. */
export type Elicited<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel' }

/** What describes a form: a validator, an object of validators (one for each field), or the form's own JSON Schema. */
export type FormSchema = DescribedSchema | SchemaShape | ElicitSchema

/** What a form asks, and for what. */
export interface ElicitForm<S extends FormSchema> {
  /** Why the server asks, in words for the person. */
  message: string
  /** A flat object of primitive fields. */
  schema: S
  /** Names the question on the wire; a readable name is made up when left out. */
  key?: string
}

/** The values a form gives, by its schema: a validator's own type, or values by name for a plain schema. */
export type ElicitContent<S> = S extends DescribedSchema | SchemaShape
  ? OutputOf<S>
  : Record<string, ElicitValue>

/** What a step runs. Its type is an error where its result is not JSON. */
export type StepWork<T> = ((idempotencyKey: string) => T | Promise<T>) &
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has this type
  ([T] extends [JsonOf<T> | undefined | void] ? unknown : { error: 'the result of a step must be JSON' })

/** How a request came. */
export interface RequestTransport {
  /** A child process's pipes, a network or a socket file; undefined within one process, and in a background task. */
  readonly kind: Transport | undefined
  /** The session's id, where the transport has one: `Mcp-Session-Id`. Revision 2026-07-28 has no sessions. */
  readonly sessionId: string | undefined
  /**
   * Headers of the HTTP request by lower-case name, read-only; empty where there are none (other transports, HTTP+SSE of
   * 2024-11-05, background tasks). Without `authorization`, `proxy-authorization`, `cookie`, `dpop` and `mcp-session-id`: what a
   * handler needs of those, the option `authenticate` of `serveHttp` passes on in `claims`, which are `ctx.peer.claims`.
   */
  readonly headers: Readonly<Record<string, string>>
}

/** What a handler sees of the request it serves. */
export interface Context {
  readonly peer: Peer
  /** Aborted when the caller cancels, goes away or stops waiting. Not aborted when the handler is parked. */
  readonly signal: AbortSignal
  /** Aborted when a question ended this run; the handler runs again from the top with the answer. Let go of resources here. */
  readonly parked: AbortSignal
  /** How the request came: over which transport, in which session, with which HTTP headers. */
  readonly transport: RequestTransport
  /** The request's own `_meta`. */
  readonly meta: Readonly<JsonObject>

  /** Whether the client can be asked this now. Asking what it cannot ends the request, so ask first if the question is optional. */
  can(kind: InputKind): boolean
  /**
   * Puts a form to the person and waits for their answer: accept with values, decline or cancel. Returns with
   * nothing else; where the question cannot be put, the request ends and this promise never settles.
   * On revision 2026-07-28 the handler runs again from the top with the answers so far, so keep effects before a
   * question inside `step`.
   */
  elicit<const S extends FormSchema>(form: ElicitForm<S>): Promise<Elicited<ElicitContent<S>>>
  /**
   * Asks the person to visit a URL. `accept` means they agreed to go, not that they finished there. With an `id`
   * (the same on every run), `server.elicitationComplete(id)` can tell a 2025-11-25 client later that they did.
   */
  elicitUrl(question: {
    message: string
    url: string
    key?: string
    id?: string
  }): Promise<{ action: 'accept' | 'decline' | 'cancel' }>
  /** Asks the client's model for a message. Ends the request if the client refuses. */
  sample(request: Omit<CreateMessageParams, '_meta'> & { key?: string }): Promise<CreateMessageResult>
  /** Asks for the folders the client opened to this server. */
  roots(options?: { key?: string }): Promise<Root[]>
  /**
   * Runs `work` once in the life of the request, however often the handler runs, and remembers its result. The result is
   * JSON, or nothing: what JSON would lose or change (a `Date`, a `Map`, `undefined` within an object, an instance of a class, a
   * BigInt) fails the handler with a TypeError that names the place, so that every run gets the same. `work` gets an
   * idempotency key that stays the same should it ever run again.
   */
  step<T>(name: string, work: StepWork<T>): Promise<NoInfer<T>>

  /**
   * Goes on as a task, where the server has the tasks extension and the client speaks it: the client is answered with
   * a task, and the handler runs again from the top in the background, where this resolves at once. Ask what must be
   * known beforehand first. Elsewhere it resolves at once and nothing changes.
   */
  task(): Promise<void>

  /** Reports progress; values that do not increase are left out. Quiet where the caller did not ask for it. */
  progress(progress: number, total?: number, message?: string): void
  /** Sends a log message if the client wants that level. */
  log(level: LoggingLevel, data: unknown, logger?: string): void

  /**
   * Lets go of the response stream before the answer is ready, where the transport can resume it (sessions over
   * HTTP); elsewhere does nothing. The client reconnects and gets the answer then.
   */
  detach(): void

  /** What the explicit form (`inputRequired`) put by for this run. */
  readonly state: unknown
  /** Answers to the explicit form's questions, by key. */
  readonly answers: Readonly<Record<string, unknown>>
}

/** What a completer sees besides the text typed so far. */
export interface CompletionContext {
  /** Arguments already chosen. */
  readonly arguments: Readonly<Record<string, string>>
  readonly peer: Peer
  readonly signal: AbortSignal
}

/** Suggests values for one argument. Give all matches: the first 100 are sent, the rest are counted. */
export type Completer = (
  value: string,
  context: CompletionContext,
) => readonly string[] | Promise<readonly string[]>

export type { InputKind }
