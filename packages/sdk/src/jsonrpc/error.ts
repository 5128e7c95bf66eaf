import type { JsonRpcErrorObject } from './message.ts'

/** Numeric error codes that cross the wire: JSON-RPC's own, and those the specification defines. */
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
  /** Revision 2025-11-25: the person must first visit a URL. */
  UrlElicitationRequired: -32042,
  /** The person refused a sampling request. */
  UserRejected: -1,
} as const

/**
 * An error that crosses the wire as a JSON-RPC error response, in either direction.
 * Throw it from a handler to answer with a protocol error instead of a tool result.
 */
export class RpcError extends Error {
  override readonly name: string = 'RpcError'
  readonly code: number
  readonly data: unknown

  /** @throws TypeError for a code that is no integer: JSON-RPC has no other */
  constructor(code: number, message: string, data?: unknown) {
    if (!Number.isSafeInteger(code))
      throw new TypeError(`The code of an RpcError must be an integer: ${code}`)
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

/** Why something failed on this side of the wire; never sent to the peer as it is. */
export type McpErrorCode =
  /** The connection is closed, or closed while the call was in flight. */
  | 'CONNECTION_CLOSED'
  /** The server could not be reached or started. */
  | 'CONNECT_FAILED'
  /** No answer in time. */
  | 'TIMEOUT'
  /** The caller's signal, or the peer, cancelled the request. */
  | 'CANCELLED'
  /** The peer sent something the protocol does not allow. */
  | 'PROTOCOL'
  /** No revision is spoken by both sides. */
  | 'VERSION_MISMATCH'
  /** The peer did not declare the capability this needs. */
  | 'CAPABILITY'
  /** The peer cannot be asked in this exchange. */
  | 'CANNOT_ASK'
  /** More rounds of questions than allowed. */
  | 'TOO_MANY_ROUNDS'
  /** A configured limit was reached. */
  | 'LIMIT'
  /** A value does not satisfy its schema. */
  | 'INVALID'
  /** Content is not what the entry that describes it promised. */
  | 'UNVERIFIED'
  /** The HTTP answer was not one the protocol defines. */
  | 'HTTP'
  /** A server answered 401 or 403, or no credentials for it could be had; the message says what to do. */
  | 'UNAUTHORIZED'
  /**
   * The answer to a call was lost on its way, a gateway answered in the server's place, or its session ended meanwhile, so
   * it is unknown whether the call ran.
   */
  | 'OUTCOME_UNKNOWN'

/** A local error, told apart by its `code`. */
export class McpError extends Error {
  override readonly name: string = 'McpError'
  readonly code: McpErrorCode
  /** Facts about the failure, such as an HTTP status or an exit code. */
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

/** What was thrown, or an error in its place where it throws itself when it is looked at, as a revoked proxy does. */
export function readable(thrown: unknown): unknown {
  try {
    thrown instanceof Error
    return thrown
  } catch {
    return new TypeError('What was thrown is an object that cannot be read')
  }
}

const shownChars = 120

/** The beginning of a text, fit for one line of a log. */
export function excerpt(text: string, maxChars: number = shownChars): string {
  const start = text.slice(0, maxChars).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
  return text.length > maxChars ? `${start}…` : start
}

/** The kind of a value with its article, for error messages: `a string`, `an array`, `null`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
