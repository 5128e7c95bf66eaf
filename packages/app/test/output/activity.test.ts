import type { Activity } from '@jackfield/host'
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { activityTable } from '../../src/output/activity.ts'

const palette = picocolors.createColors(false)

function row(id: number, at: string, decision?: object): Activity {
  return {
    id,
    at,
    kind: 'call',
    server: 'travel',
    summary: 'searchFlights of travel',
    outcome: 'ok',
    durationMs: 48,
    cause: null,
    detail: decision === undefined ? {} : { decision },
  }
}

const rows = [
  row(1, '2027-01-31T23:59:00.000Z', { rule: 'typed' }),
  row(2, '2027-02-01T00:00:10.000Z'),
  row(3, '2027-02-01T00:00:20.000Z'),
]

describe('the activity log', () => {
  test('has the date once a day in a narrow terminal, so that each row fits one line', () => {
    expect(activityTable(rows, { palette, columns: 80 }, { long: true }).split('\n')).toEqual([
      'ROW  TIME        KIND  OUTCOME  RULE   TOOK   WHAT',
      '#1   2027-01-31  call  ok       typed  48 ms  searchFlights of travel',
      '     23:59:00',
      '#2   2027-02-01  call  ok              48 ms  searchFlights of travel',
      '     00:00:10',
      '#3   00:00:20    call  ok              48 ms  searchFlights of travel',
    ])
  })

  test('has the date in every row if there is room, and for programs', () => {
    for (const columns of [100, undefined]) {
      const lines = activityTable(rows, { palette, columns }, { long: true }).split('\n')
      expect(lines).toHaveLength(4)
      expect(lines[3]).toContain('2027-02-01 00:00:20')
    }
  })
})
