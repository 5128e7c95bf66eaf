import { McpError, RpcError } from '@jackfield/sdk'
import type { Failure } from '../types/index.ts'
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

/** A failure as data; undefined where neither a server nor the SDK says what it was. */
export function failureFrom(error: unknown): Failure | undefined {
  if (error instanceof RpcError) {
    const { code, message, data } = error
    return { code, message, ...(data !== undefined && { data }) }
  }
  if (!(error instanceof McpError)) return undefined
  const { code, message, details } = error
  return { code, message, ...(Object.keys(details).length > 0 && { data: details }) }
}
