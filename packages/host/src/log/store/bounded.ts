import { createHash } from 'node:crypto'
import type { JsonRecord } from '../../shared/json.ts'
import { isRecord } from '../../shared/json.ts'

/** Characters of JSON one row may keep. */
const maxDetail = 262_144
const keptText = 2_000
const keptItems = 100

/**
 * The detail of a row as JSON text. What is too long to keep is cut, and says so where it was cut; `cut` then holds the
 * length and the SHA-256 of each such member's whole JSON.
 */
export function detailText(detail: JsonRecord): string {
  const whole = JSON.stringify(detail)
  if (whole.length <= maxDetail) return whole
  const members = Object.entries(detail).flatMap(([name, value]) => {
    const text = JSON.stringify(value)
    return text === undefined ? [] : [{ name, value, text, kept: JSON.stringify(shorten(value, 0)) }]
  })
  const cut = Object.fromEntries(
    members
      .filter(({ text, kept }) => text !== kept)
      .map(({ name, text }) => [
        name,
        { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') },
      ]),
  )
  const shortened = shorten(detail, 0)
  const short = JSON.stringify({ ...(isRecord(shortened) && shortened), cut })
  return short.length <= maxDetail ? short : JSON.stringify({ cut })
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
