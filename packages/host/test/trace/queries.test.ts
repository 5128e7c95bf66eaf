import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/log/store/database.ts'
import { LogWriter } from '../../src/log/store/log-writer.ts'
import { createTraceTable } from '../../src/log/store/trace-table.ts'
import { folder, hostOf } from '../fixtures/hosts.ts'

const start = Date.UTC(2027, 0, 1)
/** Events of the large store, one every 100 ms, of two servers in turn; every tenth is an error. */
const count = 6_000

/** A store with events of which each has so many characters; from about 1 000 on, the store is read in a thread. */
function storeOf(characters: number): string {
  const file = join(folder(), 'store.db')
  const database = openDatabase(file)
  const table = createTraceTable(database, new LogWriter(database), {
    bytes: 1e9,
    ageMs: Number.MAX_SAFE_INTEGER,
  })
  database.exec('BEGIN')
  for (let n = 0; n < count; n++) {
    table.add({
      at: start + n * 100,
      tick: n,
      kind: 'wire',
      server: n % 2 === 0 ? 'even' : 'odd',
      connection: 'c/1',
      direction: 'received',
      method: 'tools/call',
      tool: `tool_${n % 7}`,
      rpc: String(n),
      cause: null,
      reply: null,
      status: n % 10 === 0 ? 'error' : 'ok',
      ms: 1,
      bytes: characters,
      summary: `event ${n}`,
      payload: JSON.stringify('x'.repeat(characters)),
      sha256: null,
    })
  }
  table.flush()
  database.exec('COMMIT')
  database.close()
  return file
}

test.each([
  ['a small store', 2],
  ['a large store', 1_000],
])('ids, rows and bins return the contents of %s', async (_size, characters) => {
  const host = hostOf({ store: storeOf(characters), log: { days: 100_000 } })
  const { trace } = host
  const ids = await trace.ids()
  expect(ids).toHaveLength(count)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  expect(await trace.ids({ limit: 3 })).toEqual(ids.slice(-3))
  expect(await trace.ids({ after: ids[4] ?? 0, limit: 2 })).toEqual(ids.slice(5, 7))
  const failed = await trace.ids({ filter: 'server:even status:error' })
  expect(failed).toHaveLength(count / 10)

  const rows = await trace.rows([ids[7] ?? 0, 999_999_999, ids[2] ?? 0])
  expect(rows.map(({ summary }) => summary)).toEqual(['event 2', 'event 7'])
  expect(await trace.list({ filter: `id:${rows[0]?.id}` })).toEqual([rows[0]])

  const bins = await trace.bins({ bins: 4 })
  expect(bins).toMatchObject({ fromMs: start, toMs: start + (count - 1) * 100 })
  expect(bins.lanes.map(({ server }) => server)).toEqual(['even', 'odd'])
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
  expect(bins.lanes.map(({ events }) => sum(events))).toEqual([count / 2, count / 2])
  expect(bins.lanes.map(({ errors }) => sum(errors))).toEqual([count / 10, 0])
  const part = await trace.bins({ filter: 'server:odd', fromMs: start, toMs: start + 1_000, bins: 2 })
  expect(part.lanes).toEqual([{ server: 'odd', events: [2, 3], errors: [0, 0] }])
  expect(await trace.bins({ filter: 'server:none', bins: 3 })).toEqual({ fromMs: 0, toMs: 0, lanes: [] })
  await expect(trace.bins({ bins: 0 })).rejects.toThrow('from 1 to 10000')
  await expect(trace.bins({ bins: 1, fromMs: 2, toMs: 1 })).rejects.toThrow('cannot go from 2 to 1')
  await expect(trace.ids({ filter: 'dur:fast' })).rejects.toMatchObject({
    name: 'TraceFilterError',
    column: 5,
  })
  await expect(trace.recording({ filter: 'server:none' })).rejects.toMatchObject({ code: 'INVALID' })
})

test('other work continues while a large store is searched, listed or exported', {
  timeout: 120_000,
}, async () => {
  const host = hostOf({ store: storeOf(3_000), log: { days: 100_000 } })
  const { trace } = host
  /** How often the event loop turned before something was done. */
  const turnsUntil = async (work: Promise<unknown>): Promise<number> => {
    let turns = 0
    let over = false
    const done = work.finally(() => {
      over = true
    })
    for (; !over; turns++) await new Promise((resolve) => setImmediate(resolve))
    await done
    return turns
  }
  expect(await turnsUntil(trace.list({ filter: 'text:nowhere' }))).toBeGreaterThan(10)
  expect(await turnsUntil(trace.statistics({ filter: 'text:xxx' }))).toBeGreaterThan(10)
  expect(
    await turnsUntil(Promise.all([trace.ids({ filter: '-text:nowhere' }), trace.bins({ bins: 9 })])),
  ).toBeGreaterThan(10)
  let lines = 0
  for await (const piece of trace.export('jsonl', { limit: 1_000 })) lines += piece.split('\n').length - 1
  expect(lines).toBe(1_000)
  for await (const piece of trace.export('jsonl')) {
    expect(piece.endsWith('\n')).toBe(true)
    break
  }
})

test('a running query is interrupted when the host closes, and none starts afterwards', async () => {
  const host = hostOf({ store: storeOf(1_000), log: { days: 100_000 } })
  const running = host.trace.list({ filter: 'text:nowhere' })
  const interrupted = expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
  await host.close()
  await interrupted
  await expect(host.trace.list()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
})
