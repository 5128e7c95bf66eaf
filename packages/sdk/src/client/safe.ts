import type { JsonObject } from '../jsonrpc/message.ts'
import { methods } from '../protocol/methods.ts'

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
