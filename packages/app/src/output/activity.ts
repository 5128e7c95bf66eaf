import type { Activity } from '@jackfield/host'
import { oneLine } from './sanitize.ts'
import { type TableOptions, table } from './table.ts'

/**
 * Rows of the activity log, oldest first, each under what caused it. Times are UTC. `long` adds the date, and the rule
 * that decided about a call.
 */
export function activityTable(
  rows: readonly Activity[],
  look: TableOptions,
  { long = false }: { long?: boolean } = {},
): string {
  const sorted = rows.toSorted((a, b) => a.id - b.id)
  const depth = new Map<number, number>()
  const cells = sorted.map((row) => {
    const level = row.cause === null ? 0 : (depth.get(row.cause) ?? -1) + 1
    depth.set(row.id, level)
    return [
      `#${row.id}`,
      row.at.slice(long ? 0 : 11, 19).replace('T', ' '),
      row.kind,
      row.outcome,
      ...(long ? [oneLine(ruleOf(row), 40)] : []),
      row.durationMs === null ? '' : `${row.durationMs} ms`,
      `${'  '.repeat(level)}${oneLine(row.summary, 100)}`,
    ]
  })
  const heads = ['ROW', 'TIME', 'KIND', 'OUTCOME', ...(long ? ['RULE'] : []), 'TOOK', 'WHAT']
  return table(heads, cells, look)
}

function ruleOf({ detail: { decision } }: Activity): string {
  if (typeof decision !== 'object' || decision === null || !('rule' in decision)) return ''
  return String(decision.rule)
}
