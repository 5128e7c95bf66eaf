import { ErrorCode, invalid, RpcError } from '../../jsonrpc/error.ts'

const longestMs = 86_400_000

/** Thrown by a handler to run again later. Outside of a task, the client gets it as an error with `data.retryAfterMs`. */
export class RetryLater extends RpcError {
  readonly delayMs: number

  constructor(delayMs: number, reason: string) {
    super(ErrorCode.InternalError, `${reason}. Try again in ${delayMs} ms`, { retryAfterMs: delayMs })
    this.delayMs = delayMs
  }
}

/**
 * An error that a handler throws so that its task runs again, in any process, after `delayMs` milliseconds (at most a day).
 * Finished steps do not run again. A task may be repeated `retry.most` times; then it fails. Other errors are results.
 * @param reason for the client, if it is not repeated
 * @throws McpError 'INVALID' for a delay that is not a number from 0 to 86 400 000
 */
export function retryLater(delayMs: number, reason = 'This cannot be done now'): RetryLater {
  if (!(delayMs >= 0 && delayMs <= longestMs)) {
    throw invalid(
      `The delay of retryLater must be a number of milliseconds from 0 to ${longestMs}, got ${delayMs}`,
    )
  }
  return new RetryLater(Math.ceil(delayMs), reason)
}
