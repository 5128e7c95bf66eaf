/** Errors of Jackfield as those of the official SDK: a numeric code, and a message with it. */
import { McpError as LocalError, RpcError } from '@jackfield/sdk'
import { ErrorCode, McpError } from './types.ts'

/** Converts an error of Jackfield to one of the official SDK. */
export function toOfficialError(error: unknown): unknown {
  if (error instanceof McpError) return error
  if (error instanceof RpcError) return McpError.fromError(error.code, error.message, error.data)
  if (!(error instanceof LocalError)) return error
  switch (error.code) {
    case 'TIMEOUT':
      return withCause(new McpError(ErrorCode.RequestTimeout, 'Request timed out'), error)
    case 'CONNECTION_CLOSED':
    case 'OUTCOME_UNKNOWN':
      return withCause(new McpError(ErrorCode.ConnectionClosed, error.message), error)
    case 'CANNOT_ASK':
    case 'INVALID':
      return withCause(new McpError(ErrorCode.InvalidRequest, error.message), error)
    default:
      return error
  }
}

function withCause(error: McpError, cause: unknown): McpError {
  error.cause = cause
  return error
}
