/**
 * Characters that terminals interpret, that are invisible, or that look like a plain space. The line feed is excluded: it only
 * separates members.
 */
const ambiguousCharacters =
  /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]/gu

/**
 * JSON over several lines, or on one without `indent`, with every ambiguous character as `\uXXXX`. Safe to print, and parses to
 * exactly the same value.
 */
export function exactJson(value: unknown, indent?: number): string {
  return exactText(JSON.stringify(value, null, indent) ?? 'null')
}

/** The same for existing JSON lines. */
export function exactText(json: string): string {
  return json.replace(ambiguousCharacters, unicodeEscapes)
}

/** Whether printing a text as it is shows every character unambiguously. */
export function isUnambiguous(text: string): boolean {
  return !/[\r\t ]\n/.test(text) && text.replaceAll('\t', '').search(ambiguousCharacters) === -1
}

function unicodeEscapes(character: string): string {
  return [...Array(character.length).keys()]
    .map((unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`)
    .join('')
}
