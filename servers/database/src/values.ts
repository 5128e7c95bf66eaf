import type { Cell } from './engine.ts'

/** Characters of a text, or of the base64 of a blob, above which a cell is cut. */
export const longestCell = 8_192

/** An integer: a number if a double represents it exactly, its digits otherwise. */
export function integerCell(value: bigint): Cell {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** A floating-point number. JSON has no NaN and no infinities, so these are text. */
export function realCell(value: number): Cell {
  return Number.isFinite(value) ? value : String(value)
}

/** A text, cut if it is too long, without splitting a surrogate pair. */
export function textCell(text: string): Cell {
  if (text.length <= longestCell) return text
  const last = text.charCodeAt(longestCell - 1)
  const end = last >= 0xd800 && last <= 0xdbff ? longestCell - 1 : longestCell
  return { text: text.slice(0, end), characters: text.length, cut: true }
}

/** Bytes as base64, cut if there are too many. */
export function bytesCell(bytes: Uint8Array): Cell {
  const most = (longestCell / 4) * 3
  const shown = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, most))
  const cell = { base64: shown.toString('base64'), bytes: bytes.byteLength }
  return bytes.byteLength > most ? { ...cell, cut: true } : cell
}

/** The bytes of a row as JSON. */
export function sizeOf(row: readonly Cell[]): number {
  return Buffer.byteLength(JSON.stringify(row))
}
