import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { started, textOf as textOfCall } from '../../../packages/host/test/fixtures/hosts.ts'
import { named, withoutSandbox } from '../../../packages/host/test/sandbox/bubblewrap.ts'
import { officialV1 } from '../../../test/interop/clients/official-v1.ts'
import { officialV2 } from '../../../test/interop/clients/official-v2.ts'
import { defaultAnswers } from '../../../test/interop/suite/test-client.ts'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { eras, rowIn, shop, sqliteFile, structuredOf } from './fixture.ts'

const main = builtProgram('database')

function start(args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

/** Everything a child writes until it ends, and its exit code. */
async function outcome(child: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** Processes of this machine whose command line contains a text. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

describe.each(eras)('the database server as a process on %s', (era) => {
  test('answers over standard input and output', async () => {
    const file = sqliteFile(shop)
    const client = await connect(
      stdio({
        command: process.execPath,
        args: [main, 'sales=env:SALES_FILE', '--max-rows', '2'],
        env: { SALES_FILE: file },
      }),
      { revisions: [era] },
    )
    onTestFinished(() => client.close())
    expect(client.server.revision).toBe(era)
    const page = structuredOf(await client.call('query', { sql: 'SELECT id FROM orders' }))
    expect(page['rows']).toEqual([[1], [2]])
    const last = structuredOf(await client.call('next_page', { cursor: page['nextCursor'] }))
    expect(last['rows']).toEqual([[3]])
    expect(structuredOf(await client.call('list_databases', {}))['databases']).toMatchObject([
      { target: 'env:SALES_FILE' },
    ])
  })
})

describe.each([
  { kind: officialV1, revision: '2025-06-18' },
  { kind: officialV2, revision: '2025-11-25' },
  { kind: officialV2, revision: '2026-07-28' },
] as const)('$kind.name at $revision', ({ kind, revision }) => {
  test('queries, reads the schema, completes names and confirms a change', async () => {
    const file = sqliteFile(shop)
    const messages: string[] = []
    const client = await kind.connect(
      { command: process.execPath, args: [main, `sales=${file}`, '--allow-writes'] },
      revision,
      {
        answers: {
          ...defaultAnswers(),
          person: ({ message }) => {
            messages.push(message)
            return { action: 'accept', content: { commit: true } }
          },
        },
        fetch,
      },
    )
    onTestFinished(() => client.close())
    expect((await client.tools()).map(({ name }) => name)).toEqual([
      'list_databases',
      'list_tables',
      'describe_table',
      'query',
      'next_page',
      'sample_rows',
      'explain',
      'execute',
    ])
    const found = await client.call('query', {
      sql: 'SELECT name FROM customers WHERE id = ?1',
      parameters: [1],
    })
    expect(found.structuredContent).toMatchObject({ rows: [['Ada']] })
    expect((await client.resources()).map(({ uri }) => uri)).toContain('db://sales/tables/orders')
    expect(JSON.stringify(await client.read('db://sales/schema'))).toContain('customer_id INTEGER, not null')
    const completed = await client.complete(
      { template: 'db://{database}/tables/{table}' },
      { name: 'table', value: 'o' },
      { database: 'sales' },
    )
    expect(completed.values).toEqual(['open_orders', 'orders', 'customers'])
    expect(JSON.stringify(await client.prompt('analyse', { question: 'Who owes most?' }))).toContain(
      'db://sales/schema',
    )
    const done = await client.call('execute', { sql: 'DELETE FROM orders WHERE id = 3' })
    expect(done.structuredContent).toMatchObject({ status: 'committed', effects: { rows: 1 } })
    expect(messages).toHaveLength(1)
    expect(rowIn(file, 'SELECT count(*) AS n FROM orders')).toEqual({ n: 2 })
  })
})

describe('the command line', () => {
  test('explains itself', async () => {
    const version = await outcome(start(['--version']))
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    const { code, stdout, stderr } = await outcome(start(['--help']))
    expect(code).toBe(0)
    for (const word of ['--allow-writes', '--max-rows', '--timeout', 'env:']) expect(stdout).toContain(word)
    expect(stderr).toBe('')
  })

  test.each([
    [[], 'at least one database'],
    [['--colour'], "Unknown option '--colour'"],
    [['sales=./no-such-file.db'], 'the file of database "sales" does not exist: ./no-such-file.db'],
    [['crm=env:NOT_SET_HERE'], 'the environment variable NOT_SET_HERE is not set'],
    [['crm=mysql://user:secret@host/db'], '"mysql:" is not supported'],
    [['postgres://user:secret@host/db'], 'needs a name'],
    [['crm=postgres://user:secret@host:port/db'], 'its URL is not valid'],
    [['a b=./x.db'], 'cannot be the name of a database'],
    [['--timeout', 'soon', `sales=${main}`], '--timeout needs a number'],
    [['--max-rows', '1000000', `sales=${main}`], '"maxRows" must be a whole number from 1 to 10000'],
    [[`sales=${main}`, `sales=${main}`], 'Two databases have the name "sales"'],
  ])('reports %j in one line, without a password', async (args, message) => {
    const { code, stdout, stderr } = await outcome(start(args))
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('secret')
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('warns of a password in its arguments, without repeating it', async () => {
    const child = start(['crm=postgres://user:secret@127.0.0.1:1/db'])
    child.stdin?.end()
    const { stderr } = await outcome(child)
    expect(stderr).toContain('crm=env:VARIABLE')
    expect(stderr).not.toContain('secret')
  })

  test('names a SQLite file after itself, and serves a file that is no database with an error', async () => {
    const client = await connect(stdio({ command: process.execPath, args: [main, main] }))
    onTestFinished(() => client.close())
    expect(structuredOf(await client.call('list_databases', {}))['databases']).toMatchObject([
      { name: 'main' },
    ])
    const failed = await client.call('list_tables', {})
    expect(JSON.stringify(failed)).toContain('The file is not a SQLite database')
    expect(JSON.stringify(failed)).not.toContain(dirname(main))
  })
})

describe.skipIf(process.platform !== 'linux')('a server that is killed during a query', () => {
  test('ends with its process tree', async () => {
    const file = sqliteFile(shop, 'orphan.db')
    const child = start([`sales=${file}`])
    const call = (id: number, method: string, params: object): void => {
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    }
    call(1, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    await once(child.stdout ?? child, 'data')
    const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'
    call(2, 'tools/call', { name: 'query', arguments: { sql } })
    await vi.waitFor(() => expect(processesWith(`${file}\0read`)).toHaveLength(1), 20_000)
    child.kill('SIGKILL')
    await vi.waitFor(() => expect(processesWith(file)).toEqual([]), 20_000)
  })
})

describe.skipIf(withoutSandbox !== undefined)(named("a database server in the host's sandbox"), () => {
  test('reads a file of a folder that is open to it', async () => {
    const file = sqliteFile(shop)
    // In this workspace the SDK is a link to its sources.
    const sdk = fileURLToPath(new URL('../../../packages/sdk', import.meta.url))
    const host = await started({
      servers: {
        db: {
          command: process.execPath,
          args: [main, `sales=${file}`],
          sandbox: { read: [dirname(file), sdk] },
        },
      },
      rules: [{ id: 'all', verdict: 'allow' }],
    })
    const result = await host.call('db__query', { sql: 'SELECT count(*) FROM orders' }, { caller: 'cli' })
    expect(textOfCall(result)).toContain('| 3 |')
  })
})
