import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Client, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clientOf, folderWith, textOf } from './fixture.ts'

const require = createRequire(import.meta.url)
const official = join(
  dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json')),
  'dist/index.js',
)

/** The same files twice, one folder for each server, and their clients. */
async function both(): Promise<{ theirs: Client; ours: Client; folders: [theirs: string, ours: string] }> {
  const files = {
    'a.txt': 'one\ntwo\nthree\nfour',
    'code.ts': 'function one() {\n  return 1\n}\n\nfunction two() {\n  return 2\n}\n',
    'image.png': new Uint8Array([137, 80, 78, 71, 0, 1]),
    'sound.wav': new Uint8Array([82, 73, 70, 70, 0]),
    'data.bin': new Uint8Array([0, 1, 2]),
    'sub/b.txt': 'b',
    'sub/deep/c.md': '# c',
    'node_modules/x/index.js': '',
  }
  const folders: [string, string] = [folderWith(files), folderWith(files)]
  const theirs = await connect(
    stdio({ command: process.execPath, args: [official, folders[0]], onStderr: () => {} }),
    {
      revisions: ['2025-06-18'],
    },
  )
  onTestFinished(() => theirs.close())
  const ours = await clientOf('2025-06-18', { directories: [folders[1]], confirm: 'never' })
  return { theirs, ours, folders }
}

interface Call {
  tool: string
  args: (folder: string) => Record<string, unknown>
  /** Whether the order of the lines is not defined. */
  unordered?: boolean
}

const path = (name: string) => (folder: string) => ({ path: join(folder, name) })

const calls: Call[] = [
  { tool: 'read_file', args: path('a.txt') },
  { tool: 'read_text_file', args: path('a.txt') },
  { tool: 'read_text_file', args: (folder) => ({ path: join(folder, 'a.txt'), head: 2 }) },
  { tool: 'read_text_file', args: (folder) => ({ path: join(folder, 'a.txt'), tail: 2 }) },
  { tool: 'read_media_file', args: path('image.png') },
  { tool: 'read_media_file', args: path('sound.wav') },
  { tool: 'read_media_file', args: path('data.bin') },
  {
    tool: 'read_multiple_files',
    args: (folder) => ({ paths: [join(folder, 'a.txt'), join(folder, 'sub/b.txt')] }),
  },
  { tool: 'list_directory', args: path('.'), unordered: true },
  { tool: 'list_directory', args: path('sub'), unordered: true },
  {
    tool: 'list_directory_with_sizes',
    args: (folder) => ({ path: join(folder, 'sub'), sortBy: 'size' }),
    unordered: true,
  },
  { tool: 'directory_tree', args: path('sub'), unordered: true },
  {
    tool: 'directory_tree',
    args: (folder) => ({ path: folder, excludePatterns: ['node_modules', '*.png'] }),
    unordered: true,
  },
  { tool: 'search_files', args: (folder) => ({ path: folder, pattern: '**/*.md' }) },
  { tool: 'search_files', args: (folder) => ({ path: folder, pattern: '*.txt' }) },
  {
    tool: 'search_files',
    args: (folder) => ({
      path: folder,
      pattern: '**/*',
      excludePatterns: ['node_modules/**', 'node_modules'],
    }),
    unordered: true,
  },
  { tool: 'search_files', args: (folder) => ({ path: folder, pattern: 'nothing' }) },
  { tool: 'list_allowed_directories', args: () => ({}) },
  { tool: 'create_directory', args: path('new/inner') },
  { tool: 'write_file', args: (folder) => ({ path: join(folder, 'new/inner/d.txt'), content: 'd' }) },
  { tool: 'write_file', args: (folder) => ({ path: join(folder, 'new/inner/d.txt'), content: 'changed' }) },
  {
    tool: 'move_file',
    args: (folder) => ({ source: join(folder, 'new/inner/d.txt'), destination: join(folder, 'd.txt') }),
  },
  {
    tool: 'edit_file',
    args: (folder) => ({
      path: join(folder, 'a.txt'),
      edits: [{ oldText: 'two', newText: '2' }],
      dryRun: true,
    }),
  },
  {
    tool: 'edit_file',
    args: (folder) => ({ path: join(folder, 'a.txt'), edits: [{ oldText: 'two\nthree', newText: '2\n3' }] }),
  },
  {
    tool: 'edit_file',
    args: (folder) => ({
      path: join(folder, 'code.ts'),
      edits: [
        { oldText: 'return 1', newText: 'return 10' },
        { oldText: 'return 2', newText: 'return 20' },
      ],
    }),
  },
  { tool: 'read_text_file', args: path('code.ts') },
  { tool: 'list_directory', args: path('.'), unordered: true },
]

