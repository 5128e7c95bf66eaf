import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import { runToOutcome } from '../request/handler-run.ts'
import type { Context } from './context.ts'
import { ToolError } from './definitions.ts'
import { HandlerContext, ProgressAndLogs } from './handler-context.ts'

/**
 * Runs a handler until there is an outcome, with a new context for each run.
 * @param finish makes the complete result from what the handler returned
 */
export function runHandler(
  exchange: Exchange,
  handler: (ctx: Context) => unknown,
  finish: (returned: unknown) => JsonObject | Promise<JsonObject>,
): Promise<Outcome> {
  const notices = new ProgressAndLogs(exchange)
  return runToOutcome<unknown>(
    exchange,
    (handlerRun) => handler(new HandlerContext(exchange, handlerRun, notices)),
    finish,
    () => notices.close(),
  )
}

/** Tells the peer what a handler outside of tools wants it to know. */
export function shownToPeer(error: unknown): never {
  throw error instanceof ToolError ? new RpcError(ErrorCode.InternalError, error.message) : error
}

/** Params the protocol does not allow. */
export function invalidParams(why: string, data?: unknown): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`, data)
}

/** A name or URI as an error message shows it. */
export function clipped(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
