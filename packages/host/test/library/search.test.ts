import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLibrary } from '../../src/resources/library.ts'
import { LibraryIndex } from '../../src/resources/search.ts'
import type { LibraryEntry } from '../../src/types/index.ts'
import { listed, res } from './shelf.ts'

const topics = ['invoice', 'roadmap', 'salary', 'holiday', 'incident', 'protocol', 'budget', 'training']
const many = Array.from({ length: 10_000 }, (_, n) => {
  const topic = topics[n % topics.length] ?? ''
  return res(`server${n % 7}`, `file:///archive/${Math.floor(n / 100)}/${topic}-${n}.md`, {
    title: `The ${topic} of week ${n}`,
    description: `Notes on ${topic} number ${n}, written by team ${n % 31}`,
    mimeType: n % 5 === 0 ? 'application/json' : 'text/markdown',
  })
})

const uriOf = (entry: LibraryEntry): string =>
  entry.kind === 'resource'
    ? entry.resource.uri
    : entry.kind === 'template'
      ? entry.template.uriTemplate
      : entry.command

describe('searching', () => {
  const host = listed({
    resources: many,
    templates: [{ server: 'disk', template: { uriTemplate: 'log://{day}/{level}', name: 'logs of a day' } }],
    prompts: [
      { name: 'desk__review', server: 'desk', prompt: { name: 'review', description: 'Reviews a letter' } },
    ],
  })
  const library = createLibrary(host, () => {})
  const found = (query: string, options = {}): string[] =>
    library.search(query, options).matches.map(({ entry }) => uriOf(entry))

  test('finds by title, description, type, URI and word prefixes, tolerating misspellings', () => {
    expect(found('salary week 4242')[0]).toBe('file:///archive/42/salary-4242.md')
    expect(found('incdent 1004', { limit: 1 })[0]).toContain('incident-1004')
    expect(found('logs of a d')).toEqual(['log://{day}/{level}'])
    expect(found('revi lett')).toEqual(['desk.review'])
    expect(library.search('json', { limit: 1 }).total).toBe(2_000)
  })

  test('ranks an exact URI or command first', () => {
    expect(found('file:///archive/0/holiday-3.md')[0]).toBe('file:///archive/0/holiday-3.md')
    expect(found('/desk.review')[0]).toBe('desk.review')
    expect(found('desk__review')[0]).toBe('desk.review')
    const rivals = [res('s', 'a://x/notes', { title: 'A: notes' }), res('s', 'a://notes', { name: 'n' })]
    const [best] = createLibrary(listed({ resources: rivals }), () => {}).search('A://notes').matches
    expect(best && uriOf(best.entry)).toBe('a://notes')
  })

  test('filters by server and kind', () => {
    const { matches, total } = library.search('roadmap', { server: 'server1', kinds: ['resource'], limit: 3 })
    expect(matches.map(({ entry }) => entry.server)).toEqual(['server1', 'server1', 'server1'])
    expect(total).toBeLessThan(1_250)
    expect(found('roadmap', { kinds: ['prompt'] })).toEqual([])
  })

  test('fetches the lists only if they may have changed, and indexes only changes', () => {
    const before = host.listings
    for (const key of ['b', 'bu', 'bud', 'budg']) library.search(key)
    expect(host.listings).toBe(before)
    host.emit({ type: 'catalog' })
    library.search('budget')
    expect(host.listings).toBe(before + 1)

    const index = new LibraryIndex()
    const entries = (uris: readonly string[]): LibraryEntry[] =>
      uris.map((uri) => ({ kind: 'resource', ...res('s', uri) }))
    expect(index.update(entries(['a://1', 'a://2']))).toBe(2)
    expect(index.update(entries(['a://2', 'a://3']))).toBe(1)
    expect(index.search('a://1').matches.map(({ entry }) => uriOf(entry))).not.toContain('a://1')
    expect(index.search('a://3').matches.map(({ entry }) => uriOf(entry))[0]).toBe('a://3')
  })

  test('returns no more than requested, for any query', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.integer(), (query, limit) => {
        const { matches, total } = library.search(query, { limit })
        expect(matches.length).toBeLessThanOrEqual(Math.min(200, total))
      }),
      { numRuns: 60 },
    )
  })
})
