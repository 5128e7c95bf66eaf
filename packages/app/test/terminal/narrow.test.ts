import { describe, expect, test } from 'vitest'
import type { Terminal } from '../../../../scripts/terminal/terminal.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { missing, type Person, person, say } from './person.ts'

const notes = programFile(new URL('notes-server.ts', import.meta.url))
const columns = 40
/** Two rows of a terminal of 40 columns. */
const words = 'one two three four five six seven eight nine ten omega'

/** A program that reads and never answers. */
const silent = { command: process.execPath, args: ['-e', 'process.stdin.resume()'], connectTimeoutMs: 60_000 }

function chat(at: Person, mcpServers: object, cols = columns): Terminal {
  at.write('config.json', { mcpServers })
  at.write('script.json', { turns: [] })
  return at.terminal(['chat', '--config', 'config.json', '--model', 'script:script.json'], {}, cols)
}

/** What is on the screen, with what the terminal broke over several rows in one. */
const shown = (terminal: Terminal): string => terminal.screen().join(' ').replaceAll(/\s+/g, ' ')

describe.skipIf(missing !== undefined)('a line wider than the terminal', () => {
  const server = { command: process.execPath, args: [notes], roots: false }

  test('is complete below other output, and drawn once', async () => {
    const at = person()
    const terminal = chat(at, { notes: server })
    await terminal.until(/you › *$/m)
    terminal.type(words)
    await terminal.until('omega')
    at.write('config.json', { mcpServers: { notes: server, other: server } })
    await terminal.until('added by the configuration')
    await terminal.until(/other[\s\S]*omega\s*$/)
    const text = shown(terminal)
    expect(text).toContain(`added by the configuration: other you › one two`)
    expect(text.match(/you ›/g)).toHaveLength(1)
    expect(text.match(/one two/g)).toHaveLength(1)
    expect(text.match(/omega/g)).toHaveLength(1)
  })

  test('is removed by Ctrl+C at any cursor position, with the whole hint below', async () => {
    const terminal = chat(person(), { notes: server })
    await terminal.until(/you › *$/m)
    terminal.type(words)
    await terminal.until('omega')
    // To the beginning of the line, which is on the row above.
    terminal.type('\u0001')
    terminal.press('ctrl+c')
    await terminal.until(/\/quit\)\s+you ›/)
    // What was typed is gone from the screen too.
    expect(shown(terminal)).toMatch(/servers \(To quit: Ctrl\+C again, Ctrl\+D or \/quit\) you › $/)
    terminal.type('/nothing\r')
    await terminal.until(/There is no command \/nothing\.[\s\S]*you › *$/m)
    terminal.press('ctrl+c')
    // The suggestion for an empty line is above the prompt.
    await terminal.until(/\/quit\)\s+(Tab: .*\s+)?you › *$/m)
    terminal.press('ctrl+c')
    expect(await terminal.exited).toBe(0)
  })

  test('is sent completely after the terminal was resized', async () => {
    const at = person()
    const terminal = chat(at, { notes: server }, 100)
    await terminal.until(/you › *$/m)
    terminal.type(`/nothing ${words}`)
    await terminal.until('omega')
    terminal.resize(30, 50)
    terminal.type(' fifteen')
    await terminal.until(/fifte\s*en/)
    terminal.resize(120, 50)
    terminal.type(' sixteen\r')
    await terminal.until('There is no command /nothing.')
    await say(terminal, '/quit')
    expect(await terminal.exited).toBe(0)
  })
})

describe.skipIf(missing !== undefined)('Ctrl+C while servers start', () => {
  test('ends the command with exit code 130', async () => {
    const terminal = chat(person(), { silent })
    await terminal.until('Starting 1 server')
    terminal.press('ctrl+c')
    expect(await terminal.exited).toBe(130)
    expect(terminal.history()).toContain('Interrupted.')
  })
})
