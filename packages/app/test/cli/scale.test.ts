import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { everything, filesystem, jsonFile, recorded, run, tempFolder } from './jackfield.ts'

/** A config outside of the working folder, with two servers that come from npm, or more of them. */
function config(section: object = {}, more: readonly string[] = []): string[] {
  const server = ([command, ...args]: string[]): object => ({ command, args })
  const files = ['files', ...more].map((name) => [name, server(filesystem(tempFolder()))])
  const mcpServers = { everything: server(everything), ...Object.fromEntries(files) }
  return ['--config', jsonFile({ mcpServers, jackfield: section }), '--start-what-this-folder-names']
}

function program(text: string, name = 'program.ts'): string {
  const file = join(tempFolder(), name)
  writeFileSync(file, text)
  return file
}

const reading = { rules: [{ id: 'reading', verdict: 'allow', hint: 'readOnly' }] }

// Every run starts several processes.
vi.setConfig({ testTimeout: 90_000 })

describe.concurrent('many tools', () => {
  test('are counted in tokens by server, with the reason for searching', async () => {
    const meter = await run(['tools', '--meter', ...config()])
    expect(meter).toMatchObject({ code: 0 })
    expect(meter.stdout).toMatch(/^SERVER +TOOLS +TOKENS +LARGEST\nfiles +\d+ +\d+ +files__\w+ \d+, /)
    expect(meter.stdout).toMatch(/\nall +\d+ +\d+\n\nThe definitions take \d\.\d % of the model's context/)
    const one = await run(['tools', '--meter', '--json', '--', ...everything])
    expect(JSON.parse(one.stdout)).toMatchObject({ limits: { share: 0.1, tools: 40 }, servers: [{}] })
  })

  test('are found by their function', async () => {
    const found = await run(['search', 'add', 'two', 'numbers', '--limit', '2', ...config()])
    expect(found.code).toBe(0)
    expect(found.stdout).toMatch(/^TOOL +SERVER +DESCRIPTION\nget-sum +everything +/)
    expect(found.stdout).toMatch(/\n2 of \d+ matches, best first\n$/)
    const json = await run(['search', 'move_file', '--json', '--server', 'files', ...config()])
    expect(JSON.parse(json.stdout).matches[0]).toMatchObject({ server: 'files', tool: { name: 'move_file' } })
    const nothing = await run(['search', 'qqqqqq', '--server', 'files', ...config()])
    expect(nothing.stdout).toMatch(/^None of \d+ tools of 1 server matches\. jackfield tools lists them\.\n$/)
  })

  test('are not searched without words, or at an unknown server', async () => {
    expect(await run(['search', ...config()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('jackfield search <words...>'),
    })
    expect(await run(['search', 'x', '--server', 'nobody', ...config()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no server "nobody". It names: everything, files.'),
    })
  })
})

/** A provider that refuses every request, and the names of the tools that each one carried. */
async function provider(): Promise<{ env: Record<string, string>; offered: string[][] }> {
  const offered: string[][] = []
  const server = createServer(async (request, response) => {
    const { tools } = JSON.parse(await text(request))
    offered.push(tools.map((tool: { function: { name: string } }) => tool.function.name))
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const env = {
    OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}/v1`,
    OPENAI_COMPATIBLE_MODEL: 'm',
    JACKFIELD_MODEL: 'compatible',
  }
  return { env, offered }
}

test('a model in a chat searches among many tools, and writes programs with --code', async () => {
  const { env, offered } = await provider()
  const stdin = 'Hello\n/quit\n'
  // With three servers there are more than 40 tools.
  const servers = config({}, ['others'])
  await run(['chat', ...servers], { env, stdin })
  await run(['chat', '--code', ...servers], { env, stdin })
  const [plain = [], code = []] = offered
  expect(plain).toEqual(expect.arrayContaining(['search_tools', 'inspect_tool', 'call_tool']))
  expect(plain.filter((name) => name.includes('__'))).toEqual([])
  expect(code.filter((name) => !plain.includes(name))).toEqual(['run_code', 'describe_api'])
})

describe.concurrent('a program', () => {
  test('calls tools of several servers; each call is a row below its own', async () => {
    const folder = tempFolder()
    const file = program(`
      const { text }: { text: string } = await servers.everything['get-sum']({ a: 2, b: 3 })
      console.log('asked')
      show(await servers.everything['get-tiny-image']())
      return { text, folders: (await servers.files.list_allowed_directories()).text.split('\\n').length }`)
    const ended = await run(['run', file, ...config(reading)], { cwd: folder })
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('asked\n') })
    expect(ended.stdout).toMatch(/^\{\n {2}"text": "The sum of 2 and 3 is 5\.",\n {2}"folders": 2\n\}\n/)
    expect(ended.stdout).toMatch(/\[image\/png, \d+\.\d kB\]/)
    const { rows } = await recorded([], folder)
    const code = rows.find(({ kind, outcome }) => kind === 'code' && outcome === 'ok')
    const calls = rows.filter(({ cause }) => cause !== null && cause === code?.id)
    expect(calls.map(({ summary }) => summary)).toEqual([
      'get-sum of everything',
      'get-tiny-image of everything',
      'list_allowed_directories of files',
    ])
  })

  test('cannot call a tool that needs approval without a user, and reports earlier calls', async () => {
    const file = program(
      "await servers.everything.echo({ message: 'hi' }); await servers.files.create_directory({ path: 'x' })",
    )
    const ended = await run(['run', file, ...config(reading)])
    expect(ended.code).toBe(1)
    expect(ended.stdout).toBe('')
    expect(ended.stderr).toContain('create_directory of files was not called')
    expect(ended.stderr).toContain('1. echo of everything: done\n2. create_directory of files: denied')
    expect(ended.stderr).toContain('give --answers <file> with "approvals"')
    expect(ended.stderr).not.toContain('Do not try it again')
  })

  test('follows the answers file: its globs, and a call without an entry is refused by no person', async () => {
    const asks = { mcpServers: { everything: { command: everything[0], args: everything.slice(1) } } }
    const answers = (tool: string): string => jsonFile({ approvals: [{ tool, verdict: 'allow' }] })
    const file = program("return (await servers.everything.echo({ message: 'hi' })).text")
    const words = ['run', file, '--config', jsonFile(asks), '--store', ':memory:', '--answers']
    expect(await run([...words, answers('ec*')])).toMatchObject({ code: 0, stdout: 'Echo: hi\n' })
    const none = await run([...words, answers('get-*')])
    expect(none.code).toBe(1)
    expect(none.stderr).toContain('the answers file has no entry for echo under "approvals"')
    expect(none.stderr).not.toContain('the person refused')
  })

  test('is read from stdin and printed as JSON, with the server after --', async () => {
    const words = ['run', '-', '--json', '--store', ':memory:', '--', ...everything]
    const failed = await run(words, { stdin: "console.log('before'); throw new Error('no fares')" })
    expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code: 1, stdout: '' })
    expect(JSON.parse(failed.stderr).error).toMatchObject({
      message: expect.stringContaining('no fares'),
      data: { logs: ['before'] },
    })
    const { code, stdout } = await run(words, { stdin: 'return Object.keys(servers)' })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'ok',
      calls: [],
      logs: [],
      value: [expect.any(String)],
    })
  })

  test('can be written with the declarations', async () => {
    const { code, stdout } = await run(['run', '--types', '--server', 'everything', ...config()])
    expect(code).toBe(0)
    expect(stdout).toContain('declare const servers: {\n  everything: {')
    expect(stdout).toMatch(/"get-sum"\(args: \{\n.*First number.*\n {6}a: number\n/)
    expect(stdout).not.toContain('read_text_file')
  })

  test('that is missing or invalid is a usage error', async () => {
    expect(await run(['run', 'no-such.js', ...config()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Cannot read no-such.js'),
    })
    expect(await run(['run', ...config()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('jackfield run <file>'),
    })
  })
})
