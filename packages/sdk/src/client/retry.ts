import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcResponse } from '../jsonrpc/message.ts'
import { rowOf } from '../protocol/methods.ts'
import { RetryBackoff, wait } from '../transports/client/retry-backoff.ts'
import { SessionEnded } from '../transports/client/transport.ts'
import type { ClientConnection, OutgoingRequest, ReceivedResult } from './client-connection.ts'

const gatewayStatuses = new Set([502, 503, 504])

/** Whether a gateway, not the server, responded with 502, 503 or 504. Whether the server ran the request is unknown. */
export function isGatewayFailure(error: unknown): error is McpError {
  if (!(error instanceof McpError) || error.code !== 'HTTP') return false
  const { status, code } = error.details
  // With a JSON-RPC error code, the response is the server's own.
  return typeof status === 'number' && gatewayStatuses.has(status) && code === undefined
}

/** Whether the response means that there is no Streamable HTTP endpoint at this URL, or one of older revisions. */
export function isEndpointMissing(error: unknown): boolean {
  if (!(error instanceof McpError) || error.code !== 'HTTP') return false
  const { status } = error.details
  return status === 400 || status === 404 || status === 405
}

/** Milliseconds from the `Retry-After` header of a failed response. */
export function retryAfterOf(error: unknown): number | undefined {
  const retryAfterMs = error instanceof McpError ? error.details['retryAfterMs'] : undefined
  return typeof retryAfterMs === 'number' ? retryAfterMs : undefined
}

const methodsWithEffects = new Set(['tools/call'])

interface RepeatableRequest {
  readonly method: string
  readonly params: JsonObject
  /** The caller declares the request idempotent. */
  readonly repeatable?: boolean
}

/** Whether a request may be sent twice: read-only or declared repeatable, and without one-time state. */
export function isRepeatable({ method, params, repeatable = false }: RepeatableRequest): boolean {
  return (
    (repeatable || (rowOf(method) !== undefined && !methodsWithEffects.has(method))) &&
    params['requestState'] === undefined &&
    params['inputResponses'] === undefined
  )
}

/** Retries after a broken connection; the first one is immediate. */
const maxAfterBreak = 3
/** Retries after a gateway failure, over about 8 s without `Retry-After`. */
const maxAfterGateway = 5
/** Milliseconds within which a response is sent again. */
const resendMs = 60_000

/**
 * Sends a request and retries repeatable ones after a broken connection or a gateway failure. Rejects with the last
 * failure, at once if the next attempt would exceed the deadline.
 */
export async function sendWithRetry(
  outgoing: OutgoingRequest,
  connection: ClientConnection,
  send: (outgoing: OutgoingRequest) => Promise<ReceivedResult>,
): Promise<ReceivedResult> {
  let backoff: RetryBackoff | undefined
  for (let retries = 0; ; retries++) {
    try {
      return await send(outgoing)
    } catch (error) {
      const failure = classifyFailure(error)
      const maxRetries = failure === 'broken' ? maxAfterBreak : maxAfterGateway
      if (failure === undefined || retries >= maxRetries || !mayRepeat(failure, outgoing, connection))
        throw error
      outgoing.deadline.signal.throwIfAborted()
      if (failure === 'broken' && retries === 0) continue
      backoff ??= new RetryBackoff()
      const waitMs = backoff.afterFailure(retryAfterOf(error))
      if (waitMs >= outgoing.deadline.leftMs) throw error
      await waitForRetry(waitMs, connection, error, outgoing.deadline.signal)
    }
  }
}

/**
 * Sends a response to a request of the server. If it may not have arrived, it is sent again for a minute: a server ignores
 * duplicates, and would wait for a lost response. Rejects with the last failure.
 */
export async function sendResponse(answer: JsonRpcResponse, connection: ClientConnection): Promise<void> {
  const backoff = new RetryBackoff()
  const { signal } = new AbortController()
  const until = performance.now() + resendMs
  while (true) {
    try {
      return await connection.transport.respond(answer)
    } catch (error) {
      if (!isTemporary(error) || !connection.isOpen) throw error
      const waitMs = backoff.afterFailure(retryAfterOf(error))
      if (performance.now() + waitMs > until) throw error
      await waitForRetry(waitMs, connection, error, signal)
    }
  }
}

/** Whether there was no connection or response, or a server or gateway responded with 502, 503 or 504. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof McpError)) return false
  const { code, details, cause } = error
  if (code === 'HTTP') return gatewayStatuses.has(Number(details['status']))
  return (
    code === 'CONNECT_FAILED' ||
    code === 'TIMEOUT' ||
    (code === 'CONNECTION_CLOSED' && !(cause instanceof SessionEnded))
  )
}

/**
 * Repeats an attempt while it ends in gateway failures. Rejects with the last failure, at once with any other one.
 * @param signal ends the wait for another attempt
 * @param leftMs milliseconds left before the last possible attempt
 */
export async function retryPastGateway<T>(
  attempt: () => Promise<T>,
  connection: ClientConnection,
  signal: AbortSignal,
  leftMs: () => number,
): Promise<T> {
  const backoff = new RetryBackoff()
  for (let retries = 0; ; retries++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isGatewayFailure(error) || retries >= maxAfterGateway || !connection.isOpen) throw error
      const waitMs = backoff.afterFailure(retryAfterOf(error))
      if (waitMs > leftMs()) throw error
      await waitForRetry(waitMs, connection, error, signal)
    }
  }
}

/** Waits before a retry; rejects with the failure if the connection closes meanwhile. */
async function waitForRetry(
  ms: number,
  connection: ClientConnection,
  failure: unknown,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const removeListener = connection.onClosed(() => stop.abort(failure))
  try {
    await wait(ms, AbortSignal.any([signal, stop.signal]))
  } finally {
    removeListener()
  }
}

type Failure = 'broken' | 'gateway'

function classifyFailure(error: unknown): Failure | undefined {
  if (isGatewayFailure(error)) return 'gateway'
  const broke =
    error instanceof McpError && error.code === 'CONNECTION_CLOSED' && !(error.cause instanceof SessionEnded)
  return broke ? 'broken' : undefined
}

function mayRepeat(failure: Failure, outgoing: OutgoingRequest, connection: ClientConnection): boolean {
  if (!connection.isOpen) return false
  // With a connection per request, a lost response has an error of its own, so this one broke before the request was sent.
  return isRepeatable(outgoing) || (failure === 'broken' && connection.transport.connectsEach === true)
}
