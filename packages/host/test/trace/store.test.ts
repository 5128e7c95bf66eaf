import { expect, test } from 'vitest'
import { createActivityLog } from '../../src/log/store/activity-log.ts'
import { openDatabase } from '../../src/log/store/database.ts'
import { LogWriter, type NewTraceRow } from '../../src/log/store/log-writer.ts'
import { createTraceTable, traceBounds, traceMigration } from '../../src/log/store/trace-table.ts'
import { Events } from '../../src/log/trace/events.ts'

const dayMs = 86_400_000
const row = (more: Partial<NewTraceRow> = {}): NewTraceRow => ({
  at: Date.now(),
  tick: 0,
  kind: 'wire',
  server: 'fix',
  connection: 'fix/1',
  direction: 'sent',
  method: 'tools/call',
  tool: 'echo',
  rpc: '1',
  cause: null,
  reply: null,
  status: null,
  ms: null,
  bytes: 2,
  summary: 'tools/call echo',
  payload: '{}',
  sha256: null,
  ...more,
})

test('beyond the size limit, the oldest events are removed and counted', () => {
  const database = openDatabase(':memory:')
  const writer = new LogWriter(database)
  const table = createTraceTable(database, writer, { bytes: 100_000, ageMs: dayMs })
  const log = createActivityLog(database, writer)
  const start = { kind: 'call', server: 'fix', summary: 'kept', cause: null, detail: {} } as const
  log.begin(start)
  for (let n = 0; n < 500; n++) table.add(row({ payload: JSON.stringify('x'.repeat(1_000)) }))
  const { events, bytes, dropped, droppedBytes } = table.counts()
  expect(bytes).toBeLessThanOrEqual(102_000)
  expect(events + dropped).toBe(500)
  expect(droppedBytes + bytes).toBe(500 * (1_002 + 256))
  const left = new Events(() => table, Date.now).list()
  expect(left[0]).toMatchObject({ kind: 'call', summary: 'kept' })
  expect(left.at(-1)?.id).toBe(501)
  expect(left[1]?.id).toBe(501 - events + 1)
})

test('beyond the age limit, events are removed', () => {
  const database = openDatabase(':memory:')
  let now = Date.UTC(2027, 0, 1)
  const bounds = { bytes: 10_000, ageMs: 30 * dayMs }
  const table = createTraceTable(database, new LogWriter(database), bounds, () => now)
  table.add(row({ at: now }))
  now += 29 * dayMs
  table.add(row({ at: now }))
  expect(table.counts()).toMatchObject({ events: 2, dropped: 0 })
  now += 2 * dayMs
  table.add(row({ at: now }))
  expect(table.counts()).toMatchObject({ events: 2, dropped: 1 })
})

test('the earlier activity log is in the trace, and is removed with its rows', () => {
  const database = openDatabase(':memory:')
  for (const made of ['TRIGGER trace_gone', 'TABLE trace', 'TABLE trace_store']) database.exec(`DROP ${made}`)
  database.exec(`
    INSERT INTO activity (at, kind, server, summary, cause, detail) VALUES
      ('2027-01-01T00:00:00.000Z', 'model', NULL, 'a model', NULL, '{}'),
      ('2027-01-01T00:00:01.000Z', 'call', 'fix', 'echo of fix', 1, '{"tool":"echo","arguments":{}}');
    INSERT INTO activity_end (activity, outcome, duration_ms, detail) VALUES (2, 'ok', 12, '{}')`)

  database.exec(traceMigration)
  const log = createActivityLog(database, new LogWriter(database))
  const table = createTraceTable(database, new LogWriter(database))
  const events = new Events(() => table, Date.now)
  expect(events.list()).toMatchObject([
    { id: 1, kind: 'model', status: 'running' },
    { id: 2, kind: 'call', status: 'ok', durationMs: 12, tool: 'echo', method: 'tools/call', cause: 1 },
  ])
  expect(log.prune('2999-01-01')).toBe(2)
  expect(events.list()).toEqual([])
})

test.each([
  ['kind:call', 'trace_facts'],
  ['tool:echo', 'trace_facts'],
  ['status:error', 'trace_status'],
  ['row:3', 'trace_activity'],
  ['cause:3', 'trace_cause'],
  ['id:3', 'INTEGER PRIMARY KEY'],
])('%s uses an index', (filter, index) => {
  const database = openDatabase(':memory:')
  const table = createTraceTable(database, new LogWriter(database))
  expect(new Events(() => table, Date.now).plan({ filter }).join('\n')).toContain(index)
})

test.each([
  '',
  'server:shop',
  'method:prompts/get',
  'direction:received',
  'connection:shop/2',
  'dur:>500',
  'bytes:>1mb',
  'since:1h',
  '-status:ok',
  'server:shop dur:>500 -method:tools/list',
])('%s without an index reads no payloads', (filter) => {
  const database = openDatabase(':memory:')
  const table = createTraceTable(database, new LogWriter(database))
  const [first, ...rest] = new Events(() => table, Date.now)
    .plan({ filter })
    .filter((step) => / t /.test(step))
  expect(first).toBe('SCAN t USING COVERING INDEX trace_facts')
  expect(rest).toEqual(['SEARCH t USING INTEGER PRIMARY KEY (rowid=?)'])
})

test('a text search runs last, on the matches of the other terms, and no further than needed', () => {
  const database = openDatabase(':memory:')
  const table = createTraceTable(database, new LogWriter(database))
  const plan = (filter: string): string[] => new Events(() => table, Date.now).plan({ filter })
  expect(plan('server:shop refund')).toContain('SCAN t USING COVERING INDEX trace_facts')
  for (const filter of ['refund', 'server:shop refund', '-refund'])
    expect(plan(filter).join('\n')).not.toMatch(/SCAN (?:a|e|w)\b|LIST SUBQUERY/)
})

test('a filter finds its matches among all events', { timeout: 60_000 }, () => {
  const many = process.env['JACKFIELD_LONG'] === '1' ? 100_000 : 5_000
  const database = openDatabase(':memory:')
  const table = createTraceTable(database, new LogWriter(database), {
    ...traceBounds,
    bytes: Number.MAX_SAFE_INTEGER,
  })
  database.exec('BEGIN')
  for (let n = 0; n < many; n++) {
    const failed = n % 100 === 0
    table.add(
      row({
        server: `s${n % 7}`,
        tool: `tool_${n % 50}`,
        status: failed ? 'error' : 'ok',
        ms: n % 1_000,
        payload: JSON.stringify({ n, text: n === 4_321 ? 'the needle' : 'hay' }),
      }),
    )
  }
  database.exec('COMMIT')
  const events = new Events(() => table, Date.now)
  const count = (filter: string): number => events.list({ filter, limit: many }).length
  expect(count('status:error')).toBe(many / 100)
  expect(count('needle')).toBe(1)
  expect(count('server:s1,s2 -status:ok')).toBe(
    Array.from({ length: many }, (_, n) => n).filter((n) => n % 100 === 0 && (n % 7 === 1 || n % 7 === 2))
      .length,
  )
  expect(count('dur:>=998 tool:tool_4*')).toBe((2 * many) / 1_000)
})
