import { McpError } from '../jsonrpc/error.ts'

const statuses = new Set([502, 503, 504])

/** Whether something between client and server answered in its place, so that nobody knows what the server did. */
export function isGatewayFailure(error: unknown): error is McpError {
  if (!(error instanceof McpError) || error.code !== 'HTTP') return false
  const { status, code } = error.details
  // With a code, the server itself said why.
  return typeof status === 'number' && statuses.has(status) && code === undefined
}

/** Milliseconds the server asked to wait, in its `Retry-After` header. */
export function wishOf(error: unknown): number | undefined {
  const wish = error instanceof McpError ? error.details['retryAfterMs'] : undefined
  return typeof wish === 'number' ? wish : undefined
}
