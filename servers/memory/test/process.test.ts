import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type Client, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { MemoryServer } from '@jackfield/server-memory'
import { Client as OfficialV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as OfficialV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { openTogether } from '../../../test/setup/open-together.ts'
import { acme, alice, fill, readJson, revisions, temporaryFile, worksAt } from './fixture.ts'

const main = builtProgram('memory')
const programOf = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [main, '--file', file, ...args],
})

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
}

/** A file in the format of the MCP reference server. */
const jsonLines = [
  { type: 'entity', ...alice },
  { type: 'entity', ...acme },
  { type: 'relation', ...worksAt },
]
const lines = (...values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

describe.each(revisions)('the memory server as a process on %s', (revision) => {
  const open = async (file: string): Promise<Client<MemoryServer>> => {
    const client = await connect<MemoryServer>(stdio(programOf(file)), { revisions: [revision] })
    onTestFinished(() => client.close())
    return client
  }

  test('keeps its data after it ended', async () => {
    const file = temporaryFile()
    const first = await open(file)
    await fill(first)
    await first.close()
    const second = await open(file)
    expect(second.server.revision).toBe(revision)
    expect(await readJson(second, 'memory://entities/Alice')).toEqual({ ...alice, relations: [worksAt] })
    for (const one of process.platform === 'win32' ? [] : [file, `${file}-wal`, `${file}.key`]) {
      expect(statSync(one).mode & 0o077).toBe(0)
    }
  })

  test('shares its file with other processes that start and write at the same time', async () => {
    const file = temporaryFile()
    const clients = await Promise.all([open(file), open(file), open(file)])
    const rounds = 15
    await Promise.all(
      clients.flatMap((client, which) =>
        Array.from({ length: rounds }, async (_, round) => {
          const result = await client.call('create_entities', {
            entities: [
              { name: `${which}/${round}`, entityType: 'note', observations: [] },
              { name: `round ${round}`, entityType: 'round', observations: [] },
            ],
          })
          expect(result.isError ?? false).toBe(false)
          const observations = [{ entityName: `round ${round}`, contents: [`from ${which}`, 'from all'] }]
          await client.call('add_observations', { observations })
        }),
      ),
    )
    const { structuredContent: graph } = await clients[0].call('read_graph', { limit: 500 })
    expect(graph?.total).toBe(clients.length * rounds + rounds)
    const shared = graph?.entities.filter(({ entityType }) => entityType === 'round') ?? []
    for (const { observations } of shared) {
      expect(observations.toSorted()).toEqual(['from 0', 'from 1', 'from 2', 'from all'])
    }
  })
})

describe('official clients', () => {
  test('v1 uses the tools and resources, and validates structured results', async () => {
    const client = new OfficialV1({ name: 'test', version: '1.0.0' })
    await client.connect(new StdioV1({ ...programOf(':memory:'), stderr: 'ignore' }))
    onTestFinished(() => client.close())
    // The client compiles the output schemas when it lists the tools.
    expect((await client.listTools()).tools).toHaveLength(9)
    await client.callTool({ name: 'create_entities', arguments: { entities: [alice, acme] } })
    await client.callTool({ name: 'create_relations', arguments: { relations: [worksAt] } })
    const found = await client.callTool({ name: 'search_nodes', arguments: { query: 'tea' } })
    expect(found['structuredContent']).toEqual({ entities: [alice], relations: [worksAt], total: 1 })
    const { contents } = await client.readResource({ uri: 'memory://entities/Acme' })
    expect(contents).toMatchObject([{ text: expect.stringContaining('Builds rockets') }])
  })

  test.each(revisions)('v2 uses the tools and resources on %s', async (revision) => {
    const client = new OfficialV2(
      { name: 'test', version: '1.0.0' },
      revision === '2026-07-28'
        ? { versionNegotiation: { mode: { pin: revision } } }
        : { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [revision] },
    )
    await client.connect(new StdioV2({ ...programOf(':memory:'), stderr: 'ignore' }))
    onTestFinished(() => client.close())
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect((await client.listTools()).tools).toHaveLength(9)
    await client.callTool({ name: 'create_entities', arguments: { entities: [alice] } })
    const found = await client.callTool({ name: 'open_nodes', arguments: { names: ['Alice'] } })
    expect(found.structuredContent).toEqual({ entities: [alice], relations: [] })
    expect((await client.listResources()).resources).toHaveLength(2)
  })
})

describe('the command line', () => {
  test('describes its options', () => {
    expect(run('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    const { status, stdout, stderr } = run('--help')
    expect(status).toBe(0)
    for (const word of ['--file', '--scope', '--http', '--import', '--export', '--conversation']) {
      expect(stdout).toContain(word)
    }
    expect(stderr).toBe('')
  })

  test.each([
    [['--http', 'soon'], '--http needs a port'],
    [['--scope', 'all'], '--scope must be "shared" or "conversation", not "all"'],
    [['--colour'], "Unknown option '--colour'"],
    [['--file', '/dev/null/memory.db'], '/dev/null'],
    [['--import', 'a', '--export', 'b'], 'exclude each other'],
    [['--conversation', 'a'], '--conversation needs --import or --export'],
    [['--conversation', ' ', '--export', '-'], '--conversation needs a name'],
    [['--file', ':memory:', '--import', '/no/such/file'], '/no/such/file'],
  ])('reports %j in one line', (args, message) => {
    const { status, stdout, stderr } = run(...args)
    expect(status).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('imports a file of the MCP reference server, and exports the same', () => {
    const file = temporaryFile()
    const source = temporaryFile('memory.jsonl')
    writeFileSync(source, lines(...jsonLines))
    expect(run('--file', file, '--import', source).stderr).toBe(
      `Imported 2 entities, 3 observations and 1 relations into ${file}.\n`,
    )
    expect(run('--file', file, '--export', '-').stdout).toBe(lines(...jsonLines))
    const target = temporaryFile('exported.jsonl')
    expect(run('--file', file, '--export', target).status).toBe(0)
    expect(readFileSync(target, 'utf8')).toBe(lines(...jsonLines))
    expect(run('--file', file, '--export', '-', '--conversation', 'trip').stdout).toBe('')
    // A second import adds what is new.
    writeFileSync(source, lines({ type: 'entity', ...alice, observations: ['Prefers tea', 'Plays chess'] }))
    expect(run('--file', file, '--import', source).stderr).toContain('Imported 0 entities, 1 observations')
  })

  test('imports into the conversation that clients name, however its accents are encoded', async () => {
    const file = temporaryFile()
    const source = temporaryFile('memory.jsonl')
    writeFileSync(source, lines({ type: 'entity', ...alice }))
    const name = ' cafe\u0301 '
    expect(run('--file', file, '--import', source, '--conversation', name).status).toBe(0)
    const client = await connect<MemoryServer>(stdio(programOf(file)))
    onTestFinished(() => client.close())
    const { structuredContent } = await client.call('read_graph', { conversation: name })
    expect(structuredContent?.entities).toEqual([alice])
  })

  test('imports relations whose ends have no entity', () => {
    const file = temporaryFile()
    const source = temporaryFile('memory.jsonl')
    writeFileSync(source, lines({ type: 'entity', ...alice }, { type: 'relation', ...worksAt }))
    expect(run('--file', file, '--import', source).stderr).toContain('1 names that only relations mention')
    expect(run('--file', file, '--export', '-').stdout).toBe(
      lines(
        { type: 'entity', ...alice },
        { type: 'entity', name: 'Acme', entityType: 'unknown', observations: [] },
        { type: 'relation', ...worksAt },
      ),
    )
  })

  test.each([
    ['{"type":"entity"', 'line 2 is not JSON'],
    ['{"type":"thing"}', 'line 2 is not an entity or relation'],
    [
      '{"type":"entity","name":"","entityType":"x","observations":[]}',
      'line 2 is not an entity or relation: name',
    ],
  ])('imports nothing from a file with the line %s', (line, message) => {
    const file = temporaryFile()
    const source = temporaryFile('memory.jsonl')
    writeFileSync(source, `${lines({ type: 'entity', ...alice })}${line}\n`)
    const { status, stderr } = run('--file', file, '--import', source)
    expect(status).toBe(1)
    expect(stderr).toContain(message)
    expect(stderr).toContain('Nothing was imported')
    expect(run('--file', file, '--export', '-').stdout).toBe('')
  })

  test('refuses a database of another program', async () => {
    const file = temporaryFile()
    const { DatabaseSync } = await import('node:sqlite')
    const other = new DatabaseSync(file)
    other.exec('CREATE TABLE mine (id INTEGER)')
    other.close()
    expect(run('--file', file, '--export', '-').stderr).toContain('contains tables of another program')
    expect(existsSync(file)).toBe(true)
  })
})

test('servers that open a new file at the same moment can all use it', { timeout: 60_000 }, async () => {
  const source = new URL('../src/database.ts', import.meta.url).href
  const reports = await openTogether(
    `import { openDatabase } from ${JSON.stringify(source)}
     const use = (file) => openDatabase(file).close()`,
  )
  expect(new Set(reports)).toEqual(new Set(['used']))
})
