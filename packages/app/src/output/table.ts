import type { Palette } from './palette.ts'
import { widthOf, wrap } from './width.ts'

export interface TableOptions {
  palette: Palette
  /** Terminal width, which limits the table. Without it, nothing wraps. */
  columns?: number | undefined
}

const columnGap = 2
/** Minimum width of the last column before others shrink, and of any column before rows become lists. */
const minLastColumn = 20
const minColumn = 10

/**
 * Rows aligned under their headings. If the terminal is too narrow, empty columns are left out, then the last column wraps, then
 * the widest ones; if columns would get too narrow, each row becomes a list of its cells. Cells must be safe to print (see
 * `plain`); line feeds in them break lines.
 */
export function table(headings: string[], rows: string[][], { palette, columns }: TableOptions): string {
  const natural = headings.map((heading, n) =>
    Math.max(widthOf(heading), ...rows.map((row) => widestLine(row[n] ?? ''))),
  )
  const filled = headings.flatMap((_, n) => (rows.some((row) => (row[n] ?? '') !== '') ? [n] : []))
  if (
    columns !== undefined &&
    !fitsColumns(natural, columns) &&
    filled.length > 0 &&
    filled.length < headings.length
  ) {
    const only = (cells: string[]): string[] => filled.map((n) => cells[n] ?? '')
    return table(only(headings), rows.map(only), { palette, columns })
  }
  const widths = columns === undefined ? natural : fitWidths(natural, columns)
  if (widths === undefined) return listRows(headings, rows, palette, columns ?? 0)
  const lines = [palette.dim(joinCells(headings, widths))]
  for (const row of rows) {
    const cells = headings.map((_, n) => wrap(row[n] ?? '', widths[n] ?? 0))
    const height = Math.max(...cells.map((cell) => cell.length))
    for (let line = 0; line < height; line += 1) {
      const texts = cells.map((cell) => cell[line] ?? '')
      lines.push(joinCells(texts, widths, line === 0 ? palette.bold : undefined))
    }
  }
  return lines.join('\n')
}

/** Column widths that fit the line, or undefined if a column would be too narrow. */
function fitWidths(natural: number[], columns: number): number[] | undefined {
  if (fitsColumns(natural, columns)) return natural
  const room = widthFor(natural, columns)
  const last = room - total(natural.slice(0, -1))
  if (last >= minLastColumn) return [...natural.slice(0, -1), last]
  let cap = Math.max(...natural)
  const capped = (): number[] => natural.map((width) => Math.min(width, cap))
  while (cap > minColumn && total(capped()) > room) cap -= 1
  return total(capped()) <= room ? capped() : undefined
}

function fitsColumns(natural: number[], columns: number): boolean {
  return total(natural) <= widthFor(natural, columns)
}

function widthFor(widths: number[], columns: number): number {
  return columns - columnGap * (widths.length - 1)
}

function total(widths: number[]): number {
  return widths.reduce((all, width) => all + width, 0)
}

/** Each row as lines of a heading and its cell, with a line between rows. */
function listRows(headings: string[], rows: string[][], palette: Palette, columns: number): string {
  const width = Math.max(...headings.map(widthOf))
  const beside = Math.max(minColumn, columns - width - columnGap)
  return rows
    .map((row) =>
      headings
        .flatMap((heading, n) => {
          const cell = row[n] ?? ''
          return cell === ''
            ? []
            : wrap(cell, beside).map((text, line) => {
                const label = (line === 0 ? heading : '').padEnd(width + columnGap)
                return `${palette.dim(label)}${n === 0 ? palette.bold(text) : text}`.trimEnd()
              })
        })
        .join('\n'),
    )
    .join('\n\n')
}

function widestLine(cell: string): number {
  return Math.max(...cell.split('\n').map(widthOf))
}

function joinCells(cells: string[], widths: number[], first?: (text: string) => string): string {
  return cells
    .map((cell, n) => {
      const padding = n === cells.length - 1 ? '' : ' '.repeat(Math.max(0, (widths[n] ?? 0) - widthOf(cell)))
      return (n === 0 && first !== undefined ? first(cell) : cell) + padding
    })
    .join(' '.repeat(columnGap))
    .trimEnd()
}
