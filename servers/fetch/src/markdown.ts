import { readHtml } from './html-events.ts'

/** Writes sanitized HTML as Markdown, or as plain text, in one pass and without recursion. */

/** An open element whose content is collected separately. */
interface Frame {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  /** Finished blocks. */
  readonly blocks: string[]
  /** Parts of the text of the current block. An array, because the end of a concatenated string is slow to read. */
  inline: string[]
  /** The finished cells of a `tr`. */
  readonly cells: string[]
  /** The finished rows of a `table`. */
  readonly rows: string[][]
  /** The number of the next item of a list. */
  item: number
  /** The language of preformatted text. */
  language: string | undefined
}

const inlineMarks: Readonly<Record<string, string>> = {
  b: '**',
  strong: '**',
  i: '*',
  em: '*',
  del: '~~',
  s: '~~',
  strike: '~~',
}
const blockTags = new Set(
  'address article aside blockquote body caption dd details dialog div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
)
/** Maximum depth of lists and quotes, because each level adds a prefix to every line. */
const maxPrefixes = 12
const maxColumns = 50

/** Converts sanitized HTML. @param isPlain plain text, without links and formatting */
export function toMarkdown(html: string, isPlain = false): string {
  const writer = new Writer(isPlain)
  readHtml(html, {
    open(name, attributes) {
      writer.open(name, attributes)
      return true
    },
    text: (text) => writer.text(text),
    close: (name) => writer.close(name),
  })
  return writer.end()
}

class Writer {
  readonly #isPlain: boolean
  readonly #root = frameOf('root')
  readonly #frames: Frame[] = [this.#root]
  /** Whether each open element has a frame. */
  readonly #open: boolean[] = []
  #prefixes = 0
  /** Number of open `pre` and `code` elements. Text in them is not escaped; in `pre`, white space is kept. */
  #pre = 0
  #code = 0
  #heads = 0

  constructor(isPlain: boolean) {
    this.#isPlain = isPlain
  }

