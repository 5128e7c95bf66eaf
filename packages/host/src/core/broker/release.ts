import type { CallToolResult } from '@jackfield/sdk'
import { canonical, frozenCopy } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { BrokeredCall, CatalogTool, Decision } from '../../types/index.ts'
import { questionId } from '../asking/put.ts'
import { asResult, withheld } from '../call-results.ts'
import type { PolicySubject } from '../policy/policy.ts'
import type { ApprovalDeps } from './approval.ts'

export interface ReleaseRequest {
  entry: CatalogTool
  subject: PolicySubject
  result: CallToolResult
  decision: Decision
  /** The row of the call. */
  row: number
}

/** A result as the caller gets it. */
export interface Released {
  result: CallToolResult
  release: NonNullable<BrokeredCall['release']>
}

/** Lets a result through as the policy or the person says. The call has happened; only who sees its result is open. */
export async function release(
  request: ReleaseRequest,
  { asker, recorder }: ApprovalDeps,
  signal: AbortSignal,
): Promise<Released> {
  const { entry, subject, decision } = request
  const keep = (reason: string): Released => ({
    result: withheld(entry, reason),
    release: { decision, outcome: 'withheld' },
  })
  const pass: Released = { result: request.result, release: { decision, outcome: 'passed' } }
  if (decision.verdict === 'allow') return pass
  const row = recorder.open({
    kind: 'result',
    server: entry.server,
    cause: request.row,
    summary: `May the ${subject.caller} see what ${entry.tool.name} of ${entry.server} gave?`,
    detail: { tool: entry.tool.name, rule: decision.rule, author: decision.author ?? null },
  })
  if (decision.verdict === 'deny') {
    row.close('denied', { reason: 'the rule says so' })
    return keep(`rule "${decision.rule}" holds it back`)
  }
  if (!asker.can('result')) {
    row.close('denied', { reason: 'no-surface' })
    return keep(`nobody can be asked here (${asker.names}), and rule "${decision.rule}" says to ask`)
  }
  try {
    const { conversation, caller } = subject
    const question = {
      kind: 'result',
      id: questionId(),
      cause: {
        server: entry.server,
        tool: entry.tool.name,
        arguments: subject.arguments,
        caller,
        ...(conversation !== undefined && { conversation }),
      },
      tool: frozenCopy(entry),
      arguments: subject.arguments,
      result: frozenCopy(request.result),
      decision,
    } as const
    const { answer, by } = await asker.ask(question, { signal, activity: row.id })
    if (answer.verdict === 'deny') {
      row.close('denied', { by, reason: answer.reason ?? null })
      return keep(`the person said no${answer.reason === undefined ? '' : `: ${answer.reason}`}`)
    }
    const result = answer.result === undefined ? request.result : asResult(answer.result, by)
    const edited = canonical(result) !== canonical(request.result)
    row.close('allowed', { by, edited, ...(edited && { passed: result }) })
    return edited ? { result, release: { decision, outcome: 'edited' } } : pass
  } catch (error) {
    row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    return keep(
      signal.aborted ? 'the call was cancelled meanwhile' : `nobody could be asked: ${reasonOf(error)}`,
    )
  }
}
