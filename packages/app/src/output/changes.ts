import type { ResultChange } from '@jackfield/host'
import type { Palette } from './palette.ts'
import { oneLine } from './sanitize.ts'

const maxValue = 300

/** Each difference of two results: old and new value. */
export function changeLines(changes: readonly ResultChange[], { palette }: { palette: Palette }): string[] {
  return changes.flatMap((change) => [
    `  ${palette.dim(oneLine(change.path === '' ? 'the whole result' : change.path))}`,
    ...('before' in change ? [palette.red(`  - ${valueText(change.before)}`)] : []),
    ...('after' in change ? [palette.green(`  + ${valueText(change.after)}`)] : []),
  ])
}

function valueText(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? 'nothing', maxValue)
}
