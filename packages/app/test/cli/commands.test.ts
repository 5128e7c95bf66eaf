import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  begin,
  closedShop,
  everything,
  filesystem,
  jsonFile,
  recorded,
  run,
  tempFolder,
  travel,
} from './jackfield.ts'

const onEverything = (...words: string[]): string[] => [...words, '--', ...everything]

describe.concurrent('listing', () => {
  test('tools are an aligned table, and one of them is shown with its arguments', async () => {
    const list = await run(onEverything('tools'))
    expect(list).toMatchObject({ code: 0, stderr: '' })
    expect(list.stdout).toMatch(
      /^TOOL +SAYS IT +DESCRIPTION\necho +reads +Echo Tool: Echoes back the input string\n/,
    )
    const one = await run(onEverything('tools', 'get-sum'))
    expect(one.stdout).toMatch(/ARGUMENT +TYPE +DESCRIPTION\na +number +required +First number\n/)
  })

  test('--json is exactly one JSON document', async () => {
    const tools = await run(onEverything('tools', '--json'))
    expect(JSON.parse(tools.stdout).tools.map((tool: { name: string }) => tool.name)).toContain('echo')
    const resources = await run(onEverything('resources', '--json'))
    expect(Object.keys(JSON.parse(resources.stdout))).toEqual(['resources', 'resourceTemplates'])
    const prompts = await run(onEverything('prompts', '--json'))
    expect(JSON.parse(prompts.stdout).prompts[0]).toMatchObject({ name: 'simple-prompt' })
  })

  test('resources and prompts are tables too', async () => {
    const resources = await run(onEverything('resources'))
    expect(resources.stdout).toMatch(/^RESOURCE +TYPE +SIZE +DESCRIPTION\ndemo:\/\/resource\/static/)
    expect(resources.stdout).toContain('demo://resource/dynamic/text/{resourceId}')
    const prompts = await run(onEverything('prompts'))
    expect(prompts.stdout).toMatch(/args-prompt +city \[state\]/)
  })

  test('without a target every configured server is listed, and one that fails is told of beside', async () => {
    const [command, ...args] = everything
    const [fileCommand, ...fileArgs] = filesystem(tempFolder())
    const config = join(tempFolder(), 'config.json')
    const mcpServers = {
      everything: { command, args },
      files: { command: fileCommand, args: fileArgs },
      broken: { command: 'no-such-program' },
    }
    writeFileSync(config, JSON.stringify({ mcpServers }))
    const { code, stdout, stderr } = await run(['tools', '--config', config, '--json'])
    expect(code).toBe(0)
    const lists = JSON.parse(stdout)
    expect(Object.keys(lists)).toEqual(['everything', 'files'])
    expect(lists.files.tools.map((tool: { name: string }) => tool.name)).toContain('read_text_file')
    expect(stderr).toMatch(/broken: .*no-such-program/)
    const prompts = await run(['prompts', '--config', config])
    expect(prompts.stdout).toMatch(/everything\nPROMPT[\s\S]*files\nThe server offers no prompts\./)
  })

  test('a server without resources says so', async () => {
    const { code, stdout } = await run(['resources', '--', ...filesystem(tempFolder())])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The server offers no resources.\n' })
  })
})

