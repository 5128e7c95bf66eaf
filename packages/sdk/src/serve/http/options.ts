import type { Backplane } from '../../core/backplane.ts'
import type { Caller } from '../../core/exchange.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import type { Bounds } from '../bounds.ts'
import type { HeaderFields } from './face.ts'

/** What `authenticate` sees of a request. */
export interface HttpCaller {
  readonly method: string
  /** The network address of the connection; undefined where the runtime does not say. */
  readonly address?: string | undefined
  /** Path and query, as sent. */
  readonly url: string
  /** A header by its lower-case name. */
  header(name: string): string | undefined
  /** Whether a header came more than once. The web's requests join such headers and do not tell. */
  repeats(name: string): boolean
}

/** An answer instead of service: 401 with `WWW-Authenticate`, for example. */
export interface HttpRefusal {
  readonly status: number
  readonly headers?: HeaderFields
  /** JSON text. */
  readonly body?: string
  /** What failed on this side, for the operator: it is reported like the error of a handler, and told to no client. */
  readonly because?: unknown
}

/** Who sends a request. */
export interface Identified {
  readonly principal: string
  /** What they were allowed. Default: nothing that asks for a scope. */
  readonly scopes?: Iterable<string>
  /** The OAuth client that acts for them. */
  readonly clientId?: string
  /** What else their token says. */
  readonly claims?: Readonly<JsonObject>
  /** Headers to send with whatever the answer is. */
  readonly headers?: HeaderFields
  /**
   * When what they showed ends, in milliseconds since 1970. Event streams that were opened with it end then; one that
   * answers a request may take 60 s more. Default: never.
   */
  readonly expires?: number
  /**
   * Whether what they showed counts still, since a token may be revoked. Asked every 30 s for each stream that was
   * opened with it, which ends when it does not, or when asking fails twice in a row. Default: nobody asks.
   */
  readonly stillCounts?: () => Promise<boolean>
}

/** Finds out who sends a request, or refuses it. Called for every request, before its body is read. */
export interface Authenticate {
  (request: HttpCaller): Promise<Identified | HttpRefusal>
  /** JSON documents anybody may GET, by path: protected-resource metadata. */
  readonly documents?: ReadonlyMap<string, string>
  /** Refuses a request whose caller lacks scopes, naming all that it needs. Default: 403 without a challenge. */
  lacking?(scopes: readonly string[], caller: Caller): HttpRefusal
}

/**
 * How a server is mounted on HTTP. All of it has safe defaults; `keys` matters as soon as there is a restart
 * or a second node.
 */
export interface HttpOptions {
  /**
   * Secrets of at least 32 bytes that seal `requestState`; the first seals, all open. Give every node the same ones.
   * Default, also for an empty list: a random one, so that a question asked before a restart, or by another node, cannot be answered.
   */
  keys?: readonly (string | Uint8Array)[]
  /**
   * Where state shared between requests is kept: used states, stored events, changes on other nodes. Default: memory, which no
   * other process knows and this one forgets at its end, so questions of an earlier or another process are not answered with
   * the same `keys` either.
   */
  backplane?: Backplane
  /**
   * Accepts a `requestState` that another process sealed, or this one before it was started anew, also without a `backplane`
   * that knows whether it was used: its answer may then count once in each process. Only for servers whose handlers may run twice
   * without harm, or hand the key of `ctx.step` on. Default false: it is refused, and the client starts its request over.
   */
  acceptUnknownStates?: boolean
  /**
   * `'none'` serves clients of 2024-11-05 to 2025-11-25 without sessions: every POST is answered by itself, by any instance, with no
   * `initialize` before it and no `Mcp-Session-Id`. GET and DELETE are answered with 405. What needs a session is neither
   * offered nor served to these clients: elicitation, sampling and roots requests, resource subscriptions, `list_changed`
   * notifications, cancellation by notification, and resumption of a stream. `logging/setLevel` is accepted without effect. Clients
   * of 2026-07-28 are served as ever. Default: sessions in the memory of this process.
   */
  sessions?: 'none'
  /** Path of the endpoint. Default `/mcp`, or the path at which Express, or a framework like it, mounts the handler. */
  path?: string
  /**
   * Serves the HTTP+SSE transport of 2024-11-05 too, for clients that know no other: `sse: '/sse'` is the path of
   * its event stream. Clients POST their messages to the same path, with the id of their session in the query, which
   * is no proof of who they are. Default: it is not served.
   */
  sse?: string
  /**
   * Names this server answers to, with or without a port: `mcp.example.com`. The loopback names are always among
   * them, and so is the address `listen` binds. Requests for any other Host are refused with 403.
   */
  allowedHosts?: readonly string[]
  /**
   * Origins whose pages may use this server: `https://app.example.com`. They get CORS headers too. Loopback origins
   * may always use it; any other, and `null`, is refused with 403.
   */
  allowedOrigins?: readonly string[]
  /** Finds out who sends a request. Default: nobody is asked, and `peer.principal` is null. */
  authenticate?: Authenticate
  /**
   * The network address that a request without authentication counts for where limits are for each client, such as a quarter
   * of `limits.memoryBytes`. Behind a reverse proxy every request comes from the proxy's address, so take the one that the
   * proxy writes into a header; trust no other. Default: the address of the connection.
   */
  clientAddress?: (request: HttpCaller) => string | undefined
  /** Other limits than the default ones. */
  limits?: Partial<Bounds>
  /** Hears of what an operator should know. Default `console.warn`. */
  onWarning?: (message: string) => void
  /**
   * Uses answers a client sends to questions that were never put to it, when a handler's question has the same key.
   * Leave it off: a client could then say that a person agreed to something nobody showed them. It exists for test
   * suites that send an answer with their first request. Default false.
   */
  acceptUnaskedAnswers?: boolean
  /** Answers requests for any Host. Only behind a proxy that checks it: otherwise any web site can reach a server on the machine it is read on. Default false. */
  dangerouslyAllowAnyHost?: boolean
  /** Lets pages of any Origin use this server, with whatever the reader's network can reach. Default false. */
  dangerouslyAllowAnyOrigin?: boolean
}
