import { stripVTControlCharacters } from 'node:util'
import { makeVisible } from '@jackfield/host/config'

// Everything that moves the cursor, changes colours or rings; line feed and tab stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Makes text from a server safe to print on a terminal: removes escape sequences and control characters, and makes hidden and
 * bidirectional characters visible.
 */
export function plain(text: string): string {
  const lines = stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replaceAll('\r', '\n')
  return makeVisible(lines.replace(controlCharacters, ''))
}

/** The same on one line of at most `length` characters, with `…` for omitted text. */
export function oneLine(text: string, length = Number.POSITIVE_INFINITY): string {
  const flat = plain(text).replace(/\s+/g, ' ').trim()
  const characters = [...flat]
  return characters.length <= length ? flat : `${characters.slice(0, length - 1).join('')}…`
}

/** A number with its noun: `1 tool`, `2 tools`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** A word quoted for a shell. */
export function shellWord(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
