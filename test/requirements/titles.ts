const opening: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/**
 * The titles of the suites and tests in a source text. A title with placeholders is listed with every
 * text of its table; a placeholder is left as it is written.
 */
export function titlesIn(source: string): string[] {
  const titles: string[] = []
  for (let at = 0; at < source.length; ) {
    const end = skipped(source, at)
    if (end > at) {
      at = end
      continue
    }
    const word = /^(?:describe|it|test)\b/.exec(source.slice(at, at + 9))?.[0]
    if (word === undefined || /[\w$.]/.test(source[at - 1] ?? '')) {
      at++
      continue
    }
    at += word.length
    for (const text of called(source, at)) titles.push(text)
  }
  return titles
}

/** The texts in the calls that follow: `.each(table)(title, …)`, with the table's own where the title has room. */
function called(source: string, start: number): string[] {
  let at = start
  let table: string[] = []
  for (;;) {
    at = afterSpace(source, at)
    if (source[at] === '.') at = afterName(source, at + 1)
    else if (source[at] === '<') at = afterTypes(source, at)
    else if (source[at] !== '(') return []
    else {
      const first = afterSpace(source, at + 1)
      const end = skipped(source, first)
      if (isQuote(source[first])) {
        const title = unquoted(source.slice(first, end))
        return /[%$]/.test(title) ? [title, ...table] : [title]
      }
      const close = balanced(source, at)
      table = textsIn(source.slice(at + 1, close - 1))
      at = close
    }
  }
}

function textsIn(source: string): string[] {
  const texts: string[] = []
  for (let at = 0; at < source.length; ) {
    const end = skipped(source, at)
    if (end > at && isQuote(source[at])) texts.push(unquoted(source.slice(at, end)))
    at = Math.max(end, at + 1)
  }
  return texts
}

/** Where a bracket's own end is passed. */
function balanced(source: string, start: number): number {
  const open: string[] = []
  for (let at = start; at < source.length; ) {
    const end = skipped(source, at)
    if (end > at) {
      at = end
      continue
    }
    const character = source[at] ?? ''
    const close = opening[character]
    if (close !== undefined) open.push(close)
    else if (character === open.at(-1)) open.pop()
    at++
    if (open.length === 0) return at
  }
  return source.length
}

/** Past type arguments: `<[string, () => void]>`. */
function afterTypes(source: string, start: number): number {
  let depth = 0
  for (let at = start; at < source.length; at++) {
    if (source[at] === '<') depth++
    else if (source[at] === '>' && source[at - 1] !== '=' && --depth === 0) return at + 1
  }
  return source.length
}

function afterSpace(source: string, start: number): number {
  let at = start
  while (/\s/.test(source[at] ?? '')) at++
  return at
}

function afterName(source: string, start: number): number {
  let at = start
  while (/[\w$]/.test(source[at] ?? '')) at++
  return at
}

/** Past a text, a comment or a regular expression that begins here; the same place where none does. */
function skipped(source: string, at: number): number {
  const character = source[at]
  if (isQuote(character)) return afterText(source, at)
  if (character !== '/') return at
  if (source[at + 1] === '/') return endOr(source, source.indexOf('\n', at))
  if (source[at + 1] === '*') return endOr(source, source.indexOf('*/', at) + 2)
  const before =
    source
      .slice(Math.max(0, at - 40), at)
      .trimEnd()
      .at(-1) ?? '('
  return '(,=:[!&|?{;'.includes(before) ? afterPattern(source, at) : at
}

function endOr(source: string, end: number): number {
  return end <= 1 ? source.length : end
}

function afterText(source: string, start: number): number {
  const quote = source[start]
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === quote) return at + 1
    else if (quote === '`' && source[at] === '$' && source[at + 1] === '{') at = balanced(source, at + 1) - 1
  }
  return source.length
}

function afterPattern(source: string, start: number): number {
  let inClass = false
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '[') inClass = true
    else if (source[at] === ']') inClass = false
    else if (source[at] === '/' && !inClass) return afterName(source, at + 1)
  }
  return source.length
}

function isQuote(character: string | undefined): boolean {
  return character === "'" || character === '"' || character === '`'
}

function unquoted(literal: string): string {
  return literal.slice(1, -1).replace(/\\(.)/gs, '$1')
}
