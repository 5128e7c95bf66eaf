/** Errors of Jackfield as those of the official SDK: a numeric code, and a message with it. */
import { McpError as LocalError, RpcError } from '@jackfield/sdk'
import { ErrorCode, McpError } from './types.ts'

/** The error of the official SDK for one of Jackfield. */
export function officialError(error: unknown): unknown {
  if (error instanceof McpError) return error
  if (error instanceof RpcError) return McpError.fromError(error.code, error.message, error.data)
  if (!(error instanceof LocalError)) return error
  switch (error.code) {
    case 'TIMEOUT':
      return caused(new McpError(ErrorCode.RequestTimeout, 'Request timed out'), error)
    case 'CONNECTION_CLOSED':
    case 'OUTCOME_UNKNOWN':
      return caused(new McpError(ErrorCode.ConnectionClosed, error.message), error)
    case 'CANNOT_ASK':
    case 'INVALID':
      return caused(new McpError(ErrorCode.InvalidRequest, error.message), error)
    default:
      return error
  }
}

function caused(error: McpError, cause: unknown): McpError {
  error.cause = cause
  return error
}
