import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { features as tried } from '../../packages/sdk/test/matrix/features.ts'
import { root } from '../../scripts/run.ts'
import { pageOf, triedBy } from '../features/page.ts'
import { faultOf, order, peers } from '../features/peers.ts'
import { groups } from '../features/rows/index.ts'
import { titlesIn } from '../requirements/titles.ts'

const rows = groups.flatMap(({ features }) => features)

/** What is wrong with one reference to a test; undefined when that test is there. */
function proofFault(reference: string): string | undefined {
  const [path = '', ...parts] = reference.split(' > ')
  const file = join(root, path)
  if (parts.join('') === '' || !existsSync(file)) return 'names no file, or no title'
  const source = readFileSync(file, 'utf8')
  const wanted = parts.join(' > ')
  // A title may be handed to what makes the tests, as a text of its own.
  const known = source.includes(`'${wanted}'`) || titlesIn(source).some((title) => title.includes(wanted))
  return known ? undefined : 'names no test of that file'
}

describe('docs/features.md', () => {
  it('is the output of npm run features', () => {
    expect(readFileSync(join(root, 'docs/features.md'), 'utf8')).toBe(pageOf(groups))
  })

  it('names existing tests', () => {
    const faults = rows.flatMap(({ title, ours }) => {
      if (ours.has === 'matrix') return triedBy(title) === undefined ? [`${title}: is not in the matrix`] : []
      if (ours.has === 'no') return []
      if (ours.proof.length === 0) return [`${title}: has no proof`]
      return ours.proof.flatMap((one) => {
        const fault = proofFault(one)
        return fault === undefined ? [] : [`${title}: ${one} ${fault}`]
      })
    })
    expect(faults).toEqual([])
  })

  it('has every feature of the matrix once', () => {
    const titles = rows.map(({ title }) => title)
    expect(tried.map(({ title }) => title).filter((title) => !titles.includes(title))).toEqual([])
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([])
  })

  it.each(order)('has the same result for %s as its packages and the tests that ran', (peer) => {
    const faults = rows.flatMap((row) => {
      const fault = faultOf(peer, row.peers[peer])
      return fault === undefined ? [] : [`${row.title}: ${fault}`]
    })
    expect(faults).toEqual([])
    expect(existsSync(join(root, peers[peer].interop))).toBe(true)
  })
})
