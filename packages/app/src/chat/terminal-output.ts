import type { TextStream } from '../cli/io.ts'
import { visibleText } from '../forms/typed-text.ts'
import { widthOf } from '../output/width.ts'
import type { TerminalLock } from './terminal-lock.ts'

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
 * mixes with output. While a question is on the screen, output waits.
 */
export class TerminalOutput {
  readonly #stream: TextStream & { rows?: number }
  /** The unfinished last line of the output. */
  #partial = ''
  #input: InputView | undefined
  /** Rows between the first redrawn row and the cursor. */
  #rowsAbove = 0
  readonly #lock: TerminalLock
  #waiting: (() => void)[] = []
  /** The unfinished Markdown block: redrawn with every piece, and rendered in full once it is complete. */
  #block = ''
  /** The line for work in progress, redrawn below each notice. */
  #liveLine = ''

  constructor(stream: TextStream & { rows?: number }, lock: TerminalLock) {
    this.#stream = stream
    this.#lock = lock
  }

  get columns(): number {
    return this.#stream.columns ?? 80
  }

  /** Writes text that is safe to print, above the unfinished block or the line for work in progress. */
  write(text: string): void {
    this.#whenFree(() => {
      const last = this.#liveLine === '' ? this.#block : this.#liveLine
      if (last !== '') this.#replaceLine('', false)
      this.#append(text)
      if (last !== '' && text.endsWith('\n')) this.#replaceLine(last, false)
    })
  }

  /** Writes a complete block in place of the unfinished one. */
  writeBlock(text: string): void {
    this.#whenFree(() => {
      this.#clearBlock()
      this.write(text)
    })
  }

  /** Draws the unfinished block. During a question it is left out: the next piece draws it. */
  showBlock(line: string): void {
    if (this.#lock.isLocked) return
    this.#block = line
    this.#replaceLine(line, false)
  }

  /** Draws the line for work in progress. During a question it is left out, unless it remains, with `over`. */
  showLive(line: string, over: boolean): void {
    this.#liveLine = over ? '' : line
    if (over || !this.#lock.isLocked) this.#whenFree(() => this.#replaceLine(line, over))
  }

  /** Stops redrawing the line for work in progress. */
  endLive(): void {
    this.#liveLine = ''
  }

  /** Ends the unfinished line, so that other drawing code starts on its own line. */
  endLine(): void {
    this.#clearBlock()
    if (this.#partial !== '') this.#append('\n')
  }

  /** Shows an input below the output, or removes it. */
  show(input: InputView | undefined): void {
    if (input === undefined && this.#input === undefined) return
    // Without an input, the cursor is at the end of the unfinished line.
    if (this.#input === undefined) this.#rowsAbove = rowsOf(this.#partial, this.columns) - 1
    this.#input = input
    this.#draw(this.#partial)
  }

  /** Runs the function now, or when no question is on the screen. */
  #whenFree(work: () => void): void {
    if (!this.#lock.isLocked) {
      work()
      return
    }
    if (this.#waiting.length === 0) {
      this.#lock.whenFree().then(() => {
        for (const one of this.#waiting.splice(0)) this.#whenFree(one)
      })
    }
    this.#waiting.push(work)
  }

  #append(text: string): void {
    const before = this.#partial
    const end = text.lastIndexOf('\n')
    this.#partial = end === -1 ? before + text : text.slice(end + 1)
    if (this.#input === undefined) this.#stream.write(text)
    else this.#draw(before + text)
  }

  /** Replaces the unfinished line; with `over`, ends it. */
  #replaceLine(line: string, over: boolean): void {
    const before = this.#partial
    this.#partial = over ? '' : line
    const text = `${line}${over ? '\n' : ''}`
    if (this.#input === undefined) this.#stream.write(`${before === '' ? '' : '\r\u001b[K'}${text}`)
    else this.#draw(text)
  }

  #clearBlock(): void {
    if (this.#block !== '') this.#replaceLine('', false)
    this.#block = ''
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
