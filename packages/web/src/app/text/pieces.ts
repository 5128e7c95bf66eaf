import { codeName, unseenIn } from '@jackfield/host/browser'

/** A part of a text, or the code of one invisible character. */
export type Piece = { readonly text: string } | { readonly code: string }

/** Splits a text at characters that are invisible or change the direction of text. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const { code, at: position } of unseenIn(text)) {
    if (position > from) pieces.push({ text: text.slice(from, position) })
    pieces.push({ code: codeName(code).slice(1, -1) })
    from = position + String.fromCodePoint(code).length
  }
  if (from < text.length) pieces.push({ text: text.slice(from) })
  return pieces
}

/** The beginning of a text, without splitting a surrogate pair, and the number of omitted UTF-16 code units. */
export function headOf(text: string, maxCharacters: number): { head: string; rest: number } {
  if (text.length <= maxCharacters) return { head: text, rest: 0 }
  const unit = text.charCodeAt(maxCharacters - 1)
  const cut = unit >= 0xd800 && unit <= 0xdbff ? maxCharacters - 1 : maxCharacters
  return { head: text.slice(0, cut), rest: text.length - cut }
}

/** Whether a value is an object with members, and no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A leaf of a JSON value with its JSON Pointer. */
export interface Leaf {
  readonly pointer: string
  readonly value: unknown
}

const maxLeaves = 2_000

/** The leaves of a JSON value; paths, addresses and code first. `more`: leaves beyond the limit of 2000. */
export function leavesOf(value: unknown): { leaves: Leaf[]; more: number } {
  const leaves: Leaf[] = []
  let more = 0
  const collect = (pointer: string, current: unknown): void => {
    const members = membersOf(current)
    if (members === undefined || members.length === 0) {
      if (leaves.length < maxLeaves) leaves.push({ pointer, value: current })
      else more += 1
    } else
      for (const [key, member] of members)
        collect(`${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, member)
  }
  collect('', value)
  return {
    leaves: leaves
      .map((leaf, n) => ({ leaf, n }))
      .sort((a, b) => rankOf(a.leaf) - rankOf(b.leaf) || a.n - b.n)
      .map(({ leaf }) => leaf),
    more,
  }
}

/** The members of an object or array; undefined for any other value. */
export function membersOf(value: unknown): [string, unknown][] | undefined {
  if (Array.isArray(value)) return value.map((item, n) => [String(n), item])
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined
}

/** Paths, addresses and code come before other values. */
function rankOf({ pointer, value }: Leaf): number {
  if (typeof value !== 'string') return 2
  if (/^(?:[a-z][a-z\d+.-]*:\/\/|~?\/|\.{1,2}\/|[A-Z]:\\)/i.test(value)) return 0
  return /(?:command|code|script|query|sql|shell|exec)[^/]*$/i.test(pointer) ? 0 : 1
}

/** A difference of two values at a JSON Pointer. `before` or `after` is absent if the value was added or removed. */
export interface ValueChange {
  readonly pointer: string
  readonly before?: unknown
  readonly after?: unknown
}

/** The leaves in which two values differ. */
export function changedValues(before: unknown, after: unknown): ValueChange[] {
  const beforeValues = new Map(leavesOf(before).leaves.map(({ pointer, value }) => [pointer, value]))
  const afterValues = new Map(leavesOf(after).leaves.map(({ pointer, value }) => [pointer, value]))
  const changes: ValueChange[] = []
  for (const [pointer, value] of afterValues)
    if (!beforeValues.has(pointer)) changes.push({ pointer, after: value })
    else if (JSON.stringify(beforeValues.get(pointer)) !== JSON.stringify(value))
      changes.push({ pointer, before: beforeValues.get(pointer), after: value })
  for (const [pointer, value] of beforeValues)
    if (!afterValues.has(pointer)) changes.push({ pointer, before: value })
  return changes
}

/** Arguments in one line: names and values without the quotes of JSON. */
export function briefly(input: unknown): string {
  if (typeof input !== 'object' || input === null) return JSON.stringify(input) ?? ''
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
    .replaceAll('\n', ' ')
}

/** The path of a `file:` URI; any other URI unchanged. */
export function folderOf(uri: string): string {
  const [, path] = /^file:\/\/(\/[^?#]*)$/.exec(uri) ?? []
  if (path === undefined) return uri
  try {
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:)/, '')
  } catch {
    return uri
  }
}
