import type { JsonRecord } from '../json.ts'
import { isRecord } from '../json.ts'

/** Characters of JSON one row may keep. */
const maxDetail = 262_144
const keptText = 2_000
const keptItems = 100

/** The detail of a row as JSON text. What is too long to keep is cut, and says so where it was cut. */
export function detailText(detail: JsonRecord): string {
  const whole = JSON.stringify(detail)
  if (whole.length <= maxDetail) return whole
  const cut = JSON.stringify(shorten(detail, 0))
  return cut.length <= maxDetail
    ? cut
    : JSON.stringify({ cut: `${whole.length} characters were too many to keep` })
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === 'string' && value.length > keptText) {
    return `${value.slice(0, keptText)}… [${value.length - keptText} more characters]`
  }
  if (depth > 16 && typeof value === 'object' && value !== null) return '… [nested deeper]'
  if (Array.isArray(value)) {
    const kept = value.slice(0, keptItems).map((item) => shorten(item, depth + 1))
    return value.length > keptItems ? [...kept, `… [${value.length - keptItems} more items]`] : kept
  }
  if (!isRecord(value)) return value
  const entries = Object.entries(value)
  const kept = entries
    .slice(0, keptItems)
    .map(([name, member]) => [name, shorten(member, depth + 1)] as const)
  if (entries.length > keptItems) kept.push(['…', `[${entries.length - keptItems} more members]`])
  return Object.fromEntries(kept)
}
