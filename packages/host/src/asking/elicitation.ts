import { type ElicitParams, type ElicitResult, ErrorCode, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { frozenCopy } from '../json.ts'
import { reasonOf } from '../text.ts'
import type { AskingDeps } from './deps.ts'
import { questionId } from './put.ts'

const outcomes: Readonly<Record<ElicitResult['action'], string>> = {
  accept: 'accepted',
  decline: 'declined',
  cancel: 'cancelled',
}

/**
 * Puts a form or a URL to the person. A question that could not be shown is an error and never a refusal, so that the
 * server does not take it for the person's will.
 */
export function elicitation(
  server: string,
  { asker, origins, recorder }: AskingDeps,
): (params: ElicitParams, context: AskContext) => Promise<ElicitResult> {
  return async (given, context) => {
    const params = frozenCopy(given)
    const { cause, row: causeRow } = origins.find(server, context.cause)
    const row = recorder.open({
      kind: 'elicitation',
      server,
      cause: causeRow,
      summary:
        params.mode === 'url' ? `${server} asks to visit ${hostOf(params.url)}` : `${server} asks for input`,
      detail: { cause, params, surface: asker.names },
    })
    try {
      const question = { kind: 'elicitation', id: questionId(), cause, params } as const
      const { answer, by } = await asker.ask(question, { signal: context.signal, activity: row.id })
      const { reason, ...told } = answer
      row.close(outcomes[told.action], { answer: told, by, ...(reason !== undefined && { reason }) })
      return told
    } catch (error) {
      const gone = context.signal.aborted
      row.close(gone ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      throw new RpcError(
        ErrorCode.InternalError,
        gone ? 'The question was withdrawn' : 'The question could not be shown to anybody',
      )
    }
  }
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'a URL'
}
