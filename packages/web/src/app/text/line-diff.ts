/** One line of a comparison. Line numbers begin at 1; `skipped` replaces equal lines. */
export type DiffLine =
  | { readonly kind: 'same'; readonly before: number; readonly after: number; readonly text: string }
  | { readonly kind: 'removed'; readonly before: number; readonly text: string }
  | { readonly kind: 'added'; readonly after: number; readonly text: string }
  | { readonly kind: 'skipped'; readonly count: number }

/** Maximum lines of each side to compare; longer parts are shown as replaced. */
const maxComparedLines = 1_500

/** Compares two texts line by line, with `context` equal lines around each change. */
export function lineDiff(before: string, after: string, context = 3): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  const lines: DiffLine[] = a
    .slice(0, start)
    .map((text, n) => ({ kind: 'same', before: n + 1, after: n + 1, text }))
  lines.push(...diffLines(a.slice(start, a.length - end), b.slice(start, b.length - end), start))
  for (let n = end; n > 0; n -= 1)
    lines.push({
      kind: 'same',
      before: a.length - n + 1,
      after: b.length - n + 1,
      text: a[a.length - n] ?? '',
    })
  return collapseUnchanged(lines, context)
}

/** The lines of a text; a line feed at its end begins no further line. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** Compares lines by their longest common subsequence. */
function diffLines(a: readonly string[], b: readonly string[], offset: number): DiffLine[] {
  const lengths = new Uint16Array((a.length + 1) * (b.length + 1) * Number(isComparable(a, b)))
  const width = b.length + 1
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0
  if (lengths.length > 0)
    for (let i = a.length - 1; i >= 0; i -= 1)
      for (let j = b.length - 1; j >= 0; j -= 1)
        lengths[i * width + j] =
          a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1))
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [old, next] = [a[i], b[j]]
    if (old !== undefined && old === next && (lengths.length > 0 || i === j)) {
      lines.push({ kind: 'same', before: offset + i + 1, after: offset + j + 1, text: old })
      i += 1
      j += 1
    } else if (old !== undefined && (next === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ kind: 'removed', before: offset + i + 1, text: old })
      i += 1
    } else {
      lines.push({ kind: 'added', after: offset + j + 1, text: next ?? '' })
      j += 1
    }
  }
  return lines
}

function isComparable(a: readonly string[], b: readonly string[]): boolean {
  return a.length <= maxComparedLines && b.length <= maxComparedLines
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
