import {
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Client, connect } from '@jackfield/sdk/client'
import { createFilesystemServer } from '@jackfield/server-filesystem'
import { describe, expect, test } from 'vitest'
import { systemLookup } from '../src/access/directory.ts'
import { clientOf, eras, errorOf, folderWith, textOf } from './fixture.ts'

const lookups = [...new Set([systemLookup, 'path' as const])]

const read = (client: Client, path: string) => client.call('read_text_file', { path })

describe.each(lookups)('the boundary, looked up by %s', (lookup) => {
  const open = (directories: string[]): Promise<Client> =>
    clientOf('2026-07-28', { directories, lookup, confirm: 'never' })

  test.each(['/etc/passwd', '../secret.txt', 'sub/../../secret.txt', '~', 'C:\\Windows', '\\\\host\\share'])(
    'refuses %s',
    async (path) => {
      const outer = folderWith({ 'secret.txt': 'secret', 'inner/sub/a.txt': 'a' })
      const client = await open([join(outer, 'inner')])
      for (const tool of ['read_text_file', 'list_directory', 'get_file_info', 'delete_file']) {
        expect(errorOf(await client.call(tool, { path })), tool).toMatch(/Access denied|does not exist/)
      }
      expect(readFileSync(join(outer, 'secret.txt'), 'utf8')).toBe('secret')
    },
  )

  test('is not extended to a directory whose name begins like an allowed one', async () => {
    const outer = folderWith({ 'notes/a.txt': 'a', 'notes-private/b.txt': 'b' })
    const client = await open([join(outer, 'notes')])
    expect(textOf(await read(client, join(outer, 'notes/a.txt')))).toBe('a')
    expect(errorOf(await read(client, join(outer, 'notes-private/b.txt')))).toContain('Access denied')
  })

  test('rejects NUL, empty and overlong paths with the reason', async () => {
    const client = await open([folderWith()])
    expect(errorOf(await read(client, 'a\0b'))).toContain('NUL')
    expect(errorOf(await read(client, ''))).toContain('empty')
    expect(errorOf(await read(client, 'a/'.repeat(3000)))).toContain('4096')
    expect(errorOf(await read(client, 'a'.repeat(300)))).toContain('too long')
  })

  test('resolves relative paths in the allowed directory that has them', async () => {
    const [one, two] = [folderWith({ 'a.txt': 'one' }), folderWith({ 'a.txt': 'two', 'b.txt': 'two' })]
    const client = await open([one, two])
    expect(textOf(await read(client, 'a.txt'))).toBe('one')
    expect(textOf(await read(client, 'b.txt'))).toBe('two')
    await client.call('write_file', { path: 'new.txt', content: 'new' })
    expect(readFileSync(join(one, 'new.txt'), 'utf8')).toBe('new')
  })

  test('follows links within it: to files and directories, relative and absolute, through each other, between allowed directories', async () => {
    const [one, two] = [folderWith({ 'sub/deep/a.txt': 'a' }), folderWith({ 'b.txt': 'b' })]
    symlinkSync('sub/deep', join(one, 'relative'))
    symlinkSync(join(one, 'sub'), join(one, 'absolute'))
    symlinkSync('../relative/../deep/a.txt', join(one, 'sub/file'))
    symlinkSync(join(two, 'b.txt'), join(one, 'other'))
    symlinkSync(join('..', basename(one), 'sub'), join(one, 'around'))
    const client = await open([one, two])
    for (const path of ['relative/a.txt', 'absolute/deep/a.txt', 'sub/file', 'around/deep/a.txt']) {
      expect(textOf(await read(client, path)), path).toBe('a')
    }
    expect(textOf(await read(client, 'other'))).toBe('b')
    await client.call('write_file', { path: 'relative/a.txt', content: 'changed' })
    expect(readFileSync(join(one, 'sub/deep/a.txt'), 'utf8')).toBe('changed')
  })

  test('refuses links that lead out, also in the middle of a path, and circles', async () => {
    const outer = folderWith({ 'outside/secret.txt': 'secret', 'inside/a.txt': 'a' })
    const inside = join(outer, 'inside')
    symlinkSync(join(outer, 'outside'), join(inside, 'dir'))
    symlinkSync('../outside/secret.txt', join(inside, 'file'))
    symlinkSync('dir/secret.txt', join(inside, 'twice'))
    symlinkSync('circle', join(inside, 'circle'))
    const client = await open([inside])
    for (const path of ['dir/secret.txt', 'file', 'twice']) {
      expect(errorOf(await read(client, path)), path).toContain(`symbolic link to ${join(outer, 'outside')}`)
      expect(errorOf(await client.call('write_file', { path, content: 'x' })), path).toContain(
        'Access denied',
      )
    }
    expect(errorOf(await client.call('list_directory', { path: 'dir' }))).toContain('Access denied')
    expect(errorOf(await client.call('create_directory', { path: 'dir/new' }))).toContain('Access denied')
    expect(errorOf(await client.call('move_file', { source: 'a.txt', destination: 'dir/a.txt' }))).toContain(
      'Access denied',
    )
    expect(errorOf(await read(client, 'circle'))).toContain('more than 40 links')
    expect(readFileSync(join(outer, 'outside/secret.txt'), 'utf8')).toBe('secret')
  })

  test('describes, moves and deletes a link itself, never its target', async () => {
    const outer = folderWith({ 'outside/secret.txt': 'secret', 'inside/sub/': '' })
    const inside = join(outer, 'inside')
    symlinkSync(join(outer, 'outside/secret.txt'), join(inside, 'link'))
    const client = await open([inside])
    const moved = await client.call('move_file', { source: 'link', destination: 'sub/link' })
    expect(moved.isError ?? false).toBe(false)
    const list = await client.call('list_directory', { path: 'sub' })
    expect(list.structuredContent).toMatchObject({ entries: [{ name: 'link', type: 'link' }] })
    const removed = await client.call('delete_directory', { path: 'sub', recursive: true })
    expect(removed.structuredContent).toMatchObject({ files: 1, directories: 0 })
    expect(readFileSync(join(outer, 'outside/secret.txt'), 'utf8')).toBe('secret')
  })

  test('may be reached by the path with links that named it', async () => {
    const outer = folderWith({ 'real/a.txt': 'a' })
    symlinkSync('real', join(outer, 'alias'))
    const client = await open([join(outer, 'alias')])
    expect(textOf(await read(client, join(outer, 'alias/a.txt')))).toBe('a')
    expect(textOf(await read(client, join(outer, 'real/a.txt')))).toBe('a')
  })

  test('refuses everything after an allowed directory was replaced by a link, and works again after it is restored', async () => {
    const outer = folderWith({ 'outside/a.txt': 'secret', 'inside/a.txt': 'a' })
    const inside = join(outer, 'inside')
    const client = await open([inside])
    renameSync(inside, join(outer, 'moved'))
    symlinkSync('outside', inside)
    expect(errorOf(await read(client, 'a.txt'))).toContain('was replaced by a link')
    rmSync(inside)
    renameSync(join(outer, 'moved'), inside)
    expect(textOf(await read(client, 'a.txt'))).toBe('a')
    rmSync(inside, { recursive: true })
    mkdirSync(inside)
    writeFileSync(join(inside, 'a.txt'), 'anew')
    expect(textOf(await read(client, 'a.txt'))).toBe('anew')
  })

  test('can be one file, which can be read and written, and no other', async () => {
    const folder = folderWith({ 'a.txt': 'a', 'b.txt': 'b' })
    const client = await open([join(folder, 'a.txt')])
    expect(textOf(await read(client, join(folder, 'a.txt')))).toBe('a')
    await client.call('write_file', { path: join(folder, 'a.txt'), content: 'changed' })
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('changed')
    expect(errorOf(await read(client, join(folder, 'b.txt')))).toContain('Access denied')
    expect(errorOf(await client.call('list_directory', { path: folder }))).toContain('Access denied')
    expect(errorOf(await client.call('delete_file', { path: join(folder, 'a.txt') }))).toContain(
      'not deleted',
    )
    rmSync(join(folder, 'a.txt'))
    symlinkSync('b.txt', join(folder, 'a.txt'))
    expect(errorOf(await read(client, join(folder, 'a.txt')))).toContain('symbolic link')
  })

  test('finds a name that is written differently in Unicode', async () => {
    const folder = folderWith({ 'Cafe\u0301/menu\u0308.txt': 'a' })
    const client = await open([folder])
    expect(textOf(await read(client, 'Caf\u00e9/men\u00fc.txt'))).toBe('a')
  })
})

