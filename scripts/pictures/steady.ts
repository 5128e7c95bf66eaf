import type { Cell } from '../terminal/cells.ts'

/** Identifiers that are drawn at random: eight digits or more, of hexadecimal. */
const identifier = /(?<![\w/.-])(?=[0-9a-f]*[0-9])[0-9a-f]{8,64}(?![\w/])/g

/** Gives random identifiers the same digits in every run, by the order they are seen in; nothing else changes. */
export function steady(cells: readonly (readonly Cell[])[]): Cell[][] {
  const known = new Map<string, string>()
  return cells.map((row) => {
    const line = row.map(({ text }) => (text.length === 1 ? text : text === '' ? ' ' : '\u0000')).join('')
    const changed = row.map((cell) => ({ ...cell }))
    for (const { 0: found, index } of line.matchAll(identifier)) {
      // The same thing may be shown by the beginning of its identifier alone.
      const key = found.slice(0, 8)
      const digits = known.get(key) ?? digitsOf(known.size)
      known.set(key, digits)
      for (let n = 0; n < found.length; n++) {
        const cell = changed[index + n]
        if (cell !== undefined) cell.text = digits[n] ?? '0'
      }
    }
    return changed
  })
}

/** 64 digits that look like any others. */
function digitsOf(place: number): string {
  let state = 0x9e3779b9 ^ (place * 0x85ebca6b)
  let digits = ''
  while (digits.length < 64) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39)
    state ^= state >>> 15
    digits += (state >>> 0).toString(16).padStart(8, '0')
  }
  return digits
}
