import { isObject } from '../jsonrpc/parse.ts'

/** Whether an icon may be fetched from where it says: `https:` and `data:` are safe, nothing else is. */
export function isSafeIcon(icon: unknown): boolean {
  return isObject(icon) && typeof icon['src'] === 'string' && /^(?:https|data):/i.test(icon['src'])
}

/** A copy without the icons that point anywhere else, or the value itself where there are none. */
export function withSafeIcons<T extends object>(value: T, onUnsafe: (count: number) => void = () => {}): T {
  if (!('icons' in value) || value.icons === undefined) return value
  const icons: readonly unknown[] = Array.isArray(value.icons) ? value.icons : []
  const safe = icons.filter(isSafeIcon)
  if (Array.isArray(value.icons) && safe.length === icons.length) return value
  onUnsafe(icons.length - safe.length)
  return { ...value, icons: safe }
}
