import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One request to a server, as a method and its params. */
export type Call = readonly [method: string, params: Record<string, unknown>]

/** A published server that was written for the official SDK, with requests whose results do not depend on the time. */
export interface OfficialServer {
  readonly name: string
  /** The program, below `node_modules`. */
  readonly program: string
  readonly args: (folder: string) => string[]
  readonly env: (folder: string) => Record<string, string>
  /** Writes what the server needs into an empty folder. */
  readonly prepare: (folder: string) => void
  readonly calls: (folder: string) => Call[]
  readonly tools: number
}

const tool = (name: string, args: Record<string, unknown>): Call => ['tools/call', { name, arguments: args }]
const none = (): string[] => []
const noEnv = (): Record<string, string> => ({})

export const officialServers: readonly OfficialServer[] = [
  {
    name: 'server-everything',
    program: '@modelcontextprotocol/server-everything/dist/index.js',
    args: () => ['stdio'],
    env: noEnv,
    prepare: () => {},
    tools: 13,
    calls: () => [
      tool('echo', { message: 'hello' }),
      tool('get-sum', { a: 1, b: 2 }),
      tool('get-sum', { a: 'one', b: 2 }),
      tool('get-structured-content', { location: 'Chicago' }),
      tool('get-annotated-message', { messageType: 'error', includeImage: true }),
      tool('get-tiny-image', {}),
      tool('get-resource-links', { count: 2 }),
      tool('no-such-tool', {}),
      ['prompts/get', { name: 'simple-prompt' }],
      ['prompts/get', { name: 'args-prompt', arguments: { city: 'Oslo' } }],
      ['prompts/get', { name: 'args-prompt', arguments: {} }],
      ['prompts/get', { name: 'no-such-prompt' }],
      ['resources/read', { uri: 'demo://resource/static/document/features.md' }],
      ['resources/read', { uri: 'demo://resource/none' }],
      [
        'completion/complete',
        {
          ref: { type: 'ref/prompt', name: 'completable-prompt' },
          argument: { name: 'department', value: 'E' },
        },
      ],
      [
        'completion/complete',
        {
          ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
          argument: { name: 'resourceId', value: '1' },
        },
      ],
    ],
  },
  {
    name: 'server-filesystem',
    program: '@modelcontextprotocol/server-filesystem/dist/index.js',
    args: (folder) => [folder],
    env: noEnv,
    prepare: (folder) => writeFileSync(join(folder, 'note.txt'), 'one\ntwo\n'),
    tools: 14,
    calls: (folder) => [
      tool('list_allowed_directories', {}),
      tool('read_text_file', { path: join(folder, 'note.txt'), head: 1 }),
      tool('write_file', { path: join(folder, 'new.txt'), content: 'three' }),
      tool('edit_file', { path: join(folder, 'note.txt'), edits: [{ oldText: 'two', newText: '2' }] }),
      tool('list_directory', { path: folder }),
      tool('read_text_file', { path: '/etc/hosts' }),
      tool('read_text_file', {}),
    ],
  },
  {
    name: 'server-memory',
    program: '@modelcontextprotocol/server-memory/dist/index.js',
    args: none,
    env: (folder) => ({ MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }),
    prepare: () => {},
    tools: 9,
    calls: () => [
      tool('create_entities', {
        entities: [{ name: 'Ada', entityType: 'person', observations: ['wrote programs'] }],
      }),
      tool('add_observations', { observations: [{ entityName: 'Ada', contents: ['lived in London'] }] }),
      tool('search_nodes', { query: 'London' }),
      tool('read_graph', {}),
      tool('create_entities', { entities: 'none' }),
    ],
  },
  {
    name: 'server-sequential-thinking',
    program: '@modelcontextprotocol/server-sequential-thinking/dist/index.js',
    args: none,
    env: () => ({ DISABLE_THOUGHT_LOGGING: 'true' }),
    prepare: () => {},
    tools: 1,
    calls: () => [
      tool('sequentialthinking', {
        thought: 'first',
        thoughtNumber: 1,
        totalThoughts: 2,
        nextThoughtNeeded: true,
      }),
      tool('sequentialthinking', {
        thought: 'second',
        thoughtNumber: 2,
        totalThoughts: 2,
        nextThoughtNeeded: false,
      }),
      tool('sequentialthinking', { thought: 'wrong' }),
    ],
  },
  {
    name: '@eslint/mcp',
    program: '@eslint/mcp/src/mcp-cli.js',
    args: none,
    env: noEnv,
    prepare: (folder) => {
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
      writeFileSync(join(folder, 'eslint.config.js'), 'export default [{ rules: { "no-var": "error" } }]')
      writeFileSync(join(folder, 'old.js'), 'var old = 1\n')
    },
    tools: 1,
    calls: (folder) => [
      tool('lint-files', { filePaths: [join(folder, 'old.js')] }),
      tool('lint-files', { filePaths: [] }),
    ],
  },
  {
    name: 'mcp-hello-world',
    program: 'mcp-hello-world/build/stdio.js',
    args: none,
    env: noEnv,
    prepare: () => {},
    tools: 3,
    calls: () => [
      tool('echo', { message: 'hello' }),
      tool('echo', {}),
      tool('add', { a: 1, b: 2 }),
      ['resources/read', { uri: 'hello://world' }],
      ['prompts/get', { name: 'helpful-assistant' }],
    ],
  },
  {
    name: '@kazuph/mcp-taskmanager',
    program: '@kazuph/mcp-taskmanager/dist/index.js',
    args: none,
    env: (folder) => ({ TASK_MANAGER_FILE_PATH: join(folder, 'tasks.json') }),
    prepare: () => {},
    tools: 10,
    calls: () => [
      tool('request_planning', {
        originalRequest: 'Sail',
        tasks: [{ title: 'Pack', description: 'Pack all' }],
      }),
      tool('get_next_task', { requestId: 'req-1' }),
      tool('list_requests', {}),
      tool('get_next_task', {}),
      tool('no_such_tool', {}),
    ],
  },
]

const modules = fileURLToPath(new URL('../../../../node_modules/', import.meta.url))
const register = fileURLToPath(new URL('../../dist/register.js', import.meta.url))

/** How a server is started: on the official SDK, or redirected to this package by the hook. */
export interface Launch {
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
  readonly cwd: string
}

const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
/** What every server inherits: its compiled code is kept for the next start. */
const common = { PATH, NODE_COMPILE_CACHE }

/** Prepares an empty folder, and returns how to start a server in it. */
export function launch(server: OfficialServer, sdk: 'official' | 'compat', folder: string): Launch {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  server.prepare(folder)
  const hook = sdk === 'compat' ? ['--import', register] : []
  return {
    command: process.execPath,
    args: [...hook, join(modules, server.program), ...server.args(folder)],
    env: { ...common, HOME: folder, ...server.env(folder) },
    cwd: folder,
  }
}

export function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), 'compat-'))
}
