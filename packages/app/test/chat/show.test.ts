import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { everything, jsonFile, run, tempFolder } from '../cli/jackfield.ts'

const [command, ...args] = everything

/** Conversations of one person from a pipe, with a server that may be used without asking. */
function person() {
  const cwd = tempFolder()
  const config = jsonFile({ mcpServers: { demo: { command, args } }, jackfield: { defaultVerdict: 'allow' } })
  const store = join(cwd, 'log.db')
  const chat = (turns: object[], lines: string[], ...more: string[]) =>
    run(
      [
        ...['chat', '--config', config, '--store', store],
        ...['--model', `script:${jsonFile({ turns })}`, ...more],
      ],
      { cwd, stdin: `${lines.join('\n')}\n` },
    )
  return { cwd, chat }
}

const call = (name: string, given: object = {}): object => ({
  call: [{ name: `demo__${name}`, arguments: given }],
})
const weather = call('get-structured-content', { location: 'New York' })

describe('/show', () => {
  test('shows the arguments and the result of a call in full, by its number or the last one', async () => {
    const { chat } = person()
    const message = `${'long '.repeat(80)}end`
    const { stdout, stderr } = await chat(
      [call('echo', { message }), weather, { say: 'Fine.' }],
      ['Go', '/show', '/show 1', '/show 7', '/show one'],
    )
    expect(stderr).toMatch(/→ \[1\] demo__echo [\s\S]*more characters; \/show shows all/)
    expect(stdout).toMatch(
      /^\[2\] demo__get-structured-content {2}ok · \d+ ms · \/log #\d+\narguments\n\{\n {2}"location": "New York"\n\}\nresult\n\{\n {2}"temperature": 33,\n/m,
    )
    expect(stdout).toMatch(/^\[1\] demo__echo /m)
    expect(stderr).toMatch(/^you › \/show 1$/m)
    expect(stdout).toContain(`"message": "${message}"`)
    expect(stdout).toContain(`Echo: ${message}`)
    expect(stderr).toContain('There is no call 7. Calls are numbered 1 to 2.')
    expect(stderr).toContain('There is no call one.')
  })

  test('names media with its size, writes it, and writes the result to a new file', async () => {
    const { chat, cwd } = person()
    const { stdout, stderr } = await chat(
      [call('get-tiny-image'), weather, { say: 'Fine.' }],
      [
        'Go',
        '/show 1 --save-media pictures',
        '/show 2 --output-file weather.json',
        '/show 2 --output-file weather.json',
        '/show 2 --nonsense',
        '/show 1',
      ],
    )
    expect(stdout).toMatch(/\[image\/png, [\d.]+ kB\]/)
    expect(stdout).toContain('/show 1 --save-media <folder> saves its binary data.')
    expect(existsSync(join(cwd, 'pictures/demo__get-tiny-image.png'))).toBe(true)
    expect(JSON.parse(readFileSync(join(cwd, 'weather.json'), 'utf8'))).toMatchObject({
      name: 'demo__get-structured-content',
      arguments: { location: 'New York' },
      result: { structuredContent: { temperature: 33 } },
    })
    expect(stderr).toContain('The result was not written: it exists already (EEXIST). Name another file.')
    expect(stderr).toContain('"--nonsense" is unknown. Usage: /show')
  })

  test('works in a resumed conversation, and limits its output', async () => {
    const { chat } = person()
    const message = Array.from({ length: 300 }, (_, n) => `line ${n}`).join('\n')
    await chat([call('echo', { message }), { say: 'Fine.' }], ['Go'])
    const { stdout, stderr } = await chat(
      [weather, { say: 'Fine.' }],
      ['/show', 'Again', '/show 1 --all'],
      '--resume',
    )
    const [short = '', whole = ''] = stdout.split('Fine.\n')
    expect(short).toContain('line 199')
    expect(short).not.toContain('line 200\n')
    expect(short).toContain('… 100 lines more. /show 1 --all shows everything')
    expect(stderr).toContain('→ [2] demo__get-structured-content')
    expect(whole).toContain('line 299')
  })

  test('reports that no tool was called', async () => {
    const { stderr } = await person().chat([{ say: 'Hello.' }], ['Hi', '/show'])
    expect(stderr).toContain('The model has called no tool in this conversation.')
  })
})

describe('/tools', () => {
  test('switches tools on and off for the model of one conversation, also after a resume', async () => {
    const { chat } = person()
    const sum = call('get-sum', { a: 2, b: 3 })
    const first = await chat(
      [sum, { say: 'I may not.' }],
      [
        '/tools off demo.get-sum demo__echo',
        '/tools sum',
        'What is 2 and 3?',
        '/tools off nothing',
        '/tools on',
      ],
    )
    expect(first.stdout).toContain(
      'The model is no longer offered demo__echo, demo__get-sum in this conversation.',
    )
    expect(first.stdout).toMatch(/TOOL +STATE +DESCRIPTION\ndemo__get-sum +off +Returns the sum/)
    expect(first.stdout).toContain('2 of 13 tools are off in this conversation')
    expect(first.stderr).toMatch(/✗ denied demo__get-sum was not called: the person switched it off/)
    expect(first.stderr).toContain('There is no tool or server "nothing", and nothing was switched.')
    expect(first.stderr).toContain('Usage: /tools on <server')
    const again = await chat(
      [sum, { say: 'Still not.' }, sum, { say: 'Five.' }],
      ['And now?', '/tools on demo', 'And now?', '/tools on demo', '/call demo__get-sum a=1 b=1'],
      '--resume',
    )
    expect(again.stderr.match(/✗ denied/g)).toHaveLength(1)
    expect(again.stdout).toMatch(/Still not\.[\s\S]*offered demo__echo, demo__get-sum[\s\S]*Five\./)
    expect(again.stderr).toMatch(/And now\?[\s\S]*✗ denied[\s\S]*And now\?[\s\S]*✓ The sum of 2 and 3 is 5\./)
    expect(again.stdout).toContain('No tool changed: all matching tools are on already.')
  })

  test('does not prevent the user from calling a tool that is off', async () => {
    const { stdout } = await person().chat([], ['/tools off demo', '/call demo__get-sum a=2 b=3'])
    expect(stdout).toContain('The sum of 2 and 3 is 5.')
  })
})
