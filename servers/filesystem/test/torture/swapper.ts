// Replaces places by links that lead out, and back, as fast as it can, until its input ends:
// `node swapper.ts swap DIRECTORY LINK flip NAME INSIDE OUTSIDE ...`. `swap` exchanges the names of two files by three renames;
// `flip` lets one link lead inside and outside in turn, each by one rename.
import { renameSync, symlinkSync } from 'node:fs'

const turns: (() => void)[] = []
const words = process.argv.slice(2)
for (let word = words.shift(); word !== undefined; word = words.shift()) {
  const [one = '', other = '', third = ''] = words.splice(0, word === 'swap' ? 2 : 3)
  if (word === 'swap') {
    turns.push(() => {
      renameSync(one, `${one}.between`)
      renameSync(other, one)
      renameSync(`${one}.between`, other)
    })
  } else {
    const next = `${one}.next`
    let isInside = true
    turns.push(() => {
      symlinkSync(isInside ? third : other, next)
      renameSync(next, one)
      isInside = !isInside
    })
  }
}

let isOver = false
process.stdin.resume().on('end', () => {
  isOver = true
})
process.stdout.write('swapping\n')

function go(): void {
  if (isOver) return
  for (let n = 0; n < 100; n++) for (const turn of turns) turn()
  setImmediate(go)
}
go()
