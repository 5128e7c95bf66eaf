import { endOfString } from './repeated.ts'

const scalar = /[^\s,\]}]+/y
const blank = /[\s:,]*/y

/**
 * Whether a parsed value must be read again: the `JSON.parse` of newer V8 engines may take a key that is written with an
 * escape for one that an earlier text had, if that one has a `\` in it.
 */
export function mayBeMisread(text: string, value: unknown): boolean {
  return text.includes('\\') && hasBackslash(value)
}

function hasBackslash(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasBackslash)
  if (!isObject(value)) return false
  for (const name in value) if (name.includes('\\') || hasBackslash(value[name])) return true
  return false
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Reads a text that is known to be JSON, each string of it by itself. */
export function reread(text: string): unknown {
  let at = 0
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [found = ''] = pattern.exec(text) ?? []
    at += found.length
    return found
  }
  const string = (): string => {
    const from = at
    at = endOfString(text, at + 1) + 1
    return String(JSON.parse(text.slice(from, at)))
  }
  /** Whether a list goes on: what stands next is not its end, which is taken. */
  const goesOn = (end: string): boolean => {
    take(blank)
    if (text[at] !== end) return true
    at++
    return false
  }
  const read = (): unknown => {
    take(blank)
    if (text[at] === '"') return string()
    if (text[at] === '[') {
      at++
      const items: unknown[] = []
      while (goesOn(']')) items.push(read())
      return items
    }
    if (text[at] !== '{') return JSON.parse(take(scalar))
    at++
    const object = {}
    while (goesOn('}')) {
      const name = string()
      // Defined, since assigning `__proto__` would change what the object is.
      Object.defineProperty(object, name, {
        value: read(),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return object
  }
  return read()
}
