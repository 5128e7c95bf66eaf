import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { started } from '../../packages/host/test/fixtures/hosts.ts'
import { homeFolder, named, withoutSandbox } from '../../packages/host/test/sandbox/bubblewrap.ts'
import { repository } from '../../servers/git/test/fixture.ts'
import { type BuiltProgram, builtProgram } from '../setup/built-program.ts'
import { officialV1 } from './clients/official-v1.ts'
import { officialV2 } from './clients/official-v2.ts'
import type { Json } from './suite/test-client.ts'

/* Every reference server as its users run it: the built program over stdio, with clients of others and in the host's sandbox. */

const run = promisify(execFile)
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'jackfield-servers-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Reference {
  server: BuiltProgram
  /** Arguments of the program, and folders that it needs in a sandbox. */
  start(): { args: string[]; read?: string[]; write?: string[] }
  /** A call that changes nothing, and text in its result. */
  call: { tool: string; args: Json; text: string }
}

function made(name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}

const references: Reference[] = [
  {
    server: 'database',
    start() {
      const file = join(made('database'), 'shop.db')
      const database = new DatabaseSync(file)
      database.exec("CREATE TABLE IF NOT EXISTS books (title TEXT); INSERT INTO books VALUES ('Middlemarch')")
      database.close()
      return { args: [`shop=${file}`], read: [dirname(file)] }
    },
    call: {
      tool: 'query',
      args: { database: 'shop', sql: 'SELECT title FROM books LIMIT 1' },
      text: 'Middlemarch',
    },
  },
  {
    server: 'fetch',
    start: () => ({ args: [] }),
    // An address that is refused before anything is sent.
    call: { tool: 'fetch', args: { url: 'http://127.0.0.1/' }, text: 'loopback network' },
  },
  {
    server: 'filesystem',
    start() {
      const path = made('files')
      writeFileSync(join(path, 'a.txt'), 'one line')
      return { args: [path], read: [path] }
    },
    call: { tool: 'list_directory', args: { path: join(folder, 'files') }, text: 'a.txt' },
  },
  {
    server: 'git',
    start() {
      const repo = repository()
      repo.git('config', 'user.name', 'Ada')
      repo.git('config', 'user.email', 'ada@example.com')
      repo.commit('Begin', { 'a.txt': 'one\n' })
      const { path } = repo
      return { args: [path], read: [path] }
    },
    call: { tool: 'git_log', args: {}, text: 'Begin' },
  },
  {
    server: 'memory',
    start: () => ({ args: ['--file', ':memory:'] }),
    call: { tool: 'read_graph', args: {}, text: 'entities' },
  },
  {
    server: 'travel',
    start: () => ({ args: ['--db', ':memory:'] }),
    call: {
      tool: 'searchFlights',
      args: { origin: 'NYC', destination: 'Barcelona', date: '2024-06-15' },
      text: 'flight options from New York',
    },
  },
]

const clients = [
  { kind: officialV1, revision: '2025-11-25' },
  { kind: officialV2, revision: '2025-11-25' },
  { kind: officialV2, revision: '2026-07-28' },
] as const

describe.each(references)('the built $server server', ({ server, start, call: { tool, args, text } }) => {
  it.each(clients)('is used by $kind.name at $revision', async ({ kind, revision }) => {
    const address = { command: process.execPath, args: [builtProgram(server), ...start().args] }
    const client = await kind.connect(address, revision, { fetch })
    try {
      expect(client.revision).toBe(revision)
      expect((await client.tools()).map(({ name }) => name)).toContain(tool)
      expect(JSON.stringify(await client.call(tool, args))).toContain(text)
    } finally {
      await client.close()
    }
  })

  it.skipIf(withoutSandbox !== undefined)(
    named("runs in the host's sandbox without further folders"),
    async () => {
      homeFolder()
      const { args: words, read = [], write = [] } = start()
      const config = {
        command: process.execPath,
        args: [builtProgram(server), ...words],
        sandbox: { read, write },
      }
      const host = await started({ servers: { [server]: config }, rules: [{ id: 'all', verdict: 'allow' }] })
      expect(host.connections.get(server)).toMatchObject({ state: 'ready', sandboxed: true })
      const { result } = await host.call(`${server}__${tool}`, args, { caller: 'cli' })
      expect(JSON.stringify(result)).toContain(text)
    },
  )
})

/** The command line of the official Inspector, or undefined if it is not installed. */
const inspector = findInspector()

function findInspector(): string | undefined {
  try {
    const installed = createRequire(new URL('../runtimes/package.json', import.meta.url))
    const manifest = installed.resolve('@modelcontextprotocol/inspector/package.json')
    const program = join(dirname(manifest), 'clients', 'launcher', 'build', 'index.js')
    return existsSync(program) ? program : undefined
  } catch {
    return undefined
  }
}

const name = `the command line of the official Inspector${inspector === undefined ? ' [left out: run npm ci --prefix test/runtimes]' : ''}`

describe.skipIf(inspector === undefined)(name, () => {
  // Each start of the Inspector takes a second of CPU time.
  const inspected =
    process.env['JACKFIELD_LONG'] === '1'
      ? references
      : references.filter(({ server }) => ['database', 'filesystem', 'travel'].includes(server))

  it.each(inspected)('lists and calls tools of the $server server', async ({ server, start, call }) => {
    // Its options come before the program of the server, whose arguments would take them for their own.
    const target = ['--', process.execPath, builtProgram(server), ...start().args]
    const options = { env: { ...process.env, HOME: made('inspector') } }
    const inspect = (...words: string[]): Promise<{ stdout: string; code?: number }> =>
      run(process.execPath, [inspector ?? '', '--cli', ...words, ...target], options).catch(
        (error: Error & { stdout: string; code: number }) => error,
      )
    const listed = await inspect('--method', 'tools/list', '--strict')
    expect(listed.code, listed.stdout).toBeUndefined()
    expect(listed.stdout).toContain(`"${call.tool}"`)
    const given = Object.entries(call.args).map(([key, value]) => `${key}=${value}`)
    const toolArgs = given.flatMap((pair) => ['--tool-arg', pair])
    // A result with isError is printed, and gives the command an exit code of its own.
    const called = await inspect('--method', 'tools/call', '--tool-name', call.tool, ...toolArgs)
    expect(called.stdout).toContain(call.text)
  })
})
