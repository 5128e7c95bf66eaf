import type { OpenFile } from '../access/directory.ts'
import { BinaryFileError, readBytes } from '../files/read.ts'
import { decoderOf, type Encoding, encodingOf } from '../files/text.ts'
import type { LinePattern } from './pattern.ts'

/** A line that matches. */
export interface Match {
  /** Counts from 1. */
  readonly line: number
  /** The place of the match in the line, in characters from 1. */
  readonly column: number
  readonly text: string
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** The matches in one file. */
export interface FileMatches {
  readonly matches: readonly Match[]
  /** Whether a line exceeded `lineChars`, so that its end was not searched. */
  readonly hasLongLines: boolean
}

export interface ContentOptions {
  /** Number of lines before and after each match. */
  readonly context: number
  /** Maximum number of matches. */
  readonly matches: number
  /** Characters of matches and their context after which the search ends. */
  readonly chars: number
  /** Maximum size of the file. */
  readonly fileBytes: number
  /** Maximum searched characters of a line. */
  readonly lineChars: number
  readonly signal: AbortSignal
  readonly isOver: () => boolean
}

/** Time in milliseconds after which the search yields to the event loop. */
const yieldAfterMs = 10

/**
 * Searches the lines of a text file.
 * @throws BinaryFileError if it is not text; FileError 'limit' if it is too large
 */
export async function searchFile(
  file: OpenFile,
  path: string,
  pattern: LinePattern,
  options: ContentOptions,
): Promise<FileMatches> {
  const { signal, lineChars, context } = options
  const requireText = (start: Buffer): Encoding => {
    const encoding = encodingOf(start.subarray(0, 8192))
    if (encoding === undefined) throw new BinaryFileError(path, file.stats.size)
    return encoding
  }
  // Most of the bytes of a directory are often in binary files, so their rest is not read.
  const bytes = await readBytes(file, path, options.fileBytes, signal, requireText)
  const encoding = requireText(bytes)
  const text = decoderOf(encoding, false)(bytes, false)
  const { required } = pattern
  const matches: Match[] = []
  let hasLongLines = false
  if (required !== undefined && !pattern.fold(text).includes(required)) return { matches, hasLongLines }
  const lines = text.split('\n')
  // Nothing is a line after a newline at the end.
  if (lines.at(-1) === '') lines.pop()
  let chars = 0
  let lastYieldAt = performance.now()
  for (const [index, line] of lines.entries()) {
    if (matches.length >= options.matches || chars > options.chars || options.isOver()) break
    if (performance.now() - lastYieldAt > yieldAfterMs) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      lastYieldAt = performance.now()
    }
    const whole = pattern.fold(line).replace(/\r$/, '')
    if (required !== undefined && !whole.includes(required)) continue
    if (whole.length > lineChars) hasLongLines = true
    const place = pattern.find(whole.slice(0, lineChars))
    if (place === undefined) continue
    const match = {
      line: index + 1,
      column: place[0] + 1,
      text: excerpt(line, place[0]),
      before: lines.slice(Math.max(0, index - context), index).map((near) => excerpt(near, 0)),
      after: lines.slice(index + 1, index + 1 + context).map((near) => excerpt(near, 0)),
    }
    matches.push(match)
    chars += charsOf(match)
  }
  return { matches, hasLongLines }
}

/** Characters of a match with its context. */
export function charsOf({ text, before, after }: Match): number {
  return [text, ...before, ...after].reduce((sum, line) => sum + line.length, 0)
}

const maxExcerptChars = 500

/** A line, or the part of a long line around the match. */
function excerpt(line: string, at: number): string {
  const text = line.replace(/\r$/, '')
  if (text.length <= maxExcerptChars) return text
  const from = Math.max(0, Math.min(at - 100, text.length - maxExcerptChars))
  const part = text.slice(from, from + maxExcerptChars).toWellFormed()
  return `${from > 0 ? '…' : ''}${part}${from + maxExcerptChars < text.length ? '…' : ''}`
}
