/** A segment of a text: unchanged, removed or added. */
export interface DiffPiece {
  kind: 'same' | 'removed' | 'added'
  /** The text of the piece, with its white space. */
  text: string
}

/** Maximum cells of the table of lengths, which bounds the time of a comparison. */
const maxTableCells = 4_000_000
const token = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu

/** A word difference. Texts that are too long to compare in reasonable time are replaced as a whole. */
export function wordDiff(before: string, after: string): DiffPiece[] {
  const was = before.match(token) ?? []
  const is = after.match(token) ?? []
  let start = 0
  while (start < was.length && start < is.length && was[start] === is[start]) start++
  let end = 0
  while (end < Math.min(was.length, is.length) - start && was.at(-1 - end) === is.at(-1 - end)) end++
  return mergePieces([
    ...was.slice(0, start).map((text) => ({ kind: 'same' as const, text })),
    ...changedPieces(was.slice(start, was.length - end), is.slice(start, is.length - end)),
    ...was.slice(was.length - end).map((text) => ({ kind: 'same' as const, text })),
  ])
}

/** The pieces of two texts that differ, by their longest common subsequence. */
function changedPieces(was: readonly string[], is: readonly string[]): DiffPiece[] {
  const removed = (text: string): DiffPiece => ({ kind: 'removed', text })
  const added = (text: string): DiffPiece => ({ kind: 'added', text })
  if (was.length * is.length > maxTableCells) return [...was.map(removed), ...is.map(added)]
  const width = is.length + 1
  const lengths = new Uint32Array((was.length + 1) * width)
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0
  for (let i = was.length - 1; i >= 0; i--) {
    for (let j = is.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        was[i] === is[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1))
    }
  }
  const pieces: DiffPiece[] = []
  let i = 0
  let j = 0
  while (i < was.length || j < is.length) {
    const one = was[i] ?? ''
    const other = is[j] ?? ''
    if (i < was.length && j < is.length && one === other) {
      pieces.push({ kind: 'same', text: one })
      i++
      j++
    } else if (j >= is.length || (i < was.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      pieces.push(removed(one))
      i++
    } else {
      pieces.push(added(other))
      j++
    }
  }
  return pieces
}

function mergePieces(pieces: readonly DiffPiece[]): DiffPiece[] {
  const merged: DiffPiece[] = []
  for (const piece of pieces) {
    const last = merged.at(-1)
    if (last?.kind === piece.kind) last.text += piece.text
    else merged.push({ ...piece })
  }
  return merged
}
