import type { Caller } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonRpcResponse } from '../jsonrpc/message.ts'
import { classify } from '../jsonrpc/parse.ts'
import { isModern } from '../protocol/client-meta.ts'
import type { SessionOutlet } from './asker.ts'
import { failure, wantsAnswer } from './message.ts'
import type { Session } from './session.ts'

/**
 * Serves the messages of one batch (2025-03-26) at the same time.
 * @returns the responses, none when nothing in it wanted one
 * @throws RpcError -32600 for an array that is no batch here
 */
export async function serveBatch(
  session: Session,
  values: readonly unknown[],
  outlet: SessionOutlet,
  max: number,
  caller?: Caller,
): Promise<JsonRpcResponse[]> {
  requireBatch(session, values, max)
  const responses = await Promise.all(values.map((value) => serveOne(session, value, outlet, caller)))
  return responses.filter((response) => response !== undefined)
}

function requireBatch(session: Session, values: readonly unknown[], max: number): void {
  const revision = session.peer?.revision
  if (revision?.batches !== true) {
    throw refused(`batches are part of revision 2025-03-26 only, so send each message by itself`)
  }
  if (values.length === 0) throw refused('a batch must hold at least one message')
  if (values.length > max) throw refused(`a batch may hold at most ${max} messages`)
}

async function serveOne(
  session: Session,
  value: unknown,
  outlet: SessionOutlet,
  caller: Caller | undefined,
): Promise<JsonRpcResponse | undefined> {
  const classified = classify(value)
  switch (classified.kind) {
    case 'invalid':
      if (wantsAnswer(value)) return failure(classified.id, classified.error)
      session.unusable(classified)
      return undefined
    case 'notification':
      session.notification(classified.message)
      return undefined
    case 'response':
      session.response(classified.message)
      return undefined
    case 'request': {
      const { message } = classified
      if (message.method === 'initialize' || isModern(message.params)) {
        return failure(message.id, refused('this request may not be part of a batch'))
      }
      try {
        return await session.request(message, outlet, caller)
      } catch (error) {
        return failure(message.id, session.refusal(error, message.method))
      }
    }
  }
}

function refused(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${why}`)
}
