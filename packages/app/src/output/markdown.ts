import { lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import type { Palette } from './palette.ts'
import { oneLine, plain } from './sanitize.ts'
import { table } from './table.ts'
import { widthOf } from './width.ts'

type Style = (text: string) => string

/** A text in one style. */
interface Span {
  readonly text: string
  readonly style: Style
}

interface Context {
  readonly palette: Palette
  /** Line width. */
  readonly columns: number
  /** Nesting depth of lists and quotes. */
  readonly depth: number
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const unstyled: Style = (text) => text
/** Deeper nesting is printed as written. */
const maxDepth = 8
const minColumns = 10
/** Maximum nesting that is parsed: the parser needs stack and time for each level. */
const deepNesting = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){20}/m
const ruleColumns = 40
const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
}

/**
 * Renders a Markdown text to terminal lines of at most `columns`, all safe to print. Link destinations are always shown. Without
 * colours, marks such as `**` stay. Text that cannot be parsed is printed as written.
 */
export function markdownLines(text: string, palette: Palette, columns: number): string[] {
  const context = { palette, columns: Math.max(minColumns, columns), depth: 0 }
  if (deepNesting.test(text)) return rawLines(text, context)
  try {
    return blocks(lexer(text), context)
  } catch {
    // The parser is recursive, and deep nesting can overflow the stack.
    return rawLines(text, context)
  }
}

function blocks(tokens: readonly Token[], context: Context): string[] {
  const lines: string[] = []
  let gap = false
  for (const token of tokens) {
    if (token.type === 'space') {
      gap = true
      continue
    }
    if (gap && lines.length > 0) lines.push('')
    gap = /\n\n$/.test(token.raw)
    // One line at a time: spreading very many would overflow the stack.
    for (const line of block(token, context)) lines.push(line)
  }
  return lines
}

function block(token: Token, context: Context): string[] {
  const { palette, columns, depth } = context
  if (!isKnown(token) || depth > maxDepth || columns < minColumns) return rawLines(token.raw, context)
  switch (token.type) {
    case 'heading': {
      const marks = '#'.repeat(token.depth)
      const strong: Style = token.depth === 1 ? (text) => palette.bold(palette.underline(text)) : palette.bold
      const spans = inline(token.tokens, strong, context)
      return wrapSpans(palette.isColorSupported ? spans : [span(`${marks} `), ...spans], columns)
    }
    case 'paragraph':
      return wrapSpans(inline(token.tokens, unstyled, context), columns)
    case 'text':
      return wrapSpans(inline(token.tokens ?? [token], unstyled, context), columns)
    case 'checkbox':
      return [token.checked ? '[x]' : '[ ]']
    case 'code': {
      const fence = token.raw.trimStart().slice(0, 3)
      const isFenced = fence === '```' || fence === '~~~'
      const body = token.text.split('\n').map((line) => (isFenced ? line : `    ${line}`))
      return [
        ...(isFenced ? [palette.dim(`${fence}${token.lang ?? ''}`)] : []),
        ...body.flatMap((line) => codeLine(line, columns)),
        ...(isFenced ? [palette.dim(fence)] : []),
      ]
    }
    case 'blockquote':
      return blocks(token.tokens, { ...context, columns: columns - 2, depth: depth + 1 }).map((line) =>
        `${palette.dim('│')} ${line}`.trimEnd(),
      )
    case 'list':
      return listLines(token, context)
    case 'table':
      return tableLines(token, context)
    case 'hr':
      return [palette.dim('─'.repeat(Math.min(columns, ruleColumns)))]
    default:
      // HTML and link definitions are printed as written.
      return rawLines(token.raw, context)
  }
}

const types: ReadonlySet<string> = new Set<MarkedToken['type']>([
  'blockquote',
  'br',
  'checkbox',
  'code',
  'codespan',
  'def',
  'del',
  'em',
  'escape',
  'heading',
  'hr',
  'html',
  'image',
  'link',
  'list',
  'list_item',
  'paragraph',
  'space',
  'strong',
  'table',
  'text',
])

/** Whether the token is from the parser itself, not from an extension. */
function isKnown(token: Token): token is MarkedToken {
  return types.has(token.type)
}

function listLines({ items, ordered, start, loose }: Tokens.List, context: Context): string[] {
  const lines: string[] = []
  for (const [n, { tokens }] of items.entries()) {
    const marker = ordered ? `${Number(start) + n}. ` : '- '
    const margin = ' '.repeat(marker.length)
    const columns = context.columns - marker.length
    const own = itemTokens(tokens)
    const body = blocks(own, { ...context, columns, depth: context.depth + 1 })
    if (loose && lines.length > 0) lines.push('')
    for (const [at, line] of (body.length === 0 ? [''] : body).entries())
      lines.push(`${at === 0 ? marker : margin}${line}`.trimEnd())
  }
  return lines
}

/** The checkbox of a task, on the line of its text. */
function itemTokens(tokens: readonly Token[]): Token[] {
  const [box, text, ...rest] = tokens
  if (box?.type !== 'checkbox' || text === undefined || !('tokens' in text) || text.tokens === undefined)
    return [...tokens]
  return [{ ...text, tokens: [box, ...text.tokens] }, ...rest]
}

