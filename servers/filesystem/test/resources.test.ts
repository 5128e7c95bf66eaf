import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { SubscriptionFilter } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { createFilesystemServer, type FilesystemOptions } from '@jackfield/server-filesystem'
import { describe, expect, test, vi } from 'vitest'
import { clientOf, eras, folderWith } from './fixture.ts'

const uriOf = (...path: string[]): string => pathToFileURL(join(...path)).href
const template = { type: 'ref/resource' as const, uri: 'file:///{+path}' }

describe.each(eras)('resources on %s', (era) => {
  test('are the allowed directories and the files directly in them, as many as the limit allows', async () => {
    const folder = folderWith({ 'a.md': 'a', 'b.png': 'b', 'sub/c.txt': 'c' })
    const client = await clientOf(era, { directories: [folder] })
    expect(await client.templates()).toMatchObject([{ uriTemplate: 'file:///{+path}' }])
    expect(await client.resources()).toEqual([
      { uri: uriOf(folder), name: expect.any(String), mimeType: 'inode/directory' },
      { uri: uriOf(folder, 'a.md'), name: 'a.md', mimeType: 'text/markdown' },
      { uri: uriOf(folder, 'b.png'), name: 'b.png', mimeType: 'image/png' },
    ])
    const limited = await clientOf(era, { directories: [folder], limits: { resources: 2 } })
    expect(await limited.resources()).toHaveLength(2)
  })

  test('are read as text, bytes or a list of entries', async () => {
    const folder = folderWith({
      'a b#?%.md': 'ä',
      'b.bin': new Uint8Array([0, 255]),
      'sub/c/d.txt': 'd',
      'sub/e.txt': '',
    })
    const client = await clientOf(era, { directories: [folder] })
    const read = async (...path: string[]) => (await client.read(uriOf(folder, ...path))).contents
    const odd = uriOf(folder, 'a b#?%.md')
    expect(await read('a b#?%.md')).toEqual([{ uri: odd, mimeType: 'text/markdown', text: 'ä' }])
    expect(await read('b.bin')).toMatchObject([{ mimeType: 'application/octet-stream', blob: 'AP8=' }])
    expect(await read('sub')).toMatchObject([{ mimeType: 'inode/directory', text: 'c/\ne.txt' }])
    expect(await read('sub/c/d.txt')).toMatchObject([{ mimeType: 'text/plain', text: 'd' }])
  })

  test('outside of the boundary are rejected, and missing ones are not found', async () => {
    const folder = folderWith({ 'in/a.txt': 'a', 'secret.txt': 'secret' })
    symlinkSync('../secret.txt', join(folder, 'in/link'))
    const client = await clientOf(era, { directories: [join(folder, 'in')] })
    for (const uri of [
      uriOf(folder, 'secret.txt'),
      uriOf(folder, 'in/link'),
      `${uriOf(folder, 'in')}/%2e%2e/secret.txt`,
    ]) {
      await expect(client.read(uri), uri).rejects.toThrow(/Access denied|not found/)
    }
    await expect(client.read(`${uriOf(folder, 'in/a.txt')}?x`)).rejects.toThrow('%3F')
    const missing = { code: era === '2026-07-28' ? -32602 : -32002 }
    await expect(client.read(uriOf(folder, 'in/missing'))).rejects.toMatchObject(missing)
  })

  test('complete paths within the boundary', async () => {
    const folder = folderWith({
      'notes/a1.txt': '',
      'notes/a2.txt': '',
      'notes/b#.txt': '',
      'notes/sub/': '',
      'nothing/': '',
    })
    const notes = join(folder, 'notes')
    const client = await clientOf(era, { directories: [notes] })
    const complete = async (typed: string): Promise<readonly string[]> =>
      (await client.complete({ ref: template, argument: { name: 'path', value: typed.slice(1) } })).values
    const below = (...names: string[]): string[] => names.map((name) => join(notes, name).slice(1))
    expect(await complete('/')).toEqual([`${notes.slice(1)}/`])
    expect(await complete(join(folder, 'no'))).toEqual([`${notes.slice(1)}/`])
    expect(await complete(`${notes}/a`)).toEqual(below('a1.txt', 'a2.txt'))
    expect(await complete(`${notes}/`)).toEqual(below('a1.txt', 'a2.txt', 'b%23.txt', 'sub/'))
    expect(await complete(`${notes}/../`)).toEqual([])
    expect(await complete('/etc/pass')).toEqual([])
    const [completed = ''] = await complete(`${notes}/b`)
    expect((await client.read(`file:///${completed}`)).contents).toMatchObject([{ text: '' }])
  })
})

