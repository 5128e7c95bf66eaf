import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { json, listen } from '../../../sdk/test/client-auth/support/server.ts'
import { type Ended, everything, onEverything, run, runProcess, tempFolder } from './jackfield.ts'
import { serveEverything } from './served-everything.ts'

const definitionServer = programFile(
  new URL('../../../host/test/fixtures/definition-server.ts', import.meta.url),
)
const asking = programFile(new URL('./asking-server.ts', import.meta.url))

/** A server that lists a tool, and answers neither calls nor requests for prompts. */
interface SilentServer {
  readonly url: string
  /** Resolves when the server has received the next request that it does not answer. */
  unanswered(): Promise<unknown>
}

async function startSilentServer(): Promise<SilentServer> {
  const events = new EventEmitter()
  const server = await listen(({ res, body }) => {
    const { id, method } = JSON.parse(body === '' ? '{}' : body)
    const initialize = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {} },
      serverInfo: { name: 's', version: '1' },
    }
    const tools = [{ name: 'wait', inputSchema: { type: 'object' } }]
    const results: Record<string, object> = { initialize, 'tools/list': { tools } }
    const result = results[method]
    if (result !== undefined) json(res, { jsonrpc: '2.0', id, result })
    else if (id === undefined) res.writeHead(method === undefined ? 405 : 202).end()
    else if (method === 'server/discover')
      json(res, { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } })
    else events.emit('unanswered')
  })
  onTestFinished(() => server.close())
  return { url: server.origin, unanswered: () => once(events, 'unanswered') }
}

function folder(files: Record<string, unknown>): string {
  const cwd = tempFolder()
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(cwd, name), typeof content === 'string' ? content : JSON.stringify(content))
  return cwd
}

const [command, ...args] = everything
const demo = { command, args }
/** The same over HTTP, for tests that start no server. */
const shared = { url: await serveEverything(afterAll) }
const named = (name: string) => ({ ...demo, env: { NAME: name } })

