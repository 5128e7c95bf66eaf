const units: readonly [seconds: number, name: string][] = [
  [31_536_000, 'year'],
  [2_592_000, 'month'],
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
]

/** An approximate age: `2 days ago`. `at` is ISO 8601, `now` milliseconds. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1_000)
  const [size, name] = units.find(([size]) => seconds >= size) ?? [0, '']
  if (size === 0) return 'just now'
  const count = Math.floor(seconds / size)
  return `${count} ${name}${count === 1 ? '' : 's'} ago`
}