  get #top(): Frame {
    return this.#frames.at(-1) ?? this.#root
  }

  open(tag: string, attributes: Record<string, string>): void {
    if (tag === 'head') this.#heads++
    if (blockTags.has(tag) && this.#pre === 0) flush(this.#top)
    if (tag === 'br') this.#break()
    if (tag === 'hr') this.#top.blocks.push('---')
    if (tag === 'img') this.#image(attributes)
    if (this.#pre > 0) this.#top.language ??= languageIn(attributes)
    const hasFrame = this.#hasFrame(tag)
    this.#open.push(hasFrame)
    if (!hasFrame) return
    if (isPrefixed(tag)) this.#prefixes++
    if (tag === 'pre') this.#pre++
    if (tag === 'code') this.#code++
    this.#frames.push(frameOf(tag, attributes))
  }

  text(text: string): void {
    if (this.#heads > 0) return
    const top = this.#top
    if (this.#pre > 0) {
      top.inline.push(text)
      return
    }
    const collapsed = text.replace(/[ \t\n\r\f]+/g, ' ')
    const end = endOf(top)
    const isStart = end === '' ? !isInline(top.tag) : /[ \n]/.test(end)
    const added = isStart ? collapsed.replace(/^ /, '') : collapsed
    append(top, this.#isPlain || this.#code > 0 ? added : escapeMarkdown(added))
  }

  close(tag: string): void {
    if (tag === 'head') this.#heads--
    const hasFrame = this.#open.pop()
    if (hasFrame !== true) {
      if (blockTags.has(tag) && this.#pre === 0) flush(this.#top)
      return
    }
    const frame = this.#frames.pop()
    if (frame === undefined) return
    if (isPrefixed(tag)) this.#prefixes--
    if (tag === 'pre') this.#pre--
    if (tag === 'code') this.#code--
    this.#write(frame)
  }

  end(): string {
    flush(this.#root)
    return this.#root.blocks.join('\n\n')
  }

  /** Whether an element gets a frame. The content of other elements belongs to the frame around them. */
  #hasFrame(tag: string): boolean {
    if (this.#pre > 0) return false
    const { tag: parent } = this.#top
    const isWithin = (name: string): boolean => this.#frames.some((frame) => frame.tag === name)
    if (isPrefixed(tag)) return this.#prefixes < maxPrefixes
    if (tag === 'li') return parent === 'ul' || parent === 'ol'
    if (tag === 'tr') return parent === 'table'
    if (tag === 'td' || tag === 'th') return parent === 'tr'
    if (tag === 'table' || tag === 'a' || tag === 'pre' || tag === 'code') return !isWithin(tag)
    if (isHeading(tag)) return !this.#frames.some((frame) => isHeading(frame.tag))
    const mark = inlineMarks[tag]
    if (mark === undefined || this.#isPlain || this.#code > 0) return false
    return !this.#frames.some((frame) => inlineMarks[frame.tag] === mark)
  }

  #write(frame: Frame): void {
    const top = this.#top
    const { tag, blocks } = frame
    if (isInline(tag)) {
      this.#writeInline(frame)
      return
    }
    if (tag !== 'pre') flush(frame)
    if (tag === 'pre') this.#writePre(frame)
    else if (tag === 'table') for (const block of tableOf(frame, this.#isPlain)) top.blocks.push(block)
    else if (tag === 'tr') top.rows.push(frame.cells)
    else if (tag === 'td' || tag === 'th') top.cells.push(oneLine(blocks.join(' ')))
    else if (tag === 'li') this.#writeItem(frame)
    else if (blocks.length === 0) return
    else if (tag === 'blockquote') top.blocks.push(prefixed(blocks.join('\n\n'), '> ', '> '))
    else if (isHeading(tag)) {
      const text = oneLine(blocks.join(' '))
      top.blocks.push(this.#isPlain ? text : `${'#'.repeat(Number(tag.slice(1)))} ${text}`)
    } else top.blocks.push(blocks.join('\n'))
  }

  #writeInline({ tag, blocks, inline, attributes }: Frame): void {
    const top = this.#top
    const content = [...blocks, inline.join('')].join(' ')
    const text = content.trim()
    const space = (edge: string): string => (/\s/.test(edge) ? ' ' : '')
    const before = /^\s?$/.test(endOf(top)) ? '' : space(content.slice(0, 1))
    const after = text === '' ? '' : space(content.slice(-1))
    append(top, before + (text === '' ? '' : this.#marked(tag, text, attributes)) + after)
  }

  #marked(tag: string, text: string, { href }: Frame['attributes']): string {
    if (this.#isPlain) return text
    if (tag === 'code') return inlineCode(text)
    if (tag === 'a') return href === undefined ? text : `[${oneLine(text)}](${escapeUrl(href)})`
    const mark = inlineMarks[tag] ?? ''
    return mark + text + mark
  }

  #writeItem({ blocks }: Frame): void {
    const list = this.#top
    if (blocks.length === 0) return
    const start = Number.parseInt(list.attributes['start'] ?? '1', 10)
    if (list.item === 0) list.item = start > 0 ? start : 1
    const marker = list.tag === 'ol' ? `${list.item++}. ` : '- '
    const text = blocks.reduce(
      (before, block) => before + (/^(?:- |\d+\. )/.test(block) ? '\n' : '\n\n') + block,
    )
    list.blocks.push(prefixed(text, marker, ' '.repeat(marker.length)))
  }

  #writePre({ inline, language, attributes }: Frame): void {
    const text = inline.join('').replace(/^\n/, '').trimEnd()
    if (text === '') return
    const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
    const info = languageIn(attributes) ?? language ?? ''
    this.#top.blocks.push(this.#isPlain ? text : `${fence}${info}\n${text}\n${fence}`)
  }

  #break(): void {
    const { inline } = this.#top
    const last = inline.pop()
    if (this.#pre > 0) inline.push(last ?? '', '\n')
    else if (last !== undefined) inline.push(last.trimEnd(), this.#isPlain ? '\n' : '  \n')
  }

  #image({ src, alt }: Readonly<Record<string, string>>): void {
    const text = oneLine(alt ?? '')
    if (this.#isPlain || this.#pre > 0 || src === undefined) this.text(text)
    else append(this.#top, `![${escapeMarkdown(text)}](${escapeUrl(src)})`)
  }
}

function frameOf(tag: string, attributes: Record<string, string> = {}): Frame {
  return { tag, attributes, blocks: [], inline: [], cells: [], rows: [], item: 0, language: undefined }
}

function append({ inline }: Frame, text: string): void {
  if (text !== '') inline.push(text)
}

/** The last character of the current block; empty if there is none. */
function endOf({ inline }: Frame): string {
  return inline.at(-1)?.slice(-1) ?? ''
}

/** Ends the current block. */
function flush(frame: Frame): void {
  const text = frame.inline.join('').trim()
  frame.inline = []
  if (text !== '') frame.blocks.push(isInline(frame.tag) ? text : escapeStart(text))
}

function isInline(tag: string): boolean {
  return tag === 'a' || tag === 'code' || inlineMarks[tag] !== undefined
}

function isHeading(tag: string): boolean {
  return /^h[1-6]$/.test(tag)
}

function languageIn(attributes: Readonly<Record<string, string>>): string | undefined {
  return /(?:^|\s)(?:language|lang)-([\w+#-]{1,30})/.exec(attributes['class'] ?? '')?.[1]
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function isPrefixed(tag: string): boolean {
  return tag === 'ul' || tag === 'ol' || tag === 'blockquote'
}

/** The blocks of a table: a Markdown table, or one block per cell if it has a single column (a layout table). */
function tableOf({ rows, blocks }: Frame, isPlain: boolean): string[] {
  const columns = Math.min(
    maxColumns,
    rows.reduce((max, { length }) => Math.max(max, length), 0),
  )
  if (isPlain)
    return [...blocks, rows.map((row) => row.join('\t')).join('\n')].filter((block) => block !== '')
  if (columns < 2) return [...blocks, ...rows.flat().filter((cell) => cell !== '')]
  const line = (cells: readonly string[]): string =>
    `| ${Array.from({ length: columns }, (_, at) => (cells[at] ?? '').replaceAll('|', '\\|')).join(' | ')} |`
  const [first = [], ...others] = rows
  return [
    ...blocks,
    [line(first), line(Array.from({ length: columns }, () => '---')), ...others.map(line)].join('\n'),
  ]
}

function prefixed(text: string, first: string, others: string): string {
  return text
    .split('\n')
    .map((line, at) => (at === 0 ? first : line === '' ? others.trimEnd() : others) + line)
    .join('\n')
}

/** Inline code with a delimiter that is longer than any run of backticks in it. */
function inlineCode(text: string): string {
  const ticks = '`'.repeat(longestRun(text) + 1)
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
  return ticks + space + text + space + ticks
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((max, { length }) => Math.max(max, length), 0)
}

/** Escapes characters that are markup anywhere in a text. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*[\]<]/g, '\\$&').replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
}

/** Escapes characters that are markup at the start of a block. */
function escapeStart(text: string): string {
  return text
    .replace(/^(#{1,6}(?=\s)|[-+](?=\s)|>|~~~|[-=]{3,}(?=\s|$))/, '\\$1')
    .replace(/^(\d{1,9})([.)])(?=\s)/, '$1\\$2')
}

function escapeUrl(url: string): string {
  return url.replace(
    /[()<>\s\\]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
