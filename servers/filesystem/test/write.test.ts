import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Client } from '@jackfield/sdk/client'
import { runTwice } from '@jackfield/sdk/testing'
import { createFilesystemServer } from '@jackfield/server-filesystem'
import { describe, expect, test } from 'vitest'
import { accepting, clientOf, declining, eras, errorOf, folderWith, textOf, textsOf } from './fixture.ts'

const open = (folder: string): Promise<Client> =>
  clientOf('2026-07-28', { directories: [folder], confirm: 'never' })
const contentOf = (...path: string[]): string => readFileSync(join(...path), 'utf8')

describe('writing', () => {
  test('creates and replaces files atomically, keeps permissions, and leaves no temporary file', async () => {
    const folder = folderWith({ 'run.sh': 'old' })
    chmodSync(join(folder, 'run.sh'), 0o750)
    const client = await open(folder)
    const created = await client.call('write_file', { path: 'new.txt', content: 'Grüße\n' })
    expect(textOf(created)).toBe('Successfully wrote to new.txt')
    expect(created.structuredContent).toMatchObject({
      path: join(folder, 'new.txt'),
      bytes: 8,
      created: true,
    })
    const replaced = await client.call('write_file', { path: 'run.sh', content: 'new' })
    expect(replaced.structuredContent).toMatchObject({ created: false })
    expect(contentOf(folder, 'run.sh')).toBe('new')
    expect(statSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o750)
    expect(statSync(join(folder, 'new.txt')).mode & 0o777).toBe(0o666 & ~process.umask())
    expect(readdirSync(folder).sort()).toEqual(['new.txt', 'run.sh'])
  })

  test('rejects directories, and paths whose directory is missing', async () => {
    const folder = folderWith({ 'sub/': '' })
    const client = await open(folder)
    const write = async (path: string): Promise<string> =>
      errorOf(await client.call('write_file', { path, content: 'x' }))
    expect(await write('sub')).toContain('it is a directory')
    expect(await write('.')).toContain('it is a directory')
    expect(await write('missing/a.txt')).toContain('a directory on the way does not exist')
    expect(readdirSync(folder)).toEqual(['sub'])
  })

  test('through a link to a file that does not exist creates it', async () => {
    const folder = folderWith({ 'sub/': '' })
    symlinkSync('sub/a.txt', join(folder, 'link'))
    const client = await open(folder)
    await client.call('write_file', { path: 'link', content: 'x' })
    expect(contentOf(folder, 'sub/a.txt')).toBe('x')
  })

  test('of two clients at once leaves the complete content of one', async () => {
    const folder = folderWith({ 'a.txt': 'old' })
    const client = await open(folder)
    const contents = Array.from({ length: 8 }, (_, n) => `${n}`.repeat(100_000))
    const results = await Promise.all(
      contents.map((content) => client.call('write_file', { path: 'a.txt', content })),
    )
    const written = results.flatMap(({ isError }, n) => (isError === true ? [] : [contents[n]]))
    expect(written).toContain(contentOf(folder, 'a.txt'))
    for (const result of results.filter(({ isError }) => isError))
      expect(errorOf(result)).toContain('meanwhile')
    expect(readdirSync(folder)).toEqual(['a.txt'])
  })

  test('to a full disk fails with the reason, and does not change the file', async () => {
    const folder = folderWith({ 'a.txt': 'old' })
    // A file may have 1 MiB in this process: the system refuses to write beyond, as on a full disk.
    const program = `
      import { connect } from '@jackfield/sdk/client'
      import { createFilesystemServer } from '@jackfield/server-filesystem'
      process.on('SIGXFSZ', () => {})
      const client = await connect(await createFilesystemServer({ directories: [process.argv[1]], confirm: 'never' }))
      const { content } = await client.call('write_file', { path: 'a.txt', content: 'x'.repeat(2_000_000) })
      process.stdout.write(content[0].text)
      await client.close()`
    const script = 'ulimit -f 2048; exec "$0" "$@"'
    const args = ['-c', script, process.execPath, '--input-type=module', '--eval', program, folder]
    const output = execFileSync('/bin/sh', args, { encoding: 'utf8', cwd: join(import.meta.dirname, '..') })
    expect(output).toMatch(/Cannot write .*a\.txt: the file would be larger/)
    expect(contentOf(folder, 'a.txt')).toBe('old')
    expect(readdirSync(folder)).toEqual(['a.txt'])
  })
})

