import type { Random } from '../random.ts'
import { texts } from './odd.ts'

/** Bytes as a text with one character for each: texts are cut and joined without copying. */
export type Bytes = string
const pieces: readonly [Bytes, ...Bytes[]] = [asBytes(texts[0]), ...texts.slice(1).map(asBytes)]

/** The bytes of a text. */
export function asBytes(text: string): Bytes {
  return Buffer.from(text).toString('latin1')
}

/** A text with one place of it changed. `others`: what it may go on with. */
export function changedBytes(bytes: Bytes, others: readonly [Bytes, ...Bytes[]], random: Random): Bytes {
  const at = random.between(0, bytes.length)
  const end = Math.min(bytes.length, at + random.between(1, 16))
  const before = bytes.slice(0, at)
  switch (random.between(0, 9)) {
    case 0:
      return before + bytes.slice(end)
    case 1:
      return before + bytes.slice(at, end) + bytes.slice(at)
    case 2:
    case 3:
      return before + random.pick(pieces) + bytes.slice(at)
    case 4:
      return before + random.pick(pieces) + bytes.slice(end)
    case 5:
      return before + String.fromCharCode(random.between(0, 255)) + bytes.slice(at + 1)
    case 6: {
      const other = random.pick(others)
      return before + other.slice(random.between(0, other.length))
    }
    case 7:
      return before
    case 8:
      return twice(bytes, at)
    default: {
      const times = random.fraction() < 0.02 ? 2_000 : random.between(2, 20)
      return before + bytes.slice(at, end).repeat(times) + bytes.slice(at)
    }
  }
}

const keyPattern = /"([^"\\]{1,100})"\s*:/g

/** Duplicates the next key of a JSON text, sometimes escaped. */
function twice(text: Bytes, from: number): Bytes {
  keyPattern.lastIndex = from
  const found = keyPattern.exec(text)
  if (found === null) return text
  const [, key = ''] = found
  const first = from % 3 === 0 ? `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}` : key.charAt(0)
  return `${text.slice(0, found.index)}"${first}${key.slice(1)}":0,${text.slice(found.index)}`
}
