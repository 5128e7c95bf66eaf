import { describe, expect, onTestFinished, test } from 'vitest'
import type { Terminal } from '../../../../scripts/terminal/terminal.ts'
import { everything } from '../cli/jackfield.ts'
import { model } from '../terminal/model.ts'
import { missing, type Person, person, say } from '../terminal/person.ts'

/** A person with one server and a model whose answers the test writes; the host process ends with the test. */
async function home(settings: object = {}) {
  const ann = person()
  const provider = await model()
  const [command, ...args] = everything
  ann.write('.config/jackfield/config.json', {
    mcpServers: { demo: { command, args, roots: false } },
    jackfield: settings,
  })
  const env = { ...provider.env, JACKFIELD_DAEMON: 'on' }
  const run = (...words: string[]): Terminal => ann.terminal(words, env)
  onTestFinished(async () => {
    await run('daemon', 'stop', '--all', '--now').exited
  })
  return { ann, provider, run, env }
}

/** The host processes of this person. */
async function hosts(ann: Person): Promise<{ pid: number }[]> {
  const { stdout } = await ann.quietly('daemon', 'status', '--all', '--json')
  const { hosts: found }: { hosts: { pid: number }[] } = JSON.parse(stdout)
  return found
}

const add = { a: 2, b: 3 }

describe.skipIf(missing !== undefined)('conversations of the host process', { timeout: 60_000 }, () => {
  test('are the same in two terminals, also while an answer streams', async () => {
    const { ann, provider, run } = await home()
    const one = run('chat')
    await say(one, 'Where do I go?')
    const first = await provider.next()
    first.end('To Oslo.')
    await one.until(/To Oslo\.[\s\S]*you › *$/m)
    const other = run('chat', '--resume')
    await other.until(/you › Where do I go\?\n[\s\S]*To Oslo\.[\s\S]*you › *$/m)

    await say(other, 'And how?')
    const second = await provider.next()
    await one.until(/you › And how\?$/m)
    second.write('By ship, ')
    await one.until('By ship,')
    await other.until('By ship,')
    second.end('of course.')
    for (const terminal of [one, other]) await terminal.until(/By ship, of course\.[\s\S]*you › *$/m)

    await say(one, 'Thanks')
    await other.until(/you › Thanks$/m)
    const third = await provider.next()
    third.end('My pleasure.')
    for (const terminal of [one, other]) await terminal.until(/My pleasure\.[\s\S]*you › *$/m)
    expect(third.messages.filter(({ role }) => role === 'user')).toHaveLength(3)
    expect(await hosts(ann)).toHaveLength(1)
    expect(one.history().match(/By ship/g)).toHaveLength(1)
  })

  test('show a question in every terminal, until it is answered in one', async () => {
    const { provider, run } = await home()
    const one = run('chat')
    await say(one, 'Hello')
    ;(await provider.next()).end('Hi.')
    await one.until(/Hi\.[\s\S]*you › *$/m)
    const other = run('chat', '--resume')
    await other.until(/Hi\.[\s\S]*you › *$/m)
    await say(one, 'What is 2 and 3?')
    ;(await provider.next()).call('demo__get-sum', add)
    for (const terminal of [one, other]) await terminal.until(/Allow this call\?[\s\S]*└/)
    other.press('down')
    await other.until('● Yes, this once')
    other.press('enter')
    await one.until(/Answered by jackfield chat\./)
    ;(await provider.next()).end('Five.')
    for (const terminal of [one, other])
      await terminal.until(/✓ \[1\] demo__get-sum.*The sum of 2 and 3 is 5\.[\s\S]*Five\.[\s\S]*you › *$/m)
  })

  test('continue if the terminal is closed during an answer', async () => {
    const { provider, run } = await home()
    const one = run('chat')
    await say(one, 'Tell me a story')
    const story = await provider.next()
    story.write('Once upon a time ')
    await one.until('Once upon')
    await one.close()
    expect(story.closed).toBe(false)
    const other = run('chat', '--resume')
    await other.until(/you › Tell me a story\n[\s\S]*Once upon a time[\s\S]*you › *$/m)
    story.end('there was a ship.')
    await other.until(/Once upon a time there was a ship\.[\s\S]*you › *$/m)
  })

  test('queue messages while another terminal waits for an answer, and return them on Ctrl+C', async () => {
    const { provider, run } = await home()
    const one = run('chat')
    await say(one, 'Hello')
    ;(await provider.next()).end('Hi.')
    await one.until(/Hi\.[\s\S]*you › *$/m)
    const other = run('chat', '--resume')
    await other.until(/Hi\.[\s\S]*you › *$/m)

    await say(one, 'A long question')
    const long = await provider.next()
    long.write('It is ')
    await other.until('It is')
    other.type('Another one\r')
    await other.until('Ctrl+C cancels it')
    other.press('ctrl+c')
    await other.until(/It was not sent\.[\s\S]*you › Another one$/m)
    other.press('enter')
    await other.until(/Ctrl\+C cancels it[\s\S]*Ctrl\+C cancels it/)
    expect(provider.count).toBe(2)
    long.end('long.')
    await one.until('It is long.')
    const next = await provider.next()
    expect(next.last).toBe('Another one')
    next.end('As you say.')
    for (const terminal of [one, other]) await terminal.until(/As you say\.[\s\S]*you › *$/m)
  })

  test('continue at a replacement host process after a kill, with a notice', async () => {
    const { ann, provider, run } = await home()
    const one = run('chat')
    await say(one, 'Hello')
    ;(await provider.next()).end('Hi.')
    await one.until(/Hi\.[\s\S]*you › *$/m)
    await say(one, 'Tell me a story')
    ;(await provider.next()).write('Once upon a time ')
    await one.until('Once upon')
    const [{ pid } = { pid: 0 }] = await hosts(ann)
    process.kill(pid, 'SIGKILL')
    await one.until(
      /! The host process ended\.[\s\S]*Once upon a time\n[\s\S]*say "go on"\s+to\s+continue[\s\S]*runs again\.[\s\S]*you › *$/m,
    )
    expect(one.history()).not.toContain('Tools:')
    await say(one, 'go on')
    const next = await provider.next()
    expect(next.messages.map(({ content }) => JSON.stringify(content)).join()).toContain('Tell me a story')
    next.end('there was a ship.')
    await one.until(/there was a ship\.[\s\S]*you › *$/m)
    const [{ pid: now } = { pid: 0 }] = await hosts(ann)
    expect(now).not.toBe(pid)
  })

  test('run without a host process if an option, or piped input, applies to this command alone', async () => {
    const { ann, env, provider, run } = await home()
    const answers = ann.write('answers.json', { approvals: [{ verdict: 'allow' }] })
    for (const words of [['--no-daemon'], ['--no-store'], ['--answers', answers], ['--root', ann.home]]) {
      const terminal = run('chat', ...words)
      await say(terminal, 'Hello')
      ;(await provider.next()).end('Hi.')
      await terminal.until(/Hi\.[\s\S]*you › *$/m)
      terminal.type('/quit\r')
      expect(await terminal.exited).toBe(0)
    }
    const piped = ann.pipedWith(env, ['Hello', '/quit'], 'chat')
    ;(await provider.next()).end('Hi.')
    expect((await piped).stdout).toBe('Hi.\n')
    expect(await hosts(ann)).toEqual([])
  })
})
