import type { Activity } from '../../types/index.ts'

/** Every kind of row in the activity log. */
export const activityKinds: readonly Activity['kind'][] = [
  'connection',
  'call',
  'read',
  'prompt',
  'approval',
  'elicitation',
  'sampling',
  'roots',
  'model',
  'change',
  'result',
  'install',
  'drift',
  'login',
  'code',
  'conversation',
]
