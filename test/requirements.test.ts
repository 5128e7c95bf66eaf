import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Requirement, readRequirements } from './requirements/requirement.ts'
import { countRuns, runFaults, sharedTitles, unnamedRules } from './requirements/runs.ts'
import { titlesIn } from './requirements/titles.ts'

/** How many numbered sentences each document of the specification has. */
const counts: Readonly<Record<string, number>> = {
  '2411': 111,
  '2503': 181,
  '2506': 220,
  '2511': 398,
  '2607': 472,
  'sep-2243-http': 66,
  'sep-2663-tasks': 49,
  'sbp-2026-07-28': 32,
  'sbp-2025-11-25': 31,
}

const requirements = readRequirements()
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

function faultsOf({ line, places, level, requirement, runs, tests, reason }: Requirement): string[] {
  const faults = places
    .filter(([, page]) => !/^[a-z0-9/_.-]+(?:#[^\s#]+)?$/.test(page))
    .map(([id, page]) => `${line}: "${page}" of ${id} is not of the form page#anchor`)
  if (requirement.trim() === '') faults.push(`${line}: has no text`)
  const proved = runs !== 'none' && runs !== 'otherwise'
  if (proved && tests.length === 0) faults.push(`${line}: has no test`)
  if (!proved && reason.trim() === '') faults.push(`${line}: has no reason`)
  if (runs === 'otherwise' && level.startsWith('MUST')) faults.push(`${line}: a ${level} has no alternative`)
  for (const reference of tests) {
    const fault = faultOf(reference)
    if (fault !== undefined) faults.push(`${line}: ${reference}\n    ${fault}`)
  }
  return faults
}

const list = (faults: readonly string[]): string =>
  faults.length === 0
    ? ''
    : `\n${faults.length} problems:\n${faults.map((fault) => `  ${fault}`).join('\n')}\n`

describe('the requirements of the specification', () => {
  it('are complete and unique, each with a test or a reason', () => {
    const ids = requirements.flatMap(({ places }) => places.map(([id]) => id))
    const known = new Set(Object.entries(counts).flatMap(([name, count]) => numbered(name, count)))
    const present = new Set(ids)
    const faults = [
      ...ids.filter((id) => !known.has(id)).map((id) => `${id}: is no sentence of the specification`),
      ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${id}: is in more than one line`),
      ...[...known].filter((id) => !present.has(id)).map((id) => `${id}: is in no line`),
      ...requirements.flatMap(faultsOf),
    ]
    expect(list(faults)).toBe('')
  })

  it('are tested over every transport and revision, or name what limits them', () => {
    const faults = [
      ...requirements.flatMap(runFaults),
      ...unnamedRules(requirements).map((title) => `"${title}": is a rule that no row names`),
      ...sharedTitles().map((title) => `"${title}": names two things in the matrix`),
    ]
    expect(list(faults)).toBe('')
  })

  it('are counted in the design', () => {
    const design = readFileSync(new URL('docs/design.md', root), 'utf8')
    const counts = countRuns(requirements)
    expect(counts.filter((line) => !design.includes(line))).toEqual([])
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
  return Array.from({ length: count }, (_, at) => `${name}-${String(at + 1).padStart(3, '0')}`)
}