describe.each(eras)('subscriptions on %s', (era) => {
  /** A client that is subscribed to resources, and the URIs that it was notified of. */
  async function watching(
    directories: string[],
    uris: string[],
    options: FilesystemOptions = {},
  ): Promise<{ changed: string[]; acknowledged: SubscriptionFilter; close: () => Promise<void> }> {
    const client = await clientOf(era, { directories, ...options })
    const changed: string[] = []
    const watch = await client.watch({ resourceSubscriptions: uris }, (change) => {
      if (change.type === 'resource') changed.push(change.uri)
    })
    return { changed, acknowledged: watch.acknowledged, close: () => watch.close() }
  }

  test('notify of changes of a file: written, replaced, deleted and created again', async () => {
    const folder = folderWith({ 'a.txt': '1', 'b.txt': '1' })
    const file = join(folder, 'a.txt')
    const { changed } = await watching([folder], [uriOf(file)])
    const changes: (() => void)[] = [
      () => writeFileSync(file, '2'),
      () => {
        writeFileSync(join(folder, 'new'), '3')
        renameSync(join(folder, 'new'), file)
      },
      () => unlinkSync(file),
      () => writeFileSync(file, '4'),
      () => writeFileSync(file, '5'),
    ]
    for (const [index, change] of changes.entries()) {
      changed.length = 0
      change()
      await vi.waitFor(() => expect(changed, `change ${index}`).toContain(uriOf(file)), { timeout: 10_000 })
      // What one change reports in parts is reported before the next one.
      await vi.waitUntil(async () => {
        const count = changed.length
        await new Promise((resolve) => setImmediate(resolve))
        return count === changed.length
      })
    }
    expect(new Set(changed)).toEqual(new Set([uriOf(file)]))
  })

  test('notify of the entries of a directory', async () => {
    const folder = folderWith({ 'sub/': '' })
    const { changed } = await watching([folder], [uriOf(folder, 'sub')])
    writeFileSync(join(folder, 'sub/new.txt'), '')
    await vi.waitFor(() => expect(changed).toContain(uriOf(folder, 'sub')), { timeout: 10_000 })
  })

  test('continue after the directory of a file was replaced', async () => {
    const folder = folderWith({ 'sub/a.txt': '1' })
    const file = join(folder, 'sub/a.txt')
    const { changed } = await watching([folder], [uriOf(file)])
    rmSync(join(folder, 'sub'), { recursive: true })
    await vi.waitFor(() => expect(changed.length).toBeGreaterThan(0), { timeout: 10_000 })
    changed.length = 0
    mkdirSync(join(folder, 'sub'))
    writeFileSync(file, '2')
    await vi.waitFor(() => expect(changed.length).toBeGreaterThan(0), { timeout: 10_000 })
    changed.length = 0
    writeFileSync(file, '3')
    await vi.waitFor(() => expect(changed.length).toBeGreaterThan(0), { timeout: 10_000 })
  })

  test('notify of a change that happens while watching starts again', async () => {
    // The more directories a path has, the longer it takes.
    const directory = Array.from({ length: 200 }, () => 'd').join('/')
    const folder = folderWith({ [`${directory}/a.txt`]: '0' })
    const file = join(folder, directory, 'a.txt')
    const { changed } = await watching([folder], [uriOf(file)])
    for (let waitMs = 50; waitMs <= 80; waitMs += 5) {
      changed.length = 0
      // A new name in the directory starts it again, 50 ms later.
      writeFileSync(join(folder, directory, `new-${waitMs}`), '')
      await setTimeout(waitMs)
      writeFileSync(file, String(waitMs))
      await vi.waitFor(() => expect(changed, `${waitMs} ms`).toContain(uriOf(file)), { timeout: 10_000 })
    }
  })

  test('outside of the boundary, and above the limit, are refused', async () => {
    const folder = folderWith({ 'in/a.txt': '', 'out.txt': '' })
    const [inside, outside] = [uriOf(folder, 'in/a.txt'), uriOf(folder, 'out.txt')]
    const { acknowledged } = await watching([join(folder, 'in')], [inside, outside])
    expect(acknowledged.resourceSubscriptions).toEqual([inside])
    const many = ['1', '2', '3'].map((name) => uriOf(folder, 'in', name))
    const limited = watching([folder], many, { limits: { subscriptions: 2 } })
    // A session subscribes to one resource at a time.
    if (era === '2026-07-28') await expect(limited).rejects.toThrow('At most 2')
    else expect((await limited).acknowledged.resourceSubscriptions).toHaveLength(2)
  })

  test('are released with the client', async () => {
    const folder = folderWith({ 'a.txt': '', 'b.txt': '' })
    const server = await createFilesystemServer({ directories: [folder], limits: { subscriptions: 1 } })
    for (const name of ['a.txt', 'b.txt']) {
      const client = await connect(server, { revisions: [era] })
      const watch = await client.watch({ resourceSubscriptions: [uriOf(folder, name)] })
      await watch.close()
      await client.close()
    }
  })

  test('to the list of resources notify of changed roots', async () => {
    const folder = folderWith({ 'one/a.txt': '', 'two/b.txt': '' })
    let root = 'one'
    const client = await clientOf(era, {}, { onRoots: () => [{ uri: uriOf(folder, root) }] })
    const listed = async (): Promise<string[]> => (await client.resources()).map(({ uri }) => uri)
    await client.call('list_allowed_directories')
    expect(await listed()).toEqual([uriOf(folder, 'one'), uriOf(folder, 'one/a.txt')])
    let changes = 0
    await client.watch({ resourcesListChanged: true }, (change) => {
      if (change.type === 'resources') changes++
    })
    root = 'two'
    await client.call('list_allowed_directories')
    await vi.waitFor(() => expect(changes).toBe(1), { timeout: 10_000 })
    expect(await listed()).toEqual([uriOf(folder, 'two'), uriOf(folder, 'two/b.txt')])
  })
})
