import { describe, expect, test, vi } from 'vitest'
import { createLibrary } from '../../src/resources/library.ts'
import type { ResourceRef } from '../../src/types/index.ts'
import { started, until } from '../fixtures/hosts.ts'
import { listed, note, res, shelf } from './shelf.ts'

const eras = ['2025-11-25', '2026-07-28'] as const

const ref = (uri: string, server = 'shelf'): ResourceRef => ({ server, uri })

/** Reads that end when the test releases them. */
function slowReads() {
  const waiting: (() => void)[] = []
  const counts = { running: 0, most: 0, reads: 0 }
  const read = async (_server: string, uri: string) => {
    counts.reads += 1
    counts.running += 1
    counts.most = Math.max(counts.most, counts.running)
    await new Promise<void>((resolve) => waiting.push(resolve))
    counts.running -= 1
    if (uri.endsWith('7')) throw new Error(`${uri} is locked`)
    return { contents: [{ uri, text: `text of ${uri}` }] }
  }
  return { read, counts, waiting }
}

const unwatchable = { watch: () => Promise.reject(new Error('not here')) }

describe('attaching many', () => {
  test('fifty at once are fifty reads, eight at a time, and each failure is reported', async () => {
    const { read, counts, waiting } = slowReads()
    const uris = Array.from({ length: 50 }, (_, n) => `note://${n}`)
    const library = createLibrary(
      listed({ resources: uris.map((uri) => res('s', uri)) }, { read, ...unwatchable }),
      () => {},
    )
    const attaching = library.attach(
      'talk',
      [...uris, ...uris].map((uri) => ref(uri, 's')),
    )
    for (let ended = 0; ended < 50; ended += 1) {
      await vi.waitUntil(() => waiting.length > 0)
      expect(counts.running).toBeLessThanOrEqual(8)
      waiting.shift()?.()
    }
    const { attached, failed, tokens } = await attaching
    expect(counts).toEqual({ running: 0, most: 8, reads: 50 })
    expect(failed.map(({ uri, reason }) => [uri, reason])).toEqual(
      [7, 17, 27, 37, 47].map((n) => [`note://${n}`, `note://${n} is locked`]),
    )
    expect(attached.map(({ uri }) => uri)).toEqual(uris.filter((uri) => !uri.endsWith('7')))
    expect(library.attached('talk')).toEqual(attached)
    expect(tokens).toBe(attached.reduce((sum, copy) => sum + copy.tokens, 0))
    expect(attached[0]?.messages).toEqual([
      { role: 'user', content: { type: 'text', text: '[resource note://0]\ntext of note://0' } },
    ])
  })

  test('excess resources are rejected or reported', async () => {
    const read = async (_: string, uri: string) => ({ contents: [{ uri, text: 'x'.repeat(1_000_001) }] })
    const library = createLibrary(listed({}, { read, ...unwatchable }), () => {})
    const { failed } = await library.attach('talk', [ref('a://b')])
    expect(failed[0]?.reason).toContain('It has 1000001 characters; at most 1000000 can be attached')
    const uris = Array.from({ length: 201 }, (_, n) => ref(`note://${n}`))
    await expect(library.attach('talk', uris)).rejects.toMatchObject({ code: 'INVALID' })
  })

  test('a cancelled selection reads no more', async () => {
    const { read, counts, waiting } = slowReads()
    const library = createLibrary(listed({}, { read, ...unwatchable }), () => {})
    const stop = new AbortController()
    const attaching = library.attach(
      'talk',
      Array.from({ length: 20 }, (_, n) => ref(`note://a${n}x`)),
      {
        signal: stop.signal,
      },
    )
    await vi.waitUntil(() => waiting.length === 8)
    stop.abort(new Error('never mind'))
    for (const end of waiting.splice(0)) end()
    const { attached, failed } = await attaching
    expect(counts.reads).toBe(8)
    expect([attached.length, failed.length]).toEqual([8, 12])
  })
})

