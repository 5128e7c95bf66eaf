import { beforeAll, describe, expect, test } from 'vitest'
import { choose } from '../../../../scripts/terminal/choose.ts'
import { travel } from '../cli/jackfield.ts'
import { missing, type Person, person } from './person.ts'

const search = ['searchFlights', 'origin=Oslo', 'destination=Barcelona', 'date=2027-06-15']

describe.skipIf(missing !== undefined)('a replay with other arguments', { timeout: 60_000 }, () => {
  let ann: Person
  let id: string

  beforeAll(async () => {
    ann = person()
    const [command = '', ...args] = travel()
    const never = [{ at: '/date', equals: '2027-06-17' }]
    ann.write('.config/jackfield/config.json', {
      mcpServers: { travel: { command, args } },
      jackfield: { rules: [{ id: 'not that day', verdict: 'deny', arguments: never }] },
    })
    expect((await ann.quietly('call', 'travel', ...search)).code).toBe(0)
    const { stdout } = await ann.quietly('log', '--json', 'kind:call')
    id = `${JSON.parse(stdout).events[0].id}`
  })

  const callsOnTheWire = async (): Promise<number> => {
    const { stdout } = await ann.quietly('log', '--json', 'method:tools/call', 'direction:sent')
    return JSON.parse(stdout).events.length
  }

  test('is edited on one line, and compared with the earlier result', async () => {
    const terminal = ann.terminal(['replay', id, '--edit'])
    await terminal.until('"date":"2027-06-15"}')
    terminal.press('backspace', 'backspace', 'backspace')
    terminal.type('6"}\r')
    await terminal.until(/✗ The result differs from the previous one in \d+ places?:/, { anywhere: true })
    expect(await terminal.exited).toBe(1)
    const [, changes = ''] = terminal.history().split('The result differs from the previous one')
    expect(changes).toMatch(/\/structuredContent\/date\s+- "2027-06-15"\s+\+ "2027-06-16"/)
  })

  test('is edited in an editor, and policy decides on the edited call', async () => {
    const before = await callsOnTheWire()
    const terminal = ann.terminal(['replay', id, '--edit'], { EDITOR: 'sed -i s/2027-06-15/2027-06-17/' })
    await terminal.until('✗ It was not called.')
    expect(terminal.history()).toContain('not that day')
    expect(await terminal.exited).toBe(1)
    expect(await callsOnTheWire()).toBe(before)
  })

  test('is edited again after invalid JSON, and cancelled with Esc', async () => {
    const before = await callsOnTheWire()
    const terminal = ann.terminal(['replay', id, '--edit'])
    await terminal.until('"date":"2027-06-15"}')
    terminal.press('backspace', 'enter')
    await terminal.until('it is not valid JSON')
    await choose(terminal, 'Edit again')
    await terminal.until(/Edit again\?[\s\S]*◆ {2}Edit\n[\s\S]*"date":"2027-06-15"/)
    terminal.press('escape')
    await terminal.until('Nothing was sent.')
    expect(await terminal.exited).not.toBe(0)
    expect(await callsOnTheWire()).toBe(before)
  })
})
