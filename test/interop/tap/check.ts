import type { ProtocolVersion } from '@jackfield/sdk'
import { checkWire } from '../../../packages/sdk/test/schema/wire.ts'
import { isObject } from '../../setup/json.ts'
import type { Side, Tapped } from './tap.ts'

/** JSON-RPC has it so; MCP leaves the id out, or has none but strings and numbers. */
export const nullId = 'an error whose id is null'

/** One thing wrong with one message. */
export interface Fault {
  readonly from: Side
  /** The method of the message, or of the request it answers. */
  readonly method: string
  readonly what: string
  readonly message: unknown
}

/** The errors of a message by the official schema of a revision. */
export function faultsIn(revision: ProtocolVersion, { from, message, answers }: Tapped): Fault[] {
  const called = isObject(message) && typeof message['method'] === 'string' ? message['method'] : undefined
  const method = called ?? answers ?? 'unasked'
  const spoken = method === 'server/discover' ? '2026-07-28' : revision
  if (isObject(message) && 'error' in message && message['id'] === null) {
    return [{ from, method, what: nullId, message }]
  }
  // A server that does not know the first question refuses it in its own era's words.
  const refusal = method === 'server/discover' && isObject(message) && 'error' in message
  return checkWire(spoken, from, message, refusal ? undefined : answers).map((what) => ({
    from,
    method,
    what: general(what),
    message,
  }))
}

/** The same words for the same fault wherever in a list it is. */
function general(what: string): string {
  return what.replaceAll(/\/\d+(?=[/ ])/g, '/*')
}
