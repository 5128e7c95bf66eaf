import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Requirement } from './requirements/requirement.ts'
import { countRuns, runFaults, sharedTitles, unnamedRules } from './requirements/runs.ts'
import { titlesIn } from './requirements/titles.ts'
import { counts, groups, idOf, idsOf, requirements } from './requirements.ts'

const root = new URL('../', import.meta.url)
const titles = new Map<string, readonly string[]>()

/** The titles in one test file, or undefined where there is no such file. */
function titlesOf(path: string): readonly string[] | undefined {
  const file = new URL(path, root)
  if (!titles.has(path) && existsSync(file)) titles.set(path, titlesIn(readFileSync(file, 'utf8')))
  return titles.get(path)
}

/** What is wrong with one reference, `path > part of a title`; undefined when a test answers to it. */
function faultOf(reference: string): string | undefined {
  const [path = '', ...parts] = reference.split(' > ')
  const wanted = parts.join(' > ')
  if (!path.endsWith('.test.ts') || wanted === '')
    return 'is not of the form "path.test.ts > part of a title"'
  const found = titlesOf(path)
  if (found === undefined) return 'names a file that is not there'
  return found.some((title) => title.includes(wanted)) ? undefined : 'names no test of that file'
}

function faultsOf(row: Requirement): string[] {
  const [id = 'a row without places'] = Object.keys(row.places)
  const faults = Object.entries(row.places)
    .filter(([, place]) => !/^[a-z0-9/_.-]+(?:#[^\s#]+)?$/.test(place))
    .map(([own, place]) => `${own}: "${place}" is not of the form page#anchor`)
  if (row.says.trim() === '') faults.push(`${id}: says nothing`)
  if ('proof' in row) {
    if (row.proof.length === 0) faults.push(`${id}: has an empty proof`)
    for (const reference of row.proof) {
      const fault = faultOf(reference)
      if (fault !== undefined) faults.push(`${id}: ${reference}\n    ${fault}`)
    }
  } else if ('none' in row) {
    if (row.none.trim() === '') faults.push(`${id}: says not why it needs no proof`)
  } else if (row.otherwise.trim() === '') {
    faults.push(`${id}: says not why it is done otherwise`)
  }
  return faults
}

const list = (faults: readonly string[]): string =>
  faults.length === 0
    ? ''
    : `\n${faults.length} problems:\n${faults.map((fault) => `  ${fault}`).join('\n')}\n`

describe('the requirements of the specification', () => {
  const ids = requirements.flatMap(({ places }) => Object.keys(places))
  const known = new Set(Object.entries(counts).flatMap(([name, count]) => numbered(name, count)))

  it('belong to one group each', () => {
    const grouped = Object.values(groups).flatMap(idsOf)
    const twice = grouped.filter((id, at) => grouped.indexOf(id) !== at)
    const missing = [...known].filter((id) => !grouped.includes(id))
    expect({ twice, missing, unknown: grouped.filter((id) => !known.has(id)) }).toEqual({
      twice: [],
      missing: [],
      unknown: [],
    })
  })

  it('are all there, once, each with a proof or a reason', () => {
    const present = new Set(ids)
    const complete = Object.entries(groups).filter(([, group]) => group.complete)
    const faults = [
      ...ids.filter((id) => !known.has(id)).map((id) => `${id}: is no sentence of the specification`),
      ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${id}: stands in more than one row`),
      ...complete.flatMap(([name, group]) =>
        idsOf(group)
          .filter((id) => !present.has(id))
          .map((id) => `${id}: has no row, and the group "${name}" is said to be complete`),
      ),
      ...requirements.flatMap(faultsOf),
    ]
    expect(list(faults)).toBe('')
  })

  it('are proved over every transport and revision, or say what binds them', () => {
    const faults = [
      ...requirements.flatMap(runFaults),
      ...unnamedRules(requirements).map((title) => `"${title}": is a rule that no row names`),
      ...sharedTitles().map((title) => `"${title}": stands for two things in the matrix`),
    ]
    expect(list(faults)).toBe('')
  })

  it('are counted in the design', () => {
    const design = readFileSync(new URL('docs/design.md', root), 'utf8')
    const counts = countRuns(requirements)
    expect(counts.filter((line) => !design.includes(line))).toEqual([])
  })

  it('are collected from every file of rows', () => {
    const index = readFileSync(new URL('./requirements/rows/index.ts', import.meta.url), 'utf8')
    const files = readdirSync(new URL('./requirements/rows/', import.meta.url))
    const left = files.filter((name) => name !== 'index.ts' && !index.includes(`'./${name}'`))
    expect(left).toEqual([])
  })
})

describe('titles of tests', () => {
  it.each([
    [`it('plain', () => {})`, ['plain']],
    [`describe("a 'quote'", () => { test(\`tick\`, f) })`, ["a 'quote'", 'tick']],
    [`it('it\\'s', f)`, ["it's"]],
    [`it.each([['a row', /[(]'/]])('with %s', f)`, ['with %s', 'a row']],
    [`it.each<[string, () => void]>([['x', () => {}]])('$0 typed', f)`, ['$0 typed', 'x']],
    [`describe.concurrent('many', f) // it('not this')`, ['many']],
    [`it.runIf(linux)('here', f); await it; submit('no'); x.it('no')`, ['here']],
    [`it(\`of \${name({ a: 1 })}\`, f)`, [`of \${name({ a: 1 })}`]],
  ])('are found in %s', (source, found) => {
    expect(titlesIn(source)).toEqual(found)
  })
})

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => idOf(name, at + 1))
}
