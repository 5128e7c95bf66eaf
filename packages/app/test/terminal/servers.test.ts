import { describe, expect, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { missing, person } from './person.ts'

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
