import { McpError, RpcError } from '@jackfield/sdk'
import { makeVisible } from './visible.ts'

const maxReason = 600

/** Text that may come from a server, as one line of bounded length where every character can be seen. */
export function oneLine(text: string): string {
  const plain = makeVisible(text).replace(/\s+/g, ' ').trim()
  return plain.length <= maxReason
    ? plain
    : `${plain.slice(0, maxReason)}… [${plain.length - maxReason} more characters]`
}

/** Why something failed, in one line for a person. */
export function reasonOf(error: unknown): string {
  if (error instanceof RpcError) return oneLine(`${error.message} (error ${error.code})`)
  if (error instanceof Error) return oneLine(error.message)
  return oneLine(String(error))
}

/** A timeout of a part of a configured limit, named by that limit; every other error as it is. */
export function withConfiguredLimit(error: unknown, what: string, limitMs: number): unknown {
  if (!(error instanceof McpError) || error.code !== 'TIMEOUT') return error
  if (typeof error.details['timeoutMs'] !== 'number') return error
  const details = { ...error.details, timeoutMs: limitMs }
  return new McpError('TIMEOUT', `No response to ${what} within ${limitMs} ms`, { cause: error, details })
}
