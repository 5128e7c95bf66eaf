import type { JsonBody } from '../../../jsonrpc/cached-json.ts'
import { internalError, type RpcError } from '../../../jsonrpc/error.ts'
import type { RequestId } from '../../../jsonrpc/message.ts'
import type { FullBudget, MemoryAccount } from '../memory-budget.ts'
import { failure } from '../served-request.ts'
import type { CredentialValidity } from './event-stream.ts'
import type { HttpCaller } from './options.ts'

/** The body of an HTTP request: bytes, a value that middleware parsed, or why there is neither. */
export type Body =
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'too large' }
  | { readonly type: 'no room'; readonly full: FullBudget }
  | { readonly type: 'cut off' }
  | { readonly type: 'consumed' }

/** Headers by name, in any case. */
export type HeaderFields = Readonly<Record<string, string>>

/** An HTTP request, independent of the runtime. */
export interface HttpRequest extends HttpCaller {
  readonly host: string | undefined
  /** All headers by lower-case name, without credentials. */
  headers(): Readonly<Record<string, string>>
  /** A header of `singletons` that was sent more than once; undefined if there is none. */
  repeatedSingleton(): string | undefined
  /** Whether this is its path, without the query. */
  isAt(path: string): boolean
  /** Whether a framework routed exactly this path to the handler; absent if unknown. */
  readonly isMounted?: boolean
  /** Reads the body. The account counts it meanwhile. Never settles if the client disconnects. */
  read(maxBytes: number, memory: MemoryAccount): Promise<Body>
}

/** The response to an HTTP request, independent of the runtime. */
export interface HttpReply {
  extra: HeaderFields | undefined
  /** The memory account of the response; absent until the caller is known. */
  memory: MemoryAccount | undefined
  /** How long an event stream may stay open; absent without a limit. */
  validity: CredentialValidity | undefined
  /** Whether timers may be shared between requests: some runtimes cancel timers with their request. */
  readonly sharesTimers: boolean
  /** Sets the listener for the end of the connection, with or without a response; replaces the previous one. */
  onClose(listener: () => void): void
  /** Sends a complete response with a JSON body; '' for none. */
  send(status: number, body: JsonBody, headers?: HeaderFields): void
  open(headers?: HeaderFields): Pipe
}

/** The body of an open event stream. */
export interface Pipe {
  /** Bytes written and not yet flushed. */
  readonly queued: number
  /** Called whenever everything was flushed. */
  onDrained: (() => void) | undefined
  write(text: string): void
  end(): void
  disconnect(): void
}

/** Sends an error response, without an id if that of the request is unknown. */
export function sendError(
  reply: HttpReply,
  status: number,
  error: RpcError,
  id?: RequestId,
  headers?: HeaderFields,
): void {
  reply.send(status, JSON.stringify(failure(id, error)), headers)
}

/** Sends the error for a request that exceeds a limit, which the client may retry after some seconds. */
export function sendBusy(
  reply: HttpReply,
  status: 429 | 503,
  error: RpcError,
  id?: RequestId,
  seconds = 10,
): void {
  sendError(reply, status, error, id, { 'Retry-After': String(seconds) })
}

/** Sends the error for a request whose session is in a backplane that failed. */
export function sendUnavailable(reply: HttpReply, id?: RequestId): void {
  const message = 'The store of the sessions is unavailable: try again later'
  sendBusy(reply, 503, internalError(message), id, 2)
}

/** Headers with credentials, including the session id, which handlers do not receive. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'dpop',
  'mcp-session-id',
])

/** The headers by lower-case name, without credentials. */
export function withoutCredentials(
  headers: Iterable<readonly [string, string | readonly string[] | undefined]>,
): Readonly<Record<string, string>> {
  const shown: Record<string, string> = Object.create(null)
  for (const [name, value] of headers) {
    if (value === undefined || credentials.has(name)) continue
    shown[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return Object.freeze(shown)
}

/** Headers of event streams: no caching, no buffering in proxies, no compression. */
export const streamHeaders: HeaderFields = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/**
 * Headers that a request may have at most once: with duplicates, a proxy could check another value than the server uses.
 * The check of proofs rejects duplicates of `DPoP`, as RFC 9449 requires.
 */
export const singletonHeaders = [
  'host',
  'origin',
  'content-type',
  'content-length',
  'content-encoding',
  'authorization',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
] as const

/** The session id in the query of a request, if there is one. */
export function sessionIdIn({ url }: HttpRequest): string | undefined {
  const at = url.indexOf('?')
  return at === -1 ? undefined : (new URLSearchParams(url.slice(at)).get('sessionId') ?? undefined)
}
