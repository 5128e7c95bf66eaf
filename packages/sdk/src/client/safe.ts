import type { JsonObject } from '../jsonrpc/message.ts'
import { methods } from '../protocol/methods.ts'

const effects = new Set(['tools/call'])

/** Whether sending a request a second time does no harm: it only reads, and carries no one-time state. */
export function isSafe(method: string, params: JsonObject): boolean {
  return (
    Object.hasOwn(methods, method) &&
    !effects.has(method) &&
    params['requestState'] === undefined &&
    params['inputResponses'] === undefined
  )
}
