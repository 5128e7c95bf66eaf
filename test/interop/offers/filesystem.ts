import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { png, wav } from '../peers/contract.ts'
import { nothing, type Offer } from '../suite/offer.ts'
import type { Running } from '../suite/pair.ts'

const texts = {
  'plain.txt': 'one\ntwo\nthree\n',
  'Ünïcode 文件.txt': 'Crème brûlée, 你好, שלום, 👩‍👩‍👧‍👦\n',
  'empty.txt': '',
  'ends.txt': 'a\r\nb\u2028c\u0085d',
  'wire.txt': 'data: {"jsonrpc":"2.0"}\n\nid: 1\n\n',
  'large.txt': 'Jackfrucht '.repeat(20_000),
  'first/inside.md': '# Inside',
  'second/other.md': '# Other',
}

const root = join(realpathSync(tmpdir()), `jackfield-files-${process.pid}`)
const at = (name: string): string => join(root, name)
const uri = (name: string): string => pathToFileURL(at(name)).href
const pathOf = (address: string): string => decodeURIComponent(new URL(address).pathname).replace(/\/$/, '')

/** Makes the files before a server starts, and takes them away after it ended. */
export const withFiles =
  (start: (folder: string) => () => Promise<Running>): (() => Promise<Running>) =>
  async () => {
    for (const name of ['first', 'second']) mkdirSync(at(name), { recursive: true })
    for (const [name, text] of Object.entries(texts)) writeFileSync(at(name), text)
    writeFileSync(at('pixel.png'), Buffer.from(png, 'base64'))
    writeFileSync(at('still.wav'), Buffer.from(wav, 'base64'))
    writeFileSync(at('bytes.bin'), Buffer.from([0, 255, 1]))
    const { address, stop } = await start(root)()
    return { address, stop: () => stop().finally(() => rmSync(root, { recursive: true, force: true })) }
  }

const text = (part: string): object => ({ type: 'text', text: expect.stringContaining(part) })

const files: Offer['contents'] = [
  {
    kind: 'the first line of a file',
    call: { tool: 'read_text_file', args: { path: at('plain.txt'), head: 1 } },
    content: [{ text: 'one' }],
  },
  {
    kind: 'the last line of a file',
    call: { tool: 'read_text_file', args: { path: at('first/inside.md'), tail: 1 } },
    content: [{ text: '# Inside' }],
  },
  {
    kind: 'an image',
    call: { tool: 'read_media_file', args: { path: at('pixel.png') } },
    content: [{ type: 'image', data: png, mimeType: 'image/png' }],
  },
  {
    kind: 'sound',
    call: { tool: 'read_media_file', args: { path: at('still.wav') } },
    content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  },
  {
    kind: 'embedded bytes',
    call: { tool: 'read_media_file', args: { path: at('bytes.bin') } },
    content: [{ type: 'resource', resource: { blob: 'AP8B' } }],
  },
  {
    kind: 'several files, one of which is missing',
    call: { tool: 'read_multiple_files', args: { paths: [at('plain.txt'), at('nothing-here')] } },
    content: [text('nothing-here: Error')],
  },
  {
    kind: 'a list of files',
    call: { tool: 'list_directory', args: { path: at('') } },
    content: [text('[FILE] Ünïcode 文件.txt')],
  },
  {
    kind: 'a list of files with sizes',
    call: { tool: 'list_directory_with_sizes', args: { path: at('first') } },
    content: [text('inside.md')],
  },
  {
    kind: 'a tree of files',
    call: { tool: 'directory_tree', args: { path: at('first') } },
    content: [text('"inside.md"')],
  },
  {
    kind: 'what a search finds',
    call: { tool: 'search_files', args: { path: at(''), pattern: '**/*.md' } },
    content: [text('inside.md')],
  },
  {
    kind: 'facts about a file',
    call: { tool: 'get_file_info', args: { path: at('pixel.png') } },
    content: [text('isFile: true')],
  },
  {
    kind: 'news of a folder it made',
    call: { tool: 'create_directory', args: { path: at('first/new') } },
    content: [text('Successfully')],
  },
  {
    kind: 'news of a file it wrote',
    call: { tool: 'write_file', args: { path: at('first/new.txt'), content: 'Jackfrüchte\n' } },
    content: [text('Successfully')],
  },
  {
    kind: 'the text it wrote',
    call: { tool: 'read_text_file', args: { path: at('first/new.txt') } },
    content: [{ text: 'Jackfrüchte\n' }],
  },
  {
    kind: 'the difference an edit makes',
    call: {
      tool: 'edit_file',
      args: { path: at('first/new.txt'), edits: [{ oldText: 'früchte', newText: 'field' }] },
    },
    content: [text('+Jackfield')],
  },
  {
    kind: 'news of a file it moved',
    call: { tool: 'move_file', args: { source: at('first/new.txt'), destination: at('second/moved.txt') } },
    content: [text('Successfully')],
  },
]

/** `@modelcontextprotocol/server-filesystem`, which offers tools alone. */
export const filesystem: Offer = {
  ...nothing,
  name: 'secure-filesystem-server',
  capabilities: ['tools'],
  tools: ['read_text_file', 'read_media_file', 'write_file', 'list_directory', 'search_files'],
  ping: true,
  contents: [
    ...Object.entries(texts).map(([name, whole]) => ({
      kind: `the text of ${name}`,
      call: { tool: 'read_text_file', args: { path: at(name) } },
      content: [{ type: 'text', text: whole }],
    })),
    ...files,
  ],
  described: {
    tool: 'write_file',
    title: 'Write File',
    description: 'Create a new file',
    annotations: { readOnlyHint: false, destructiveHint: true },
    required: ['path', 'content'],
  },
  structured: {
    call: { tool: 'list_allowed_directories' },
    value: { content: expect.stringContaining(root) },
    schema: { type: 'object', required: ['content'] },
    inText: false,
  },
  fails: { call: { tool: 'read_text_file', args: { path: '/etc/passwd' } }, text: 'Access denied' },
  throws: {
    call: { tool: 'read_text_file', args: { path: at('nothing-here.txt') } },
    refusal: { as: 'result' },
  },
  unknownTool: { as: 'result' },
  badArguments: {
    calls: [
      { tool: 'read_text_file', args: { path: 1 } },
      { tool: 'read_text_file', args: {} },
      { tool: 'read_text_file', args: { path: at('plain.txt'), head: 1, tail: 1 } },
      { tool: 'write_file', args: { path: at('new.txt') } },
      { tool: 'edit_file', args: { path: at('plain.txt'), edits: 'none' } },
    ],
    refusal: { as: 'result' },
  },
  folders: {
    call: { tool: 'list_allowed_directories' },
    outcome: (uris) => ({ content: [{ text: `Allowed directories:\n${uris.map(pathOf).join('\n')}` }] }),
    follows: true,
    existing: [uri(''), uri('second')],
  },
}
