import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import {
  begin,
  closedShop,
  everything,
  jsonFile,
  onEverything,
  recorded,
  run,
  runProcess,
  tempFolder,
} from './jackfield.ts'

const bin = builtProgram('jackfield')

describe.concurrent('exit codes', () => {
  test.each([
    ['no command', [], 'Usage: jackfield'],
    ['an unknown command', ['nonsense'], "unknown command 'nonsense'"],
    ['an unknown option', ['tools', '--nonsense'], "unknown option '--nonsense'"],
    ['no target', ['call'], 'Which server?'],
    ['no target and no config', ['tools'], 'There is no config file'],
    ['a name without a config', ['tools', 'shop'], 'no config file'],
    ['no servers to look at', ['servers'], 'jackfield start'],
    ['record without a file', ['record'], 'Which file? Usage: jackfield record <file>'],
    ['serve-recording without one', ['serve-recording'], 'Usage: jackfield serve-recording <file> [server]'],
    ['a folder as a recording', ['serve-recording', '/'], '/ cannot be read: it is a folder.'],
    ['one recording to compare', ['log', 'diff', 'a.json'], 'Usage: jackfield log diff <a> <b>'],
    ['an export without a format', ['log', 'export'], 'Usage: jackfield log export <jsonl|har|otlp>'],
    ['nothing to ask about again', ['sampling', 'revoke'], 'Usage: jackfield sampling revoke <id>'],
    ['no answer to take back', ['policy', 'revoke'], 'Usage: jackfield policy revoke <id>'],
    ['no rule to preview', ['policy', 'preview'], 'Usage: jackfield policy preview <rule>'],
    ['nothing after --', ['tools', '--'], 'Nothing follows --'],
    ['nothing after -- to install', ['install', '--'], 'Nothing follows --'],
    [
      'a word for a command without arguments',
      ['servers', 'x'],
      'arguments: x\nUsage and options: jackfield servers',
    ],
    ['a word for a list', ['activity', 'x'], 'arguments: x\nUsage and options: jackfield activity --help'],
    [
      'a message behind --root',
      ['chat', '--config', jsonFile({ mcpServers: {} }), '--root', 'hi'],
      'a message is written before it',
    ],
    ['-v before a command', ['-v'], 'jackfield --version prints the version'],
    ['no kind of code', ['generate'], 'Generate what? Usage: jackfield generate <client|cli>'],
    [
      'a configuration file to install',
      ['install', jsonFile({ mcpServers: {} })],
      'is a configuration file, not a server.json. To use its servers: --config ',
    ],
    ['another JSON file to install', ['install', jsonFile({ packages: [] })], 'it has no "name"'],
    [
      'a file in a folder that does not exist',
      ['log', 'export', 'jsonl', '--output', '/no/such/folder/log.jsonl'],
      'log.jsonl cannot be written: its folder does not exist (ENOENT)',
    ],
    [
      'a command after -- that is not used',
      ['record', 'a.json', '--', 'my server'],
      "install -- 'my server'",
    ],
    ['a command after -- of a subcommand', ['policy', 'rules', '--', 'x'], 'policy rules takes no command'],
    ['a command of other programs', ['list'], 'jackfield tools their tools'],
    ['a command of other programs in a group', ['config', 'add'], 'jackfield install adds a server'],
    ['an option of other commands for the log', ['log', '--server', 'shop'], 'written without --'],
    ['an argument of a tool as an option', ['call', 'x', '--city', 'Oslo'], 'are written key=value'],
    [
      'all arguments as one value',
      onEverything('call', 'get-sum', '{"a":1,"b":2}'),
      `given with --args '{"a":1,"b":2}'`,
    ],
    ['a missing argument', onEverything('call', 'get-sum', 'a=1'), 'Missing argument:\n  b'],
    [
      'an argument that does not exist instead of one that does',
      onEverything('call', 'get-sum', 'a=1', 'c=2'),
      'There is no argument "c".',
    ],
    ['help about no command', ['help', 'tool'], 'There is no command "tool"'],
    ['an option before the command', ['--timeout', '2', 'tools'], 'Options follow the command'],
    ['an argument of the wrong type', onEverything('call', 'get-sum', 'a=1', 'b=x'), 'b must be a number'],
    ['a bad era', onEverything('tools', '--era', 'old'), '--era is auto, modern or legacy'],
    ['a bad timeout', onEverything('tools', '--timeout', 'x'), 'must be a number of seconds'],
    ['a bad answers file', onEverything('tools', '--answers', '/nowhere'), 'answers file'],
    ['a bad header', ['tools', 'http://127.0.0.1:9/mcp', '--header', 'x'], 'is not a header'],
  ])('%s is 2', async (_, args, words) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
  })

  test('without a configuration, the error names sources of servers: included, new, other applications', async () => {
    const empty = tempFolder()
    writeFileSync(join(empty, '.mcp.json'), '{"mcpServers":{}}')
    const seen = await Promise.all([
      run(['tools']),
      run(['servers']),
      run(['tools', 'shop']),
      run(['tools'], { cwd: empty }),
      run(['servers'], { cwd: empty }),
    ])
    expect(seen.map(({ code }) => code)).toEqual([2, 2, 2, 3, 0])
    for (const { stdout, stderr } of seen) {
      const output = stdout + stderr
      for (const way of ['start', 'install', 'config import']) expect(output).toContain(`jackfield ${way}`)
    }
  })

  test('an option with one value leaves the words after it to the command', async () => {
    const { code, stderr } = await run(['tools', '--header', 'A: b', 'http://127.0.0.1:9/mcp'])
    expect(stderr).toContain('127.0.0.1:9')
    expect(code).toBe(3)
  })

  test('a server that cannot be reached or started is 3, with the reason', async () => {
    const closed = await runProcess(['tools', 'http://127.0.0.1:1024/mcp'])
    expect(closed).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/Cannot connect to 127\.0\.0\.1:1024: .*ECONNREFUSED/),
    })
    expect(closed.stderr).toContain('jackfield doctor http://127.0.0.1:1024/mcp')
    expect(await runProcess(['tools', '--', 'no-such-program'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no such program'),
    })
    const dies = await runProcess([
      'tools',
      '--',
      process.execPath,
      '-e',
      'console.error("no key set"); process.exit(7)',
    ])
    expect(dies).toMatchObject({ code: 3, stdout: '' })
    expect(dies.stderr).toContain('exited with code 7')
    expect(dies.stderr).toContain('no key set')
  })

  test('a protocol error is 4, and with --json one line of JSON on stderr', async () => {
    const plain = await runProcess(onEverything('read', 'nope://x'))
    expect(plain).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('error -32602') })
    const json = await runProcess(onEverything('read', 'nope://x', '--json'))
    expect(json).toMatchObject({ code: 4, stdout: '' })
    expect(JSON.parse(json.stderr)).toEqual({ error: { code: -32602, message: expect.any(String) } })
  })

  test('a call with a protocol error response is 4, not a failed tool', async () => {
    const { code, stdout, stderr } = await run(['call', 'sell', '--json', '--', ...closedShop])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      error: { code: -32050, message: expect.stringContaining('the shop is closed'), data: { opens: 9 } },
    })
  })

  test('a tool that the server does not have is 4, with the existing tools', async () => {
    expect(await run(onEverything('call', 'nope'))).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('has no tool "nope". It has: echo'),
    })
  })

  test('a list that the server cannot return is 4', async () => {
    expect(await run(['prompts', '--', ...closedShop])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('error -32601'),
    })
  })

  test('Ctrl+C ends a running call with 130', async () => {
    const store = ['--store', join(tempFolder(), 'log.db')]
    const running = begin(
      onEverything('call', 'trigger-long-running-operation', 'duration=60', '-v', ...store),
    )
    await running.waitForOutput('"tools/call"')
    const started = performance.now()
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' })
    expect(performance.now() - started).toBeLessThan(30_000)
    const { rows } = await recorded(store, tempFolder())
    expect(rows.at(-1)).toMatchObject({ kind: 'call', outcome: 'cancelled' })
  })

  test.each([
    ['SIGHUP', 129],
    ['SIGTERM', 143],
  ] as const)('%s ends a running call with %i, and a command that reads stdin', async (signal, expected) => {
    const store = ['--store', join(tempFolder(), 'log.db')]
    const calling = begin(
      onEverything('call', 'trigger-long-running-operation', 'duration=60', '-v', ...store),
    )
    await calling.waitForOutput('"tools/call"')
    calling.child.kill(signal)
    expect(await calling.ended).toMatchObject({ code: expected, stdout: '' })
    const { rows } = await recorded(store, tempFolder())
    expect(rows.at(-1)).toMatchObject({ kind: 'call', outcome: 'cancelled' })
    const reading = begin(['gateway', '--stdio', '--config', jsonFile({ mcpServers: {} })], {
      stdinStaysOpen: true,
    })
    await reading.waitForOutput('0 tools of 0 servers.')
    reading.child.kill(signal)
    expect(await reading.ended).toMatchObject({ code: expected, stdout: '' })
  })

  test('--help and --version are 0', async () => {
    expect(await runProcess(['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: jackfield'),
    })
    expect(await runProcess(['call', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--args <json>'),
    })
    expect((await runProcess(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

test.runIf(existsSync('/dev/full'))(
  'stdout that cannot be written is one line on stderr and 2, with --json one object',
  async () => {
    const file = jsonFile({ mcpServers: {} })
    const full = async (...words: string[]): Promise<{ code: number | null; stderr: string }> => {
      const to = openSync('/dev/full', 'w')
      const child = spawn(process.execPath, [bin, ...words], { stdio: ['ignore', to, 'pipe'] })
      closeSync(to)
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
      const stderr = await text(child.stderr ?? Readable.from([]))
      return { code: await ended, stderr }
    }
    const message = 'Cannot write to stdout: no space is left on the device. Free some (ENOSPC).'
    const words = ['config', 'list', '--config', file]
    expect(await full(...words)).toEqual({ code: 2, stderr: `${message}\n` })
    expect(await full(...words, '--json')).toEqual({
      code: 2,
      stderr: `${JSON.stringify({ error: { message } })}\n`,
    })
  },
)

describe.each(['modern', 'legacy'])('a question that cannot be asked (%s)', (era) => {
  const server = programFile(new URL('sdk-asking-server.ts', import.meta.url))
  const call = ['call', 'refund', '--no-store', '--era', era]
  const shop = ['--', process.execPath, server]

  test('ends the call with 1, and the error names --park, --answers and a terminal', async () => {
    const { code, stderr } = await run([...call, ...shop])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'refund needs a question answered (elicitation), and no person can be asked here. Give --park to leave it in the inbox, --answers FILE to answer from a file (jackfield help call), or run this in a terminal',
    )
  })

  test('is answered by the file shown in the help', async () => {
    const { stdout: help } = await run(['help', 'options'])
    const [, shown = ''] = /when no user is present[^\n]*\n( {2}\{[\s\S]*?\n {2}\})/.exec(help) ?? []
    const answers = JSON.parse(shown)
    answers.elicitation.unshift({ match: 'Refund', action: 'accept', content: { ok: true } })
    const { code, stdout } = await run([...call, '--answers', jsonFile(answers), ...shop])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'refunded: true\n' })
    expect((await run(['help', 'call'])).stdout).toContain(shown)
    const none = await run([...call, '--answers', jsonFile({ roots: 'deny' }), ...shop])
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('has no "elicitation"') })
  })
})

test('server.tool resolves to a server with that prefix only if it is unambiguous, and base64 is a value', async () => {
  const [command, ...args] = everything
  const config = ['--no-store', '--config', jsonFile({ mcpServers: { everything: { command, args } } })]
  const none = await run(['call', 'nosuch.echo', 'hi', ...config])
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('has no server "nosuch".') })
  const unnamed = await run(['call', 'echo', 'hi', ...config])
  expect(unnamed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('name its server first: jackfield call <server> echo.'),
  })
  const uri = await run(['read', 'demo://resource/1', ...config])
  expect(uri).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('jackfield read <server> demo://resource/1'),
  })
  const local = await run(['tools', '127.0.0.1:3000/mcp', ...config])
  expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining('Write http://127.0.0.1:3000/mcp') })
  const remote = await run(['tools', 'example.com/mcp'])
  expect(remote).toMatchObject({ code: 2, stderr: expect.stringContaining('Write https://example.com/mcp') })
  const files = await run(['tools', 'ftp://example.com/mcp', ...config])
  expect(files).toMatchObject({ code: 2, stderr: expect.stringContaining('The scheme "ftp"') })
  const encoded = await run(['call', 'everything.echo', 'aGVsbG8=', ...config])
  expect(encoded).toMatchObject({ code: 0, stdout: 'Echo: aGVsbG8=\n' })
  expect((await run(['call', 'everything.echo', 'message=', ...config])).stdout).toBe('Echo: \n')
})

