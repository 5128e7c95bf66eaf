import type { Path } from './problem.ts'

/** The line of every key that a TOML document sets, by its path as JSON. Keys inside inline tables are left out. */
export function tomlLines(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  const counts = new Map<string, number>()
  let table: Path = []
  let line = 1
  let at = 0
  const note = (path: Path): void => {
    const key = JSON.stringify(path)
    if (!found.has(key)) found.set(key, line)
  }
  while (at < text.length) {
    const end = endOfStatement(text, at)
    const statement = text.slice(at, end)
    const header = /^\s*\[(\[?)([^\n]*?)\]/.exec(statement)
    if (header !== null) {
      table = keysOf(header[2] ?? '')
      if (header[1] === '[') {
        const key = JSON.stringify(table)
        const index = counts.get(key) ?? 0
        counts.set(key, index + 1)
        table = [...table, index]
      }
      note(table)
    } else {
      const keys = keysOf(statement.slice(0, assignment(statement)))
      if (keys.length > 0 && !/^\s*(#|$)/.test(statement)) note([...table, ...keys])
    }
    line += statement.split('\n').length
    at = end + 1
  }
  return found
}

/** Where the line feed stands that ends a statement: not one inside a text or a list. */
function endOfStatement(text: string, from: number): number {
  let depth = 0
  let at = from
  const begins = text.slice(from).search(/\S/)
  const header = begins !== -1 && text[from + begins] === '['
  while (at < text.length) {
    const character = text[at]
    if (character === '\n' && (depth <= 0 || header)) return at
    if (character === '#') {
      const end = text.indexOf('\n', at)
      at = end === -1 ? text.length : end
      continue
    }
    if (character === '"' || character === "'") {
      at = endOfText(text, at, character)
      continue
    }
    if (character === '[' || character === '{') depth++
    if (character === ']' || character === '}') depth--
    at++
  }
  return text.length
}

function endOfText(text: string, from: number, quote: string): number {
  const long = text.startsWith(quote.repeat(3), from)
  const closing = long ? quote.repeat(3) : quote
  let at = from + closing.length
  while (at < text.length) {
    if (quote === '"' && text[at] === '\\') at += 2
    else if (text.startsWith(closing, at)) return at + closing.length
    else if (!long && text[at] === '\n') return at
    else at++
  }
  return text.length
}

function assignment(statement: string): number {
  let at = 0
  while (at < statement.length && statement[at] !== '=') {
    const character = statement[at]
    at = character === '"' || character === "'" ? endOfText(statement, at, character) : at + 1
  }
  return at
}

function keysOf(text: string): string[] {
  const keys: string[] = []
  for (const [, double, single, bare] of text.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+)/g)) {
    keys.push(double ?? single ?? bare ?? '')
  }
  return keys
}
