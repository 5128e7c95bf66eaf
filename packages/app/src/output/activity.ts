import type { Activity } from '@jackfield/host'
import { oneLine } from './sanitize.ts'
import { type TableOptions, table } from './table.ts'

/** Terminal width from which each row has the date. Below, it is on the first row of each day. */
const dateColumns = 100

/**
 * Rows of the activity log, oldest first, each below its cause. Times are UTC. `long` adds the date, and the rule that decided a
 * call.
 */
export function activityTable(
  rows: readonly Activity[],
  options: TableOptions,
  { long = false }: { long?: boolean } = {},
): string {
  const sorted = rows.toSorted((a, b) => a.id - b.id)
  const depth = new Map<number, number>()
  const time = (row: Activity, before: Activity | undefined): string => {
    const [day, clock] = [row.at.slice(0, 10), row.at.slice(11, 19)]
    if (!long) return clock
    if ((options.columns ?? dateColumns) >= dateColumns) return `${day} ${clock}`
    return before?.at.slice(0, 10) === day ? clock : `${day}\n${clock}`
  }
  const cells = sorted.map((row, n) => {
    const level = row.cause === null ? 0 : (depth.get(row.cause) ?? -1) + 1
    depth.set(row.id, level)
    return [
      `#${row.id}`,
      time(row, sorted[n - 1]),
      row.kind,
      row.outcome,
      ...(long ? [oneLine(ruleOf(row), 40)] : []),
      row.durationMs === null ? '' : `${row.durationMs} ms`,
      `${'  '.repeat(level)}${oneLine(row.summary, 100)}`,
    ]
  })
  const heads = ['ROW', 'TIME', 'KIND', 'OUTCOME', ...(long ? ['RULE'] : []), 'TOOK', 'WHAT']
  return table(heads, cells, options)
}

function ruleOf({ detail: { decision } }: Activity): string {
  if (typeof decision !== 'object' || decision === null || !('rule' in decision)) return ''
  return String(decision.rule)
}
