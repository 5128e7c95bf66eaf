import type { Activity } from '@jackfield/host'
import { oneLine } from '../output/sanitize.ts'

/** The activity log as lines, each event below its cause. */
export function activityLines(rows: readonly Activity[]): string[] {
  const depth = new Map<number, number>()
  return rows
    .toSorted((a, b) => a.id - b.id)
    .map((row) => {
      const level = row.cause === null ? 0 : (depth.get(row.cause) ?? -1) + 1
      depth.set(row.id, level)
      const took = row.durationMs === null ? '' : `${row.durationMs} ms`
      const head = `#${String(row.id).padEnd(3)} ${row.kind.padEnd(11)} ${row.outcome.padEnd(9)} ${took.padStart(8)}`
      return `${head}  ${'  '.repeat(level)}${oneLine(row.summary, 46 - level * 2)}`
    })
}