const refused: Call[] = [
  { tool: 'read_text_file', args: path('missing.txt') },
  { tool: 'read_text_file', args: path('../outside.txt') },
  { tool: 'read_text_file', args: () => ({ path: '/etc/passwd' }) },
  { tool: 'read_text_file', args: path('sub') },
  { tool: 'read_text_file', args: (folder) => ({ path: join(folder, 'a.txt'), head: 1, tail: 1 }) },
  { tool: 'list_directory', args: path('a.txt') },
  {
    tool: 'move_file',
    args: (folder) => ({ source: join(folder, 'a.txt'), destination: join(folder, 'sub/b.txt') }),
  },
  {
    tool: 'edit_file',
    args: (folder) => ({ path: join(folder, 'a.txt'), edits: [{ oldText: 'missing', newText: 'x' }] }),
  },
  { tool: 'write_file', args: path('sub') },
  { tool: 'nothing', args: () => ({}) },
]

describe('calls that were written for the official server', () => {
  test('have the same content', async () => {
    const { theirs, ours, folders } = await both()
    for (const { tool, args, unordered } of calls) {
      const [expected, actual] = await Promise.all([
        theirs.call(tool, args(folders[0])),
        ours.call(tool, args(folders[1])),
      ])
      const what = `${tool} ${JSON.stringify(args('…'))}`
      const normal = (result: typeof expected, folder: string): unknown => {
        const text = JSON.stringify(result.content).replaceAll(folder, '…')
        return unordered === true
          ? text
              .split(/\\n|[{}[\],]/)
              .filter((part) => part.trim() !== '')
              .sort()
          : JSON.parse(text)
      }
      expect(actual.isError ?? false, `${what}: ${textOf(actual)}`).toBe(false)
      expect(normal(actual, folders[1]), what).toEqual(normal(expected, folders[0]))
    }
    for (const name of ['a.txt', 'code.ts', 'd.txt']) {
      expect(readFileSync(join(folders[1], name), 'utf8')).toBe(readFileSync(join(folders[0], name), 'utf8'))
    }
  })

  test('are refused alike', async () => {
    const { theirs, ours, folders } = await both()
    for (const { tool, args } of refused) {
      const failed = async (client: Client, folder: string): Promise<boolean> =>
        client.call(tool, args(folder)).then(
          ({ isError }) => isError === true,
          () => true,
        )
      expect(await failed(theirs, folders[0]), tool).toBe(true)
      expect(await failed(ours, folders[1]), tool).toBe(true)
    }
  })

  test('have the same tools, with arguments that include all of theirs', async () => {
    const { theirs, ours } = await both()
    const own = new Map((await ours.tools()).map((tool) => [tool.name, tool]))
    for (const { name, title, inputSchema, annotations } of await theirs.tools()) {
      const tool = own.get(name)
      expect(tool, name).toBeDefined()
      expect(tool?.title).toBe(title)
      expect(tool?.annotations).toMatchObject(annotations ?? {})
      expect(Object.keys(tool?.inputSchema['properties'] ?? {}), name).toEqual(
        expect.arrayContaining(Object.keys(inputSchema['properties'] ?? {})),
      )
      expect([...((tool?.inputSchema['required'] as string[]) ?? [])].sort(), name).toEqual(
        [...((inputSchema['required'] as string[]) ?? [])].sort(),
      )
    }
  })
})
