import { ErrorCode, type Root, RpcError } from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { frozenCopy } from '../json.ts'
import { reasonOf } from '../text.ts'
import type { AskingDeps } from './deps.ts'
import { questionId } from './put.ts'
import { RootWatch } from './root-watch.ts'

/**
 * Tells a server of the configured folders once the person agreed, which they are asked once for each server. After a
 * refusal the server hears of none. Folders that cannot be read are left out, and a server that was told hears when
 * that changes.
 */
export function roots(server: string, deps: AskingDeps): (context: AskContext) => Promise<Root[]> {
  const shown = frozenCopy(deps.roots)
  const watch = new RootWatch(shown, () => deps.rootsChanged(), deps.signal)
  let agreed: Promise<boolean> | undefined
  return async (context) => {
    const { cause, row: causeRow } = deps.origins.find(server, context.cause, false)
    const row = deps.recorder.open({
      kind: 'roots',
      server,
      cause: causeRow,
      summary: `${server} asks for the open folders`,
      detail: { cause, roots: shown, surface: deps.asker.names },
    })
    const first = agreed === undefined
    agreed ??= deps.asker
      .ask(
        { kind: 'roots', id: questionId(), cause, roots: [...shown] },
        { signal: context.signal, activity: row.id },
      )
      .then(({ answer }) => answer.verdict === 'allow')
    try {
      const allowed = await agreed
      const told = allowed ? await watch.readable() : []
      const missing = allowed ? shown.filter((root) => !told.includes(root)).map(({ uri }) => uri) : []
      row.close(allowed ? 'ok' : 'denied', { asked: first, ...(missing.length > 0 && { missing }) })
      return told
    } catch (error) {
      agreed = undefined
      row.close(context.signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      throw new RpcError(ErrorCode.InternalError, 'Nobody could be asked whether to tell of folders')
    }
  }
}