describe.concurrent('calling', () => {
  test('reads arguments by the schema and prints text', async () => {
    const sum = await run(onEverything('call', 'get-sum', 'a=2', 'b=0.5'))
    expect(sum).toEqual({ code: 0, stdout: 'The sum of 2 and 0.5 is 2.5.\n', stderr: '' })
  })

  test('shows images as their kind and size, and structured content once', async () => {
    expect((await run(onEverything('call', 'get-tiny-image'))).stdout).toMatch(/\[image\/png, \d+\.\d kB\]/)
    const weather = await run(onEverything('call', 'get-structured-content', 'location=New York'))
    expect(JSON.parse(weather.stdout)).toMatchObject({ conditions: expect.any(String) })
  })

  test('--json prints the whole result as the server gave it', async () => {
    const { stdout } = await run(onEverything('call', 'echo', 'message=hi', '--json'))
    expect(JSON.parse(stdout)).toEqual({ content: [{ type: 'text', text: 'Echo: hi' }] })
  })

  test('a tool that fails is exit code 1, with its words on stdout', async () => {
    const folder = tempFolder()
    const failed = await run(['call', 'read_text_file', 'path=/etc/passwd', '--', ...filesystem(folder)])
    expect(failed.code).toBe(1)
    expect(failed.stdout).toContain('Access denied')
    const json = await run([
      'call',
      'read_text_file',
      'path=/etc/passwd',
      '--json',
      '--',
      ...filesystem(folder),
    ])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({ isError: true })
  })

  test('writes and reads files through the file server, with a file as an argument', async () => {
    const folder = tempFolder()
    const source = join(tempFolder(), 'source.txt')
    writeFileSync(source, 'line 1\nline "2"\n')
    const path = join(folder, 'a.txt')
    const write = await run([
      'call',
      'write_file',
      `path=${path}`,
      `content=@${source}`,
      '--',
      ...filesystem(folder),
    ])
    expect(write.code).toBe(0)
    expect(readFileSync(path, 'utf8')).toBe('line 1\nline "2"\n')
    const many = await run(['call', 'read_multiple_files', `paths=${path}`, '--', ...filesystem(folder)])
    expect(many.stdout).toContain('line "2"')
  })

  test('--args goes out unchecked, so that the server can be seen to check', async () => {
    const { code, stdout } = await run(onEverything('call', 'get-sum', '--args', '{"a":2}'))
    expect(code).toBe(1)
    expect(stdout).toContain('Invalid arguments for tool get-sum')
  })

  test('a long call is waited for, and its progress is not on a pipe', async () => {
    const { code, stdout, stderr } = await run(
      onEverything('call', 'trigger-long-running-operation', 'duration=1', 'steps=4'),
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Long running operation completed')
  })
})

describe.concurrent('reading, prompts and completion', () => {
  test('a text resource is its text, and bytes can be written to a file', async () => {
    const text = await run(onEverything('read', 'demo://resource/static/document/features.md'))
    expect(text.stdout).toMatch(/^# /)
    const file = join(tempFolder(), 'out.bin')
    const blob = await run(onEverything('read', 'demo://resource/dynamic/blob/1', '-o', file))
    expect(blob).toMatchObject({ code: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toContain('Resource 1')
  })

  test('a prompt is who says what', async () => {
    const { stdout } = await run(onEverything('prompt', 'args-prompt', 'city=Oslo'))
    expect(stdout).toBe("user: What's weather in Oslo?\n")
    const missing = await run(onEverything('prompt', 'args-prompt'))
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Missing argument:\n  city') })
  })

  test('completion knows the arguments already chosen, for prompts and templates', async () => {
    const all = await run(onEverything('complete', 'completable-prompt', 'department', 'E'))
    expect(all.stdout).toBe('Engineering\n')
    const chosen = await run(
      onEverything('complete', 'completable-prompt', 'name', '', 'department=Engineering', '--json'),
    )
    expect(JSON.parse(chosen.stdout).completion.values).toEqual(['Alice', 'Bob', 'Charlie'])
    const template = await run(
      onEverything('complete', 'demo://resource/dynamic/text/{resourceId}', 'resourceId', '1'),
    )
    expect(template).toMatchObject({ code: 0, stdout: '1\n' })
  })
})

describe.concurrent('exit codes', () => {
  test.each([
    ['no command', [], 'Usage: jackfield'],
    ['an unknown command', ['nonsense'], "unknown command 'nonsense'"],
    ['an unknown option', ['tools', '--nonsense'], "unknown option '--nonsense'"],
    ['no target', ['call'], 'Which server?'],
    ['no target and no config', ['tools'], 'There is no config file'],
    ['a name without a config', ['tools', 'shop'], 'no config file'],
    ['nothing after --', ['tools', '--'], 'Nothing follows --'],
    ['a missing argument', onEverything('call', 'get-sum', 'a=1'), 'Missing argument:\n  b'],
    ['an argument of the wrong type', onEverything('call', 'get-sum', 'a=1', 'b=x'), 'b must be a number'],
    ['a bad era', onEverything('tools', '--era', 'old'), '--era is auto, modern or legacy'],
    ['a bad timeout', onEverything('tools', '--timeout', 'x'), 'must be a number of seconds'],
    ['a bad answers file', onEverything('tools', '--answers', '/nowhere'), 'answers file'],
    ['a bad header', ['tools', 'http://127.0.0.1:9/mcp', '--header', 'x'], 'is no header'],
  ])('%s is 2', async (_, args, words) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
  })

  test('a server that cannot be reached or started is 3, with why', async () => {
    expect(await run(['tools', 'http://127.0.0.1:1024/mcp'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/Cannot connect to 127\.0\.0\.1:1024: .*ECONNREFUSED/),
    })
    expect(await run(['tools', '--', 'no-such-program'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no such program'),
    })
    const dies = await run([
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
    const plain = await run(onEverything('read', 'nope://x'))
    expect(plain).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('error -32602') })
    const json = await run(onEverything('read', 'nope://x', '--json'))
    expect(json).toMatchObject({ code: 4, stdout: '' })
    expect(JSON.parse(json.stderr)).toEqual({ error: { code: -32602, message: expect.any(String) } })
  })

  test('a call that the server answers with a protocol error is 4 too, not a tool that failed', async () => {
    const { code, stdout, stderr } = await run(['call', 'sell', '--json', '--', ...closedShop])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      error: { code: -32050, message: expect.stringContaining('the shop is closed'), data: { opens: 9 } },
    })
  })

  test('a tool that the server does not have is 4, with those it has', async () => {
    expect(await run(onEverything('call', 'nope'))).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('has no tool "nope". It has: echo'),
    })
  })

  test('a list that the server cannot give is 4', async () => {
    expect(await run(['prompts', '--', ...closedShop])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('error -32601'),
    })
  })

  test('Ctrl+C ends a call under way with 130', async () => {
    const store = ['--store', join(tempFolder(), 'log.db')]
    const running = begin(
      onEverything('call', 'trigger-long-running-operation', 'duration=60', '-v', ...store),
    )
    await running.says('"tools/call"')
    const started = performance.now()
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' })
    expect(performance.now() - started).toBeLessThan(30_000)
    const { rows } = await recorded(store, tempFolder())
    expect(rows.at(-1)).toMatchObject({ kind: 'call', outcome: 'cancelled' })
  })

  test('--help and --version are 0', async () => {
    expect(await run(['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: jackfield'),
    })
    expect(await run(['call', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--args <json>'),
    })
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe.concurrent('eras', () => {
  test('--era and --revision choose what is spoken', async () => {
    const legacy = await run(['tools', '-v', '--era', 'legacy', '--', ...travel()])
    expect(legacy.stderr).toContain('"method":"initialize"')
    const modern = await run(['tools', '-v', '--era', 'modern', '--', ...travel()])
    expect(modern.stderr).toContain('"method":"server/discover"')
    expect(modern.stderr).not.toContain('"method":"initialize"')
    const old = await run(['tools', '-v', '--revision', '2024-11-05', '--', ...travel()])
    expect(old.stderr).toContain('"protocolVersion":"2024-11-05"')
    for (const { code, stdout } of [legacy, modern, old]) {
      expect(code).toBe(0)
      expect(stdout).toContain('searchFlights')
    }
  })

  test('an era the server does not speak is exit code 3', async () => {
    const { code, stderr } = await run(onEverything('tools', '--era', 'modern'))
    expect(code).toBe(3)
    expect(stderr).toContain('it does not speak what --era modern asks for. Leave --era out')
    expect(stderr).not.toContain('option "revisions"')
  })
})

describe.concurrent('questions of a server', () => {
  test('are not even possible where nobody can answer: no capability is advertised', async () => {
    const { stderr } = await run(onEverything('tools', '-v', '--era', 'legacy'))
    expect(stderr).toContain('"capabilities":{}')
  })

  test('are answered from a file, which is all that is advertised', async () => {
    const answers = jsonFile({
      elicitation: [{ match: 'inputs', action: 'accept', content: { name: 'Ada', check: true } }],
    })
    const { stdout, stderr, code } = await run(
      onEverything('call', 'trigger-elicitation-request', '--answers', answers, '-v', '--era', 'legacy'),
    )
    expect(stderr).toContain('"capabilities":{"elicitation":{"form":{},"url":{}}}')
    expect(code).toBe(0)
    expect(stdout).toContain('- Name: Ada')
  })

  test.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ])('%s reaches the server as that', async (action, words) => {
    const answers = jsonFile({ elicitation: [{ action }] })
    const { stdout } = await run(onEverything('call', 'trigger-elicitation-request', '--answers', answers))
    expect(stdout).toContain(words)
  })

  test('of a model are answered by a text or by the offline planner', async () => {
    const answers = jsonFile({ sampling: [{ match: '2+2', text: 'Four.' }, { model: 'offline' }] })
    const text = await run(
      onEverything('call', 'trigger-sampling-request', 'prompt=2+2?', '--answers', answers),
    )
    expect(text.stdout).toContain('"text": "Four."')
    const model = await run(
      onEverything('call', 'trigger-sampling-request', 'prompt=Why?', '--answers', answers),
    )
    expect(model.stdout).toContain('not a language model')
  })

  test('without a matching answer fail, and the reason is said', async () => {
    const answers = jsonFile({ sampling: [{ match: 'never', text: 'x' }] })
    const { code, stderr } = await run(
      onEverything('call', 'trigger-sampling-request', 'prompt=x', '--answers', answers),
    )
    expect(code).toBe(1)
    expect(stderr).toContain('the answers file has no matching entry')
  })

  test('book a trip in the modern era, in rounds', async () => {
    const answers = jsonFile({
      elicitation: [
        {
          match: '/confirm/i',
          action: 'accept',
          content: {
            confirmBooking: true,
            seatPreference: 'window',
            roomType: 'sea view',
            travelInsurance: false,
          },
        },
      ],
    })
    const words = [
      'call',
      'bookVacation',
      'destination=Barcelona',
      'departure=2027-06-15',
      'returnDate=2027-06-22',
      '--answers',
      answers,
      '--json',
    ]
    const { code, stdout } = await run([...words, '--', ...travel()])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).structuredContent).toMatchObject({
      status: 'booked',
      booking: { choices: { seatPreference: 'window' } },
    })
  })
})

