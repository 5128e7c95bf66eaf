import { type ActivityLog, createActivityLog } from './activity-log.ts'
import { openDatabase } from './database.ts'
import { createGrantTable, type GrantTable } from './grant-table.ts'

/** Everything the host keeps beyond its own life. */
export interface Store {
  readonly activity: ActivityLog
  readonly grants: GrantTable
  close(): void
}

/** Opens the store in a SQLite file, or in memory for `:memory:`. */
export function openStore(file: string): Store {
  const database = openDatabase(file)
  return {
    activity: createActivityLog(database),
    grants: createGrantTable(database),
    close: () => database.close(),
  }
}