describe('editing', () => {
  const edit = (client: Client, edits: object[], more: object = {}) =>
    client.call('edit_file', { path: 'a.txt', edits, ...more })

  test('replaces exact text, and shows the difference', async () => {
    const folder = folderWith({ 'a.txt': 'one\ntwo\nthree\n' })
    const client = await open(folder)
    const result = await edit(client, [
      { oldText: 'two', newText: '2' },
      { oldText: '2\nthree', newText: '2\n3' },
    ])
    expect(textOf(result)).toContain('```diff\n')
    expect(textOf(result)).toContain('-two\n-three\n+2\n+3\n')
    expect(contentOf(folder, 'a.txt')).toBe('one\n2\n3\n')
  })

  test('that replaces a text by itself says so, and does not ask', async () => {
    const folder = folderWith({ 'a.txt': 'one\n' })
    const client = await clientOf('2026-07-28', { directories: [folder] })
    const result = await edit(client, [{ oldText: 'one', newText: 'one' }])
    expect(result.structuredContent).toMatchObject({
      changed: false,
      notes: ['The edits change nothing: the file has the new text already.'],
    })
  })

  test('with dryRun shows the same and writes nothing', async () => {
    const folder = folderWith({ 'a.txt': 'one\n' })
    const client = await open(folder)
    const result = await edit(client, [{ oldText: 'one', newText: 'two' }], { dryRun: true })
    expect(textOf(result)).toContain('-one\n+two\n')
    expect(result.structuredContent).toMatchObject({ changed: false })
    expect(contentOf(folder, 'a.txt')).toBe('one\n')
  })

  test('does not change the file if one of the edits matches nothing', async () => {
    const folder = folderWith({ 'a.txt': 'one\n' })
    const client = await open(folder)
    const edits = [
      { oldText: 'one', newText: 'two' },
      { oldText: 'missing', newText: 'x' },
    ]
    expect(errorOf(await edit(client, edits))).toContain('Could not find exact match for edit:\nmissing')
    expect(errorOf(await edit(client, [{ oldText: '', newText: 'x' }]))).toContain('is empty')
    expect(contentOf(folder, 'a.txt')).toBe('one\n')
  })

  test('reports that a text occurs more than once, and replaces all on request', async () => {
    const folder = folderWith({ 'a.txt': 'a a a' })
    const client = await open(folder)
    const result = await edit(client, [{ oldText: 'a', newText: '$&' }])
    expect(textsOf(result)[1]).toContain('occurs 3 times; only the first was replaced')
    expect(contentOf(folder, 'a.txt')).toBe('$& a a')
    await edit(client, [{ oldText: 'a', newText: 'b', replaceAll: true }])
    expect(contentOf(folder, 'a.txt')).toBe('$& b b')
  })

  test('keeps line endings, encoding and indentation', async () => {
    const folder = folderWith({
      'a.txt': Buffer.from('\ufeffif (x) {\r\n    one()\r\n    two()\r\n}\r\n', 'utf16le'),
    })
    const client = await open(folder)
    await edit(client, [{ oldText: 'if (x) {\n', newText: 'if (y) {\n' }])
    const result = await edit(client, [{ oldText: 'one()\ntwo()', newText: 'one()\nthree()' }])
    expect(textsOf(result)[1]).toContain('other indentation')
    expect(readFileSync(join(folder, 'a.txt'), 'utf16le')).toBe(
      '\ufeffif (y) {\r\n    one()\r\nthree()\r\n}\r\n',
    )
  })

  test('refuses binary files', async () => {
    const folder = folderWith({ 'a.txt': new Uint8Array(100) })
    const client = await open(folder)
    expect(errorOf(await edit(client, [{ oldText: 'a', newText: 'b' }]))).toContain('is binary')
  })
})

describe('directories', () => {
  test('are created with those above them, again without an error', async () => {
    const folder = folderWith({ file: '' })
    const client = await open(folder)
    const create = (path: string) => client.call('create_directory', { path })
    expect((await create('a/b/c')).structuredContent).toMatchObject({
      created: true,
      path: join(folder, 'a/b/c'),
    })
    expect((await create('a/b/c')).structuredContent).toMatchObject({ created: false })
    expect((await create('.')).structuredContent).toMatchObject({ created: false })
    expect(statSync(join(folder, 'a/b/c')).isDirectory()).toBe(true)
    expect(errorOf(await create('file'))).toContain('a file has this name')
    expect(errorOf(await create('file/a'))).toContain('not a directory')
  })

  test('are deleted empty, or with everything in them on request', async () => {
    const folder = folderWith({ 'a/b/c.txt': '', 'a/d.txt': '', 'empty/': '' })
    const client = await open(folder)
    const remove = (path: string, recursive?: boolean) => client.call('delete_directory', { path, recursive })
    expect(errorOf(await remove('a'))).toContain('is not empty (2 files, 1 directory). Set recursive')
    expect((await remove('a', true)).structuredContent).toMatchObject({ files: 2, directories: 1 })
    await remove('empty')
    expect(readdirSync(folder)).toEqual([])
    expect(errorOf(await remove('.', true))).toContain('is an allowed directory')
    expect(errorOf(await remove('missing'))).toContain('does not exist')
  })

  test('with more entries than the limit are not changed', async () => {
    const folder = folderWith(
      Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`a/${n % 4}/${n}`, ''])),
    )
    const client = await clientOf('2026-07-28', {
      directories: [folder],
      confirm: 'never',
      limits: { deleted: 23 },
    })
    const result = await client.call('delete_directory', { path: 'a', recursive: true })
    expect(errorOf(result)).toContain('more than 23')
    expect(readdirSync(folder, { recursive: true })).toHaveLength(25)
  })
})

