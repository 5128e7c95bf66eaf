import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clientOf, eras, errorOf, folderWith, textOf, textsOf } from './fixture.ts'

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}`).join('\n')

describe.each(eras)('reading text on %s', (era) => {
  test('returns the whole file, with its encoding, size and lines', async () => {
    const folder = folderWith({ 'a.txt': 'one\ntwo\n' })
    const client = await clientOf(era, { directories: [folder] })
    const result = await client.call('read_text_file', { path: join(folder, 'a.txt') })
    expect(result.content).toEqual([{ type: 'text', text: 'one\ntwo\n' }])
    expect(result.structuredContent).toEqual({
      content: 'one\ntwo\n',
      path: join(folder, 'a.txt'),
      size: 8,
      encoding: 'utf-8',
      firstLine: 1,
      lastLine: 2,
      truncated: false,
    })
  })

  test.each([
    [{ head: 2 }, lines(1, 2)],
    [{ tail: 2 }, lines(19_999, 20_000)],
    [{ head: 0, tail: 3 }, lines(19_998, 20_000)],
    [{ startLine: 10, endLine: 12 }, lines(10, 12)],
    [{ startLine: 19_999 }, lines(19_999, 20_000)],
    [{ endLine: 1 }, 'line 1'],
    [{ startLine: 30_000 }, ''],
  ])('returns the lines of %j', async (range, expected) => {
    const folder = folderWith({ 'a.txt': `${lines(1, 20_000)}\n` })
    const client = await clientOf(era, { directories: [folder] })
    expect(textOf(await client.call('read_text_file', { path: 'a.txt', ...range }))).toBe(expected)
  })

  test('refuses ranges that contradict each other', async () => {
    const folder = folderWith({ 'a.txt': 'a' })
    const client = await clientOf(era, { directories: [folder] })
    const read = async (range: object): Promise<string> =>
      errorOf(await client.call('read_text_file', { path: 'a.txt', ...range }))
    expect(await read({ head: 1, tail: 1 })).toContain('head and tail')
    expect(await read({ head: 1, startLine: 1 })).toContain('startLine')
    expect(await read({ startLine: 3, endLine: 2 })).toContain('before startLine 3')
  })
})

test('a range after the last line says how many lines there are', async () => {
  const folder = folderWith({ 'a.txt': 'one\ntwo\n', 'b.txt': 'one\ntwo', 'empty.txt': '' })
  const client = await clientOf('2026-07-28', { directories: [folder] })
  const read = async (path: string): Promise<string[]> =>
    textsOf(await client.call('read_text_file', { path, startLine: 3 }))
  expect(await read('a.txt')).toEqual(['', '[The file has 2 lines.]'])
  expect(await read('b.txt')).toEqual(['', '[The file has 2 lines.]'])
  expect(await read('empty.txt')).toEqual(['', '[The file has 0 lines.]'])
})

test('a file URI, which a resource link has, is refused with its path', async () => {
  const folder = folderWith({ 'a b.txt': 'one' })
  const client = await clientOf('2026-07-28', { directories: [folder] })
  const path = join(folder, 'a b.txt')
  const text = errorOf(await client.call('read_text_file', { path: pathToFileURL(path).href }))
  expect(text).toContain(`Use the path ${path}`)
  expect(errorOf(await client.call('read_text_file', { path: 'file://host/a%2Fb' }))).toContain('is a URI')
})

describe('a result of limited size', () => {
  test('ends after a whole line and returns where to continue, so that all of the file can be read', async () => {
    const whole = Array.from({ length: 1000 }, (_, n) => `line ${n} "${'\\'.repeat(n % 7)}"`).join('\n')
    const folder = folderWith({ 'a.txt': whole })
    const client = await clientOf('2026-07-28', { directories: [folder], limits: { readBytes: 2000 } })
    let text = ''
    for (let startLine: number | undefined = 1; startLine !== undefined; ) {
      const result = await client.call('read_text_file', { path: 'a.txt', startLine })
      const part = result.structuredContent as { content: string; truncated: boolean; lastLine: number }
      expect(Buffer.byteLength(part.content)).toBeLessThanOrEqual(2000)
      text += (text === '' ? '' : '\n') + part.content
      const notice = textsOf(result)[1]
      if (part.truncated) expect(notice).toContain(`Continue with startLine ${part.lastLine + 1}.`)
      startLine = part.truncated ? part.lastLine + 1 : undefined
    }
    expect(text).toBe(whole)
  })

  test('says that only the beginning of a longer line is shown', async () => {
    const folder = folderWith({ 'a.txt': `${'x'.repeat(3000)}\nend` })
    const client = await clientOf('2026-07-28', { directories: [folder], limits: { readBytes: 2000 } })
    const result = await client.call('read_text_file', { path: 'a.txt' })
    expect(textsOf(result)[1]).toBe(
      '[Truncated: only the beginning of line 1 is shown. The file has 2.93 KB. Continue with startLine 2.]',
    )
    expect(textOf(await client.call('read_text_file', { path: 'a.txt', startLine: 2 }))).toBe('end')
  })

  test('cuts a line that is longer than the limit, and the end of a file', async () => {
    const folder = folderWith({ 'a.txt': `${'é'.repeat(5000)}\nlast`, 'b.txt': `first\n${'x'.repeat(3000)}` })
    const client = await clientOf('2026-07-28', { directories: [folder], limits: { readBytes: 1000 } })
    const start = await client.call('read_text_file', { path: 'a.txt' })
    expect(textOf(start)).toMatch(/^é{400,500}$/)
    expect(textsOf(start)[1]).toContain('Truncated')
    const end = await client.call('read_text_file', { path: 'b.txt', tail: 2 })
    expect(textOf(end)).toMatch(/^x{1,1000}$/)
    expect(end.structuredContent).toMatchObject({ truncated: true })
  })

  test('is not multiplied by characters that JSON escapes', async () => {
    const folder = folderWith({ 'a.txt': `${'\u007f\\"'.repeat(300_000)}` })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const result = await client.call('read_text_file', { path: 'a.txt' })
    expect(JSON.stringify(result).length).toBeLessThan(4_000_000)
  })
})

describe('encodings', () => {
  const text = 'Grüße, 世界 🎉\nzweite Zeile'
  test.each([
    ['utf-8', Buffer.from(text)],
    ['utf-8-bom', Buffer.from(`\ufeff${text}`)],
    ['utf-16le', Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['utf-16be', Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ])('%s is detected', async (encoding, bytes) => {
    const folder = folderWith({ 'a.txt': bytes })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const result = await client.call('read_text_file', { path: 'a.txt' })
    expect(result.structuredContent).toMatchObject({ content: text, encoding })
    const tail = await client.call('read_text_file', { path: 'a.txt', tail: 1 })
    expect(textOf(tail)).toBe('zweite Zeile')
  })

  test('characters across the chunks of a long file are intact', async () => {
    const long = `x${'🎉é'.repeat(60_000)}`
    const folder = folderWith({ 'a.txt': long })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    expect(textOf(await client.call('read_text_file', { path: 'a.txt' }))).toBe(long)
  })

  test('latin1 is read on request, and refused with the way to do it otherwise', async () => {
    const folder = folderWith({ 'a.txt': Buffer.from('Grüße', 'latin1') })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    expect(errorOf(await client.call('read_text_file', { path: 'a.txt' }))).toContain('encoding "latin1"')
    const result = await client.call('read_text_file', { path: 'a.txt', encoding: 'latin1' })
    expect(textOf(result)).toBe('Grüße')
  })

  test('a binary file is refused with its size, media type and a link to it', async () => {
    const folder = folderWith({ 'a.png': new Uint8Array(2048) })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const result = await client.call('read_text_file', { path: 'a.png' })
    expect(errorOf(result)).toMatch(/2\.00 KB, image\/png.*read_media_file/)
    expect(result.content[1]).toMatchObject({ type: 'resource_link', mimeType: 'image/png', size: 2048 })
  })
})

describe('media', () => {
  test('is returned as image, audio or embedded resource', async () => {
    const bytes = Buffer.from([0, 1, 2, 253, 254, 255])
    const folder = folderWith({ 'a.png': bytes, 'b.mp3': bytes, 'c.bin': bytes })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const data = bytes.toString('base64')
    const read = async (path: string): Promise<unknown> =>
      (await client.call('read_media_file', { path })).content
    expect(await read('a.png')).toEqual([{ type: 'image', data, mimeType: 'image/png' }])
    expect(await read('b.mp3')).toEqual([{ type: 'audio', data, mimeType: 'audio/mpeg' }])
    const resource = { uri: `file://${folder}/c.bin`, mimeType: 'application/octet-stream', blob: data }
    expect(await read('c.bin')).toEqual([{ type: 'resource', resource }])
  })

  test('above the limit is refused with the limit', async () => {
    const folder = folderWith({ 'a.png': new Uint8Array(2001) })
    const client = await clientOf('2026-07-28', { directories: [folder], limits: { mediaBytes: 2000 } })
    expect(errorOf(await client.call('read_media_file', { path: 'a.png' }))).toContain('1.95 KB')
  })
})

