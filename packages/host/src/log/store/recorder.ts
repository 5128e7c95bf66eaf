import type { JsonRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { Activity } from '../../types/index.ts'
import type { ActivityLog, ActivityStart } from './activity-log.ts'
import { cannotRecord } from './store-error.ts'

export type RowStart = Omit<ActivityStart, 'cause' | 'detail'> & {
  cause?: number | null
  detail?: JsonRecord
}

/** A row whose thing is under way. */
export interface OpenRow {
  readonly id: number
  /** Tells how it ended; only the first time counts. */
  close(outcome: string, detail?: JsonRecord): void
}

/** Writes the activity log and tells of every finished row. */
export interface Recorder {
  /** Throws a StoreError where the row cannot be written, so that nothing happens that the log does not know of. */
  open(start: RowStart): OpenRow
  /** Writes something that is already over. */
  note(start: RowStart, outcome: string, durationMs?: number | null): number
}

export function createRecorder(
  log: ActivityLog,
  heard: { row: (row: Activity) => void; failed: (error: unknown) => void },
): Recorder {
  /** A series of failures is reported once. */
  let isFailing = false
  const begin = (start: RowStart): number => {
    const summary = oneLine(start.summary)
    try {
      return log.begin({ ...start, summary, cause: start.cause ?? null, detail: start.detail ?? {} })
    } catch (error) {
      throw cannotRecord(summary, error)
    }
  }
  return {
    open(start) {
      const id = begin(start)
      const since = performance.now()
      let over = false
      return {
        id,
        close(outcome, detail = {}) {
          if (over) return
          over = true
          const durationMs = Math.round(performance.now() - since)
          try {
            heard.row(log.end(id, { outcome, durationMs, detail }))
            isFailing = false
          } catch (error) {
            // What happened has happened; its result must not be lost because the disk is full.
            if (!isFailing) heard.failed(error)
            isFailing = true
          }
        },
      }
    },
    note(start, outcome, durationMs = null) {
      const id = begin(start)
      heard.row(log.end(id, { outcome, durationMs, detail: {} }))
      return id
    },
  }
}
