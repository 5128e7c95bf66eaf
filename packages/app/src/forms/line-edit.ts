import type { ScreenKey } from './screen.ts'

/** A text being typed, with its cursor. */
export interface Line {
  readonly text: string
  /** In UTF-16 units, always between grapheme clusters. */
  readonly cursor: number
}

/** Maximum characters of one text. */
export const maxTyped = 100_000

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Inserts text at the cursor; `isCut` if not all of it fit. */
export function insertText({ text, cursor }: Line, typed: string): { line: Line; isCut: boolean } {
  const room = Math.max(0, maxTyped - text.length)
  const inserted = typed.length <= room ? typed : typed.slice(0, room)
  const next = text.slice(0, cursor) + inserted + text.slice(cursor)
  return {
    line: { text: next, cursor: boundary(next, cursor + inserted.length) },
    isCut: inserted.length < typed.length,
  }
}

/** Applies a key for moving or deleting; undefined for every other key. */
export function applyKey(line: Line, { name, ctrl = false, meta = false }: ScreenKey): Line | undefined {
  const { text, cursor } = line
  const is = (plain: string, controlKey: string): boolean =>
    ctrl ? name === controlKey : !meta && name === plain
  if (is('left', 'b')) return { text, cursor: before(line) }
  if (is('right', 'f')) return { text, cursor: after(line) }
  if (is('home', 'a')) return { text, cursor: 0 }
  if (is('end', 'e')) return { text, cursor: text.length }
  if (is('backspace', 'h')) return without(text, before(line), cursor)
  if (!ctrl && name === 'delete') return without(text, cursor, after(line))
  if (ctrl && name === 'u') return without(text, 0, cursor)
  if (ctrl && name === 'k') return without(text, cursor, text.length)
  if (ctrl && name === 'w') return without(text, text.slice(0, cursor).replace(/\S+\s*$/, '').length, cursor)
  return undefined
}

function without(text: string, from: number, to: number): Line {
  return { text: text.slice(0, from) + text.slice(to), cursor: from }
}

function before({ text, cursor }: Line): number {
  return graphemes.segment(text).containing(cursor - 1)?.index ?? 0
}

function after({ text, cursor }: Line): number {
  const next = graphemes.segment(text).containing(cursor)
  return next === undefined ? text.length : next.index + next.segment.length
}

/** The end of the grapheme cluster at a position, since typed text can combine with the text after it. */
function boundary(text: string, at: number): number {
  const cluster = graphemes.segment(text).containing(at)
  return cluster === undefined || cluster.index === at ? at : cluster.index + cluster.segment.length
}
