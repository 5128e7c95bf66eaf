import { usageError } from '../cli/exit.ts'

/** A parsed input line: text for the model, or a command. */
export type ParsedLine =
  | { kind: 'empty' }
  | { kind: 'words'; text: string }
  | { kind: 'command'; name: string; words: string[] }

/** Parses one line. A line that starts with `/` is a command; `//` is text that starts with a slash. */
export function parseLine(line: string): ParsedLine {
  const text = line.trim()
  if (text === '') return { kind: 'empty' }
  if (text.startsWith('//')) return { kind: 'words', text: text.slice(1) }
  if (!text.startsWith('/')) return { kind: 'words', text }
  const [name = '', ...words] = splitWords(text.slice(1))
  return { kind: 'command', name, words }
}

/** Splits a line at spaces outside quotes: `key="two words"` is one word. */
export function splitWords(text: string): string[] {
  const words: string[] = []
  let current = ''
  let quote: string | undefined
  let open = false
  for (let n = 0; n < text.length; n += 1) {
    const character = text.charAt(n)
    if (character === '\\' && quote !== "'" && n + 1 < text.length) {
      n += 1
      current += text.charAt(n)
      open = true
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined
      else current += character
    } else if (character === '"' || character === "'") {
      quote = character
      open = true
    } else if (/\s/.test(character)) {
      if (open) words.push(current)
      current = ''
      open = false
    } else {
      current += character
      open = true
    }
  }
  if (quote !== undefined) throw usageError(`A ${quote} is not closed.`)
  return open ? [...words, current] : words
}

/** Quotes a word for `splitWords`, if it needs quotes. */
export function quoteWord(word: string): string {
  return /[\s"'\\]/.test(word) ? `"${word.replaceAll(/["\\]/g, '\\$&')}"` : word
}
