import { McpError, RpcError } from '@jackfield/sdk'
import type { Redactor } from './redactor.ts'

/** The error with every known secret taken out of its message and data; the same one where it holds none. */
export function redactedError(error: unknown, redactor: Redactor): unknown {
  if (error instanceof RpcError) {
    const message = redactor.text(error.message)
    const data = redactor.value(error.data)
    return message === error.message && data === error.data ? error : new RpcError(error.code, message, data)
  }
  if (error instanceof McpError) {
    const message = redactor.text(error.message)
    const details = redactor.value(error.details)
    return message === error.message && details === error.details
      ? error
      : new McpError(error.code, message, { details })
  }
  if (error instanceof Error && redactor.text(error.message) !== error.message)
    return new Error(redactor.text(error.message))
  return error
}
