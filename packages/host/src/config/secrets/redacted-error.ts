import { McpError, RpcError } from '@jackfield/sdk'
import type { Redactor } from './redactor.ts'

/** Causes of causes that are looked through. */
const maxDepth = 8

/**
 * The error with every known secret taken out of its message, data and causes; the same one where it holds none. A cause
 * that holds one is left out.
 */
export function redactedError(error: unknown, redactor: Redactor): unknown {
  if (!(error instanceof Error) || !holdsSecret(error, redactor)) return error
  const message = redactor.text(error.message)
  const { cause } = error
  const kept = cause === undefined || holdsSecret(cause, redactor) ? {} : { cause }
  if (error instanceof RpcError) return new RpcError(error.code, message, redactor.value(error.data))
  if (error instanceof McpError) {
    return new McpError(error.code, message, { ...kept, details: redactor.value(error.details) })
  }
  return new Error(message, kept)
}

function holdsSecret(error: unknown, redactor: Redactor, depth = 0): boolean {
  if (!(error instanceof Error)) return redactor.value(error) !== error
  const { message, cause, stack = '' } = error
  if (depth > maxDepth || redactor.text(message) !== message || redactor.text(stack) !== stack) return true
  if (error instanceof RpcError && redactor.value(error.data) !== error.data) return true
  if (error instanceof McpError && redactor.value(error.details) !== error.details) return true
  return cause !== undefined && holdsSecret(cause, redactor, depth + 1)
}
