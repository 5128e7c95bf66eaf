import stringWidth from 'fast-string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Terminal columns of a line of text, without its ANSI sequences. */
export function widthOf(text: string): number {
  return stringWidth(text)
}

/** Breaks text into lines of at most `columns`, at spaces if possible. Line feeds are kept. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, columns))
}

function wrapLine(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line]
  const indent = /^\s*/.exec(line)?.[0].slice(0, Math.floor(columns / 2)) ?? ''
  const lines: string[] = []
  let current = indent
  let empty = true
  for (const word of line.slice(indent.length).split(' ')) {
    const joined = empty ? current + word : `${current} ${word}`
    if (widthOf(joined) <= columns) {
      current = joined
      empty = false
      continue
    }
    if (!empty) lines.push(current)
    const pieces = splitWord(word, columns - indent.length)
    lines.push(...pieces.slice(0, -1).map((piece) => indent + piece))
    current = indent + (pieces.at(-1) ?? '')
    empty = false
  }
  return [...lines, current]
}

function splitWord(word: string, columns: number): string[] {
  const pieces = ['']
  let width = 0
  for (const { segment } of graphemes.segment(word)) {
    const more = widthOf(segment)
    if (width + more > columns) {
      pieces.push('')
      width = 0
    }
    pieces[pieces.length - 1] += segment
    width += more
  }
  return pieces
}
