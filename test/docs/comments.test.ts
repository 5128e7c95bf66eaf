import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { entries } from '../../scripts/reference/entries.ts'
import { root } from '../../scripts/run.ts'
import { exportedFrom } from './exported.ts'

describe('every name that can be imported', () => {
  it.each(entries())('from $name says what it is', ({ file }) => {
    const names = exportedFrom(file)
    expect(names).not.toEqual([])
    const silent = names.filter(({ comment }) => comment === undefined || comment.length < 10)
    expect(silent.map((one) => `${relative(root, one.file)}: ${one.name}`)).toEqual([])
  })
})
