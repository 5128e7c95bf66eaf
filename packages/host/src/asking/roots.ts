import { ErrorCode, type Root, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { frozenCopy } from '../json.ts'
import { reasonOf } from '../text.ts'
import type { Surface } from '../types.ts'
import type { AskingDeps } from './deps.ts'
import { answered, questionId, yesOrNo } from './put.ts'

/**
 * Tells a server of the configured folders once the person agreed, which they are asked once for each server. After a
 * refusal the server hears of none.
 */
export function roots(
  server: string,
  ask: NonNullable<Surface['roots']>,
  deps: AskingDeps,
): (context: AskContext) => Promise<Root[]> {
  const shown = frozenCopy(deps.roots)
  let agreed: Promise<boolean> | undefined
  return async (context) => {
    const { cause, row: causeRow } = deps.origins.find(server, context.cause, false)
    const row = deps.recorder.open({
      kind: 'roots',
      server,
      cause: causeRow,
      summary: `${server} asks for the open folders`,
      detail: { cause, roots: shown, surface: deps.surface.name },
    })
    const first = agreed === undefined
    agreed ??= consent(
      ask,
      { kind: 'roots', id: questionId(), cause, roots: [...shown] },
      context.signal,
      deps.surface.name,
    )
    try {
      const allowed = await agreed
      row.close(allowed ? 'ok' : 'denied', { asked: first })
      return allowed ? [...shown] : []
    } catch (error) {
      agreed = undefined
      row.close(context.signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      throw new RpcError(ErrorCode.InternalError, 'Nobody could be asked whether to tell of folders')
    }
  }
}

async function consent(
  ask: NonNullable<Surface['roots']>,
  question: Parameters<NonNullable<Surface['roots']>>[0],
  signal: AbortSignal,
  surface: string,
): Promise<boolean> {
  const answer = await answered((until) => ask(question, until), signal)
  return yesOrNo(answer, surface).verdict === 'allow'
}
