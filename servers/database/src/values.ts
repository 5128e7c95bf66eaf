import type { Cell } from './engine.ts'

/** Characters of a text, or of the base64 of a blob, above which a cell is cut. */
export const maxCellChars = 8_192

/** An integer: a number if a double represents it exactly, its digits otherwise. */
export function integerCell(value: bigint): Cell {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** A floating-point number. JSON has no NaN and no infinities, so these are text. */
export function realCell(value: number): Cell {
  return Number.isFinite(value) ? value : String(value)
}

/** A text, cut if it is too long. */
export function textCell(text: string, maxChars: number = maxCellChars): Cell {
  if (text.length <= maxChars) return text
  return { text: cutText(text, maxChars), characters: text.length, cut: true }
}

/** The beginning of a text, without half of a surrogate pair. */
function cutText(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

/** Bytes as base64, cut if there are too many. */
export function bytesCell(bytes: Uint8Array): Cell {
  const maxBytes = (maxCellChars / 4) * 3
  const shown = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, maxBytes))
  const cell = { base64: shown.toString('base64'), bytes: bytes.byteLength }
  return bytes.byteLength > maxBytes ? { ...cell, cut: true } : cell
}

/** A row whose values are cut until its JSON has at most `maxBytes`, or all values are short. */
export function fitRow(row: Cell[], maxBytes: number): Cell[] {
  let fitted = row
  for (let length = maxCellChars / 2; length >= 8 && sizeOf(fitted) > maxBytes; length /= 2) {
    fitted = fitted.map((cell) => cutCell(cell, length))
  }
  return fitted
}

function cutCell(cell: Cell, length: number): Cell {
  if (typeof cell === 'string') return textCell(cell, length)
  if (typeof cell !== 'object' || cell === null) return cell
  if ('text' in cell) return { ...cell, text: cutText(cell.text, length) }
  return cell.base64.length <= length ? cell : { ...cell, base64: cell.base64.slice(0, length), cut: true }
}

/** The bytes of a row as JSON. */
export function sizeOf(row: readonly Cell[]): number {
  return Buffer.byteLength(JSON.stringify(row))
}