test('hard links share one file, which is why writing replaces the name and not its other names', async () => {
  const outer = folderWith({ 'outside.txt': 'outside', 'inside/': '' })
  linkSync(join(outer, 'outside.txt'), join(outer, 'inside/a.txt'))
  const client = await clientOf('2026-07-28', { directories: [join(outer, 'inside')], confirm: 'never' })
  await client.call('write_file', { path: 'a.txt', content: 'changed' })
  expect(readFileSync(join(outer, 'outside.txt'), 'utf8')).toBe('outside')
})

test('~ is the home directory', async () => {
  const folder = realpathSync(homedir())
  const client = await clientOf('2026-07-28', { directories: ['~'] })
  const result = await client.call('list_allowed_directories')
  expect(result.structuredContent).toMatchObject({ directories: [{ path: folder, type: 'directory' }] })
})

describe('options', () => {
  test('directories that do not exist are left out with a warning; if none is left, the server does not start', async () => {
    const folder = folderWith()
    const warnings: string[] = []
    const onWarning = (message: string): void => {
      warnings.push(message)
    }
    const missing = join(folder, 'missing')
    await createFilesystemServer({ directories: [folder, missing], onWarning })
    expect(warnings).toEqual([expect.stringContaining(`${missing} is left out`)])
    await expect(createFilesystemServer({ directories: [missing], onWarning })).rejects.toThrow(
      'None of the directories',
    )
  })

  test.each([
    [{ limits: { matches: 0 } }, 'The limit matches must be a whole number from 1'],
    [{ limits: { matchez: 1 } }, 'There is no limit "matchez"'],
    [{ confirm: 'sometimes' }, 'confirm must be one of always, overwrite, never'],
    [{ ignoreRoots: true }, 'at least one directory is needed'],
  ])('%j is refused', async (options, message) => {
    await expect(createFilesystemServer(options as object)).rejects.toThrow(message)
  })

  test('read-only offers no tool that changes something', async () => {
    const client = await clientOf('2026-07-28', { directories: [folderWith()], readOnly: true })
    const tools = await client.tools()
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([])
    expect(tools).toHaveLength(11)
  })
})

