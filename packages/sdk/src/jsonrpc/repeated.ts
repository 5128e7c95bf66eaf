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
export function repeatedKey(text: string): string | undefined {
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
