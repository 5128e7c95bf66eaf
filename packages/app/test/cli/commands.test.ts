import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { begin, everything, filesystem, onEverything, run, tempFolder, travel } from './jackfield.ts'
import { serveEverything } from './served-everything.ts'

const served = await serveEverything(afterAll)
const onServed = (command: string, ...words: string[]): string[] => [command, served, ...words]

test('the help of chat names the variables of every provider', async () => {
  const { stdout } = await run(['chat', '--help'])
  const providers = ['anthropic', 'openai', 'google', 'compatible', 'ollama', 'offline']
  for (const name of providers) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'))
  for (const name of ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OLLAMA_HOST']) {
    expect(stdout).toContain(name)
  }
  expect(stdout).toContain('OPENAI_COMPATIBLE_BASE_URL=http://127.0.0.1:8000/v1 jackfield chat')
})

test('an unavailable model is rejected with the option that named it', async () => {
  const config = join(tempFolder(), 'config.json')
  writeFileSync(config, '{"mcpServers":{}}')
  const refused = await run(['chat', '--model', 'opnai/gpt', '--config', config, '--no-store'])
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--model opnai/gpt: there is no provider'),
  })
})

describe.concurrent('listing', () => {
  test('tools are signatures, and one of them can be shown with its arguments', async () => {
    const list = await run(onEverything('tools'))
    expect(list).toMatchObject({ code: 0, stderr: '' })
    expect(list.stdout).toMatch(/^echo\(message: string\)\n {2}Echoes back the input string \[read-only\]\n/)
    const one = await run(onEverything('tools', 'get-sum'))
    expect(one.stdout).toMatch(/ARGUMENT +TYPE +DESCRIPTION\na +number +required +First number\n/)
  })

  test('--json is exactly one JSON document', async () => {
    const tools = await run(onServed('tools', '--json'))
    expect(JSON.parse(tools.stdout).tools.map((tool: { name: string }) => tool.name)).toContain('echo')
    const resources = await run(onServed('resources', '--json'))
    expect(Object.keys(JSON.parse(resources.stdout))).toEqual(['resources', 'resourceTemplates'])
    const prompts = await run(onServed('prompts', '--json'))
    expect(JSON.parse(prompts.stdout).prompts[0]).toMatchObject({ name: 'simple-prompt' })
  })

  test('resources and prompts are tables too', async () => {
    const resources = await run(onServed('resources'))
    expect(resources.stdout).toMatch(/^RESOURCE +TYPE +SIZE +DESCRIPTION\ndemo:\/\/resource\/static/)
    expect(resources.stdout).toContain('demo://resource/dynamic/text/{resourceId}')
    const prompts = await run(onServed('prompts'))
    expect(prompts.stdout).toMatch(/args-prompt +city \[state\]/)
  })

  test('without a target every configured server is listed, and failures are reported on stderr', async () => {
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
  test('parses arguments by the schema and prints text', async () => {
    const sum = await run(onServed('call', 'get-sum', 'a=2', 'b=0.5'))
    expect(sum).toEqual({ code: 0, stdout: 'The sum of 2 and 0.5 is 2.5.\n', stderr: '' })
  })

  test('shows images as their kind and size, and structured content once', async () => {
    expect((await run(onServed('call', 'get-tiny-image'))).stdout).toMatch(/\[image\/png, \d+\.\d kB\]/)
    const weather = await run(onServed('call', 'get-structured-content', 'location=New York'))
    expect(JSON.parse(weather.stdout)).toMatchObject({ conditions: expect.any(String) })
  })

  test('--json prints the whole result unchanged', async () => {
    const { stdout } = await run(onEverything('call', 'echo', 'message=hi', '--json'))
    expect(JSON.parse(stdout)).toEqual({ content: [{ type: 'text', text: 'Echo: hi' }] })
  })

  test('a failed tool has exit code 1, with its text on stdout', async () => {
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

  test("--args is sent unchecked, so that the server's validation can be tested", async () => {
    const { code, stdout } = await run(onServed('call', 'get-sum', '--args', '{"a":2}'))
    expect(code).toBe(1)
    expect(stdout).toContain('Invalid arguments for tool get-sum')
  })

  test('a long call is awaited, and its progress is not printed to a pipe', async () => {
    const { code, stdout, stderr } = await run(
      onServed('call', 'trigger-long-running-operation', 'duration=1', 'steps=4'),
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Long running operation completed')
  })
})

describe.concurrent('reading, prompts and completion', () => {
  test('a text resource is printed as text, and bytes can be written to a file', async () => {
    const text = await run(onServed('read', 'demo://resource/static/document/features.md'))
    expect(text.stdout).toMatch(/^# /)
    const file = join(tempFolder(), 'out.bin')
    const blob = await run(onServed('read', 'demo://resource/dynamic/blob/1', '-o', file))
    expect(blob).toMatchObject({ code: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toContain('Resource 1')
  })

  test('a prompt is printed with roles', async () => {
    const { stdout } = await run(onServed('prompt', 'args-prompt', 'city=Oslo'))
    expect(stdout).toBe("user: What's weather in Oslo?\n")
    const missing = await run(onServed('prompt', 'args-prompt'))
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Missing argument:\n  city') })
    const unknown = await run(onServed('prompt', 'args-prompt', 'cty=Oslo'))
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no argument "cty".*It has: city/),
    })
  })

  test('completion uses the arguments given before, for prompts and templates', async () => {
    const all = await run(onServed('complete', 'completable-prompt', 'department', 'E'))
    expect(all.stdout).toBe('Engineering\n')
    const chosen = await run(
      onServed('complete', 'completable-prompt', 'name', '', 'department=Engineering', '--json'),
    )
    expect(JSON.parse(chosen.stdout).completion.values).toEqual(['Alice', 'Bob', 'Charlie'])
    const template = await run(
      onServed('complete', 'demo://resource/dynamic/text/{resourceId}', 'resourceId', '1'),
    )
    expect(template).toMatchObject({ code: 0, stdout: '1\n' })
  })
})

describe.concurrent('usage errors', () => {
  test.each([
    ['config nosuch', '"nosuch" is unknown. Usage: jackfield config [explain|allow|forbid|import]'],
    ['secret get', '"get" is unknown. Usage: jackfield secret [set|remove]'],
    ['policy nosuch', '"nosuch" is unknown. Usage: jackfield policy [explain|preview|grants|revoke]'],
    ['sampling nosuch', '"nosuch" is unknown. Usage: jackfield sampling [revoke|rank]'],
    ['run nowhere.ts', 'Cannot read nowhere.ts: there is no such file'],
    ['install nowhere.json', 'nowhere.json cannot be read: there is no such file'],
  ])('%s is rejected with the alternatives', async (words, message) => {
    const { code, stdout, stderr } = await run(words.split(' '), { cwd: tempFolder() })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  test('an unknown argument is sent, with a warning', async () => {
    const { code, stdout, stderr } = await run(onServed('call', 'echo', 'message=hi', 'mesage=ho'))
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Echo: hi\n' })
    expect(stderr).toContain('! echo has no argument "mesage" in its schema. It is sent anyway.')
  })
})

describe.concurrent('eras', () => {
  test('--era and --revision select the revision', async () => {
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

  test('an era that the server does not support is exit code 3', async () => {
    const { code, stderr } = await run(onEverything('tools', '--era', 'modern'))
    expect(code).toBe(3)
    expect(stderr).toContain('it does not support --era modern. Omit --era to negotiate')
    expect(stderr).not.toContain('option "revisions"')
  })
})

test('an HTTP server is used by its URL, and watched for changes', async () => {
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
    await watching.waitForOutput('Watching')
    const made = await run(['call', url, 'createCalendarEvent', 'title=Trip', 'startDate=2027-06-15'])
    expect(made.code).toBe(0)
    await watching.waitForOutput('calendar://events/2027')
    watching.child.kill('SIGINT')
    const { code, stdout } = await watching.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      type: 'resource',
      uri: 'calendar://events/2027',
    })
  } finally {
    server.kill()
  }
})

test('server output reaches the terminal without escape sequences', async () => {
  const { stdout } = await run(onServed('call', 'echo', 'message=a\u001b[31mred\u001b]0;title\u0007b'))
  expect(stdout).toBe('Echo: aredb\n')
})
