export type { ActivityEnd, ActivityFilter, ActivityLog, ActivityStart } from './activity-log.ts'
export type { GrantKey, GrantTable } from './grant-table.ts'
export { createRecorder, type OpenRow, type Recorder, type RowStart } from './recorder.ts'
export { openStore, type Store } from './store.ts'
