import type { TraceEvent } from '@jackfield/host/browser'

/** Kinds of events that last until the user answers. */
const questionKinds: ReadonlySet<TraceEvent['kind']> = new Set([
  'approval',
  'result',
  'elicitation',
  'roots',
  'start',
  'input',
  'install',
  'drift',
  'login',
])

/** Whether an event is an open question. */
export function waitsForPerson({ status, kind }: Pick<TraceEvent, 'status' | 'kind'>): boolean {
  return status === 'running' && questionKinds.has(kind)
}