describe('several files', () => {
  test('are read at once, with an error for each file that cannot be read', async () => {
    const folder = folderWith({ 'a.txt': 'A', 'b.txt': 'B' })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const paths = ['a.txt', 'missing.txt', 'b.txt', '/etc/passwd']
    const result = await client.call('read_multiple_files', { paths })
    const parts = textOf(result).split('\n---\n')
    expect(parts[0]).toBe('a.txt:\nA\n')
    expect(parts[1]).toMatch(/^missing\.txt: Error - .*does not exist/)
    expect(parts[2]).toBe('b.txt:\nB\n')
    expect(parts[3]).toMatch(/^\/etc\/passwd: Error - Access denied/)
  })

  test('share the limit of one result', async () => {
    const folder = folderWith({ 'a.txt': 'a'.repeat(900), 'b.txt': 'b'.repeat(900) })
    const client = await clientOf('2026-07-28', {
      directories: [folder],
      limits: { readBytes: 1000, files: 2 },
    })
    const result = await client.call('read_multiple_files', { paths: ['a.txt', 'b.txt'] })
    expect(textOf(result).length).toBeLessThan(1300)
    expect(result.structuredContent).toMatchObject({ files: [{ truncated: true }, { truncated: true }] })
    const tooMany = await client.call('read_multiple_files', { paths: ['a', 'b', 'c'] })
    expect(errorOf(tooMany)).toContain('paths')
  })
})

