import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import { oneLine } from '../../shared/text.ts'
import type { CodeCall, CodeRun } from '../../types/index.ts'

const listed = 60

const outcomes: Readonly<Record<CodeCall['outcome'], string>> = {
  ok: 'done',
  failed: 'the tool failed',
  denied: 'denied',
  error: 'no result',
  unknown: 'no answer came; it may have had its effect',
}

/** A run as a model is told it; where it did not end well, with every call that was made before. */
export function report(
  run: Pick<CodeRun, 'outcome' | 'error' | 'logs' | 'calls'>,
  returned: string | undefined,
  shown: readonly ContentBlock[],
): CallToolResult {
  const parts: string[] = []
  if (run.outcome !== 'ok') {
    parts.push(
      `The program ${endings[run.outcome]}${run.error === undefined ? '.' : `: ${run.error}`}`,
      effects(run.calls),
    )
  }
  if (returned !== undefined) parts.push(`Returned:\n${returned}`)
  if (run.logs.length > 0) parts.push(`Logged:\n${run.logs.join('\n')}`)
  if (parts.length === 0 && shown.length === 0) {
    parts.push(`The program ended without returning or showing anything, after ${count(run.calls.length)}.`)
  }
  return {
    content: [...(parts.length === 0 ? [] : [{ type: 'text' as const, text: parts.join('\n\n') }]), ...shown],
    ...(run.outcome !== 'ok' && { isError: true }),
  }
}

const endings: Readonly<Record<Exclude<CodeRun['outcome'], 'ok'>, string>> = {
  error: 'failed',
  limit: 'was ended',
  cancelled: 'was cancelled',
}

function effects(calls: readonly CodeCall[]): string {
  if (calls.length === 0) return 'It had made no calls.'
  const lines = calls
    .slice(0, listed)
    .map(
      ({ server, tool, outcome }, at) =>
        `${at + 1}. ${oneLine(tool)} of ${oneLine(server)}: ${outcomes[outcome]}`,
    )
  const more = calls.length > listed ? [`… and ${calls.length - listed} more`] : []
  return [`It had made ${count(calls.length)}; what is done stays done:`, ...lines, ...more].join('\n')
}

function count(calls: number): string {
  return calls === 1 ? '1 call' : `${calls} calls`
}