describe.each(eras)('roots on %s', (era) => {
  const rooted = async (
    directories: string[],
    paths: () => string[],
    options: object = {},
  ): Promise<Client> =>
    clientOf(
      era,
      { directories, confirm: 'never', ...options },
      { onRoots: () => paths().map((path) => ({ uri: pathToFileURL(path).href })) },
    )
  const allowed = async (client: Client): Promise<string[]> => {
    const { structuredContent } = await client.call('list_allowed_directories')
    return (structuredContent as { directories: { path: string }[] }).directories.map(({ path }) => path)
  }

  test('are the boundary without configured directories: folders and files', async () => {
    const folder = folderWith({ 'project/a.txt': 'a', 'notes.txt': 'n', 'other.txt': 'o' })
    const client = await rooted([], () => [join(folder, 'project'), join(folder, 'notes.txt')])
    expect(await allowed(client)).toEqual([join(folder, 'project'), join(folder, 'notes.txt')])
    expect(textOf(await read(client, join(folder, 'project/a.txt')))).toBe('a')
    expect(textOf(await read(client, join(folder, 'notes.txt')))).toBe('n')
    expect(errorOf(await read(client, join(folder, 'other.txt')))).toContain('Access denied')
    expect(textOf(await read(client, 'a.txt'))).toBe('a')
  })

  test('are limited to the configured directories', async () => {
    const folder = folderWith({ 'code/one/': '', 'code/two/': '', 'notes/': '', 'elsewhere/': '' })
    const [code, notes] = [join(folder, 'code'), join(folder, 'notes')]
    let roots: string[] = []
    const client = await rooted([code, notes], () => roots)
    expect(await allowed(client)).toEqual([code, notes])
    roots = [join(code, 'one')]
    expect(await allowed(client)).toEqual([join(code, 'one'), notes])
    roots = [join(folder, 'elsewhere')]
    expect(await allowed(client)).toEqual([code, notes])
    roots = [folder]
    expect(await allowed(client)).toEqual([code, notes])
    roots = [code, join(code, 'one')]
    expect(await allowed(client)).toEqual([code, notes])
  })

  test('apply at once when they change', async () => {
    const folder = folderWith({ 'one/a.txt': 'one', 'two/a.txt': 'two' })
    let root = join(folder, 'one')
    const client = await rooted([], () => [root])
    expect(textOf(await read(client, join(folder, 'one/a.txt')))).toBe('one')
    root = join(folder, 'two')
    expect(textOf(await read(client, join(folder, 'two/a.txt')))).toBe('two')
    expect(errorOf(await read(client, join(folder, 'one/a.txt')))).toContain('Access denied')
  })

  test('that are on other machines, or do not exist, are left out', async () => {
    const folder = folderWith()
    const roots = [
      'file://elsewhere/tmp',
      'file:///no/such/folder',
      'file:///%00',
      pathToFileURL(folder).href,
    ]
    const client = await clientOf(era, {}, { onRoots: () => roots.map((uri) => ({ uri })) })
    expect(await allowed(client)).toEqual([folder])
  })

  test('can be ignored', async () => {
    const folder = folderWith({ 'sub/': '' })
    let asked = 0
    const paths = (): string[] => {
      asked++
      return [join(folder, 'sub')]
    }
    const client = await rooted([folder], paths, { ignoreRoots: true })
    expect(await allowed(client)).toEqual([folder])
    expect(asked).toBe(0)
  })

  test('are needed without configured directories: the error says what to do', async () => {
    const client = await clientOf(era, {})
    expect(errorOf(await read(client, '/etc/passwd'))).toMatch(/no directory is allowed.*arguments.*root/)
    expect(errorOf(await read(client, 'a.txt'))).toMatch(/no directory is allowed/)
  })

  test('that are replaced by a link later are refused', async () => {
    const folder = folderWith({ 'root/a.txt': 'a', 'outside/a.txt': 'secret' })
    const root = join(folder, 'root')
    const client = await rooted([], () => [root])
    expect(textOf(await read(client, join(root, 'a.txt')))).toBe('a')
    renameSync(root, join(folder, 'moved'))
    symlinkSync('outside', root)
    expect(errorOf(await read(client, join(root, 'a.txt')))).toContain('was replaced by a link')
  })

  test('of two clients are separate', async () => {
    const folder = folderWith({ 'one/a.txt': '1', 'two/a.txt': '2' })
    const server = await createFilesystemServer({})
    const open = (name: string) =>
      connect(server, {
        revisions: [era],
        info: { name, version: '1' },
        onRoots: () => [{ uri: pathToFileURL(join(folder, name)).href }],
      })
    const [one, two] = [await open('one'), await open('two')]
    try {
      expect(textOf(await read(one, join(folder, 'one/a.txt')))).toBe('1')
      expect(textOf(await read(two, join(folder, 'two/a.txt')))).toBe('2')
      expect(errorOf(await read(one, join(folder, 'two/a.txt')))).toContain('Access denied')
      const uris = async (client: Client): Promise<string[]> =>
        (await client.resources()).map(({ uri }) => uri)
      expect(await uris(one)).toEqual([`file://${folder}/one`, `file://${folder}/one/a.txt`])
      expect(await uris(two)).toEqual([`file://${folder}/two`, `file://${folder}/two/a.txt`])
    } finally {
      await one.close()
      await two.close()
    }
  })
})

test('a client that does not support roots is limited to the configured directories, and rejected without them', async () => {
  const folder = folderWith({ 'a.txt': 'a' })
  const onRoots = (): never => {
    throw new Error('no person can be asked')
  }
  const client = await clientOf('2025-06-18', { directories: [folder] }, { onRoots })
  expect(textOf(await read(client, 'a.txt'))).toBe('a')
  expect(await client.resources()).toHaveLength(2)
  const other = await clientOf('2025-06-18', {}, { onRoots })
  expect(errorOf(await read(other, join(folder, 'a.txt')))).toContain('did not answer roots/list')
})

test('paths of results are absolute and without links', async () => {
  const folder = folderWith({ 'a.txt': 'a' })
  symlinkSync('a.txt', join(folder, 'link'))
  const client = await clientOf('2026-07-28', { directories: [folder] })
  const result = await read(client, relative(dirname(folder), folder) === '' ? 'link' : join(folder, 'link'))
  expect(result.structuredContent).toMatchObject({ path: join(folder, 'a.txt') })
})