describe.runIf(process.platform !== 'win32')('a path that is no regular file', () => {
  test('is rejected at once and named: directory, named pipe, socket, device', async () => {
    const folder = folderWith({ 'sub/': '' })
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const socket = createServer().listen(join(folder, 'socket'))
    onTestFinished(() => {
      socket.close()
    })
    await new Promise((resolve) => socket.once('listening', resolve))
    const client = await clientOf('2026-07-28', { directories: [folder, '/dev'] })
    const read = async (path: string): Promise<string> =>
      errorOf(await client.call('read_text_file', { path }))
    expect(await read(join(folder, 'sub'))).toContain('it is a directory')
    expect(await read(join(folder, 'pipe'))).toContain('is a named pipe')
    expect(await read(join(folder, 'socket'))).toContain('is a socket')
    expect(await read('/dev/zero')).toContain('is a device')
    const list = await client.call('list_directory', { path: folder })
    expect(list.structuredContent).toMatchObject({
      entries: [
        { name: 'pipe', type: 'named pipe' },
        { name: 'socket', type: 'socket' },
        { name: 'sub', type: 'directory' },
      ],
    })
  })

  const isRoot = process.getuid?.() === 0
  const without = isRoot ? ' [left out: needs a user other than root, who may read every file]' : ''
  test.skipIf(isRoot)(`a file without permission is refused with the reason${without}`, async () => {
    const folder = folderWith({ 'a.txt': 'a' })
    chmodSync(join(folder, 'a.txt'), 0)
    const client = await clientOf('2026-07-28', { directories: [folder] })
    expect(errorOf(await client.call('read_text_file', { path: 'a.txt' }))).toContain('permissions')
  })
})