function tableLines({ header, rows }: Tokens.Table, context: Context): string[] {
  const { palette, columns } = context
  const cell = ({ tokens }: Tokens.TableCell): string =>
    oneLine(
      inline(tokens, unstyled, { ...context, palette: { ...palette, isColorSupported: true } })
        .map(({ text }) => text)
        .join(''),
    )
  const cells = rows.map((row) => row.map(cell))
  return table(header.map(cell), cells, { palette, columns }).split('\n')
}

function inline(tokens: readonly Token[], style: Style, context: Context): Span[] {
  return tokens.flatMap((token) => inlineSpans(token, style, context))
}

function inlineSpans(token: Token, style: Style, context: Context): Span[] {
  const { palette } = context
  const markedSpans = (mark: string, added: Style): Span[] => {
    const inner = 'tokens' in token && token.tokens !== undefined ? token.tokens : []
    const spans = inline(inner, (text) => added(style(text)), context)
    return palette.isColorSupported ? spans : [span(mark), ...spans, span(mark)]
  }
  if (!isKnown(token)) return [{ text: token.raw, style }]
  switch (token.type) {
    case 'strong':
      return markedSpans('**', palette.bold)
    case 'em':
      return markedSpans('*', palette.italic)
    case 'del':
      return markedSpans('~~', palette.strikethrough)
    case 'codespan': {
      const { text } = token
      return [palette.isColorSupported ? { text, style: (own) => palette.cyan(style(own)) } : span(token.raw)]
    }
    case 'br':
      return [span('\n')]
    case 'checkbox':
      return [span(token.checked ? '[x] ' : '[ ] ')]
    case 'link':
      return linkSpans(token, style, context)
    case 'image': {
      const { text, href } = token
      return [{ text: `[image: ${text}] `, style }, ...destination(href, palette)]
    }
    case 'escape':
      return [{ text: token.text, style }]
    case 'text': {
      const { text, tokens } = token
      if (tokens !== undefined) return inline(tokens, style, context)
      return [
        {
          text: text.replaceAll(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity),
          style,
        },
      ]
    }
    default:
      return [{ text: token.raw, style }]
  }
}

/** The text and the link destination; once if both are the same. */
function linkSpans({ href, title, text, tokens }: Tokens.Link, style: Style, context: Context): Span[] {
  const { palette } = context
  if (text === href || `mailto:${text}` === href)
    return [{ text, style: (own) => palette.underline(style(own)) }]
  const about = title === null || title === undefined || title === '' ? '' : ` "${title}"`
  return [
    ...inline(tokens, (own) => palette.underline(style(own)), context),
    span(' '),
    ...destination(`${href}${about}`, palette),
  ]
}

function destination(href: string, palette: Palette): Span[] {
  return [{ text: `(${href})`, style: palette.dim }]
}

function span(text: string): Span {
  return { text, style: unstyled }
}

/** Spans as lines, broken at spaces if possible. Styles start and end on each line. */
function wrapSpans(spans: readonly Span[], columns: number): string[] {
  const lines: Span[][] = [[]]
  let width = 0
  let gap: Span | undefined
  const breakLine = (): void => {
    lines.push([])
    width = 0
    gap = undefined
  }
  const append = (piece: Span): void => {
    lines.at(-1)?.push(piece)
    width += widthOf(piece.text)
  }
  const word = (pieces: readonly Span[]): void => {
    const needed = pieces.reduce((sum, { text }) => sum + widthOf(text), 0)
    if (width > 0 && width + (gap === undefined ? 0 : widthOf(gap.text)) + needed > columns) breakLine()
    else if (gap !== undefined && width > 0) append(gap)
    gap = undefined
    if (needed <= columns) {
      for (const piece of pieces) append(piece)
      return
    }
    for (const { text, style } of pieces) {
      for (const { segment } of graphemes.segment(text)) {
        if (width + widthOf(segment) > columns) breakLine()
        append({ text: segment, style })
      }
    }
  }
  let pieces: Span[] = []
  const endWord = (): void => {
    if (pieces.length > 0) word(pieces)
    pieces = []
  }
  for (const { text, style } of spans) {
    // The parser decodes entities, so the text must be sanitized again.
    for (const part of plain(text)
      .replaceAll('\t', '    ')
      .split(/(\n| +)/)) {
      if (part === '') continue
      if (part === '\n') {
        endWord()
        breakLine()
      } else if (part.startsWith(' ')) {
        endWord()
        gap = { text: part, style }
      } else pieces.push({ text: part, style })
    }
  }
  endWord()
  return lines.map(joinSpans)
}

/** Adjacent spans of one style are styled together. */
function joinSpans(line: readonly Span[]): string {
  const joined: { text: string; style: Style }[] = []
  for (const { text, style } of line) {
    const last = joined.at(-1)
    if (last?.style === style) last.text += text
    else joined.push({ text, style })
  }
  return joined.map(({ text, style }) => (style === unstyled ? text : style(text))).join('')
}

function rawLines(text: string, { columns }: Context): string[] {
  return text
    .replace(/\n+$/, '')
    .split('\n')
    .flatMap((line) => wrapSpans([span(line)], columns))
}

/** A line of code: spaces are kept, and long lines continue on the next. */
export function codeLine(line: string, columns: number): string[] {
  const lines = ['']
  let width = 0
  for (const { segment } of graphemes.segment(plain(line).replaceAll(/[\t\n]/g, '    '))) {
    const more = widthOf(segment)
    if (width + more > columns && width > 0) {
      lines.push('')
      width = 0
    }
    lines[lines.length - 1] += segment
    width += more
  }
  return lines
}
