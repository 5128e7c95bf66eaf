import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { entries } from '../../scripts/reference/entries.ts'
import { root } from '../../scripts/run.ts'
import { exportedFrom, undocumentedMembers } from './exported.ts'

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

it('every member of a type that an entry of the SDK, the host or a store exports has a doc comment', () => {
  const namesIn = new Map<string, Set<string>>()
  for (const { name: entry, file } of entries()) {
    if (!/^@jackfield\/(?:sdk|host|redis|postgres)/.test(entry)) continue
    for (const { name, file: origin } of exportedFrom(file)) {
      namesIn.set(origin, (namesIn.get(origin) ?? new Set()).add(name))
    }
  }
  expect(namesIn.size).toBeGreaterThan(90)
  const silent = [...namesIn].flatMap(([file, names]) =>
    undocumentedMembers(file, names).map((member) => `${relative(root, file)}: ${member}`),
  )
  expect(silent).toEqual([])
})

it('links of doc comments name pages of the specification that exist', () => {
  const rows = globSync(join(root, 'test/requirements/*.tsv')).map((file) => readFileSync(file, 'utf8'))
  const pages = new Set(
    rows.flatMap((text) => Array.from(text.matchAll(/2607-\d+ ([a-z/-]+)#/g), ([, page]) => page)),
  )
  expect(pages.size).toBeGreaterThan(20)
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
  const wrong = sources.flatMap((file) =>
    Array.from(
      readFileSync(join(root, file), 'utf8').matchAll(/io\/specification\/2026-07-28\/([a-z/-]+)/g),
      ([, page = '']) => page,
    )
      .filter((page) => !pages.has(page) && !pages.has(`${page}/index`))
      .map((page) => `${file}: ${page}`),
  )
  expect(wrong).toEqual([])
})