describe('moving', () => {
  test('renames files and directories, and never replaces anything', async () => {
    const folder = folderWith({ 'a.txt': 'a', 'b.txt': 'b', 'dir/c.txt': 'c', 'empty/': '', 'other/': '' })
    const client = await open(folder)
    const move = (source: string, destination: string) => client.call('move_file', { source, destination })
    expect(textOf(await move('a.txt', 'other/a.txt'))).toBe('Successfully moved a.txt to other/a.txt')
    expect(contentOf(folder, 'other/a.txt')).toBe('a')
    expect(existsSync(join(folder, 'a.txt'))).toBe(false)
    expect((await move('dir', 'other/dir')).isError ?? false).toBe(false)
    expect(contentOf(folder, 'other/dir/c.txt')).toBe('c')
    for (const destination of ['b.txt', 'empty', 'other']) {
      expect(errorOf(await move('other/a.txt', destination))).toContain('Destination already exists')
    }
    expect(errorOf(await move('empty', 'other'))).toContain('Destination already exists')
    expect(errorOf(await move('other', 'other/dir/x'))).toContain('into itself')
    expect(errorOf(await move('.', 'x'))).toContain('not moved')
    expect(errorOf(await move('missing', 'x'))).toContain('does not exist')
    expect(errorOf(await move('b.txt', 'missing/b.txt'))).toContain('does not exist')
    expect(contentOf(folder, 'b.txt')).toBe('b')
    expect(readdirSync(folder).sort()).toEqual(['b.txt', 'empty', 'other'])
  })

  const shm = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync(process.cwd()).dev
  test.runIf(shm)(
    `to another file system copies a file with its permissions${shm ? '' : ' [left out: needs /dev/shm]'}`,
    async () => {
      const folder = folderWith({ 'a.txt': 'a', 'dir/': '' })
      chmodSync(join(folder, 'a.txt'), 0o640)
      const other = `/dev/shm/jackfield-fs-${process.pid}`
      mkdirSync(other)
      try {
        const client = await clientOf('2026-07-28', { directories: [folder, other], confirm: 'never' })
        await client.call('move_file', { source: 'a.txt', destination: join(other, 'a.txt') })
        expect(contentOf(other, 'a.txt')).toBe('a')
        expect(statSync(join(other, 'a.txt')).mode & 0o777).toBe(0o640)
        expect(readdirSync(folder)).toEqual(['dir'])
        const result = await client.call('move_file', { source: 'dir', destination: join(other, 'dir') })
        expect(errorOf(result)).toContain('different file systems')
        expect(readdirSync(other)).toEqual(['a.txt'])
      } finally {
        rmSync(other, { recursive: true })
      }
    },
  )
})

