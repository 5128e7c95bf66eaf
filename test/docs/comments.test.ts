import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { entries } from '../../scripts/reference/entries.ts'
import { root } from '../../scripts/run.ts'
import { exportedFrom } from './exported.ts'

describe('every way into a package', () => {
  it.each(entries())('$name is in the README of its package', ({ name, folder }) => {
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    expect(readme).toMatch(new RegExp(`[\`'"]${name}[\`'"]`))
  })
})

describe('every name that can be imported', () => {
  it.each(entries())('from $name has a doc comment', ({ file }) => {
    const names = exportedFrom(file)
    expect(names).not.toEqual([])
    const silent = names.filter(({ comment }) => comment === undefined || comment.length < 10)
    expect(silent.map((one) => `${relative(root, one.file)}: ${one.name}`)).toEqual([])
  })
})
