import type { Flow } from './flow.ts'
import { codeLine, markdownLines } from './markdown.ts'
import type { Palette } from './palette.ts'
import { oneLine, plain } from './sanitize.ts'
import { widthOf } from './width.ts'

export interface MarkdownFlowOptions {
  /** Writes whole lines. */
  write(text: string): void
  /** Draws the unfinished line over the previous one; an empty text removes it. */
  live(line: string): void
  columns(): number
  palette: Palette
}

/** Indent of every line, so that no line of this text looks like one of the program. */
const margin = '  '
/** Characters of one block or line that are rendered together; longer ones are rendered in parts. */
const maxPending = 8_000
/** Characters of unfinished text that are examined; more never fit on a line. */
const maxTail = 2_000
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)/
const topItem = /^ ?(?:[-*+]|\d{1,9}[.)])(?:\s|$)/

/**
 * Renders streamed Markdown for a terminal, block by block as each is complete: a paragraph, a list item, a line of code. The
 * text may be untrusted; it is sanitized.
 */
export class MarkdownFlow implements Flow {
  readonly #options: MarkdownFlowOptions
  /** The unfinished line. */
  #line = ''
  /** Lines of the unfinished block. */
  #block: string[] = []
  #blockLength = 0
  #isList = false
  /** The fence that closes the open code block. */
  #fence: { mark: string; length: number } | undefined
  #needsBlankLine = false
  #hasWritten = false
  #hasTail = false

  constructor(options: MarkdownFlowOptions) {
    this.#options = options
  }

  push(text: string): void {
    this.#line += text
    let end = this.#line.indexOf('\n')
    while (end !== -1 || this.#line.length > maxPending) {
      const line = this.#line.slice(0, end === -1 ? maxPending : end)
      this.#line = this.#line.slice(end === -1 ? maxPending : end + 1)
      this.#addLines(line)
      end = this.#line.indexOf('\n')
    }
    this.#drawTail()
  }

  /** Renders the rest and closes the line. */
  end(): boolean {
    if (this.#line !== '') this.#addLines(this.#line)
    this.#line = ''
    this.#flush()
    this.#clearTail()
    this.#fence = undefined
    this.#needsBlankLine = false
    this.#hasWritten = false
    return false
  }

  #addLines(text: string): void {
    for (const line of plain(text.replace(/\r$/, '')).split('\n')) {
      if (this.#fence === undefined) this.#add(line)
      else this.#addCode(line, this.#fence)
    }
  }

  #add(line: string): void {
    if (line.trim() === '') {
      // The line after an empty one may still belong to the list.
      if (this.#isList) this.#block.push('')
      else {
        this.#flush()
        this.#needsBlankLine = true
      }
      return
    }
    const wasEnded = this.#block.at(-1) === ''
    const isWithinList = this.#isList && /^ {2,}|^\t/.test(line)
    if ((wasEnded && !isWithinList) || (this.#isList && topItem.test(line))) this.#flush()
    const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]
    if (fence !== undefined && !isWithinList) {
      this.#flush()
      this.#fence = { mark: fence.charAt(0), length: fence.length }
      this.#write([this.#options.palette.dim(line.trim())])
      return
    }
    const isHeading = /^ {0,3}#{1,6}(?:\s|$)/.test(line) && !isWithinList
    if (isHeading) this.#flush()
    this.#block.push(line)
    this.#blockLength += line.length
    this.#isList ||= listItem.test(line)
    if (isHeading || this.#blockLength > maxPending) this.#flush()
  }

  #addCode(line: string, { mark, length }: { mark: string; length: number }): void {
    const { palette } = this.#options
    const run = /^ {0,3}(`+|~+)\s*$/.exec(line)?.[1] ?? ''
    if (run.startsWith(mark) && run.length >= length) {
      this.#fence = undefined
      this.#write([palette.dim(run)])
    } else this.#write(codeLine(line, this.#width()))
  }

  #flush(): void {
    const block = this.#block
    if (block.length === 0) return
    this.#block = []
    this.#isList = false
    this.#blockLength = 0
    const text = block.join('\n').trimEnd()
    this.#write(markdownLines(text, this.#options.palette, this.#width()))
    if (block.at(-1) === '') this.#needsBlankLine = true
  }

  #write(lines: readonly string[]): void {
    this.#clearTail()
    const before = this.#needsBlankLine && this.#hasWritten ? '\n' : ''
    this.#needsBlankLine = false
    this.#hasWritten = true
    this.#options.write(before + lines.map((line) => `${line === '' ? '' : margin}${line}\n`).join(''))
  }

  /** The end of the text not rendered yet, so that the user sees progress. */
  #drawTail(): void {
    const { live, palette } = this.#options
    const before = this.#fence === undefined ? (this.#block.at(-1) ?? '') : ''
    const text = oneLine(`${before} ${this.#line}`.slice(-maxTail).replace(/^[\udc00-\udfff]/, ''))
    if (text === '') this.#clearTail()
    else {
      this.#hasTail = true
      live(`${margin}${palette.dim(truncateStart(text, this.#width() - 1))}`)
    }
  }

  #clearTail(): void {
    if (this.#hasTail) this.#options.live('')
    this.#hasTail = false
  }

  #width(): number {
    return Math.max(10, this.#options.columns() - margin.length)
  }
}

/** The end of a line that fits. */
function truncateStart(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  const pieces = [...graphemes.segment(text.slice(-4 * columns))].map(({ segment }) => segment)
  let width = 1
  let from = pieces.length
  while (from > 0 && width + widthOf(pieces[from - 1] ?? '') <= columns) {
    from -= 1
    width += widthOf(pieces[from] ?? '')
  }
  return `…${pieces.slice(from).join('')}`
}
