import type { Palette } from './palette.ts'
import { widthOf, wrap } from './width.ts'

export interface TableOptions {
  palette: Palette
  /** Columns of the terminal; the last column of the table wraps to fit. Without it, nothing wraps. */
  columns?: number | undefined
}

/** Rows aligned under their headings. Cells must be safe to print (see `plain`); line feeds in them break lines. */
export function table(headings: string[], rows: string[][], { palette, columns }: TableOptions): string {
  const widths = headings.map((heading, n) =>
    Math.max(widthOf(heading), ...rows.map((row) => widestLine(row[n] ?? ''))),
  )
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0)
  const last = columns === undefined ? undefined : Math.max(20, columns - before)
  const lines = [palette.dim(join(headings, widths))]
  for (const row of rows) {
    const cells = headings.map((_, n) => {
      const cell = row[n] ?? ''
      return n === headings.length - 1 && last !== undefined ? wrap(cell, last) : cell.split('\n')
    })
    const height = Math.max(...cells.map((cell) => cell.length))
    for (let line = 0; line < height; line += 1) {
      const texts = cells.map((cell) => cell[line] ?? '')
      lines.push(join(texts, widths, line === 0 ? palette.bold : undefined))
    }
  }
  return lines.join('\n')
}

function widestLine(cell: string): number {
  return Math.max(...cell.split('\n').map(widthOf))
}

function join(cells: string[], widths: number[], first?: (text: string) => string): string {
  return cells
    .map((cell, n) => {
      const padding = n === cells.length - 1 ? '' : ' '.repeat(Math.max(0, (widths[n] ?? 0) - widthOf(cell)))
      return (n === 0 && first !== undefined ? first(cell) : cell) + padding
    })
    .join('  ')
    .trimEnd()
}
