import type { Activity } from '@jackfield/host/browser'
import { isRecord } from '../text/pieces.ts'

export interface LastCall {
  readonly activity: number
  readonly at: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** The newest finished call of a tool before a time, from the activity log. */
export function lastCallOf(rows: readonly Activity[], tool: string, before: string): LastCall | undefined {
  const lastCall = rows.findLast(
    ({ kind, outcome, at, detail }) =>
      kind === 'call' &&
      outcome !== 'running' &&
      outcome !== 'denied' &&
      at < before &&
      detail['tool'] === tool,
  )
  const args = lastCall?.detail['arguments']
  if (lastCall === undefined || !isRecord(args)) return undefined
  return { activity: lastCall.id, at: lastCall.at, arguments: args }
}
