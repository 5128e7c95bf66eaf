import { linearRegex } from '@jackfield/sdk/schema'
import { FileError } from '../access/file-error.ts'

/** A compiled search pattern. */
export interface LinePattern {
  /** Folded text that every matching line contains, for a quick check; undefined if there is none. */
  readonly required: string | undefined
  /** Converts text to the case in which it is compared. */
  fold(text: string): string
  /** The range [start, end) of the first match in a folded line. */
  find(line: string): readonly [number, number] | undefined
}

const maxPatternChars = 1000

/**
 * A literal text or a regular expression (ECMAScript, flag `u`). Regular expressions run in time proportional to the line, so that
 * none can block the server; those with back-references and look-behind are refused.
 * @throws FileError for a pattern that is invalid or cannot be used
 */
export function parsePattern(
  pattern: string,
  options: { literal: boolean; ignoreCase: boolean },
): LinePattern {
  const { literal, ignoreCase } = options
  if (pattern === '') throw new FileError('failed', 'The pattern is empty.')
  if (pattern.length > maxPatternChars)
    throw new FileError('limit', `The pattern has more than ${maxPatternChars} characters.`)
  const fold = ignoreCase ? (text: string) => text.toLowerCase() : (text: string) => text
  if (literal) {
    const wanted = fold(pattern)
    return {
      required: wanted,
      fold,
      find: (line) => {
        const at = line.indexOf(wanted)
        return at === -1 ? undefined : [at, at + wanted.length]
      },
    }
  }
  const source = ignoreCase ? foldSource(pattern) : pattern
  try {
    new RegExp(source, 'u')
  } catch (error) {
    throw new FileError(
      'failed',
      `${error instanceof Error ? error.message : 'Invalid pattern'}. Set literal to search for the text as it is.`,
    )
  }
  try {
    const regex = linearRegex(source)
    return { required: requiredText(source), fold, find: (line) => regex.find(line, 0, () => {}) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new FileError(
      'failed',
      `This regular expression cannot run in linear time: ${reason}. Write it without that part.`,
      { cause: error },
    )
  }
}

/** One character, escape or class of a regular expression. */
const token = /\\(?:u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[\s\S])|[\s\S]/gu

/** A regular expression for text in lower case: its letters in lower case, its escapes as they are. */
function foldSource(source: string): string {
  return source.replaceAll(token, (part) => {
    if (/^\\[pP]/.test(part)) {
      throw new FileError(
        'failed',
        'A regular expression with \\p{…} cannot ignore case. Name both cases in the expression.',
      )
    }
    if (!/^\\[ux]/.test(part)) return part.length === 1 || !part.startsWith('\\') ? part.toLowerCase() : part
    const code = Number.parseInt(part.replaceAll(/[^\da-fA-F]/g, ''), 16)
    const char = code <= 0x10ffff ? String.fromCodePoint(code) : part
    const folded = char.toLowerCase()
    return folded === char ? part : `\\u{${folded.codePointAt(0)?.toString(16)}}`
  })
}

/** The longest run of plain characters that every match contains; undefined if there is none. */
function requiredText(source: string): string | undefined {
  const runs: string[] = ['']
  let depth = 0
  let inClass = false
  let inCount = false
  for (const [part] of source.matchAll(token)) {
    const last = runs.length - 1
    if (inClass || inCount) {
      if (inClass && part === ']') inClass = false
      if (inCount && part === '}') inCount = false
    } else if (part === '|' && depth === 0) return undefined
    else if (part === '(') depth++
    else if (part === ')') depth--
    else if (part === '[') inClass = true
    else if (depth === 0) {
      const char = /^[^\\^$.*+?{}()|[\]]$/u.test(part)
        ? part
        : /^\\[^\dA-Za-z]$/u.test(part)
          ? part.slice(1)
          : undefined
      if (char !== undefined) {
        runs[last] += char
        continue
      }
      // A quantifier can make the character before it optional.
      if (part === '{') inCount = true
      if (/^[*?{]$/.test(part)) runs[last] = [...(runs[last] ?? '')].slice(0, -1).join('')
    }
    runs.push('')
  }
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '')
  return longest.length < 2 ? undefined : longest
}