describe.each(eras)('copies on %s', (revision) => {
  const connect = { revisions: [revision] }

  test('become outdated when the server says so, show the changes, and are current after another attach', async () => {
    let text = 'The fox jumps over the dog'
    const { url, server } = await shelf({
      resources: { one: note('note://one', () => text), two: note('note://two', () => 'calm') },
    })
    const host = await started({ servers: { shelf: { url } }, connect })
    const { library } = host
    const { attached } = await library.attach('talk', [ref('note://one'), ref('note://two')])
    expect(attached.map(({ stale, watched }) => ({ stale, watched }))).toEqual([
      { stale: false, watched: true },
      { stale: false, watched: true },
    ])
    const marked = new Promise<void>((resolve) => {
      host.on((event) => {
        if (event.type === 'attached' && library.attached('talk')[0]?.stale === true) resolve()
      })
    })
    text = 'The cat jumps over the dog'
    server.resourceUpdated('note://one')
    await marked
    expect(library.attached('talk').map(({ stale }) => stale)).toEqual([true, false])

    const { changed, pieces } = await library.diff('talk', ref('note://one'))
    expect(changed).toBe(true)
    expect(pieces).toEqual([
      { kind: 'same', text: 'The ' },
      { kind: 'removed', text: 'fox' },
      { kind: 'added', text: 'cat' },
      { kind: 'same', text: ' jumps over the dog' },
    ])
    await library.attach('talk', [ref('note://one')])
    expect(library.attached('talk').map(({ uri, stale }) => [uri, stale])).toEqual([
      ['note://one', false],
      ['note://two', false],
    ])
    expect(JSON.stringify(library.attached('talk')[0]?.messages)).toContain('The cat')
    await expect(library.diff('talk', ref('note://three'))).rejects.toThrow('is not attached')
  })

  test('share one subscription, which ends with the last of them', async () => {
    const { url } = await shelf({
      resources: { one: note('note://one', () => 'a'), two: note('note://two', () => 'b') },
    })
    const host = await started({ servers: { shelf: { url } }, connect })
    const open = () => host.activity({ kind: 'change' }).filter(({ outcome }) => outcome === 'running').length
    await host.library.attach('talk', [ref('note://one'), ref('note://two')])
    await host.library.attach('other', [ref('note://one')])
    await host.library.attach('other', [ref('note://one')])
    expect(open()).toBe(1)
    expect(host.activity({ kind: 'change' })).toHaveLength(1)
    host.library.detach('talk')
    await until(() => host.activity({ kind: 'change' }).length === 2 && open() === 1, 'a watch of less')
    host.endConversation('other')
    await until(() => open() === 0, 'no watch')
    expect(host.library.attached('other')).toEqual([])
    const { failed } = await host.library.attach('talk', [ref('note://missing')])
    expect(failed).toHaveLength(1)
    await until(() => open() === 0, 'no watch for what could not be read')
  })

  test('are watched again after a reconnect, and changes meanwhile are noticed', async () => {
    let text = 'before'
    const { url, server } = await shelf({
      resources: { one: note('note://one', () => text), two: note('note://two', () => 'b') },
    })
    const host = await started({ servers: { shelf: { url } }, connect })
    const { library } = host
    await library.attach('talk', [ref('note://one'), ref('note://two')])
    text = 'after'
    await host.reconnect('shelf')
    await until(() => library.attached('talk').every(({ watched }) => watched), 'watched again')
    await until(() => library.attached('talk')[0]?.stale === true, 'noticed')
    expect(library.attached('talk')[1]?.stale).toBe(false)
    server.resourceUpdated('note://two')
    await until(() => library.attached('talk')[1]?.stale === true, 'the second notification')
  })
})

test('a server without change notifications leaves copies unwatched', async () => {
  const library = createLibrary(
    listed({}, { read: async (_, uri) => ({ contents: [{ uri, text: 'x' }] }), ...unwatchable }),
    () => {},
  )
  const { attached } = await library.attach('talk', [ref('a://b')])
  expect(attached).toMatchObject([{ watched: false, stale: false }])
})
