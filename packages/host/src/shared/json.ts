import { readJson } from '@jackfield/sdk/internal'

export type JsonRecord = Record<string, unknown>

/** Whether a value is a JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * An untrusted value as a text, for a message or a comparison: the text itself, or its type. `String` could call code of the
 * value.
 */
export function inWords(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** Whether a value is nested deeper than `maxDepth` levels, so that recursion could overflow the stack. */
export function isDeeper(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return maxDepth === 0 || Object.values(value).some((member) => isDeeper(member, maxDepth - 1))
}

/** Follows a path of own members and list indexes; undefined where it does not exist. */
export function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let current = value
  for (const step of path) {
    if (Array.isArray(current) && typeof step === 'number') current = current[step]
    else if (isRecord(current) && Object.hasOwn(current, step)) current = current[step]
    else return undefined
  }
  return current
}

/** A canonical text: equal for equal JSON values, independent of the order of members. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)
  return `{${members.join(',')}}`
}

/** A deeply frozen copy, exactly as after the wire, so that what a user was shown is what is sent. */
export function frozenCopy<T>(value: T): T {
  const copy: T = readJson(JSON.stringify(value))
  freeze(copy)
  return copy
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const item of Object.values(value)) freeze(item)
  Object.freeze(value)
}

/** Parses a JSON text; undefined if it is invalid. */
export function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

/** Maps a JSON value bottom-up with `change`, like a reviver of `JSON.parse`. */
export function rewritten(value: unknown, change: (item: unknown) => unknown): ReturnType<typeof JSON.parse> {
  if (Array.isArray(value)) return change(value.map((item) => rewritten(item, change)))
  if (!isRecord(value)) return change(value)
  return change(
    Object.fromEntries(Object.entries(value).map(([name, item]) => [name, rewritten(item, change)])),
  )
}
