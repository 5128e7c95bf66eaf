/** Whether two JSON values are equal; object members in any order. */
export function equal(a: unknown, b: unknown, spend: (steps: number) => void): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  spend(2)
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i], spend))
  }
  if (Array.isArray(b)) return false
  const names = Object.keys(a)
  spend(2 * names.length)
  if (names.length !== Object.keys(b).length) return false
  const [left, right]: [Record<string, unknown>, Record<string, unknown>] = [{ ...a }, { ...b }]
  return names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name], spend))
}

/** One text for equal JSON values. */
export function keyOf(value: unknown, spend: (steps: number) => void): string {
  spend(2)
  if (Array.isArray(value)) {
    spend(2)
    return `[${value.map((item) => keyOf(item, spend)).join(',')}]`
  }
  if (typeof value === 'string') {
    spend(value.length >> 6)
    return JSON.stringify(value)
  }
  if (typeof value !== 'object' || value === null) return value === 0 ? '0' : String(value)
  spend(8)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${keyOf(member, spend)}`).join(',')}}`
}
