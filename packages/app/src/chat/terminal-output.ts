import type { TextStream } from '../cli/io.ts'
import { visibleText } from '../forms/typed-text.ts'
import { widthOf } from '../output/width.ts'

/** The input below the output: its lines, each with a prompt, and the cursor position. */
export interface InputView {
  /** Lines above the input, such as queued messages. Each must fit or be cut. */
  readonly above: readonly string[]
  readonly prompt: string
  readonly text: string
  /** Cursor position in `text`, in UTF-16 units. */
  readonly cursor: number
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
/** Input rows shown at once. */
const maxRows = 12

/**
 * Output above an input. The unfinished last line of the output and the input are redrawn together, so that typed text never
 * mixes with output.
 */
export class TerminalOutput {
  readonly #stream: TextStream & { rows?: number }
  /** The unfinished last line of the output. */
  #partial = ''
  #input: InputView | undefined
  /** Rows between the first redrawn row and the cursor. */
  #rowsAbove = 0

  constructor(stream: TextStream & { rows?: number }) {
    this.#stream = stream
  }

  get columns(): number {
    return this.#stream.columns ?? 80
  }

  /** Writes text that is safe to print. */
  write(text: string): void {
    const before = this.#partial
    this.#trackPartial(text)
    if (this.#input === undefined) this.#stream.write(text)
    else this.#draw(before + text)
  }

  /** Replaces the unfinished line; with `over`, ends it. */
  replaceLine(line: string, over: boolean): void {
    const before = this.#partial
    this.#partial = over ? '' : line
    const text = `${line}${over ? '\n' : ''}`
    if (this.#input === undefined) this.#stream.write(`${before === '' ? '' : '\r\u001b[K'}${text}`)
    else this.#draw(text)
  }

  /** Ends the unfinished line, so that other drawing code starts on its own line. */
  endLine(): void {
    if (this.#partial !== '') this.write('\n')
  }

  /** Shows an input below the output, or removes it. */
  show(input: InputView | undefined): void {
    if (input === undefined && this.#input === undefined) return
    // Without an input, the cursor is at the end of the unfinished line.
    if (this.#input === undefined) this.#rowsAbove = rowsOf(this.#partial, this.columns) - 1
    this.#input = input
    this.#draw(this.#partial)
  }

  #trackPartial(text: string): void {
    const end = text.lastIndexOf('\n')
    this.#partial = end === -1 ? this.#partial + text : text.slice(end + 1)
  }

  /** Draws `text` from the start of the unfinished line, and the input below it. */
  #draw(text: string): void {
    const head = `\u001b[?25l${this.#rowsAbove === 0 ? '' : `\u001b[${this.#rowsAbove}A`}\r\u001b[J`
    const input = this.#input
    if (input === undefined) {
      this.#stream.write(`${head}${text}\u001b[?25h`)
      this.#rowsAbove = 0
      return
    }
    const screen = this.#stream.rows ?? 24
    const { lines, cursor } = layOut(input, this.columns, Math.max(1, screen - 4))
    let partialRows = this.#partial === '' ? 0 : rowsOf(this.#partial, this.columns)
    let gap = partialRows === 0 ? '' : '\r\n'
    // A line that does not fit above the input cannot be redrawn, so it ends here.
    if (partialRows + lines.length >= screen) {
      this.#partial = ''
      partialRows = 0
      gap = '\r\n'
    }
    const back = lines.length - 1 - cursor.row
    const place = `${back > 0 ? `\u001b[${back}A` : ''}\r${cursor.column > 0 ? `\u001b[${cursor.column}C` : ''}`
    this.#stream.write(`${head}${text}${gap}${lines.join('\r\n')}${place}\u001b[?25h`)
    this.#rowsAbove = partialRows + cursor.row
  }
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(widthOf(line) / columns))
}

/** The rows of an input and the cursor position; when there are too many, only those around the cursor. */
function layOut(
  { above, prompt, text, cursor: offset }: InputView,
  columns: number,
  room: number,
): { lines: string[]; cursor: { row: number; column: number } } {
  const indent = widthOf(prompt)
  const rows: string[] = [prompt]
  let width = indent
  let cursor = { row: 0, column: indent }
  const margin = ' '.repeat(indent)
  let position = 0
  for (const { segment } of graphemes.segment(text)) {
    if (position === offset) cursor = { row: rows.length - 1, column: width }
    position += segment.length
    if (segment === '\n') {
      rows.push(margin)
      width = indent
      continue
    }
    const shown = visibleText(segment)
    // The last column stays free for the cursor.
    if (width + widthOf(shown) > columns - 1 && width > indent) {
      rows.push(margin)
      width = indent
      if (position - segment.length === offset) cursor = { row: rows.length - 1, column: width }
    }
    rows[rows.length - 1] += shown
    width += widthOf(shown)
  }
  if (offset >= position) cursor = { row: rows.length - 1, column: width }
  const maxShownRows = Math.max(1, Math.min(maxRows, room - above.length))
  const from = Math.max(0, Math.min(cursor.row - Math.floor(maxShownRows / 2), rows.length - maxShownRows))
  return {
    lines: [...above, ...rows.slice(from, from + maxShownRows)],
    cursor: { row: above.length + cursor.row - from, column: Math.min(cursor.column, columns - 1) },
  }
}
