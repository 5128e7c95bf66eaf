const quote = 34
const comma = 44
const backslash = 92

/** How many colons stand in a text. */
export function colons(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) count++
  return count
}

/** How many members the objects in a parsed value have; infinite where a number in it is, being too large for a double. */
export function members(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.POSITIVE_INFINITY
  let count = 0
  if (Array.isArray(value)) {
    for (const one of value) if (mayCount(one)) count += members(one)
  } else if (isRecord(value)) {
    for (const name in value) {
      const one = value[name]
      count += mayCount(one) ? 1 + members(one) : 1
    }
  }
  return count
}

function mayCount(value: unknown): boolean {
  return typeof value === 'object' || typeof value === 'number'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** A key that stands twice in one object of a text that is known to be JSON, or undefined. */
export function duplicateKey(text: string): string | undefined {
  const outer: (Set<string> | undefined)[] = []
  let keys: Set<string> | undefined
  let atKey = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) {
      const end = endOfString(text, i + 1)
      if (atKey && keys !== undefined) {
        const key = decoded(text.slice(i, end + 1))
        if (keys.has(key)) return key
        keys.add(key)
        atKey = false
      }
      i = end
    } else if (c === 123 || c === 91) {
      outer.push(keys)
      keys = c === 123 ? new Set() : undefined
      atKey = c === 123
    } else if (c === 125 || c === 93) {
      keys = outer.pop()
      atKey = false
    } else if (c === comma) {
      atKey = keys !== undefined
    }
  }
  return undefined
}

function decoded(token: string): string {
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)
}

/** Where the string that began before `from` ends: the place of its closing quotation mark. */
export function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end !== -1) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return text.length
}

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
  return mayBeMisread(text, value) ? exactJson(text) : value
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
export function exactJson(text: string): unknown {
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
