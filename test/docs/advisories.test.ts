import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'
import { pageOf } from '../advisories/page.ts'
import { classes } from '../advisories/rows/index.ts'
import { titlesIn } from '../requirements/titles.ts'

const weaknesses = classes.flatMap((one) => one.weaknesses)

/** What is wrong with a reference to a test; undefined when that test is there. */
function faultOf(path: string, title: string): string | undefined {
  const file = join(root, path)
  if (!path.endsWith('.test.ts') || title === '') return 'names no test'
  if (!existsSync(file)) return 'names a file that is not there'
  const source = readFileSync(file, 'utf8')
  const isThere = [...titlesIn(source), ...claimsIn(source)].some((one) => one.includes(title))
  return isThere ? undefined : 'names no test of that file'
}

/** The claims of campaigns, which are the titles of their tests. */
function claimsIn(source: string): string[] {
  return [...source.matchAll(/\bclaim:\s*(['"`])(.*?)\1,?$/gm)].map(([, , claim = '']) => claim)
}

describe('docs/advisories.md', () => {
  it('is the output of npm run advisories', () => {
    expect(readFileSync(join(root, 'docs/advisories.md'), 'utf8')).toBe(pageOf(classes))
  })

  it('names existing tests, and marks entries that do not apply', () => {
    const faults = weaknesses.flatMap(({ title, here, proof }) => {
      if (proof.length === 0) return here.startsWith('Not applicable: ') ? [] : [`${title}: has no proof`]
      return proof.flatMap((reference) => {
        const [path = '', ...parts] = reference.split(' > ')
        const fault = faultOf(path, parts.join(' > '))
        return fault === undefined ? [] : [`${title}: ${reference} ${fault}`]
      })
    })
    expect(faults).toEqual([])
  })

  it('has every identifier once for each program, and in its official form', () => {
    const numbered = weaknesses
      .flatMap(({ advisories }) => advisories.flatMap(({ ids }) => ids))
      .filter((id) => /^(?:CVE|GHSA)/i.test(id))
    const odd = numbered.filter(
      (id) => !/^(?:CVE-20\d\d-\d{4,6}|GHSA(?:-[23456789cfghjmpqrvwx]{4}){3})$/.test(id),
    )
    const twice = numbered.filter((id, at) => numbered.indexOf(id) !== at)
    expect({ odd, twice }).toEqual({ odd: [], twice: [] })
  })

  it('is collected from every file of rows', () => {
    const index = readFileSync(join(root, 'test/advisories/rows/index.ts'), 'utf8')
    const left = readdirSync(join(root, 'test/advisories/rows')).filter(
      (name) => name !== 'index.ts' && !index.includes(`'./${name}'`),
    )
    expect(left).toEqual([])
  })
})

describe('SECURITY.md', () => {
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  const promises = text
    .split('\n## ')
    .filter((part) => part.startsWith('Promises'))
    .flatMap((part) => part.split('\n- ').slice(1))

  it('links an existing test for each promise', () => {
    expect(promises.length).toBeGreaterThan(20)
    const faults = promises.flatMap((promise) => {
      const tests = [...promise.matchAll(/\[test\]\((\S+) "([^"]+)"\)/g)]
      if (tests.length === 0) return [`${promise.slice(0, 60)}: has no test`]
      return tests.flatMap(([, path = '', title = '']) => {
        const fault = faultOf(path, title)
        return fault === undefined ? [] : [`${path} "${title}": ${fault}`]
      })
    })
    expect(faults).toEqual([])
  })

  it('links to existing documents', () => {
    const places = [...text.matchAll(/\]\((?!https?:)([^)\s#]+)/g)].map(([, place = '']) => place)
    expect(places.filter((place) => !existsSync(join(root, place)))).toEqual([])
  })
})
