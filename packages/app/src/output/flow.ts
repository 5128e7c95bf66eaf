import { stripVTControlCharacters } from 'node:util'
import { widthOf } from './width.ts'

/** The destination of wrapped text, and its width. */
export interface FlowOptions {
  write(text: string): void
  /** The current width; undefined when lines are not wrapped. */
  columns(): number | undefined
  /** Indent of every line, so that no line of this text looks like one of the program. Default 0. */
  indent?: number
  /** Indent of continuation lines. Default 0; in a list, the indent of the item's text. */
  hang?: number
}

/** Wraps streamed text at words. Code blocks keep their lines. */
export interface Flow {
  push(text: string): void
  /** Writes buffered text. Returns whether the last line is still open. */
  end(): boolean
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const marker = /^(?:[-*+•]|\d{1,3}[.)])$/

/** Creates a flow. Only an unfinished word is buffered. */
export function createFlow({ write, columns, indent = 0, hang = 0 }: FlowOptions): Flow {
  const baseHang = ' '.repeat(hang)
  const margin = ' '.repeat(indent)
  let word = ''
  let gap = ''
  let line = ''
  let width = 0
  let hanging = baseHang
  let isCode = false

  const room = (): number => {
    const all = columns()
    return all === undefined ? Number.POSITIVE_INFINITY : Math.max(10, all - indent)
  }

  function append(text: string): void {
    if (text === '') return
    write(line === '' ? margin + text : text)
    line += text
    width += widthOf(stripVTControlCharacters(text))
  }

  function breakLine(): void {
    write('\n')
    line = ''
    width = 0
  }

  /** A text without spaces, on as many lines as it needs. */
  function appendUnbroken(text: string): void {
    if (width + widthOf(stripVTControlCharacters(text)) <= room()) {
      append(text)
      return
    }
    for (const { segment } of graphemes.segment(text)) {
      if (width > 0 && width + widthOf(segment) > room()) {
        breakLine()
        if (!isCode) append(hanging)
      }
      append(segment)
    }
  }

  function flush(): void {
    if (word === '') return
    const taken = widthOf(stripVTControlCharacters(word))
    if (line.trim() !== '' && width + gap.length + taken > room()) {
      breakLine()
      append(hanging)
    } else append(gap)
    if (line.trim() === '') {
      const steps = marker.test(word) ? word.length + 1 : 0
      const depth = Math.min(line.length + steps, Math.floor(Math.min(room(), 80) / 2))
      if (hanging === baseHang || line === '') hanging = ' '.repeat(Math.max(depth, hang))
    }
    gap = ''
    appendUnbroken(word)
    word = ''
  }

  function endLine(): void {
    if (!isCode) flush()
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode
    gap = ''
    hanging = baseHang
    breakLine()
  }

  return {
    push(text) {
      for (const { segment } of graphemes.segment(text)) {
        if (segment === '\n') endLine()
        else if (isCode) appendUnbroken(segment === '\t' ? '    ' : segment)
        else if (segment === ' ' || segment === '\t') {
          flush()
          gap += segment === ' ' ? ' ' : '    '
        } else if (widthOf(segment) > 1) {
          flush()
          word = segment
          flush()
        } else word += segment
      }
    },
    end() {
      flush()
      return line !== ''
    },
  }
}

/** Wraps a whole text, without a line feed at its end. */
export function wrapText(text: string, columns: number | undefined, indent = 0, hang = 0): string {
  let written = ''
  const write = (piece: string): void => {
    written += piece
  }
  const flow = createFlow({ write, columns: () => columns, indent, hang })
  flow.push(text)
  flow.end()
  return written
}

/** The start of one line that fits, with `…` if text is omitted. */
export function truncate(text: string, columns: number | undefined): string {
  if (columns === undefined || widthOf(text) <= columns) return text
  let start = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment)
    if (width > columns - 1) break
    start += segment
  }
  return `${start}…`
}
