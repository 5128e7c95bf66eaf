import { describe, expect, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { missing, person, prompt, say } from './person.ts'

describe.skipIf(missing !== undefined)('server states on a terminal', { timeout: 60_000 }, () => {
  test('are a table, with full reasons if there is room', async () => {
    const ann = person()
    ann.write('.config/jackfield/config.json', { mcpServers: { gone: { command: 'no-such-program' } } })
    const screenAt = async (cols: number): Promise<string> => {
      const terminal = ann.terminal(['servers'], {}, cols)
      expect(await terminal.exited).toBe(3)
      return terminal.history()
    }
    const wide = await screenAt(120)
    expect(wide).toMatch(/PROMPTS +REASON/)
    const narrow = await screenAt(80)
    expect(narrow).not.toContain('REASON')
    expect(narrow).toMatch(/\ngone\n {2}Could not start "no-such-program": no such program\./)
  })

  test('name the servers that are awaited, if they start slowly', async () => {
    const ann = person()
    const late = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] }
    ann.write('.config/jackfield/config.json', {
      mcpServers: { late: { ...late, connectTimeoutMs: 4_000 } },
    })
    const terminal = ann.terminal(['servers'])
    await terminal.until('Waiting for late to start. Ctrl+C ends this.')
    expect(await terminal.exited).toBe(3)
    expect(terminal.history()).toContain('No response to the attempt to connect within 4 s')
  })

  test('do not delay a conversation: it begins, and the tools are announced once they are there', async () => {
    const ann = person()
    const [command = '', ...args] = travel()
    const isReady = `while [ ! -e '${ann.home}/ready' ]; do sleep 0.1; done; exec "$@"`
    ann.write('.config/jackfield/config.json', {
      mcpServers: { late: { command: 'sh', args: ['-c', isReady, 'sh', command, ...args], roots: false } },
    })
    const terminal = ann.terminal(['chat', '--model', 'offline'])
    await terminal.until('Its tools are listed here once it is ready.')
    await terminal.until(prompt)
    ann.write('ready', '')
    await terminal.until(/Tools: new: late__/)
    await say(terminal, '/quit')
    expect(await terminal.exited).toBe(0)
  })

  test('have no reason column if every server is ready', async () => {
    const ann = person()
    const [command, ...args] = travel()
    ann.write('.config/jackfield/config.json', { mcpServers: { trip: { command, args } } })
    const terminal = ann.terminal(['servers'], {}, 120)
    expect(await terminal.exited).toBe(0)
    expect(terminal.history()).toMatch(/trip +● ready/)
    expect(terminal.history()).not.toContain('REASON')
  })
})
