import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLibrary } from '../../src/resources/library.ts'
import type { CatalogResource } from '../../src/types/index.ts'
import { started } from '../fixtures/hosts.ts'
import { listed, note, res, shelf } from './shelf.ts'

const meant = (uri: string, annotations: object, more: object = {}): CatalogResource =>
  res('s', uri, { annotations, ...more })
const unwatchable = { watch: () => Promise.reject(new Error('not here')) }

/** A library whose resources have texts of so many characters. */
function over(resources: CatalogResource[], sizes: Record<string, number> = {}) {
  const reads: string[] = []
  const read = async (_: string, uri: string) => {
    reads.push(uri)
    if (sizes[uri] === -1) throw new Error('it is locked')
    return { contents: [{ uri, text: 'x'.repeat(sizes[uri] ?? 35) }] }
  }
  return { library: createLibrary(listed({ resources }, { read, ...unwatchable }), () => {}), reads }
}

describe('resources that servers mark for a model', () => {
  const both = ['user', 'assistant']
  test('are included by priority and then by modification time, each with the reason', async () => {
    const { library } = over([
      meant('a://old', { audience: both, priority: 0.5, lastModified: '2024-01-01T00:00:00Z' }),
      meant('a://new', { audience: both, priority: 0.5, lastModified: '2026-01-01T00:00:00Z' }),
      meant('a://first', { audience: ['assistant'], priority: 1 }),
      meant('a://last', { audience: ['assistant'] }),
      meant('a://silent', { priority: 1 }),
      meant('a://private', { audience: ['user'], priority: 1 }),
    ])
    const { included, left } = await library.include('talk')
    expect(included.map(({ uri, because }) => [uri, because])).toEqual([
      ['a://first', 'its server marks it for a model, priority 1'],
      ['a://new', 'its server marks it for a model, priority 0.5, changed 2026-01-01T00:00:00Z'],
      ['a://old', 'its server marks it for a model, priority 0.5, changed 2024-01-01T00:00:00Z'],
      ['a://last', 'its server marks it for a model'],
    ])
    expect(left.map(({ uri, reason }) => [uri, reason])).toEqual([
      ['a://silent', 'its server does not mark it for a model'],
      ['a://private', 'its server marks it for the user only'],
    ])
  })

  test('are included from the minimum priority', async () => {
    const { library, reads } = over([
      meant('a://first', { audience: both, priority: 0.8 }),
      meant('a://second', { audience: both, priority: 0.7 }),
      meant('a://last', { audience: both }),
    ])
    const { included, left } = await library.include('talk', { priority: 0.8 })
    expect(included.map(({ uri }) => uri)).toEqual(['a://first'])
    expect(left.map(({ reason }) => reason)).toEqual([
      'its priority is below 0.8',
      'its priority is below 0.8',
    ])
    expect(reads).toEqual(['a://first'])
  })

  test('that do not fit or cannot be read are left out with the reason; too large ones are not even read', async () => {
    const { library, reads } = over(
      [
        meant('a://huge', { audience: both, priority: 1 }, { size: 1_000_000 }),
        meant('a://locked', { audience: both, priority: 0.9 }),
        meant('a://large', { audience: both, priority: 0.8 }),
        meant('a://small', { audience: both, priority: 0.7 }),
      ],
      { 'a://locked': -1, 'a://large': 700 },
    )
    const { included, left, tokens, budget } = await library.include('talk', { budget: 100 })
    expect(included.map(({ uri }) => uri)).toEqual(['a://small'])
    expect(left.map(({ uri, reason }) => [uri, reason])).toEqual([
      ['a://huge', 'it needs about 285714 tokens, and 100 of 100 are left'],
      ['a://locked', 'it is locked'],
      ['a://large', expect.stringMatching(/^it needs about \d+ tokens, and 100 of 100 are left$/)],
    ])
    expect(reads).not.toContain('a://huge')
    expect(budget).toBe(100)
    expect(tokens).toBe(included[0]?.tokens)
  })

  test('never cost more than the budget, for any list and any repetition', async () => {
    const entry = fc.record({
      size: fc.integer({ min: 0, max: 4_000 }),
      declaredSize: fc.option(fc.integer({ min: 0, max: 4_000 }), { nil: undefined }),
      priority: fc.float({ min: 0, max: 1, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 40 }),
        fc.integer({ min: 0, max: 3_000 }),
        async (entries, budget) => {
          const sizes = Object.fromEntries(entries.map(({ size }, n) => [`a://${n}`, size]))
          const { library } = over(
            entries.map(({ declaredSize, priority }, n) =>
              meant(
                `a://${n}`,
                { audience: ['assistant'], priority },
                declaredSize === undefined ? {} : { size: declaredSize },
              ),
            ),
            sizes,
          )
          const [one, other] = await Promise.all([
            library.include('talk', { budget }),
            library.include('talk', { budget }),
          ])
          const spent = library.attached('talk').reduce((sum, { tokens }) => sum + tokens, 0)
          expect(spent).toBeLessThanOrEqual(budget)
          expect(one.included.length + one.left.length).toBe(entries.length)
          expect(other.tokens).toBe(spent)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('are removed in one call and stay removed; those chosen by the user stay', async () => {
    const { library } = over([
      meant('a://one', { audience: both }),
      meant('a://two', { audience: both }),
      meant('a://mine', { audience: both }),
    ])
    await library.attach('talk', [{ server: 's', uri: 'a://mine' }])
    await library.include('talk')
    library.exclude('talk', { server: 's', uri: 'a://one' })
    expect(library.attached('talk').map(({ uri }) => uri)).toEqual(['a://mine', 'a://two'])
    expect((await library.include('talk')).left).toEqual([
      { server: 's', uri: 'a://one', reason: 'you removed it' },
    ])
    library.exclude('talk')
    expect(library.attached('talk').map(({ uri }) => uri)).toEqual(['a://mine'])
    expect((await library.include('talk')).included).toEqual([])
    expect((await library.include('other')).included).toHaveLength(3)
  })
})

test('but for the user alone are neither read nor attached, nor are those of such a template', async () => {
  const { url } = await shelf({
    resources: { diary: note('diary://today', () => 'dear diary', { annotations: { audience: ['user'] } }) },
  })
  const host = await started({ servers: { shelf: { url } } })
  const { library } = host
  const { attached, withheld } = await library.attach('talk', [{ server: 'shelf', uri: 'diary://today' }])
  expect(attached).toEqual([])
  expect(withheld).toEqual([
    { server: 'shelf', uri: 'diary://today', reason: 'its server marks it for the user only' },
  ])
  expect(host.activity({ kind: 'read' })).toEqual([])
  expect(await library.preview('shelf', 'diary://today')).toMatchObject({
    contents: [{ type: 'text', text: 'dear diary' }],
    withheld: 'its server marks it for the user only',
  })
  const made = createLibrary(
    listed({
      templates: [
        {
          server: 's',
          template: { name: 't', uriTemplate: 'diary://{day}', annotations: { audience: ['user'] } },
        },
        { server: 's', template: { name: 'broken', uriTemplate: '{', annotations: { audience: ['user'] } } },
      ],
    }),
    () => {},
  )
  expect(made.withheld('s', 'diary://monday')).toBe('its server marks it for the user only')
  expect(made.withheld('other', 'diary://monday')).toBeUndefined()
  expect(made.withheld('s', 'note://monday')).toBeUndefined()
})
