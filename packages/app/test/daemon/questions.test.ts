import { describe, expect, onTestFinished, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { missing, type Person, person } from '../terminal/person.ts'

const on = { JACKFIELD_DAEMON: 'on' }
const trip = ['destination=Barcelona', 'departure=2099-06-15', 'returnDate=2099-06-22']

/** A person whose servers run in the host process of the folder, which ends with the test. */
function shared(file: string): Person {
  const ann = person()
  const [command, ...args] = travel()
  ann.write(file, { mcpServers: { travel: { command, args } } })
  onTestFinished(async () => {
    const stop = ann.terminal(['daemon', 'stop', '--now'], on)
    await stop.exited
  })
  return ann
}

describe.skipIf(missing !== undefined)(
  'questions of the host process of a folder',
  { timeout: 60_000 },
  () => {
    test('about the start of a server are shown on the terminal whose command needs it', async () => {
      const ann = shared('.mcp.json')
      const terminal = ann.terminal(['tools', 'travel'], on)
      await terminal.until(/Start it for the first time\?[\s\S]*└/)
      terminal.press('down', 'enter')
      await terminal.until('searchFlights', { anywhere: true })
      expect(await terminal.exited).toBe(0)
      // The answer holds for the folder, so the next command asks nothing.
      const next = ann.terminal(['tools', 'travel'], on)
      expect(await next.exited).toBe(0)
      expect(next.history()).not.toContain('Start it')
    })

    test('are not needed for doctor, replay and watch, which use its server', async () => {
      const ann = shared('.config/jackfield/config.json')
      ann.write(
        'saved.json',
        JSON.stringify({
          ...{ format: 'jackfield-replay', version: 1, method: 'tools/call', server: 'travel' },
          ...{ target: 'searchFlights' },
          arguments: { origin: 'Oslo', destination: 'Barcelona', date: '2099-06-15' },
        }),
      )
      const doctor = ann.terminal(['doctor', 'travel'], on)
      expect(await doctor.exited).toBe(0)
      const replay = ann.terminal(['replay', 'saved.json'], on)
      expect(await replay.exited).toBe(0)
      const watch = ann.terminal(['watch', 'travel', 'calendar://events/2099'], on)
      await watch.until('Ctrl+C ends it')
      const { stdout } = await ann.quietly('daemon', 'status', '--all', '--json')
      const { hosts }: { hosts: { clients: string[]; servers: number }[] } = JSON.parse(stdout)
      expect(hosts).toMatchObject([{ servers: 1, clients: expect.arrayContaining(['jackfield']) }])
      watch.press('ctrl+c')
      expect(await watch.exited).toBe(130)
    })

    test('of a call disappear from one terminal when answered in another', async () => {
      const ann = shared('.config/jackfield/config.json')
      const call = ann.terminal(['call', 'travel.bookVacation', ...trip], on)
      await call.until('Confirm booking')
      const { stdout } = await ann.quietly('inbox', '--json')
      const { questions }: { questions: { id: string }[] } = JSON.parse(stdout)
      expect(questions).toHaveLength(1)
      const answer = await ann.quietly('respond', questions[0]?.id ?? '', '--decline')
      expect(answer.code).toBe(0)
      await call.until(/Answered by jackfield respond/, { anywhere: true })
      await call.exited
      expect(call.history()).not.toMatch(/60%/)
    })
  },
)
