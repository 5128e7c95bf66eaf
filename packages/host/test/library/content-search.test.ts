import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { createResourceTextTable, type NewResourceText } from '../../src/log/store/resource-text-table.ts'
import { openStore } from '../../src/log/store/store.ts'
import { snippetOf } from '../../src/resources/texts.ts'
import type { Host, LibraryMatch, LibrarySearchOptions } from '../../src/types/index.ts'
import { folder, hostOf, started } from '../fixtures/hosts.ts'
import { byCity, note, shelf } from './shelf.ts'

const uriOf = ({ entry }: LibraryMatch): string =>
  entry.kind === 'resource' ? entry.resource.uri : entry.kind
const found = (host: Host, query: string, options: LibrarySearchOptions = {}): string[] =>
  host.library.search(query, { content: true, ...options }).matches.map(uriOf)
const marked = (match: LibraryMatch | undefined): string =>
  (match?.content?.snippet ?? []).map(({ text, isMatch }) => (isMatch ? `[${text}]` : text)).join('')

const harbour = 'Minutes of the board.\n\nThe harbour crane is repaired in spring; Čapek pays for it.'

describe('searching read contents', () => {
  test('finds a text by its words after it was read, with a snippet', async () => {
    const { url } = await shelf({
      resources: {
        one: note('note://one', () => harbour),
        two: note('note://harbour', () => 'Nothing here'),
      },
    })
    const host = await started({ servers: { shelf: { url } } })
    expect(found(host, 'crane')).toEqual([])
    const before = new Date().toISOString()
    await host.read('shelf', 'note://one')
    await host.read('shelf', 'note://harbour')
    const [match] = host.library.search('cran capek', { content: true }).matches
    expect(marked(match)).toBe(
      'Minutes of the board. The harbour [crane] is repaired in spring; [Čapek] pays for it.',
    )
    expect(match && uriOf(match)).toBe('note://one')
    expect(match?.content?.readAt.localeCompare(before)).toBeGreaterThanOrEqual(0)
    expect(found(host, 'crane', { content: false })).toEqual([])
    // A name counts more than a text.
    expect(found(host, 'harbour')).toEqual(['note://harbour', 'note://one'])
    expect(found(host, 'crane', { kinds: ['prompt'] })).toEqual([])
    expect(found(host, 'crane', { server: 'other' })).toEqual([])
  })

  test('ranks entries with all words first, in name and text together', async () => {
    const { url } = await shelf({
      resources: {
        one: note('note://budget', () => 'Lunch'),
        two: note('note://travel', () => 'The budget of the office'),
      },
    })
    const host = await started({ servers: { shelf: { url } } })
    await host.read('shelf', 'note://travel')
    expect(found(host, 'travel budget')).toEqual(['note://travel'])
  })

  test('finds unlisted resources, in the same store later, with the text that was read last', async () => {
    let text = 'Bergen is rainy'
    const { url } = await shelf({ resources: { byCity, n: note('note://n', () => text) } })
    const store = join(folder(), 'store.sqlite')
    const first = await started({ servers: { shelf: { url } }, store })
    await first.read('shelf', 'weather://no/Bergen')
    await first.read('shelf', 'note://n')
    text = 'Oslo is sunny'
    await first.library.attach('talk', [{ server: 'shelf', uri: 'note://n' }])
    await first.close()

    const host = await started({ servers: { shelf: { url } }, store })
    expect(found(host, 'Bergen no')).toEqual(['weather://no/Bergen'])
    expect(found(host, 'rainy')).toEqual([])
    expect(found(host, 'sunny')).toEqual(['note://n'])
    text = ''
    await host.read('shelf', 'note://n')
    expect(found(host, 'sunny')).toEqual([])
  })

  test('finds words of languages without spaces', async () => {
    const { url } = await shelf({ resources: { n: note('note://n', () => '来年は東京都庁で会議がある') } })
    const host = await started({ servers: { shelf: { url } } })
    await host.read('shelf', 'note://n')
    const [match] = host.library.search('東京', { content: true }).matches
    expect(marked(match)).toBe('来年は[東京]都庁で会議がある')
    expect(found(host, '京東')).toEqual([])
  })

  test('accepts every query', async () => {
    const { url } = await shelf({ resources: { n: note('note://n', () => 'near "quoted" text*') } })
    const host = await started({ servers: { shelf: { url } } })
    await host.read('shelf', 'note://n')
    for (const query of [
      '"',
      '*',
      'a" OR "b',
      'NEAR(a b)',
      'text:near',
      '-',
      '^near',
      '(',
      '\0',
      '½',
      '\ud800',
    ]) {
      expect(() => host.library.search(query, { content: true })).not.toThrow()
    }
    expect(found(host, '"quoted" AND')).toEqual(['note://n'])
  })
})