describe('listing', () => {
  test('comes in parts that follow each other', async () => {
    const folder = folderWith()
    for (let n = 0; n < 25; n++) writeFileSync(join(folder, `file-${String(n).padStart(2, '0')}`), '')
    mkdirSync(join(folder, 'dir'))
    const client = await clientOf('2026-07-28', { directories: [folder], limits: { entries: 10 } })
    const names: string[] = []
    let cursor: string | undefined
    do {
      const result = await client.call('list_directory', {
        path: folder,
        ...(cursor === undefined ? {} : { cursor }),
      })
      const page = result.structuredContent as { entries: { name: string }[]; cursor?: string; total: number }
      expect(page.total).toBe(26)
      names.push(...page.entries.map(({ name }) => name))
      cursor = page.cursor
      if (cursor !== undefined)
        expect(textsOf(result)[1]).toContain(`10 of 26 entries. Continue with cursor "${cursor}"`)
    } while (cursor !== undefined)
    expect(names).toEqual([
      'dir',
      ...Array.from({ length: 25 }, (_, n) => `file-${String(n).padStart(2, '0')}`),
    ])
  })

  test('with sizes is sorted by name or size, and ends with the sum', async () => {
    const folder = folderWith({ 'a.txt': 'a', 'b.txt': 'b'.repeat(2048), 'c/': '' })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const list = async (sortBy: string): Promise<string[]> =>
      textOf(await client.call('list_directory_with_sizes', { path: folder, sortBy })).split('\n')
    expect((await list('name')).map((line) => line.trim().replaceAll(/ +/g, ' '))).toEqual([
      '[FILE] a.txt 1 B',
      '[FILE] b.txt 2.00 KB',
      '[DIR] c',
      '',
      'Total: 2 files, 1 directories',
      'Combined size: 2.00 KB',
    ])
    expect((await list('size'))[0]).toContain('b.txt')
  })

  test('as a tree excludes patterns, levels and ignored files', async () => {
    const folder = folderWith({
      'src/a.ts': '',
      'src/deep/b.ts': '',
      'node_modules/x/index.js': '',
      'out/a.js': '',
      '.gitignore': 'out/\n',
    })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const tree = async (args: object): Promise<unknown> =>
      JSON.parse(textOf(await client.call('directory_tree', { path: folder, ...args })))
    const file = (name: string): object => ({ name, type: 'file' })
    const directory = (name: string, ...children: object[]): object => ({ name, type: 'directory', children })
    const source = directory('src', file('a.ts'), directory('deep', file('b.ts')))
    expect(await tree({ excludePatterns: ['node_modules', '*.js'] })).toEqual([
      file('.gitignore'),
      directory('out', file('a.js')),
      source,
    ])
    expect(await tree({ excludePatterns: ['node_modules'], respectGitignore: true })).toEqual([
      file('.gitignore'),
      source,
    ])
    expect(await tree({ excludePatterns: ['node_modules', 'out', '.gitignore'], maxDepth: 1 })).toEqual([
      directory('src'),
    ])
  })

  test('as a tree is marked where it is cut', async () => {
    const folder = folderWith(
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`d${n % 3}/f${n}`, ''])),
    )
    const client = await clientOf('2026-07-28', { directories: [folder], limits: { treeEntries: 10 } })
    const result = await client.call('directory_tree', { path: folder })
    expect(result.structuredContent).toMatchObject({ entries: 10, truncated: true })
    expect(textsOf(result)[1]).toContain('Truncated after 10 entries')
  })

  test('of a path that is no directory is rejected', async () => {
    const folder = folderWith({ 'a.txt': '' })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    for (const tool of ['list_directory', 'list_directory_with_sizes', 'directory_tree']) {
      expect(errorOf(await client.call(tool, { path: 'a.txt' })), tool).toContain('it is not a directory')
      expect(errorOf(await client.call(tool, { path: 'missing' })), tool).toContain('does not exist')
    }
  })

  test('of one file shows its metadata', async () => {
    const folder = folderWith({ 'a.md': 'abc' })
    chmodSync(join(folder, 'a.md'), 0o640)
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const result = await client.call('get_file_info', { path: 'a.md' })
    expect(textOf(result)).toContain('size: 3\n')
    expect(result.structuredContent).toMatchObject({
      path: join(folder, 'a.md'),
      type: 'file',
      size: 3,
      permissions: '640',
      mimeType: 'text/markdown',
    })
  })
})
