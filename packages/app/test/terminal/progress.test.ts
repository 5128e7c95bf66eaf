import { expect, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { missing, person } from './person.ts'

test.skipIf(missing !== undefined)(
  'the progress line is hidden for a question',
  { timeout: 60_000 },
  async () => {
    const trip = ['destination=Barcelona', 'departure=2099-06-15', 'returnDate=2099-06-22']
    const terminal = person().terminal(['call', 'bookVacation', ...trip, '--', ...travel()])
    await terminal.until(/Confirm booking[\s\S]*└/)
    expect(terminal.history()).toContain('flights $')
    expect(terminal.history()).not.toMatch(/[█░]|60%/)
  },
)
