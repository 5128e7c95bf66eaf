import type { Exchange } from '../core/exchange.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { Revision } from '../protocol/revision.ts'
import { clipped } from './attributes.ts'
import type { Failure } from './recorder.ts'

/** What a request of this side failed with. */
export function clientFailure(error: unknown): Failure {
  if (error instanceof RpcError) return ofCode(error.code, error.message)
  if (error instanceof McpError) return { type: error.code }
  return { type: error instanceof Error ? error.name : '_OTHER' }
}

/** What a request of the peer is answered with. What happened inside is told to `onError`, not here. */
export function serverFailure(error: unknown, revision: Revision): Failure {
  if (error instanceof RpcError) return ofCode(revision.error(error).code, error.message)
  return ofCode(ErrorCode.InternalError)
}

/** Why nobody waits for the answer any more. */
export function stopped({ signal }: Pick<Exchange, 'signal'>): Failure {
  return { type: signal.reason instanceof McpError ? signal.reason.code : 'CANCELLED' }
}

function ofCode(code: number, text?: string): Failure {
  const message = clipped(text)
  return { type: String(code), status: String(code), ...(message === undefined ? {} : { message }) }
}
