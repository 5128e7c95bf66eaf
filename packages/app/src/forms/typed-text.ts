import { makeVisible } from '@jackfield/host'
import { widthOf } from '../output/width.ts'
import type { Line } from './line-edit.ts'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
/** Characters examined around the cursor; more never fit on a screen. */
const maxExamined = 2_000

/** A text on one line: hidden characters as their codes, line feeds and tabs as symbols. */
export function visibleText(text: string): string {
  return [...graphemes.segment(text)].map(({ segment }) => visibleSegment(segment)).join('')
}

/** The part of a text around the cursor that fits the columns, and the cursor's column in it. */
export function visibleWindow({ text, cursor }: Line, columns: number): { shown: string; column: number } {
  const left = [...graphemes.segment(text.slice(Math.max(0, cursor - maxExamined), cursor))].map(
    ({ segment }) => visibleSegment(segment),
  )
  const right = [...graphemes.segment(text.slice(cursor, cursor + maxExamined))].map(({ segment }) =>
    visibleSegment(segment),
  )
  // The cursor itself needs a column at the end.
  const room = Math.max(1, columns - 1)
  let hidden = cursor > maxExamined
  let width = left.reduce((sum, piece) => sum + widthOf(piece), hidden ? 1 : 0)
  while (width > room && left.length > 0) {
    width -= widthOf(left.shift() ?? '') - (hidden ? 0 : 1)
    hidden = true
  }
  const before = `${hidden ? '…' : ''}${left.join('')}`
  const column = Math.min(widthOf(before), room)
  let after = ''
  let used = column
  for (const [n, piece] of right.entries()) {
    const isLast = n === right.length - 1
    if (used + widthOf(piece) > (isLast ? columns : room)) {
      after += '…'
      break
    }
    after += piece
    used += widthOf(piece)
  }
  return { shown: before + after, column }
}

function visibleSegment(segment: string): string {
  if (segment === '\n' || segment === '\r\n' || segment === '\r') return '⏎'
  return segment === '\t' ? '⇥' : makeVisible(segment)
}
