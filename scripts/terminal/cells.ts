import type { IBuffer, IBufferCell } from '@xterm/headless'

/** One place on the screen. */
export interface Cell {
  /** The character; empty in the right half of a wide one. */
  text: string
  /** How many columns it takes. */
  width: number
  /** CSS colours; undefined for the terminal's own. */
  color: string | undefined
  background: string | undefined
  bold: boolean
  dim: boolean
  underline: boolean
  inverse: boolean
}

const basic = [
  '#484f58',
  '#ff7b72',
  '#3fb950',
  '#d29922',
  '#58a6ff',
  '#bc8cff',
  '#39c5cf',
  '#b1bac4',
  '#6e7681',
  '#ffa198',
  '#56d364',
  '#e3b341',
  '#79c0ff',
  '#d2a8ff',
  '#56d4dd',
  '#ffffff',
]

/** The cells of the screen, row by row. */
export function cellsOf(buffer: IBuffer, cols: number, rows: number): Cell[][] {
  return Array.from({ length: rows }, (_row, y) => {
    const line = buffer.getLine(buffer.baseY + y)
    return Array.from({ length: cols }, (_column, x) => cellOf(line?.getCell(x)))
  })
}

function cellOf(cell: IBufferCell | undefined): Cell {
  return {
    text: cell?.getChars() ?? '',
    width: cell?.getWidth() ?? 1,
    color: cell === undefined || cell.isFgDefault() ? undefined : css(cell.getFgColor(), cell.isFgRGB()),
    background: cell === undefined || cell.isBgDefault() ? undefined : css(cell.getBgColor(), cell.isBgRGB()),
    bold: cell !== undefined && cell.isBold() !== 0,
    dim: cell !== undefined && cell.isDim() !== 0,
    underline: cell !== undefined && cell.isUnderline() !== 0,
    inverse: cell !== undefined && cell.isInverse() !== 0,
  }
}

function css(color: number, isRgb: boolean): string {
  if (isRgb) return `#${color.toString(16).padStart(6, '0')}`
  if (color < 16) return basic[color] ?? '#e6edf3'
  if (color >= 232) {
    const grey = (color - 232) * 10 + 8
    return `rgb(${grey},${grey},${grey})`
  }
  const level = (n: number): number => (n === 0 ? 0 : n * 40 + 55)
  const cube = color - 16
  return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`
}