describe('search does not find', () => {
  test('a secret: neither one that was known at the read nor one that became known later', async () => {
    const { url } = await shelf({
      resources: {
        one: note('note://one', () => 'The password is tulip-4711 today'),
        two: note('note://two', () => 'The token is orchid-4712 today'),
      },
    })
    const store = join(folder(), 'store.sqlite')
    const headers = { 'X-Api-Key': 'tulip-4711' }
    const host = await started({ servers: { shelf: { url, headers } }, store })
    await host.read('shelf', 'note://one')
    await host.read('shelf', 'note://two')
    expect(found(host, 'tulip')).toEqual([])
    expect(marked(host.library.search('password', { content: true }).matches[0])).not.toContain('4711')
    expect(found(host, 'orchid')).toEqual(['note://two'])
    await host.close()

    const later = await started({
      servers: { shelf: { url, headers }, other: { url, headers: { 'X-Api-Key': 'orchid-4712' } } },
      store,
    })
    expect(found(later, 'orchid')).toEqual([])
    const { matches } = later.library.search('token', { content: true, server: 'shelf' })
    expect(JSON.stringify(matches)).not.toContain('4712')
    expect(matches.map(uriOf)).toEqual(['note://two'])
  })

  test('texts of another account, or of a server that is no longer configured', async () => {
    const { url } = await shelf({ resources: { n: note('note://n', () => 'The crane is broken') } })
    const store = join(folder(), 'store.sqlite')
    const mine = { url, headers: { 'X-User': 'ann-is-me' } }
    const host = await started({ servers: { shelf: mine }, store })
    await host.read('shelf', 'note://n')
    await host.close()
    for (const servers of [
      { shelf: { url, headers: { 'X-User': 'bob-is-not' } } },
      { shelf: { ...mine, disabled: true } },
      {},
    ]) {
      const other = await started({ servers, store })
      expect(found(other, 'crane')).toEqual([])
      await other.close()
    }
    expect(found(await started({ servers: { shelf: mine }, store }), 'crane')).toEqual(['note://n'])
  })

  test('disabled or pruned resources; those for the user alone are marked', async () => {
    const { url } = await shelf({
      resources: {
        n: note('note://n', () => 'The crane is broken', { annotations: { audience: ['user'] } }),
      },
    })
    const store = join(folder(), 'store.sqlite')
    const host = await started({ servers: { shelf: { url } }, store })
    await host.read('shelf', 'note://n')
    expect(host.library.search('crane', { content: true }).matches[0]?.content?.withheld).toBe(
      'its server marks it for the user only',
    )
    host.trust.block('shelf', [{ what: 'resource', name: 'note://n' }])
    expect(found(host, 'crane')).toEqual([])
    host.trust.accept('shelf', [{ what: 'resource', name: 'note://n' }])
    expect(found(host, 'crane')).toEqual(['note://n'])
    await host.close()

    const cleaner = hostOf({ store })
    cleaner.pruneActivity('2000-01-01')
    expect(new DatabaseSync(store).prepare('SELECT count(*) AS n FROM resource_text').get()?.['n']).toBe(1)
    cleaner.pruneActivity('2999-01-01')
    const raw = new DatabaseSync(store)
    expect(raw.prepare('SELECT count(*) AS n FROM resource_text').get()?.['n']).toBe(0)
    expect(raw.prepare('SELECT count(*) AS n FROM resource_words').get()?.['n']).toBe(0)
  })

  test('texts read with `searchable: false`', async () => {
    const { url } = await shelf({ resources: { n: note('note://n', () => 'The crane is broken') } })
    const host = await started({ servers: { shelf: { url } } })
    await host.read('shelf', 'note://n', { searchable: false })
    expect(found(host, 'crane')).toEqual([])
  })
})

describe('the table of texts', () => {
  const textOf = (uri: string, text: string, at: number): NewResourceText => ({
    ...{ identity: 'i', principal: 'p', uri, mimeType: null, text },
    uriWords: uri,
    textWords: text,
    at: new Date(at).toISOString(),
  })
  const opened = (bounds: { bytes: number; texts: number; ageMs: number }, now: () => number) => {
    const file = join(folder(), 'store.sqlite')
    openStore(file).close()
    const database = new DatabaseSync(file)
    return { database, table: createResourceTextTable(database, bounds, now) }
  }
  const uris = (table: ReturnType<typeof opened>['table'], word: string): string[] =>
    table
      .match([word])
      .map(({ uri }) => uri)
      .sort()

  test('removes the oldest texts if there are too many, they are too large, or too old', () => {
    let time = 1_000_000
    const { table, database } = opened({ bytes: 100, texts: 3, ageMs: 1_000 }, () => time)
    for (const n of [1, 2, 3, 4]) table.put(textOf(`u${n}`, `same word${n}`, time + n))
    expect(uris(table, 'same')).toEqual(['u2', 'u3', 'u4'])
    // Read again, so that it is the newest.
    table.put(textOf('u2', 'same word2', time + 10))
    table.put(textOf('u5', `same ${'x'.repeat(80)}`, time + 11))
    expect(uris(table, 'same')).toEqual(['u2', 'u5'])
    time += 1_011
    expect(uris(table, 'same')).toEqual(['u5'])
    table.put(textOf('u6', 'same', time))
    expect(database.prepare('SELECT count(*) AS n FROM resource_text').get()?.['n']).toBe(2)
    table.forget('other')
    expect(uris(table, 'same')).toEqual(['u5', 'u6'])
    table.forget('i')
    expect(uris(table, 'same')).toEqual([])
  })
})

test('a snippet is short, is cut between words, and marks every match', () => {
  const text = `${'lorem '.repeat(400)}the crane\nand the  harbour ${'ipsum '.repeat(400)}crane`
  const pieces = snippetOf(text, ['crane', 'harbour']) ?? []
  const whole = pieces.map((piece) => piece.text).join('')
  expect(whole).toMatch(/^… (lorem )+the crane and the harbour (ipsum ?)+ …$/)
  expect(whole.length).toBeLessThan(260)
  expect(pieces.filter(({ isMatch }) => isMatch).map((piece) => piece.text)).toEqual(['crane', 'harbour'])
  expect(snippetOf('nothing', ['crane'])).toBeUndefined()
})
