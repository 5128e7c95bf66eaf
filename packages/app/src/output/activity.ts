import type { Activity } from '@jackfield/host'
import type { Palette } from './palette.ts'
import { oneLine } from './sanitize.ts'
import { table } from './table.ts'

/** Rows of the activity log, oldest first, each under what caused it. */
export function activityTable(rows: readonly Activity[], palette: Palette): string {
  const sorted = rows.toSorted((a, b) => a.id - b.id)
  const depth = new Map<number, number>()
  const cells = sorted.map((row) => {
    const level = row.cause === null ? 0 : (depth.get(row.cause) ?? -1) + 1
    depth.set(row.id, level)
    return [
      `#${row.id}`,
      row.at.slice(11, 19),
      row.kind,
      row.outcome,
      row.durationMs === null ? '' : `${row.durationMs} ms`,
      `${'  '.repeat(level)}${oneLine(row.summary, 100)}`,
    ]
  })
  return table(['ROW', 'TIME', 'KIND', 'OUTCOME', 'TOOK', 'WHAT'], cells, { palette })
}