describe.each(eras)('confirmation on %s', (era) => {
  const asking = async (folder: string, action: 'accept' | 'decline' | 'cancel', confirm?: 'always') => {
    const questions: string[] = []
    const client = await clientOf(
      era,
      { directories: [folder], ...(confirm === undefined ? {} : { confirm }) },
      {
        onElicit: ({ message }) => {
          questions.push(message)
          return action === 'accept' ? { action, content: {} } : { action }
        },
      },
    )
    return { client, questions }
  }

  test('is asked before something is replaced or deleted, and not before something is created', async () => {
    const folder = folderWith({ 'a.txt': 'old', 'b.txt': 'b', 'dir/c.txt': 'c' })
    const { client, questions } = await asking(folder, 'accept')
    await client.call('write_file', { path: 'new.txt', content: 'x' })
    await client.call('create_directory', { path: 'made' })
    await client.call('move_file', { source: 'new.txt', destination: 'made/new.txt' })
    expect(questions).toEqual([])
    await client.call('write_file', { path: 'a.txt', content: 'long content' })
    await client.call('edit_file', { path: 'a.txt', edits: [{ oldText: 'long', newText: 'short' }] })
    await client.call('delete_file', { path: 'b.txt' })
    await client.call('delete_directory', { path: 'dir', recursive: true })
    expect(questions).toEqual([
      `Overwrite ${folder}/a.txt? Its 3 B are replaced by 12 B.`,
      expect.stringMatching(/^Change .*a\.txt\?\n\n```diff[\s\S]*-long content[\s\S]*\+short content/),
      `Delete the file ${folder}/b.txt (1 B)? This cannot be undone.`,
      `Delete the directory ${folder}/dir with 1 file and 0 directories in it? This cannot be undone.`,
    ])
    expect(contentOf(folder, 'a.txt')).toBe('short content')
    expect(readdirSync(folder).sort()).toEqual(['a.txt', 'made'])
  })

  test.each(['decline', 'cancel'] as const)('with %s changes nothing', async (action) => {
    const folder = folderWith({ 'a.txt': 'old', 'dir/c.txt': 'c' })
    const { client, questions } = await asking(folder, action)
    const calls: [string, Record<string, unknown>][] = [
      ['write_file', { path: 'a.txt', content: 'new' }],
      ['edit_file', { path: 'a.txt', edits: [{ oldText: 'old', newText: 'new' }] }],
      ['delete_file', { path: 'a.txt' }],
      ['delete_directory', { path: 'dir', recursive: true }],
    ]
    for (const [tool, args] of calls)
      expect(errorOf(await client.call(tool, args))).toContain('Nothing was changed')
    expect(questions).toHaveLength(4)
    expect(contentOf(folder, 'a.txt')).toBe('old')
    expect(contentOf(folder, 'dir/c.txt')).toBe('c')
  })

  test('can be asked before every change', async () => {
    const folder = folderWith({ 'a.txt': 'a' })
    const { client, questions } = await asking(folder, 'accept', 'always')
    await client.call('write_file', { path: 'new.txt', content: 'x' })
    await client.call('create_directory', { path: 'made' })
    await client.call('move_file', { source: 'new.txt', destination: 'made/new.txt' })
    expect(questions).toEqual([
      `Create ${folder}/new.txt (1 B)?`,
      'Create the directory made?',
      'Move new.txt to made/new.txt?',
    ])
    expect(contentOf(folder, 'made/new.txt')).toBe('x')
  })

  test('that the client does not support rejects the change, and names the option', async () => {
    const folder = folderWith({ 'a.txt': 'old' })
    const client = await clientOf(era, { directories: [folder] })
    const result = await client.call('write_file', { path: 'a.txt', content: 'new' })
    expect(errorOf(result)).toContain('--confirm never')
    expect(contentOf(folder, 'a.txt')).toBe('old')
    expect((await client.call('write_file', { path: 'b.txt', content: 'b' })).isError ?? false).toBe(false)
  })

  test('applies only to the file it was given for: one that changed meanwhile is not changed', async () => {
    const folder = folderWith({ 'a.txt': 'old' })
    const client = await clientOf(
      era,
      { directories: [folder] },
      {
        onElicit: () => {
          writeFileSync(join(folder, 'a.txt'), 'changed by another program')
          return { action: 'accept', content: {} }
        },
      },
    )
    const calls: [string, Record<string, unknown>][] = [
      ['write_file', { path: 'a.txt', content: 'new' }],
      ['delete_file', { path: 'a.txt' }],
    ]
    for (const [tool, args] of calls) {
      writeFileSync(join(folder, 'a.txt'), 'old')
      expect(errorOf(await client.call(tool, args)), tool).toContain('changed meanwhile')
      expect(contentOf(folder, 'a.txt')).toBe('changed by another program')
    }
  })

  test('and roots are requested in one call', async () => {
    const folder = folderWith({ 'a.txt': 'old' })
    const roots = [{ uri: pathToFileURL(folder).href }]
    const client = await clientOf(era, {}, { ...accepting, onRoots: roots })
    await client.call('write_file', { path: join(folder, 'a.txt'), content: 'new' })
    expect(contentOf(folder, 'a.txt')).toBe('new')
    const other = await clientOf(era, {}, { ...declining, onRoots: roots })
    expect(errorOf(await other.call('delete_file', { path: join(folder, 'a.txt') }))).toContain('declined')
  })
})

test('a handler that runs again after a question has one effect', async () => {
  const folder = folderWith({ 'a.txt': 'old' })
  const server = await createFilesystemServer({ directories: [folder] })
  const { differences } = await runTwice(server, {
    tool: 'edit_file',
    args: { path: 'a.txt', edits: [{ oldText: 'old', newText: 'old+' }] },
    effects: () => contentOf(folder, 'a.txt').length,
    ...accepting,
  })
  expect(differences.filter((difference) => difference.startsWith('effects'))).toEqual([])
  expect(contentOf(folder, 'a.txt')).toBe('old++')
})
