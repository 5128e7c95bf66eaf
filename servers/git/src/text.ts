import { isUtf8 } from 'node:buffer'

/*
 * Text of a repository as it is shown. Git stores bytes: names and contents need not be UTF-8, and a name may have line
 * breaks or characters that are invisible in a question to a person.
 */

/** Characters that reverse, hide or disguise text: controls except line break and tab, format characters, unpaired surrogates. */
const invisible = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const notInOneLine = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Decodes UTF-8. Other bytes are shown as `\xNN`. */
export function decode(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes[at] ?? 0)
    const sequence = bytes.subarray(at, at + length)
    if (length > 0 && isUtf8(sequence)) {
      text += sequence.toString('utf8')
      at += length
    } else {
      text += `\\x${bytes.toString('hex', at, at + 1).toUpperCase()}`
      at++
    }
  }
  return text
}

/** The length of the UTF-8 sequence that begins with a byte; 0 if none begins with it. */
function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1
  if (lead < 0xc2) return 0
  if (lead < 0xe0) return 2
  if (lead < 0xf0) return 3
  return lead < 0xf5 ? 4 : 0
}

/** A name on one line: line breaks and invisible characters are escaped. */
export function oneLine(text: string): string {
  return text.replaceAll(notInOneLine, escaped)
}

/** Text for a person to decide on: invisible characters are escaped, line breaks and tabs stay. */
export function visible(text: string): string {
  return text.replaceAll(invisible, escaped)
}

function escaped(char: string): string {
  if (char === '\n') return '\\n'
  if (char === '\t') return '\\t'
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
}

/** At most `maxChars` characters, followed by an ellipsis if the text was cut. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  return `${text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** A number with its noun: `1 file`, `2 files`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** The first items whose JSON has at most `maxBytes` together, and at least one. Names in a repository can be long. */
export function itemsWithin<T>(items: readonly T[], maxBytes: number): T[] {
  let remaining = maxBytes
  const end = items.findIndex((item, index) => {
    remaining -= Buffer.byteLength(JSON.stringify(item))
    return remaining < 0 && index > 0
  })
  return items.slice(0, end === -1 ? undefined : end)
}

/** Maximum bytes of a list of names in one result. A message has room for the list twice: as text and as structured content. */
export const maxListBytes = 524_288

/** A slice of a long output, cut after a line where possible. */
export interface Page {
  text: string
  /** Bytes of the slice. */
  bytes: number
  /** Where to continue; absent at the end. */
  nextOffset?: number
}

/**
 * The page of an output that begins at `offset`.
 * @param bytes the output from `offset` on
 * @param limit the bytes that a page may have
 * @param more whether the output continues after `bytes`
 */
export function pageOf(bytes: Buffer, offset: number, limit: number, more: boolean): Page {
  if (!more && bytes.length <= limit) return { text: decode(bytes), bytes: bytes.length }
  const slice = bytes.subarray(0, limit)
  const lineEnd = slice.lastIndexOf(10) + 1
  const end = lineEnd > 0 ? lineEnd : characterBoundary(slice)
  return { text: decode(slice.subarray(0, end)), bytes: end, nextOffset: offset + end }
}

/** The length without a UTF-8 sequence that is cut at the end. */
function characterBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const length = sequenceLength(bytes[bytes.length - back] ?? 0)
    if (length > back && bytes.length > back) return bytes.length - back
    if (length > 0) break
  }
  return bytes.length
}

/** The NUL-terminated records of an output; an unfinished last one is left out. */
export function records(bytes: Buffer): Buffer[] {
  const found: Buffer[] = []
  let from = 0
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, from)) {
    found.push(bytes.subarray(from, end))
    from = end + 1
  }
  return found
}

/** The bytes by which git decides whether contents are binary. */
export const binaryCheckBytes = 8_000

/** Whether contents are binary, as git decides it: by a NUL among their first bytes. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, binaryCheckBytes).includes(0)
}