describe.concurrent('configured servers', () => {
  function folder(config: unknown, name = '.mcp.json'): string {
    const cwd = tempFolder()
    writeFileSync(join(cwd, name), JSON.stringify(config))
    return cwd
  }
  const [command, ...args] = everything
  const mcpServers = { demo: { command, args } }
  const agreed = '--start-what-this-folder-names'

  test.each(['.mcp.json', 'jackfield.json'])('are found in %s', async (name) => {
    const { code, stdout } = await run(['call', 'demo', 'echo', 'message=hi', agreed], {
      cwd: folder({ mcpServers }, name),
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Echo: hi\n' })
  })

  test('are found in the file that --config names', async () => {
    const file = jsonFile({ mcpServers })
    expect(await run(['call', 'demo', 'echo', 'message=hi', '--config', file])).toMatchObject({ code: 0 })
  })

  test('that are not there are told with those that are', async () => {
    const cwd = folder({ mcpServers })
    expect(await run(['tools', 'nope'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('It names: demo.'),
    })
  })

  test('keep the rules of the config: what is denied is not called', async () => {
    const cwd = folder({
      mcpServers,
      jackfield: { rules: [{ id: 'no sums', verdict: 'deny', tool: 'get-s*' }] },
    })
    const store = ['--store', 'log.db']
    const start = [...store, agreed]
    const denied = await run(['call', 'demo', 'get-sum', 'a=1', 'b=2', ...start], { cwd })
    expect(denied).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('rule "no sums" forbids it ('),
    })
    expect(await run(['call', 'demo', 'echo', 'message=hi', ...start], { cwd })).toMatchObject({ code: 0 })
    const { rows } = await recorded(['--server', 'demo', ...store], cwd)
    expect(rows.filter((row) => row.kind === 'call')).toMatchObject([
      { outcome: 'denied', detail: { decision: { verdict: 'deny', rule: 'no sums' } } },
      { outcome: 'ok', detail: { decision: { verdict: 'allow', rule: 'typed' }, caller: 'cli' } },
    ])
  })

  test('get the same verdict from the command line as in a conversation', async () => {
    const [program, ...words] = travel()
    const cwd = folder({
      mcpServers: { travel: { command: program, args: words } },
      jackfield: { rules: [{ id: 'no flights', verdict: 'deny', tool: 'searchFlights' }] },
    })
    const flight = ['origin=New York', 'destination=Barcelona', 'date=2027-06-15']
    const store = ['--store', 'log.db']
    const typed = await run(['call', 'travel', 'searchFlights', ...flight, ...store, agreed], { cwd })
    expect(typed).toMatchObject({ code: 1, stderr: expect.stringContaining('"no flights"') })
    const talk = await run(['chat', '--model', 'offline', ...store, agreed], {
      cwd,
      stdin: 'Plan a trip from New York to Barcelona on 2027-06-15 for 7 days\n',
    })
    expect(talk.stdout).toContain('rule "no flights" forbids it')
    const { rows } = await recorded(store, cwd)
    const flights = rows.filter((row) => row.detail.tool === 'searchFlights')
    expect(flights.map(({ outcome, detail }) => [detail.caller, outcome, detail.decision])).toMatchObject([
      ['cli', 'denied', { verdict: 'deny', rule: 'no flights' }],
      ['chat', 'denied', { verdict: 'deny', rule: 'no flights' }],
    ])
  })

  test('are all listed with how they stand', async () => {
    const cwd = folder({ mcpServers: { ...mcpServers, broken: { command: 'no-such-program' } } })
    const { code, stdout } = await run(['servers', agreed], { cwd })
    expect(code).toBe(3)
    expect(stdout).toMatch(/demo +● ready +2025-11-25/)
    expect(stdout).toMatch(/broken +✗ failed/)
    const json = await run(['servers', '--json', agreed], { cwd })
    expect(JSON.parse(json.stdout).servers).toHaveLength(2)
  })
})

describe.concurrent('activity', () => {
  test('is a table of what was done, in the data folder of the person', async () => {
    const data = tempFolder()
    const env = { XDG_DATA_HOME: data }
    const empty = await run(['activity'], { env })
    expect(empty).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing is recorded') })
    expect(existsSync(join(data, 'jackfield'))).toBe(false)
    const server = ['--', ...travel()]
    await run(['read', 'calendar://events/2027', ...server], { env })
    await run(['call', 'searchFlights', 'origin=Oslo', 'destination=Rome', 'date=2027-06-15', ...server], {
      env,
    })
    const { stdout } = await run(['activity', '--limit', '3'], { env })
    expect(stdout).toMatch(/^\/.*activity\.db\nROW +TIME +KIND +OUTCOME +RULE +TOOK +WHAT\n/)
    expect(stdout).toMatch(/#4 +\S+ \S+ +call +ok +typed +\d+ ms +searchFlights of /)
    expect(stdout).toMatch(/#2 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +read +ok +\d+ ms +calendar:/)
    expect(stdout).not.toContain('#1 ')
  })

  test('is not kept where the store cannot be opened, which is said once', async () => {
    const folder = tempFolder()
    const { code, stdout, stderr } = await run(['tools', '--store', folder, '--', ...travel()])
    expect(code).toBe(0)
    expect(stdout).toContain('searchFlights')
    expect(stderr).toMatch(/^! Cannot use \S+ as the store: .* What happens now is not recorded\.\n$/)
    expect(await run(['activity', '--store', folder])).toMatchObject({ code: 2, stdout: '' })
  })
})

test('an HTTP server is reached by its URL, and watched for changes', async () => {
  const folder = tempFolder()
  const [command = '', ...args] = travel(join(folder, 'travel.db'))
  const { spawn } = await import('node:child_process')
  const server = spawn(command, [...args, '--http', '0'], { stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let text = ''
      server.stderr.on('data', (chunk) => {
        text += chunk
        const found = /http:\/\/\S+/.exec(text)?.[0]
        if (found !== undefined) resolve(found)
      })
      server.once('exit', () => reject(new Error(text)))
    })
    expect((await run(['tools', url])).stdout).toContain('bookVacation')
    const watching = begin(['watch', url, 'calendar://events/2027', '--json'])
    await watching.says('Watching')
    const made = await run(['call', url, 'createCalendarEvent', 'title=Trip', 'startDate=2027-06-15'])
    expect(made.code).toBe(0)
    await watching.says('calendar://events/2027')
    watching.child.kill('SIGINT')
    const { code, stdout } = await watching.ended
    expect(code).toBe(0)
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      type: 'resource',
      uri: 'calendar://events/2027',
    })
  } finally {
    server.kill()
  }
})

test('what a server says reaches the terminal without its escape sequences', async () => {
  const { stdout } = await run(onEverything('call', 'echo', 'message=a\u001b[31mred\u001b]0;title\u0007b'))
  expect(stdout).toBe('Echo: aredb\n')
})

test('a Node that is too old is told so in one line', async () => {
  const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.0'})"
  const { code, stdout, stderr } = await run(['--version'], { node: ['--import', old] })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe('jackfield needs Node 22.13 or later; this is Node 20.20.0. See https://nodejs.org/.\n')
})

test('a reader that leaves early does not make an error', async () => {
  const running = begin(onEverything('tools', '--json'))
  running.child.stdout?.destroy()
  expect((await running.ended).stderr).toBe('')
})