test('a server name that is defined twice in one file is rejected, with both lines', async () => {
  const file = join(tempFolder(), 'config.json')
  const entry = '{ "url": "http://127.0.0.1:9/mcp" }'
  writeFileSync(file, `{ "mcpServers": {\n  "a": ${entry},\n  "b": ${entry},\n  "a": ${entry}\n} }`)
  const { code, stderr } = await run(['tools', 'a', '--no-store', '--config', file])
  expect(code).toBe(2)
  expect(stderr).toContain('defines the server "a" twice, on lines 2 and 4. Rename or remove one of them')
})

test('trust --check fails with 3 if a server could not be reached, and names it', async () => {
  const file = jsonFile({ mcpServers: { gone: { url: 'http://127.0.0.1:9/mcp' } } })
  const store = join(tempFolder(), 'st.db')
  const { code, stderr } = await run(['trust', '--check', '--store', store, '--config', file])
  expect(code).toBe(3)
  expect(stderr).toContain('gone was not checked: ')
})

test('an old Node version is reported in one line', async () => {
  const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.0'})"
  const { code, stdout, stderr } = await runProcess(['--version'], { node: ['--import', old] })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe('jackfield needs Node 22.13 or later; this is Node 20.20.0. See https://nodejs.org/.\n')
})

test('a reader that closes the pipe early does not cause an error', async () => {
  const running = begin(onEverything('tools', '--json'))
  running.child.stdout?.destroy()
  expect((await running.ended).stderr).toBe('')
})
