import { McpError } from '../jsonrpc/error.ts'
import type { JsonRpcResponse } from '../jsonrpc/message.ts'
import { SessionEnded } from '../links/link.ts'
import { Pace, wait } from '../links/pace.ts'
import { isGatewayFailure, wishOf } from './gateway.ts'
import { isSafe } from './safe.ts'
import { branch } from './scope.ts'
import type { Answered, Outgoing, Wire } from './wire.ts'

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
export async function sendAgain(
  out: Outgoing,
  wire: Wire,
  send: (out: Outgoing) => Promise<Answered>,
): Promise<Answered> {
  let pace: Pace | undefined
  for (let again = 0; ; again++) {
    try {
      return await send(out)
    } catch (error) {
      const failure = failureIn(error)
      const most = failure === 'broken' ? maxAfterBreak : maxAfterGateway
      if (failure === undefined || again >= most || !mayRepeat(failure, out, wire)) throw error
      out.scope.signal.throwIfAborted()
      if (failure === 'broken' && again === 0) continue
      pace ??= new Pace()
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
export function deliver(answer: JsonRpcResponse, wire: Wire): Promise<void> {
  const { signal } = new AbortController()
  return pastGateway(() => wire.link.respond(answer), { wire, signal, leftMs: () => longestDeliveryMs })
}

/** What bounds the attempts of one message that gateways do not pass on. */
export interface Patience {
  readonly wire: Wire
  /** Ends the waiting for another attempt. */
  readonly signal: AbortSignal
  /** Milliseconds that may still pass before another attempt. */
  leftMs(): number
}

/** Tries until no gateway answers in place of the server. Rejects with the last failure, at once with any other one. */
export async function pastGateway<T>(attempt: () => Promise<T>, patience: Patience): Promise<T> {
  const { wire, signal, leftMs } = patience
  const pace = new Pace()
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
async function pause(ms: number, wire: Wire, failure: unknown, signal: AbortSignal): Promise<void> {
  const stop = branch(signal)
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

function mayRepeat(failure: Failure, out: Outgoing, wire: Wire): boolean {
  if (!wire.isOpen) return false
  // Where each request has a connection of its own, an answer that was lost says so, and what broke came before it.
  return isSafe(out) || (failure === 'broken' && wire.link.connectsEach === true)
}
