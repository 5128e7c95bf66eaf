import type { TraceKind } from '../../types/index.ts'
import { activityKinds } from '../store/activity-kinds.ts'

/** What events are about: rows of the activity log, and what crossed the wire beside them. */
export const traceKinds: readonly TraceKind[] = [...activityKinds, 'wire', 'http', 'stderr', 'warning']
