import type { JsonObject } from '../../../jsonrpc/message.ts'
import type { Caller } from '../../../request/exchange.ts'
import type { HttpLimits, StateOptions } from '../options.ts'
import type { HeaderFields } from './http-adapter.ts'
import type { HttpObserver } from './observer.ts'

/** The HTTP request that `authenticate` and `clientAddress` get. */
export interface HttpCaller {
  /** The HTTP method. */
  readonly method: string
  /** The network address of the connection; undefined if the runtime does not provide it. */
  readonly address?: string | undefined
  /** Path and query, as sent. */
  readonly url: string
  /** A header by its lower-case name. */
  header(name: string): string | undefined
  /** Whether a header was sent more than once. Always false for web requests, which join such headers. */
  repeats(name: string): boolean
}

/** The HTTP response that refuses a request, such as 401 with `WWW-Authenticate`. */
export interface HttpRefusal {
  /** The HTTP status code. */
  readonly status: number
  /** Headers of the response, such as `WWW-Authenticate`. Default: none. */
  readonly headers?: HeaderFields
  /** JSON text. */
  readonly body?: string
  /** An internal error behind the refusal. It is reported like the error of a handler, and not sent to the client. */
  readonly because?: unknown
}

/** The authenticated sender of a request. */
export interface AuthenticatedCaller {
  /** Identifies the sender: sessions, tasks and limits are separate for each principal. */
  readonly principal: string
  /** Granted OAuth scopes. Default: none. */
  readonly scopes?: Iterable<string>
  /** The id of the OAuth client, if there is one. */
  readonly clientId?: string
  /** Further claims of the token, for handlers as `ctx.peer.claims`. Default: none. */
  readonly claims?: Readonly<JsonObject>
  /** Additional headers of the response. Default: none. */
  readonly headers?: HeaderFields
  /**
   * Expiry of the credentials, in milliseconds since 1970. Event streams that were opened with them end then; one that responds
   * to a request may take 60 s longer. Default: never.
   */
  readonly expires?: number
  /**
   * Whether the credentials are still valid: a token may be revoked. Called every 30 s for each stream that was opened with
   * them, which ends if they are not, or if two consecutive checks fail. Default: no check.
   */
  readonly stillCounts?: () => Promise<boolean>
}

/**
 * Authenticates the sender of a request, or refuses it. Called for every request, before its body is read, so it must be
 * fast. If it rejects, or returns neither a principal nor a status, the request gets 500 and the error is reported to `onError` of
 * `defineServer`. `bearer` of `@jackfield/sdk/auth` makes one for OAuth.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export interface Authenticate {
  (request: HttpCaller): Promise<AuthenticatedCaller | HttpRefusal>
  /** Public JSON documents by path: protected-resource metadata. */
  readonly documents?: ReadonlyMap<string, string>
  /** The refusal of a request without these scopes. Default: 403 without a challenge. */
  lacking?(scopes: readonly string[], caller: Caller): HttpRefusal
}

/**
 * Options of `serveHttp`. All have safe defaults. Set `keys` so that clients can continue requests for input after a restart
 * or on another node.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
export interface ServeHttpOptions extends StateOptions {
  /**
   * `'none'` serves clients of 2024-11-05 to 2025-11-25 without sessions: every POST is independent, on any instance, without
   * `initialize` and `Mcp-Session-Id`. GET and DELETE get 405. These clients do not get what requires a session: elicitation,
   * sampling and roots requests, resource subscriptions, `list_changed` notifications, cancellation by notification, and
   * resumption of a stream. `logging/setLevel` is accepted without effect. Clients of 2026-07-28 are not affected.
   *
   * `'local'` keeps every session in the process that began it, for handlers with state of their own per session. A load
   * balancer must then route by `Mcp-Session-Id`.
   *
   * Default: every node that shares the `backplane` serves every session; without a backplane that spans processes, `'local'`.
   * Clients of 2026-07-28 have no sessions: any node serves each of their requests.
   */
  sessions?: 'none' | 'local'
  /** Path of the endpoint. Default `/mcp`, or the path at which Express or a compatible framework mounts the handler. */
  path?: string
  /**
   * Path of the event stream of the HTTP+SSE transport of 2024-11-05, such as `/sse`, for clients without Streamable HTTP.
   * Clients POST messages to the same path with their session id in the query, which does not authenticate them. Default: not served.
   */
  sse?: string
  /**
   * Host names of this server, with or without a port: `mcp.example.com`. Loopback names and the address of `listen` are always
   * allowed. Requests with any other Host get 403. Default: none.
   */
  allowedHosts?: readonly string[]
  /**
   * Origins whose pages may use this server: `https://app.example.com`. They get CORS headers. Loopback origins are always
   * allowed; any other, and `null`, gets 403. Default: none.
   */
  allowedOrigins?: readonly string[]
  /** Authenticates requests. Default: no authentication, and `peer.principal` is null. */
  authenticate?: Authenticate
  /**
   * The network address that limits per client use for unauthenticated requests, such as a quarter of `limits.memoryBytes`.
   * Behind a reverse proxy, return the address that the proxy writes into a header; trust no other. Default: the address of the
   * connection.
   */
  clientAddress?: (request: HttpCaller) => string | undefined
  /**
   * Path of the health checks, such as `/healthz`: `GET /healthz/live` gets 200, and `GET /healthz/ready` gets 200 if the node can
   * serve requests, and 503 before it joined the others and while it drains. Neither requires an allowed Host or credentials.
   * Default: not served.
   */
  health?: string
  /** Receives events and load for metrics: `httpMetrics()` of `@jackfield/sdk/telemetry`. Default: none. */
  observer?: HttpObserver
  /** Overrides of the defaults in `limits` of `@jackfield/sdk`. Unknown names are rejected. */
  limits?: Partial<HttpLimits>
  /** Called with warnings for the operator. Default `console.warn`. */
  onWarning?: (message: string) => void
  /**
   * Accepts responses to input requests that were never sent, if the handler's request has the same key. Insecure: a client could
   * claim consent that no user gave. For test suites that send responses with their first request. Default false.
   */
  dangerouslyAcceptUnsentQuestions?: boolean
  /** Allows any Host. Only behind a proxy that checks it: otherwise web sites can reach the server by DNS rebinding. Default false. */
  dangerouslyAllowAnyHost?: boolean
  /** Allows any Origin: every web page that a user opens can then use this server. Default false. */
  dangerouslyAllowAnyOrigin?: boolean
}

/** The environment variable of a worker of `listen`: the pid of the primary process, its id as a backplane, and a key. */
export const workerVariable = 'JACKFIELD_HTTP_WORKER'
