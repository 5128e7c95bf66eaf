import { createHash } from 'node:crypto'

export type JsonRecord = Record<string, unknown>

/** Whether a value is a JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One text for equal JSON values, whatever the order of their members. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)
  return `{${members.join(',')}}`
}

/** SHA-256 of the canonical text of a JSON value, in hexadecimal. */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

/**
 * A copy that nobody else holds and nobody can change, exactly as it would arrive after the wire. What a person was
 * shown is therefore what is sent.
 */
export function frozenCopy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_name, member: unknown) =>
    typeof member === 'object' && member !== null ? Object.freeze(member) : member,
  )
}
