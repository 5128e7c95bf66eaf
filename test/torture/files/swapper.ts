// Swaps what its arguments name, two paths each, as fast as it can, until its input ends: `node swapper.ts a b c d`.
import { renameSync } from 'node:fs'

const paths = process.argv.slice(2)
const pairs = Array.from(
  { length: paths.length / 2 },
  (_, n) => [paths[2 * n] ?? '', paths[2 * n + 1] ?? ''] as const,
)
const turns = 200
let isOver = false
process.stdin.resume().on('end', () => {
  isOver = true
})
process.stdout.write('swapping\n')

/** Lets each pair change places. A writer may hold a name for a moment; then it is the next turn’s. */
function turn(): void {
  for (const [one, other] of pairs) {
    try {
      renameSync(one, `${one}.between`)
      renameSync(other, one)
      renameSync(`${one}.between`, other)
    } catch (error) {
      throw new Error(`${one} and ${other} cannot change places`, { cause: error })
    }
  }
}

function go(): void {
  if (isOver) return
  for (let n = 0; n < turns; n++) turn()
  setImmediate(go)
}
go()