describe.concurrent('messages and exit codes', { timeout: 60_000 }, () => {
  test('config allow takes several names, and every server with --all', async () => {
    const cwd = folder({
      '.mcp.json': { mcpServers: { one: named('1'), two: named('2'), three: named('3') } },
    })
    expect((await run(['config', 'allow'], { cwd })).code).toBe(2)
    const two = await run(['config', 'allow', 'one', 'two', '--json'], { cwd })
    expect(JSON.parse(two.stdout).servers.map(({ server }: { server: string }) => server)).toEqual([
      'one',
      'two',
    ])
    const states = async (): Promise<string[]> =>
      JSON.parse((await run(['config', '--json'], { cwd })).stdout).servers.map(
        ({ state }: { state: string }) => state,
      )
    expect(await states()).toEqual(['on', 'on', 'needs approval'])
    expect((await run(['config', 'allow', 'three', 'nope'], { cwd })).code).toBe(2)
    expect(await states()).toEqual(['on', 'on', 'needs approval'])
    expect((await run(['config', 'allow', '--all'], { cwd })).code).toBe(0)
    expect(await states()).toEqual(['on', 'on', 'on'])
    expect((await run(['config', 'forbid', 'one', 'two'], { cwd })).code).toBe(0)
    expect(await states()).toEqual(['needs approval', 'needs approval', 'on'])
  })

  test.each([401, 404])('a piped conversation fails when the model responds with %i', async (status) => {
    const server = createServer((_req, res) => {
      res.writeHead(status, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: { message: 'no' } }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const cwd = folder({ '.mcp.json': { mcpServers: {} } })
    const env = { OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_COMPATIBLE_MODEL: 'm' }
    for (const more of [[], ['--json'], ['hi'], ['-p', 'hi'], ['hi', '--json']])
      expect((await run(['chat', ...more], { cwd, env, stdin: 'hi\n' })).code).toBe(1)
  })

  test('an unreadable configuration file disables only itself, and then nothing is allowed without a question', async () => {
    const cwd = folder({
      '.mcp.json': '{ not json',
      'jackfield.json': { mcpServers: { demo } },
    })
    const listed = await run(['tools', 'demo', '--start-what-this-folder-names'], { cwd })
    expect(listed.code).toBe(0)
    expect(listed.stdout).toContain('echo')
    expect(listed.stderr).toContain('.mcp.json')
    const unknown = await run(['tools', 'other'], { cwd })
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain('.mcp.json')
  })

  test('with --json every line of stderr is a JSON object: notes, warnings, and the failure last', async () => {
    const cwd = folder({ '.mcp.json': '{ not json', 'jackfield.json': { mcpServers: { demo } } })
    const lines = async (...words: string[]) => {
      const { stderr } = await run([...words, '--start-what-this-folder-names'], { cwd })
      return stderr
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    }
    const warning = expect.stringContaining('.mcp.json')
    const error = expect.objectContaining({ message: expect.any(String) })
    expect(await lines('call', 'demo', 'nosuch', '--json')).toEqual([{ warning }, { error }])
    expect(await lines('call', 'demo', 'nosuch', '--output', 'json')).toEqual([{ warning }, { error }])
    expect(await lines('tools', '--json')).toEqual([{ warning }])
    const verbose = await lines('call', 'demo', 'nosuch', '--json', '--verbose')
    expect(verbose.slice(0, -1).every((line) => Object.keys(line).join() in { note: 0, warning: 0 })).toBe(
      true,
    )
    expect(verbose.length).toBeGreaterThan(4)
    expect(verbose.at(-1)).toEqual({ error })
  })

  test.each([
    [['nonsense', '--json'], 2],
    [['tools', '--nonsense', '--json'], 2],
    [['call', '--json'], 2],
    [['chat', '--json', '--config', '/nowhere'], 2],
    [onEverything('call', 'nosuch', '--json'), 4],
    [['tools', '--json', '--', 'no-such-program'], 3],
  ])('%j fails with one JSON object', async (words, expected) => {
    const { code, stdout, stderr } = await run(words)
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({ error: expect.objectContaining({ message: expect.any(String) }) })
  })

  test.each([
    ['tools', 'demo', 'nosuch'],
    ['call', 'demo', 'nosuch'],
    ['policy', 'explain', 'demo', 'nosuch'],
    ['prompt', 'demo', 'nosuch'],
    ['complete', 'demo', 'nosuch', 'x', 'y'],
  ])('%s %s %s is 4, since the server has no such item', async (...words) => {
    const cwd = folder({ 'c.json': { mcpServers: { demo: shared } } })
    expect((await run([...words, '--config', 'c.json'], { cwd })).code).toBe(4)
  })

  test.each([
    ['tools', 'nope'],
    ['call', 'nope', 'x'],
    ['prompt', 'nope', 'x'],
    ['search', 'x', '--server', 'nope'],
    ['doctor', 'nope'],
    ['trust', 'nope'],
    ['config', 'explain', 'nope'],
  ])('%s %s %s is 2, since no such server is configured', async (...words) => {
    const cwd = folder({ 'c.json': { mcpServers: { demo: shared } } })
    const given = words.filter((word) => word !== undefined)
    expect((await run([...given, '--config', 'c.json'], { cwd })).code).toBe(2)
  })

  test('the inbox prints the same as JSON and as a table, and names the store to answer in', async () => {
    const cwd = folder({})
    const store = join(cwd, 'my store.db')
    const parked = run(['call', 'book', '--park', '--store', store, '--', process.execPath, asking], { cwd })
    const list = async () =>
      JSON.parse((await run(['inbox', '--json', '--store', store], { cwd })).stdout).questions
    await expect.poll(async () => (await list()).length, { timeout: 20_000 }).toBe(1)
    const [item] = await list()
    expect(item).toMatchObject({ state: 'waits', kind: 'elicitation', server: 'asking', what: 'Which seat?' })
    const table = await run(['inbox', '--store', store], { cwd })
    expect(table.stdout).toMatch(/elicitation +waits +Which seat\?/)
    expect(table.stdout).toContain(`jackfield respond <id> --store '${store}'`)
    const answer = ['respond', item.id, '--accept', 'seat=4A', '--store', store]
    expect((await run(answer, { cwd })).code).toBe(0)
    expect((await parked).code).toBe(0)
  })

  test('an unusable home folder is reported without hanging', async () => {
    const cwd = folder({ file: '' })
    for (const home of ['/proc/nohome', join(cwd, 'file')]) {
      const env = { HOME: home, XDG_DATA_HOME: '' }
      const echo = onEverything('call', 'echo', 'message=hi')
      const { code, stdout, stderr } = await run(echo, { cwd, env })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(`HOME is "${home}", which cannot be used`)
      expect((await run(['call', '--no-store', ...echo.slice(1)], { cwd, env })).code).toBe(0)
    }
  })

  test('server.tool and server__tool name a tool in every command with a server and a tool', async () => {
    const cwd = folder({ 'c.json': { mcpServers: { demo: shared } } })
    const use = ['--config', 'c.json']
    for (const name of ['demo.echo', 'demo__echo']) {
      expect((await run(['call', name, 'message=hi', ...use], { cwd })).stdout).toContain('Echo: hi')
      expect((await run(['tools', name, ...use], { cwd })).stdout).toMatch(/^echo/)
      expect((await run(['policy', 'explain', name, 'message=hi', ...use], { cwd })).code).toBe(0)
    }
  })

  test('arguments are read from stdin', async () => {
    const piped = await runProcess(onEverything('call', 'echo', 'message=@-'), { stdin: 'from a pipe' })
    expect(piped.stdout).toContain('Echo: from a pipe')
    const whole = await runProcess(onEverything('call', 'echo', '--args', '-'), {
      stdin: '{"message":"as JSON"}',
    })
    expect(whole.stdout).toContain('Echo: as JSON')
  })

  test('another server in place of an accepted one is 5, with advice', async () => {
    const cwd = folder({})
    const definitions = join(cwd, 'definitions.json')
    const env = { DEFINITIONS: definitions, LOG: join(cwd, 'log') }
    const shop = { command: process.execPath, args: [definitionServer], env }
    writeFileSync(join(cwd, 'c.json'), JSON.stringify({ mcpServers: { shop } }))
    const tool = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } })
    const use = ['--config', 'c.json', '--store', join(cwd, 's.db')]
    writeFileSync(definitions, JSON.stringify({ tools: [tool('buy')] }))
    expect((await run(['tools', 'shop', ...use], { cwd })).code).toBe(0)
    writeFileSync(definitions, JSON.stringify({ tools: [tool('steal'), tool('lie')] }))
    for (const words of [['tools', 'shop'], ['tools'], ['call', 'shop', 'steal'], ['tools', 'shop', 'lie']]) {
      const { code, stderr } = await run([...words, ...use], { cwd })
      expect({ words, code }).toEqual({ words, code: 5 })
      expect(stderr).toContain('jackfield trust accept shop')
    }
  })
})

