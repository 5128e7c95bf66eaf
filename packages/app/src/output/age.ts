const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** A readable age. `at` is ISO 8601. */
export function shortAge(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at))
  if (ms < minute) return 'just now'
  if (ms < hour) return `${Math.floor(ms / minute)} min ago`
  if (ms < day) return `${Math.floor(ms / hour)} h ago`
  return `${Math.floor(ms / day)} d ago`
}
