import { codeName, unseenIn } from '@jackfield/host/browser'

/** A part of a text: as it is, or one character that would not be seen, by its code. */
export type Piece = { readonly text: string } | { readonly code: string }

/** Cuts a text so that every character that hides or turns text stands alone. */
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

/** The beginning of a text, never half a character, and how many characters are left out. */
export function headOf(text: string, maxCharacters: number): { head: string; rest: number } {
  if (text.length <= maxCharacters) return { head: text, rest: 0 }
  const unit = text.charCodeAt(maxCharacters - 1)
  const cut = unit >= 0xd800 && unit <= 0xdbff ? maxCharacters - 1 : maxCharacters
  return { head: text.slice(0, cut), rest: text.length - cut }
}

/** One value of a JSON tree by its JSON Pointer. */
export interface Leaf {
  readonly pointer: string
  readonly value: unknown
}

const maxLeaves = 2_000

/** Every value of arguments that has none below it, by JSON Pointer; what acts on the world first. */
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

/** What became of one place of a value. */
export interface ValueChange {
  readonly pointer: string
  readonly before?: unknown
  readonly after?: unknown
}

/** The places in which two values differ. */
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

/** Arguments in a line: names and values without the quotes of JSON. */
export function briefly(input: unknown): string {
  if (typeof input !== 'object' || input === null) return JSON.stringify(input) ?? ''
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
    .replaceAll('\n', ' ')
}

/** A folder as a person writes it: the path of a `file:` URI, any other URI as it is. */
export function folderOf(uri: string): string {
  const [, path] = /^file:\/\/(\/[^?#]*)$/.exec(uri) ?? []
  if (path === undefined) return uri
  try {
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:)/, '')
  } catch {
    return uri
  }
}
