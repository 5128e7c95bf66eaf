// Control characters except line feed and tab, format characters, and characters that fonts render as nothing.
const invisible = /[^\P{Cc}\n\t]|[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu
/** Text without hidden characters: the common case. */
const printable = /^[\n\t\x20-\x7e]*$/
const pictograph = /\p{Extended_Pictographic}|\p{Emoji_Modifier}/u
const emoji = /\p{Emoji}/u
/** Scripts whose spelling needs joiners. */
const joiningScripts =
  /\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Mongolian}|\p{Script=Devanagari}|\p{Script=Bengali}|\p{Script=Gurmukhi}|\p{Script=Gujarati}|\p{Script=Oriya}|\p{Script=Tamil}|\p{Script=Telugu}|\p{Script=Kannada}|\p{Script=Malayalam}|\p{Script=Sinhala}|\p{Script=Khmer}/u

const joiner = 0x200d
const nonJoiner = 0x200c
const textStyle = 0xfe0e
const emojiStyle = 0xfe0f
const keycap = 0x20e3

/** One invisible character, and its index in UTF-16 units. */
export interface Unseen {
  /** The Unicode code point. */
  code: number
  /** The index in UTF-16 units. */
  at: number
}

/** Every character that hides, reorders or disguises text, except in valid emoji and scripts that need it. */
export function unseenIn(text: string): Unseen[] {
  const hidden: Unseen[] = []
  for (const match of text.matchAll(invisible)) {
    const code = match[0].codePointAt(0) ?? 0
    if (!isPartOfSpelling(code, match.index, text)) hidden.push({ code, at: match.index })
  }
  return hidden
}

/**
 * The text with every invisible character as its code: `⟦U+200B⟧`. Line feeds and tabs stay; so do joiners and variation
 * selectors in emoji and scripts that need them. Safe to print to a terminal.
 */
export function makeVisible(text: string): string {
  if (printable.test(text)) return text
  return text
    .replaceAll('\r\n', '\n')
    .replace(invisible, (character: string, index: number, whole: string) => {
      const code = character.codePointAt(0) ?? 0
      return isPartOfSpelling(code, index, whole) ? character : codeName(code)
    })
}

/** A character by its code: `⟦U+200B⟧`. */
export function codeName(code: number): string {
  return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
}

function isPartOfSpelling(code: number, index: number, text: string): boolean {
  if (code !== joiner && code !== nonJoiner && code !== textStyle && code !== emojiStyle) return false
  const before = characterBefore(text, index)
  const after = text.codePointAt(index + 1)
  if (code === textStyle || code === emojiStyle) {
    if (/[0-9#*]/.test(before)) return after === keycap
    return emoji.test(before)
  }
  const next = after === undefined ? '' : String.fromCodePoint(after)
  if (joiningScripts.test(before)) return joiningScripts.test(next) || /^[\s\p{P}]?$/u.test(next)
  const followsPictograph = pictograph.test(before) || before.charCodeAt(0) === emojiStyle
  return code === joiner && followsPictograph && /\p{Extended_Pictographic}|[♀♂⚕]/u.test(next)
}

function characterBefore(text: string, index: number): string {
  if (index === 0) return ''
  const unit = text.charCodeAt(index - 1)
  const isLow = unit >= 0xdc00 && unit <= 0xdfff
  return text.slice(Math.max(0, index - (isLow ? 2 : 1)), index)
}
