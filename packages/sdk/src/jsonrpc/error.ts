import type { JsonObject, JsonRpcErrorObject, JsonRpcResponse } from './message.ts'

/** Error codes on the wire: JSON-RPC's own and those of the MCP specification. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  /** Revision 2026-07-28: an HTTP header does not match the body. */
  HeaderMismatch: -32020,
  /** Revision 2026-07-28: the request needs a capability the client did not declare. */
  MissingRequiredClientCapability: -32021,
  /** Revision 2026-07-28: the requested protocol version is not supported. */
  UnsupportedProtocolVersion: -32022,
  /** Revisions up to 2025-11-25: the resource does not exist. */
  ResourceNotFound: -32002,
  /** Revision 2025-11-25: the user must first visit a URL. */
  UrlElicitationRequired: -32042,
  /** The user rejected a sampling request. */
  UserRejected: -1,
} as const

/**
 * An error that is sent, or was received, as a JSON-RPC error response.
 * Throw it from a handler to respond with a protocol error instead of a tool result.
 */
export class RpcError extends Error {
  override readonly name: string = 'RpcError'
  /** The JSON-RPC error code: one of `ErrorCode`, or one of the application. */
  readonly code: number
  /** Further details, sent as JSON; undefined if there are none. */
  readonly data: unknown

  /** @throws TypeError for a code that is not a safe integer (JSON-RPC 2.0, section 5.1) */
  constructor(code: number, message: string, data?: unknown) {
    if (!Number.isSafeInteger(code))
      throw new TypeError(`The code of an RpcError must be an integer, got ${code}`)
    super(message)
    this.code = code
    this.data = data
  }

  /** The wire form of this error. */
  toObject(): JsonRpcErrorObject {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data }
  }
}

/** The result of a response. @throws RpcError for an error response */
export function resultOf(response: JsonRpcResponse): JsonObject {
  if ('result' in response) return response.result
  const { code, message, data } = response.error
  throw new RpcError(code, message, data)
}

/** Why something failed locally; never sent to the peer as it is. */
export type McpErrorCode =
  /** The connection closed before the response. The request was not sent, it only reads, or this side closed the connection. */
  | 'CONNECTION_CLOSED'
  /** The server could not be reached or started. */
  | 'CONNECT_FAILED'
  /** No response in time. */
  | 'TIMEOUT'
  /** The caller's signal or the peer cancelled the request. */
  | 'CANCELLED'
  /** The peer sent something the protocol does not allow. */
  | 'PROTOCOL'
  /** Client and server have no revision in common. */
  | 'VERSION_MISMATCH'
  /** The peer did not declare the capability this needs. */
  | 'CAPABILITY'
  /** The peer cannot be asked for input while this request is handled. */
  | 'CANNOT_ASK'
  /** More rounds of input requests than allowed. */
  | 'TOO_MANY_ROUNDS'
  /** A configured limit was reached. */
  | 'LIMIT'
  /** A value does not satisfy its schema. */
  | 'INVALID'
  /** Host only: nothing has this name or id, or no longer. */
  | 'NOT_FOUND'
  /** Host only: the state is not what the request expects, such as an answered question or a changed file. */
  | 'CONFLICT'
  /** Host only: the user refused. */
  | 'REFUSED'
  /** Content does not match the entry that describes it, such as its digest. */
  | 'UNVERIFIED'
  /** An HTTP response that the protocol does not define. */
  | 'HTTP'
  /** The server responded 401 or 403, or no credentials could be obtained; the message says what to do. */
  | 'UNAUTHORIZED'
  /** The connection was lost, a gateway responded, or the session ended before the response: the call may or may not have run. */
  | 'OUTCOME_UNKNOWN'

/**
 * An error of this side: a failed connection, a timeout, an invalid option. Its `code` says which. An error response of the
 * peer is an `RpcError`.
 */
export class McpError extends Error {
  override readonly name: string = 'McpError'
  /** The kind of failure, for programs; the message is for people. */
  readonly code: McpErrorCode
  /** Details of the failure, such as an HTTP status or an exit code. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: McpErrorCode,
    message: string,
    options?: { cause?: unknown; details?: Record<string, unknown> },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options?.details ?? {}
  }
}

export function invalidParams(reason: string, data?: unknown): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${reason}`, data)
}

export function invalidRequest(reason: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${reason}`)
}

export function internalError(message = 'Internal error', data?: unknown): RpcError {
  return new RpcError(ErrorCode.InternalError, message, data)
}

export function methodNotFound(method: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `Method not found: this server does not offer "${method}"`)
}

/** The error for a value that does not satisfy its schema or rules. */
export function invalid(
  message: string,
  options?: { cause?: unknown; details?: Record<string, unknown> },
): McpError {
  return new McpError('INVALID', message, options)
}

/** The thrown value, or a TypeError in its place if it throws when inspected, as a revoked proxy does. */
export function readableError(thrown: unknown): unknown {
  try {
    thrown instanceof Error
    return thrown
  } catch {
    return new TypeError('A value was thrown that cannot be inspected')
  }
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** A text from a peer, shortened for a message: by default to 200 characters. */
export function clipped(text: string, maxChars = 200): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}

/** The beginning of a text on one line, without control characters, for logs. */
export function excerpt(text: string, maxChars = 120): string {
  return clipped(text, maxChars).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}

/** The kind of a value with its article, for error messages: `a string`, `an array`, `null`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** A value of a peer, for error messages: a primitive as text, an object by its kind, since `String` could call its `toString`. */
export function describeValue(value: unknown): string {
  return typeof value === 'object' ? kindOf(value) : String(value)
}
