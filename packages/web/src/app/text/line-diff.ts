import { wordDiff } from '@jackfield/host/browser'

/** One line of a comparison. Line numbers begin at 1; `skipped` replaces equal lines. */
export type DiffLine =
  | { readonly kind: 'same'; readonly before: number; readonly after: number; readonly text: string }
  | { readonly kind: 'removed'; readonly before: number; readonly text: string }
  | { readonly kind: 'added'; readonly after: number; readonly text: string }
  | { readonly kind: 'skipped'; readonly count: number }

/** The first private-use character of the supplementary planes; `wordDiff` compares each of these as one word. */
const firstSymbol = 0xf0000
const maxSymbols = 0x10ffff - firstSymbol

/** Compares two texts line by line, with `context` equal lines around each change. */
export function lineDiff(before: string, after: string, context = 3): DiffLine[] {
  const symbols = new Map<string, string>()
  const texts = new Map<string, string>()
  const encoded = (text: string): string =>
    linesOf(text)
      .map((line) => {
        // Lines beyond the available symbols share one; no file that is edited here has as many different lines.
        const symbol = String.fromCodePoint(firstSymbol + Math.min(symbols.size, maxSymbols))
        const known = symbols.get(line) ?? symbol
        symbols.set(line, known)
        texts.set(known, line)
        return known
      })
      .join('')
  let was = 0
  let is = 0
  const lines = wordDiff(encoded(before), encoded(after)).flatMap(({ kind, text }) =>
    Array.from(text, (symbol): DiffLine => {
      const line = { text: texts.get(symbol) ?? '' }
      if (kind === 'removed') return { kind, before: ++was, ...line }
      if (kind === 'added') return { kind, after: ++is, ...line }
      return { kind, before: ++was, after: ++is, ...line }
    }),
  )
  return collapseUnchanged(lines, context)
}

/** The lines of a text; a line feed at its end begins no further line. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function collapseUnchanged(lines: readonly DiffLine[], context: number): DiffLine[] {
  const isNear = new Array<boolean>(lines.length).fill(false)
  for (const [n, { kind }] of lines.entries()) {
    if (kind === 'same') continue
    for (let near = Math.max(0, n - context); near <= n + context && near < lines.length; near += 1)
      isNear[near] = true
  }
  const shown: DiffLine[] = []
  for (const [n, line] of lines.entries()) {
    const last = shown.at(-1)
    if (isNear[n] === true) shown.push(line)
    else if (last?.kind === 'skipped') shown[shown.length - 1] = { kind: 'skipped', count: last.count + 1 }
    else shown.push({ kind: 'skipped', count: 1 })
  }
  return shown
}
