const quote = 34
const comma = 44
const backslash = 92

/** How often a text contains a character. */
export function occurrences(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++
  return count
}

/** How many members all objects in a parsed value have; infinite if a number in it is too large for a double. */
export function countMembers(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.POSITIVE_INFINITY
  if (!isContainer(value)) return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += countMembers(item)
  else for (const name in value) count += 1 + countMembers(value[name])
  return count
}

/** The first duplicate key in any object of valid JSON, or undefined. `JSON.parse` keeps the last and by ECMA-262 reports none. */
export function duplicateKey(text: string): string | undefined {
  const enclosing: (Set<string> | undefined)[] = []
  let keys: Set<string> | undefined
  let atKey = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) {
      const end = endOfString(text, i + 1)
      if (atKey && keys !== undefined) {
        const key = decodeString(text.slice(i, end + 1))
        if (keys.has(key)) return key
        keys.add(key)
        atKey = false
      }
      i = end
    } else if (c === 123 || c === 91) {
      enclosing.push(keys)
      keys = c === 123 ? new Set() : undefined
      atKey = c === 123
    } else if (c === 125 || c === 93) {
      keys = enclosing.pop()
      atKey = false
    } else if (c === comma) {
      atKey = keys !== undefined
    }
  }
  return undefined
}

function decodeString(token: string): string {
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)
}

/** Index of the closing quote of the string whose content starts at `from`. */
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
const separators = /[\s:,]*/y

/**
 * `JSON.parse` without its misread keys: V8 from 12.8 on may decode an escaped key as one of an earlier text
 * (https://issues.chromium.org/issues/521080746, https://github.com/nodejs/node/issues/63785). Use it for JSON with keys from
 * outside. It can become `JSON.parse` once every supported Node version has the fix: its tests in `test/jsonrpc` then pass
 * without it.
 * @throws SyntaxError for text that is not JSON
 */
export function readJson(text: string): ReturnType<typeof JSON.parse> {
  const value: unknown = JSON.parse(text)
  return text.includes('\\') && hasBackslashKey(value) ? exactJson(text) : value
}

/** Whether an object in a parsed value has a key with a backslash; every misread key has one. */
function hasBackslashKey(value: unknown): boolean {
  const pending = [value]
  for (let container = pending.pop(); container !== undefined; container = pending.pop()) {
    if (!isContainer(container)) continue
    const isList = Array.isArray(container)
    for (const name in container) {
      if (!isList && name.includes('\\')) return true
      if (isContainer(container[name])) pending.push(container[name])
    }
  }
  return false
}

/** Whether a value has members or elements. */
function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Parses valid JSON, decoding each string on its own. */
export function exactJson(text: string): unknown {
  let at = 0
  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [matched = ''] = pattern.exec(text) ?? []
    at += matched.length
    return matched
  }
  const readString = (): string => {
    const from = at
    at = endOfString(text, at + 1) + 1
    return String(JSON.parse(text.slice(from, at)))
  }
  /** Whether a list or object has another item; skips its closing bracket if not. */
  const hasNext = (end: string): boolean => {
    match(separators)
    if (text[at] !== end) return true
    at++
    return false
  }
  const readValue = (): unknown => {
    match(separators)
    if (text[at] === '"') return readString()
    if (text[at] === '[') {
      at++
      const items: unknown[] = []
      while (hasNext(']')) items.push(readValue())
      return items
    }
    if (text[at] !== '{') return JSON.parse(match(scalar))
    at++
    const object = {}
    while (hasNext('}')) {
      const name = readString()
      // Assigning `__proto__` would set the prototype.
      Object.defineProperty(object, name, {
        value: readValue(),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return object
  }
  return readValue()
}
