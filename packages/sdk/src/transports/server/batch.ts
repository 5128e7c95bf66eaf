import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcRequest, JsonRpcResponse } from '../../jsonrpc/message.ts'
import { classify } from '../../jsonrpc/parse.ts'
import { isModern } from '../../protocol/meta.ts'
import { failure, type ServedResponse, wantsAnswer } from './served-request.ts'
import type { Session } from './session.ts'

/** Handles the messages of a batch: a session, or one POST without one. */
export type BatchReceiver = Pick<Session, 'peer' | 'notification' | 'response' | 'unusable' | 'refusal'>

type Serve = (message: JsonRpcRequest) => Promise<ServedResponse>

/**
 * Serves the messages of one batch (2025-03-26) at the same time.
 * @param serve serves one of its requests
 * @returns the responses, none when nothing in it wanted one
 * @throws RpcError -32600 for an array that is no batch here
 */
export async function serveBatch(
  receiver: BatchReceiver,
  values: readonly unknown[],
  max: number,
  serve: Serve,
): Promise<JsonRpcResponse[]> {
  requireBatch(receiver, values, max)
  const responses = await Promise.all(values.map((value) => serveOne(receiver, value, serve)))
  return responses.filter((response) => response !== undefined)
}

function requireBatch({ peer }: BatchReceiver, values: readonly unknown[], max: number): void {
  const revision = peer?.revision
  if (revision?.batches !== true) {
    throw refused(`batches are part of revision 2025-03-26 only, so send each message by itself`)
  }
  if (values.length === 0) throw refused('a batch must hold at least one message')
  if (values.length > max) throw refused(`a batch may hold at most ${max} messages`)
}

async function serveOne(
  receiver: BatchReceiver,
  value: unknown,
  serve: Serve,
): Promise<JsonRpcResponse | undefined> {
  const classified = classify(value)
  switch (classified.kind) {
    case 'invalid':
      if (wantsAnswer(value)) return failure(classified.id, classified.error)
      receiver.unusable(classified)
      return undefined
    case 'notification':
      receiver.notification(classified.message)
      return undefined
    case 'response':
      receiver.response(classified.message)
      return undefined
    case 'request': {
      const { message } = classified
      if (message.method === 'initialize' || isModern(message.params)) {
        return failure(message.id, refused('this request may not be part of a batch'))
      }
      try {
        return await serve(message)
      } catch (error) {
        return failure(message.id, receiver.refusal(error, message.method))
      }
    }
  }
}

function refused(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, `Invalid request: ${why}`)
}