// Not concurrent: it stops the clock of the process.
describe('timeouts', { timeout: 60_000 }, () => {
  test('a timeout is 124, and the message has the seconds and the option that changes them', async () => {
    const started = await run(['tools', '--timeout', '1', '--', 'sleep', '30'])
    expect(started).toMatchObject({ code: 3, stderr: expect.stringContaining('within 1 s') })

    const server = await startSilentServer()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    /** Runs a command, and lets 40 s pass when the server has received the request that it does not answer. */
    const runLate = async (command: string, ...words: string[]): Promise<Ended> => {
      const unanswered = server.unanswered()
      const ended = run([command, server.url, ...words])
      await unanswered
      await vi.advanceTimersByTimeAsync(40_000)
      return ended
    }
    expect(await runLate('call', 'wait', '--timeout', '31.2')).toEqual({
      ...{ code: 124, stdout: '' },
      stderr: 'No response to tools/call "wait" for 31.2 s. --timeout <seconds> changes this limit.\n',
    })
    const inJson = await runLate('call', 'wait', '--json', '--timeout', '30')
    expect([inJson.code, JSON.parse(inJson.stderr)]).toMatchObject([124, { error: { code: 'TIMEOUT' } }])
    expect(await runLate('prompts', '--timeout', '31.4')).toMatchObject({
      code: 124,
      stderr: 'No response to prompts/list within 31.4 s. --timeout <seconds> changes this limit.\n',
    })
  })
})
