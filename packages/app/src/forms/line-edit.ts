import type { ScreenKey } from './screen.ts'

/** A text being typed, with its cursor. */
export interface Line {
  readonly text: string
  /** In UTF-16 units, always between grapheme clusters. */
  readonly at: number
}

/** Maximum characters of one text. */
export const maxTyped = 100_000

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Inserts text at the cursor; `cut` if not all of it fit. */
export function withTyped({ text, at }: Line, typed: string): { line: Line; cut: boolean } {
  const room = Math.max(0, maxTyped - text.length)
  const inserted = typed.length <= room ? typed : typed.slice(0, room)
  const next = text.slice(0, at) + inserted + text.slice(at)
  return {
    line: { text: next, at: boundary(next, at + inserted.length) },
    cut: inserted.length < typed.length,
  }
}

/** Applies a key for moving or deleting; undefined for every other key. */
export function edited(line: Line, { name, ctrl = false, meta = false }: ScreenKey): Line | undefined {
  const { text, at } = line
  const is = (plain: string, controlKey: string): boolean =>
    ctrl ? name === controlKey : !meta && name === plain
  if (is('left', 'b')) return { text, at: before(line) }
  if (is('right', 'f')) return { text, at: after(line) }
  if (is('home', 'a')) return { text, at: 0 }
  if (is('end', 'e')) return { text, at: text.length }
  if (is('backspace', 'h')) return without(text, before(line), at)
  if (!ctrl && name === 'delete') return without(text, at, after(line))
  if (ctrl && name === 'u') return without(text, 0, at)
  if (ctrl && name === 'k') return without(text, at, text.length)
  if (ctrl && name === 'w') return without(text, text.slice(0, at).replace(/\S+\s*$/, '').length, at)
  return undefined
}

function without(text: string, from: number, to: number): Line {
  return { text: text.slice(0, from) + text.slice(to), at: from }
}

function before({ text, at }: Line): number {
  return graphemes.segment(text).containing(at - 1)?.index ?? 0
}

function after({ text, at }: Line): number {
  const next = graphemes.segment(text).containing(at)
  return next === undefined ? text.length : next.index + next.segment.length
}

/** The end of the grapheme cluster at a position, since typed text can combine with the text after it. */
function boundary(text: string, at: number): number {
  const cluster = graphemes.segment(text).containing(at)
  return cluster === undefined || cluster.index === at ? at : cluster.index + cluster.segment.length
}
