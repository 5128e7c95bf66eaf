import { canonical } from '../core/canonical.ts'
import { isObject } from '../jsonrpc/parse.ts'

/** What came on top of `before`: of a list its new end, of a number the difference, of an object each member's. */
export function added(before: unknown, after: unknown): unknown {
  if (typeof before === 'number' && typeof after === 'number') return after - before
  if (Array.isArray(before) && Array.isArray(after)) return after.slice(before.length)
  if (isObject(before) && isObject(after)) {
    return Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, added(before[name], value)]),
    )
  }
  return after
}

/** Where the effects of two runs differ, in words. */
export function differences(legacy: unknown, modern: unknown, path = 'effects'): string[] {
  if (canonical(legacy) === canonical(modern)) return []
  if (Array.isArray(legacy) && Array.isArray(modern)) {
    const more = surplus(modern, legacy).map((item) => `${path}: happened again on re-entry: ${item}`)
    const fewer = surplus(legacy, modern).map((item) => `${path}: happened only without re-entry: ${item}`)
    return more.length + fewer.length > 0 ? [...more, ...fewer] : [`${path}: happened in another order`]
  }
  if (isObject(legacy) && isObject(modern)) {
    const names = [...new Set([...Object.keys(legacy), ...Object.keys(modern)])]
    return names.flatMap((name) => differences(legacy[name], modern[name], `${path}.${name}`))
  }
  return [`${path}: ${canonical(legacy)} in one run, ${canonical(modern)} with re-entry`]
}

/** The items `all` has more often than `others`, as text. */
function surplus(all: readonly unknown[], others: readonly unknown[]): string[] {
  const left = others.map(canonical)
  return all.map(canonical).filter((item) => {
    const at = left.indexOf(item)
    if (at === -1) return true
    left.splice(at, 1)
    return false
  })
}
