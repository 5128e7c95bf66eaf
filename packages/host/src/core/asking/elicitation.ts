import { type ElicitParams, type ElicitResult, ErrorCode, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { frozenCopy } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import { elicitationFindings } from '../forms/findings.ts'
import { rememberedAnswers } from '../forms/remembered.ts'
import type { Visits } from '../forms/visits.ts'
import { withoutSecretFields } from '../forms/withheld.ts'
import { serverOrigin } from '../policy/identity.ts'
import type { AskingDeps } from './deps.ts'
import { questionId } from './put.ts'
import { visiting } from './visiting.ts'

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
  { asker, origins, recorder, forms, warn }: AskingDeps,
  visits: Visits,
): (params: ElicitParams, context: AskContext) => Promise<ElicitResult> {
  const { config, identity, table, open } = forms
  return async (given, context) => {
    const params = frozenCopy(given)
    const remembered = rememberedAnswers(identity(), table)
    const { cause, row: causeRow } = origins.find(server, context.cause)
    const findings = elicitationFindings(params, 'url' in config ? config.url : undefined)
    const before = params.mode === 'url' ? undefined : remembered.for(params)
    const row = recorder.open({
      kind: 'elicitation',
      server,
      cause: causeRow,
      summary:
        params.mode === 'url' ? `${server} asks to visit ${hostOf(params.url)}` : `${server} asks for input`,
      detail: { cause, params, findings, surface: asker.names },
    })
    const about = {
      cause,
      params,
      origin: serverOrigin(config),
      ...(findings.length > 0 && { findings }),
      ...(before !== undefined && { remembered: before }),
    }
    try {
      const ask = visiting({
        put: (visit, signal) =>
          asker.ask(
            { kind: 'elicitation', id: questionId(), ...about, ...(visit !== undefined && { visit }) },
            { signal, activity: row.id },
          ),
        visits,
        open,
      })
      const { answer, by, opened } = await ask(params, context.signal)
      const { reason, visit: _visit, remember, ...told } = answer
      if (params.mode !== 'url' && remember !== undefined && told.action === 'accept') {
        try {
          remembered.keep(params, told.content ?? {}, remember)
        } catch (error) {
          // The answer is worth more than its copy for the next time.
          warn(`The answers of this form could not be remembered: ${reasonOf(error)}`)
        }
      }
      row.close(outcomes[told.action], {
        answer: withoutSecretFields(told, params),
        by,
        ...(opened > 0 && { opened }),
        ...(reason !== undefined && { reason }),
      })
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
