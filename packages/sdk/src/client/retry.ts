import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcResponse } from '../jsonrpc/message.ts'
import { methods } from '../protocol/methods.ts'
import { RetryBackoff, wait } from '../transports/client/retry-backoff.ts'
import { SessionEnded } from '../transports/client/transport.ts'
import { linkedSignal } from './call-deadline.ts'
import type { ClientConnection, OutgoingRequest, ReceivedResult } from './client-connection.ts'

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

const effects = new Set(['tools/call'])

/** What decides whether a request may be sent twice. */
export interface Repeated {
  readonly method: string
  readonly params: JsonObject
  /** The caller knows that it does no harm. */
  readonly repeatable?: boolean
}

/** Whether sending a request a second time does no harm: it only reads, or its caller says so, and carries no one-time state. */
export function isSafe({ method, params, repeatable = false }: Repeated): boolean {
  return (
    (repeatable || (Object.hasOwn(methods, method) && !effects.has(method))) &&
    params['requestState'] === undefined &&
    params['inputResponses'] === undefined
  )
}

/** How often a request is sent again whose connection broke; the first time at once, as the next one is most likely good. */
const maxAfterBreak = 3
/** How often a request is sent again that a gateway did not pass on, over 8 s or so where it wishes nothing else. */
const maxAfterGateway = 5
/** Milliseconds that an answer is kept at most for another attempt, if the gateway wishes so. */
const longestDeliveryMs = 60_000

/**
 * Sends a request, and sends again what does no harm twice: when the connection of that request broke but the link
 * still stands, and when something on the way answered in place of the server. Rejects with the last failure, at once
 * where the wait for another attempt would outlast the call.
 */
export async function sendWithRetry(
  out: OutgoingRequest,
  wire: ClientConnection,
  send: (out: OutgoingRequest) => Promise<ReceivedResult>,
): Promise<ReceivedResult> {
  let pace: RetryBackoff | undefined
  for (let again = 0; ; again++) {
    try {
      return await send(out)
    } catch (error) {
      const failure = failureIn(error)
      const most = failure === 'broken' ? maxAfterBreak : maxAfterGateway
      if (failure === undefined || again >= most || !mayRepeat(failure, out, wire)) throw error
      out.scope.signal.throwIfAborted()
      if (failure === 'broken' && again === 0) continue
      pace ??= new RetryBackoff()
      const waitMs = pace.afterFailure(wishOf(error))
      if (waitMs >= out.scope.leftMs) throw error
      await pause(waitMs, wire, error, out.scope.signal)
    }
  }
}

/**
 * Delivers an answer to a question of the server, again where a gateway did not pass it on: one that comes twice is used
 * once. Rejects with the last failure.
 */
export function deliver(answer: JsonRpcResponse, wire: ClientConnection): Promise<void> {
  const { signal } = new AbortController()
  return pastGateway(() => wire.link.respond(answer), { wire, signal, leftMs: () => longestDeliveryMs })
}

/** What bounds the attempts of one message that gateways do not pass on. */
export interface RetryBounds {
  readonly wire: ClientConnection
  /** Ends the waiting for another attempt. */
  readonly signal: AbortSignal
  /** Milliseconds that may still pass before another attempt. */
  leftMs(): number
}

/** Tries until no gateway answers in place of the server. Rejects with the last failure, at once with any other one. */
export async function pastGateway<T>(attempt: () => Promise<T>, patience: RetryBounds): Promise<T> {
  const { wire, signal, leftMs } = patience
  const pace = new RetryBackoff()
  for (let again = 0; ; again++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isGatewayFailure(error) || again >= maxAfterGateway || !wire.isOpen) throw error
      const waitMs = pace.afterFailure(wishOf(error))
      if (waitMs > leftMs()) throw error
      await pause(waitMs, wire, error, signal)
    }
  }
}

/** Waits before another attempt; rejects with the failure when the connection ends meanwhile. */
async function pause(
  ms: number,
  wire: ClientConnection,
  failure: unknown,
  signal: AbortSignal,
): Promise<void> {
  const stop = linkedSignal(signal)
  const forget = wire.onClosed(() => stop.abort(failure))
  try {
    await wait(ms, stop.signal)
  } finally {
    forget()
    stop.release()
  }
}

type Failure = 'broken' | 'gateway'

function failureIn(error: unknown): Failure | undefined {
  if (isGatewayFailure(error)) return 'gateway'
  const broke =
    error instanceof McpError && error.code === 'CONNECTION_CLOSED' && !(error.cause instanceof SessionEnded)
  return broke ? 'broken' : undefined
}

function mayRepeat(failure: Failure, out: OutgoingRequest, wire: ClientConnection): boolean {
  if (!wire.isOpen) return false
  // Where each request has a connection of its own, an answer that was lost says so, and what broke came before it.
  return isSafe(out) || (failure === 'broken' && wire.link.connectsEach === true)
}
