import { endOfString } from './repeated.ts'

const scalar = /[^\s,\]}]+/y
const blank = /[\s:,]*/y

/**
 * What `JSON.parse` gives, and exactly so. The `JSON.parse` of newer V8 engines may take a key that is written with an
 * escape for one that an earlier text had, so that whoever wrote that one changes what another one says. Use this for text
 * with keys that somebody else chose, also where the program itself wrote it.
 * @throws SyntaxError for text that is not JSON
 */
export function readJson(text: string): ReturnType<typeof JSON.parse> {
  const value: unknown = JSON.parse(text)
  return mayBeMisread(text, value) ? reread(text) : value
}

/** Whether a parsed value must be read again: a key that is taken for an earlier one has a `\` in it. */
function mayBeMisread(text: string, value: unknown): boolean {
  if (!text.includes('\\')) return false
  const left = [value]
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (!isObject(one)) continue
    const isList = Array.isArray(one)
    for (const name in one) {
      if (!isList && name.includes('\\')) return true
      if (isObject(one[name])) left.push(one[name])
    }
  }
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
