import { randomUUID } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { NoSurfaceError, type QuestionQueue } from '../../core/inbox/question-queue.ts'
import type { Recorder } from '../../log/store/activity-log.ts'
import { reasonOf } from '../../shared/text.ts'
import type { Installation } from '../../types/index.ts'

interface ApprovalDeps {
  questions: QuestionQueue
  recorder: Recorder
  /** The surface on which the user agreed already. */
  agreedOn: string | undefined
  signal: AbortSignal
}

/** Whether a server may be installed: asks on every surface, and records the decision in the activity log. */
export async function approveInstallation(
  installation: Installation,
  { questions, recorder, agreedOn, signal }: ApprovalDeps,
): Promise<boolean> {
  const { name, command, findings, publisher, version } = installation.plan
  const row = recorder.open({
    kind: 'install',
    server: name,
    summary: `${name} is to be installed`,
    detail: { command, findings: [...findings], ...defined({ publisher, version }) },
  })
  if (agreedOn !== undefined) {
    row.close('allowed', { by: agreedOn })
    return true
  }
  try {
    const { answer, by } = await questions.ask(
      { kind: 'installation', id: randomUUID(), cause: { server: name }, ...installation },
      { signal, activity: row.id },
    )
    const reason = answer.verdict === 'deny' && answer.reason !== undefined ? { reason: answer.reason } : {}
    row.close(answer.verdict === 'allow' ? 'allowed' : 'denied', { by, ...reason })
    return answer.verdict === 'allow'
  } catch (error) {
    row.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    if (!(error instanceof NoSurfaceError)) throw error
    throw new McpError(
      'INVALID',
      `${name} was not installed: no attached window can ask whether to install it.`,
      { cause: error },
    )
  }
}
