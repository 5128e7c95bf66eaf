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

/** The response to a form: its values, or that the user declined or cancelled. */
export type Elicited<T> =
  | {
      readonly action: 'accept'
      /** The values of the form, which match its schema. */
      readonly content: T
    }
  | { readonly action: 'decline' | 'cancel' }

/** The schema of a form: a validator, an object of validators (one for each field), or a JSON Schema. */
export type FormSchema = DescribedSchema | SchemaShape | ElicitSchema

/** A form elicitation. */
export interface ElicitForm<S extends FormSchema> {
  /** The message shown to the user. */
  message: string
  /** A flat object of primitive fields. */
  schema: S
  /** The key of the request on the wire. Default: generated. */
  key?: string
}

/** The values of a form: the validator's output type, or values by name for a JSON Schema. */
export type ElicitContent<S> = S extends DescribedSchema | SchemaShape
  ? OutputOf<S>
  : Record<string, ElicitValue>

/** The function of a step. A result type that is not JSON is a type error. */
export type StepWork<T> = ((idempotencyKey: string) => T | Promise<T>) &
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has this type
  ([T] extends [JsonOf<T> | undefined | void] ? unknown : { error: 'the result of a step must be JSON' })

/** The transport of a request. */
export interface RequestTransport {
  /** `pipe` for stdio, `tcp` for a network, `unix` for a socket file; undefined within one process and in a task. */
  readonly kind: Transport | undefined
  /** The session's id, where the transport has one: `Mcp-Session-Id`. Revision 2026-07-28 has no sessions. */
  readonly sessionId: string | undefined
  /**
   * Headers of the HTTP request by lower-case name, read-only; empty for other transports, HTTP+SSE of 2024-11-05 and tasks.
   * `authorization`, `proxy-authorization`, `cookie`, `dpop` and `mcp-session-id` are left out: a handler gets what it needs of
   * them from `ctx.peer.claims`, which the option `authenticate` of `serveHttp` returns.
   */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The context of one request: who sent it, how to request input from the client, and how to report progress. A request for
 * input that fails, except of roots, ends the request: `parked` aborts and its promise never settles, so no `catch` is needed.
 */
export interface Context {
  /** The client: its revision, capabilities, principal, scopes and claims. */
  readonly peer: Peer
  /** Aborted when the client cancels or disconnects. Not aborted when `parked` is. */
  readonly signal: AbortSignal
  /**
   * Aborted when a request for input ended this run: the handler runs again from its start once the response arrived. Release
   * the run's resources here.
   */
  readonly parked: AbortSignal
  /** Transport, session and HTTP headers of the request. */
  readonly transport: RequestTransport
  /** The request's own `_meta`. */
  readonly meta: Readonly<JsonObject>

  /**
   * Whether the client supports this kind of input. Check it before a request for optional input: one that the client does
   * not support ends the request with an error.
   */
  can(kind: InputKind): boolean
  /**
   * Elicits a form: resolves with `accept` and values, `decline` or `cancel`. If the client does not support forms, or its
   * response is invalid, the request ends with an error. On revision 2026-07-28 the handler runs again from its start with the
   * responses so far, so run side effects that precede a request for input in `step`.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#form-mode-elicitation-requests
   */
  elicit<const S extends FormSchema>(form: ElicitForm<S>): Promise<Elicited<ElicitContent<S>>>
  /**
   * Asks the user to open a URL, for input that must not pass through the client, such as a password. `accept` means that the
   * user agreed to open it, not that they finished. With an `id` (the same on every run), `server.elicitationComplete(id)`
   * notifies a 2025-11-25 client of the completion.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
   */
  elicitUrl(question: {
    /** The message shown to the user. */
    message: string
    /** The `http:` or `https:` URL. */
    url: string
    /** The key of the request on the wire. Default: generated. */
    key?: string
    /** The `elicitationId`. Default: generated. */
    id?: string
  }): Promise<{ action: 'accept' | 'decline' | 'cancel' }>
  /**
   * Requests a message from the client's model (sampling). Ends the request if the client refuses. `key` is the key of the
   * request on the wire; default: generated.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
   */
  sample(request: Omit<CreateMessageParams, '_meta'> & { key?: string }): Promise<CreateMessageResult>
  /**
   * Requests the client's roots.
   * @throws RpcError if the client does not support roots, refuses or does not respond. Unlike for other input, the request
   *   continues if the handler catches it
   * @see https://modelcontextprotocol.io/specification/2026-07-28/client/roots
   */
  roots(options?: { key?: string }): Promise<Root[]>
  /**
   * Runs `work` once per request, however often the handler runs, and records its result. The result must be JSON or undefined:
   * a value that JSON would lose or change (a `Date`, a `Map`, `undefined` within an object, a class instance, a BigInt) fails
   * the handler with a TypeError that names the member. `work` receives an idempotency key, the same if it has to run again.
   */
  step<T>(name: string, work: StepWork<T>): Promise<NoInfer<T>>

  /**
   * Continues as a task if server and client support the tasks extension: the response is a task, and the handler runs again
   * from its start in the background, where this resolves at once. Elicit required input before. Without support it resolves
   * at once and has no effect.
   */
  task(): Promise<void>

  /**
   * Reports progress if the request has a progress token; values that do not increase are dropped.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
   */
  progress(progress: number, total?: number, message?: string): void
  /**
   * Sends a log message if its level is at least the client's. `data` is any JSON value; `logger` names the part of the server.
   * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void

  /**
   * Closes the response stream before the response is ready, if the transport can resume it (sessions over HTTP); otherwise
   * does nothing. The client reconnects to receive the response.
   */
  detach(): void

  /** The `state` of the `inputRequired` that the previous run returned. */
  readonly state: unknown
  /** Responses to the requests of that `inputRequired`, by key. */
  readonly answers: Readonly<Record<string, unknown>>
}

/** The context of a completion. On 2026-07-28 a completion cannot request input, so `roots` rejects there. */
export interface CompletionContext extends Pick<Context, 'peer' | 'signal' | 'transport' | 'meta' | 'roots'> {
  /** Values of other arguments. */
  readonly arguments: Readonly<Record<string, string>>
}

/**
 * Suggests values for one argument, given what the user entered so far. Return all matches: the first 100 are sent, and the
 * number of all.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion
 */
export type Completer = (
  value: string,
  context: CompletionContext,
) => readonly string[] | Promise<readonly string[]>

export type { InputKind }
