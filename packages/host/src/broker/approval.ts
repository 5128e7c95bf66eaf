import { questionId } from '../asking/index.ts'
import type { Asker } from '../inbox/index.ts'
import { canonical, frozenCopy, isRecord, type JsonRecord } from '../json.ts'
import type { Policy, PolicySubject, Ruling } from '../policy/index.ts'
import type { Recorder } from '../store/index.ts'
import { reasonOf } from '../text.ts'
import type { Caller, CatalogTool } from '../types/index.ts'

export interface ApprovalDeps {
  policy: Policy
  asker: Asker
  recorder: Recorder
}

export interface ApprovalRequest {
  entry: CatalogTool
  subject: PolicySubject
  ruling: Ruling
  arguments: JsonRecord
  caller: Caller
  /** The row of the call this is about. */
  row: number
}

export type Approved =
  | { allowed: true; arguments: JsonRecord; edited: boolean }
  | { allowed: false; outcome: 'denied' | 'cancelled' | 'error'; reason: string }

/** Asks the person about one call. Anything but a plain yes is a no, and the answer is what they saw or wrote. */
export async function approval(
  request: ApprovalRequest,
  { policy, asker, recorder }: ApprovalDeps,
  signal: AbortSignal,
): Promise<Approved> {
  const { entry, subject, ruling, caller } = request
  const { decision } = ruling
  if (!asker.can('approval')) {
    const reason = `nobody can be asked here (${asker.names}), and rule "${decision.rule}" says to ask`
    return { allowed: false, outcome: 'denied', reason }
  }
  const cause = { server: entry.server, tool: entry.tool.name, arguments: request.arguments, caller }
  const row = recorder.open({
    kind: 'approval',
    server: entry.server,
    cause: request.row,
    summary: `May ${entry.tool.name} of ${entry.server} run?`,
    detail: {
      tool: entry.tool.name,
      rule: decision.rule,
      arguments: request.arguments,
      surface: asker.names,
    },
  })
  try {
    const question = {
      kind: 'approval',
      id: questionId(),
      cause,
      tool: frozenCopy(entry),
      arguments: request.arguments,
      decision,
      remember: ruling.remember,
      likeness: [],
      labels: [],
    } as const
    const { answer, by } = await asker.ask(question, { signal, activity: row.id })
    if (answer.verdict === 'respond') throw new Error(`${by} answered in place of the tool`)
    const args =
      answer.verdict === 'allow' && answer.arguments ? frozenCopy(answer.arguments) : request.arguments
    if (!isRecord(args)) throw new Error(`${by} gave arguments that are no object`)
    const remembered =
      answer.remember && policy.remember(subject, answer.verdict, answer.remember.scope, ruling)
    if (answer.verdict === 'deny') {
      row.close('denied', { reason: answer.reason ?? null, remembered: remembered ?? null })
      const reason = answer.reason === undefined ? '' : `: ${answer.reason}`
      return { allowed: false, outcome: 'denied', reason: `the person said no${reason}` }
    }
    const edited = canonical(args) !== canonical(request.arguments)
    row.close('allowed', { edited, ...(edited && { sent: args }), remembered: remembered ?? null })
    return { allowed: true, arguments: args, edited }
  } catch (error) {
    if (signal.aborted) {
      row.close('withdrawn')
      return {
        allowed: false,
        outcome: 'cancelled',
        reason: 'the call was cancelled before anybody answered',
      }
    }
    row.close('error', { reason: reasonOf(error) })
    return { allowed: false, outcome: 'error', reason: `nobody could be asked: ${reasonOf(error)}` }
  }
}
