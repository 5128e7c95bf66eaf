const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const units: readonly [ms: number, name: string][] = [
  [365 * day, 'year'],
  [30 * day, 'month'],
  [day, 'day'],
  [hour, 'hour'],
  [minute, 'minute'],
]

/** An approximate age: `2 days ago`. `at` is ISO 8601, `now` milliseconds. */
export function ago(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at))
  const [size, name] = units.find(([size]) => ms >= size) ?? [0, '']
  if (size === 0) return 'just now'
  const count = Math.floor(ms / size)
  return `${count} ${name}${count === 1 ? '' : 's'} ago`
}

/** An age for a column of a table: `2 d ago`. `at` is ISO 8601, `now` milliseconds. */
export function shortAge(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at))
  if (ms < minute) return 'just now'
  if (ms < hour) return `${Math.floor(ms / minute)} min ago`
  if (ms < day) return `${Math.floor(ms / hour)} h ago`
  return `${Math.floor(ms / day)} d ago`
}
