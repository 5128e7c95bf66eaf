/** Errors of version 2 of the official SDK: `ProtocolError` with a JSON-RPC code, `SdkError` for failures of this side. */
import { McpError as LocalError, RpcError } from '@jackfield/sdk'
import { type ElicitRequestURLParams, McpError, ErrorCode as V1Code } from '../types.ts'

export const ProtocolErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ResourceNotFound: -32002,
  MissingRequiredClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
  UrlElicitationRequired: -32042,
} as const
export type ProtocolErrorCode = (typeof ProtocolErrorCode)[keyof typeof ProtocolErrorCode]

/** An error response. It is the `RpcError` of Jackfield too. */
export class ProtocolError extends RpcError {
  override readonly name: string = 'ProtocolError'

  /** The error of a response. */
  static fromError(code: number, message: string, data?: unknown): ProtocolError {
    return new ProtocolError(code, message, data)
  }
}

/** The resource does not exist. */
export class ResourceNotFoundError extends ProtocolError {
  constructor(uri: string, message: string = `Resource ${uri} not found`) {
    super(ProtocolErrorCode.ResourceNotFound, message, { uri })
  }
}

/** The user must visit the URLs before the request can be served (2025-11-25). */
export class UrlElicitationRequiredError extends ProtocolError {
  readonly elicitations: ElicitRequestURLParams[]

  constructor(elicitations: ElicitRequestURLParams[], message: string = 'URL elicitation required') {
    super(ProtocolErrorCode.UrlElicitationRequired, message, { elicitations })
    this.elicitations = elicitations
  }
}

export const SdkErrorCode = {
  NotConnected: 'NOT_CONNECTED',
  AlreadyConnected: 'ALREADY_CONNECTED',
  CapabilityNotSupported: 'CAPABILITY_NOT_SUPPORTED',
  RequestTimeout: 'REQUEST_TIMEOUT',
  ConnectionClosed: 'CONNECTION_CLOSED',
  InvalidResult: 'INVALID_RESULT',
} as const
export type SdkErrorCode = (typeof SdkErrorCode)[keyof typeof SdkErrorCode]

/** A failure of this side. */
export class SdkError extends Error {
  override readonly name: string = 'SdkError'
  readonly code: SdkErrorCode
  readonly data: unknown

  constructor(code: SdkErrorCode, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.data = data
  }
}

/** Converts an error of version 1 or of Jackfield to one of version 2. */
export function toV2Error(error: unknown): unknown {
  if (error instanceof McpError) {
    const message = error.message.replace(`MCP error ${error.code}: `, '')
    if (error.code === V1Code.RequestTimeout)
      return new SdkError('REQUEST_TIMEOUT', message, error.data, { cause: error })
    if (error.code === V1Code.ConnectionClosed)
      return new SdkError('CONNECTION_CLOSED', message, error.data, { cause: error })
    return new ProtocolError(error.code, message, error.data)
  }
  if (error instanceof LocalError)
    return new SdkError('CONNECTION_CLOSED', error.message, error.details, { cause: error })
  return error
}
