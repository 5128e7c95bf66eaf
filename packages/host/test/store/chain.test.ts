import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openStore, type Store } from '../../src/log/store/store.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jackfield-chain-'))
  file = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const start = {
  kind: 'call',
  server: 's',
  summary: 'x of s',
  cause: null,
  detail: { arguments: { a: 1, text: 'ä\u0000\u2028' } },
} as const
const end = { outcome: 'ok', durationMs: 12, detail: { result: 'done' } }

/** Rows with ends, one without, one caused by another. */
function write({ activity }: Store, rows = 4): number[] {
  return Array.from({ length: rows }, (_, n) => {
    const id = activity.begin({ ...start, cause: n === 0 ? null : 1, server: n === 1 ? null : 's' })
    if (n !== 2) activity.end(id, { ...end, durationMs: n === 3 ? null : n + 12 })
    return id
  })
}

/** Changes the file without the store, and returns what verification finds. */
function after(...statements: string[]): ReturnType<Store['activity']['verify']> {
  const copy = join(folder, `${Math.random()}.db`)
  copyFileSync(file, copy)
  const raw = new DatabaseSync(copy, { enableForeignKeyConstraints: false })
  const triggers = raw.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()
  for (const { name } of triggers) raw.exec(`DROP TRIGGER ${String(name)}`)
  for (const statement of statements) raw.exec(statement)
  raw.close()
  const store = openStore(copy)
  const found = store.activity.verify()
  store.close()
  return found
}

describe('the chain over the activity log', () => {
  beforeEach(() => {
    const store = openStore(file)
    write(store)
    store.close()
    new DatabaseSync(file).exec('PRAGMA wal_checkpoint(TRUNCATE)')
  })

  it('is valid as written', () => {
    const found = after()
    expect(found).toMatchObject({ sound: true, checked: 7, faults: [], head: { position: 7 } })
    expect(found.head.hash).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each<[what: string, statement: string, position: number | null, activity: number | null]>([
    ['a time', "UPDATE activity SET at = replace(at, '2', '3') WHERE id = 2", 3, 2],
    ['a kind', "UPDATE activity SET kind = 'read' WHERE id = 2", 3, 2],
    ['a server', "UPDATE activity SET server = 'S' WHERE id = 1", 1, 1],
    ['a server that was none', "UPDATE activity SET server = '' WHERE id = 2", 3, 2],
    ['a server taken away', 'UPDATE activity SET server = NULL WHERE id = 1', 1, 1],
    ['a summary', "UPDATE activity SET summary = 'y of s' WHERE id = 4", 6, 4],
    ['a cause', 'UPDATE activity SET cause = 2 WHERE id = 4', 6, 4],
    ['one byte of a detail', "UPDATE activity SET detail = replace(detail, '1', '2') WHERE id = 3", 5, 3],
    ['a space in a detail', "UPDATE activity SET detail = detail || ' ' WHERE id = 3", 5, 3],
    ['a byte moved between columns', "UPDATE activity SET kind = 'cal', server = 'ls' WHERE id = 1", 1, 1],
    ['an outcome', "UPDATE activity_end SET outcome = 'denied' WHERE activity = 1", 2, 1],
    ['a duration', 'UPDATE activity_end SET duration_ms = 12.5 WHERE activity = 1', 2, 1],
    ['a duration that was none', 'UPDATE activity_end SET duration_ms = 0 WHERE activity = 4', 7, 4],
    ['a result', "UPDATE activity_end SET detail = '{}' WHERE activity = 2", 4, 2],
    [
      'the hash of a link',
      "UPDATE activity_chain SET hash = (hash GLOB '0*') || substr(hash, 2) WHERE position = 3",
      3,
      2,
    ],
    ['the row of a link', 'UPDATE activity_chain SET activity = 9 WHERE position = 3', 3, 9],
    ['the kind of a link', "UPDATE activity_chain SET kind = 'prune' WHERE position = 3", 3, 2],
    ['the place of a link', 'UPDATE activity_chain SET position = 70 WHERE position = 7', 70, 4],
    ['the number of a row', 'UPDATE activity SET id = 40 WHERE id = 3', 5, 3],
    ['the row of an end', 'UPDATE activity_end SET activity = 3 WHERE activity = 4', 7, 4],
    ['a row taken away', 'DELETE FROM activity WHERE id = 3', 5, 3],
    ['an end taken away', 'DELETE FROM activity_end WHERE activity = 1', 2, 1],
    ['a link taken away', 'DELETE FROM activity_chain WHERE position = 4', 5, 3],
    ['the first link taken away', 'DELETE FROM activity_chain WHERE position = 1', 2, 1],
    ['the last link taken away', 'DELETE FROM activity_chain WHERE position = 7', 7, null],
    ['a row put in', "INSERT INTO activity VALUES (99, '', 'call', '', '', NULL, '{}')", null, 99],
    ['an end put in', "INSERT INTO activity_end VALUES (3, 'ok', 1, '{}')", null, 3],
    ['where it ends', 'UPDATE activity_head SET position = 6', 6, null],
    ['the hash it ends with', "UPDATE activity_head SET hash = ''", 7, null],
    ['where it begins', 'UPDATE activity_head SET pruned = 2', 2, null],
    ['a note of pruning put in', "INSERT INTO activity_prune VALUES (1, 2, 'x', '2027', '2027', 1)", 1, 1],
  ])('detects %s', (_what, statement, position, activity) => {
    const found = after(statement)
    expect(found.sound).toBe(false)
    expect(found.faults[0]).toMatchObject({ position, activity })
    expect(found.faults[0]?.message).toMatch(/\.$/)
  })

  it('detects swapped rows', () => {
    const swap = (table: string, column: string, a: number, b: number): string[] => [
      `UPDATE ${table} SET ${column} = -1 WHERE ${column} = ${a}`,
      `UPDATE ${table} SET ${column} = ${a} WHERE ${column} = ${b}`,
      `UPDATE ${table} SET ${column} = ${b} WHERE ${column} = -1`,
    ]
    expect(after(...swap('activity', 'id', 1, 4)).faults[0]).toMatchObject({ position: 1, activity: 1 })
    expect(after(...swap('activity_end', 'activity', 1, 2)).faults[0]).toMatchObject({ position: 2 })
    expect(after(...swap('activity_chain', 'position', 3, 5)).faults[0]).toMatchObject({ position: 3 })
  })

  it('detects a removed newest row, by a previously noted hash', () => {
    const store = openStore(file)
    const { head } = store.activity.verify()
    expect(store.activity.verify(head.hash).sound).toBe(true)
    store.activity.begin(start)
    expect(store.activity.verify(head.hash).sound).toBe(true)
    store.close()
    const raw = new DatabaseSync(file)
    const before = String(raw.prepare('SELECT hash FROM activity_chain WHERE position = 6').get()?.['hash'])
    raw.exec(`DROP TRIGGER chain_stays; DROP TRIGGER end_stays; DROP TRIGGER activity_stays;
      DELETE FROM activity_chain WHERE position > 6; DELETE FROM activity_end WHERE activity = 4;
      DELETE FROM activity WHERE id = 5;
      UPDATE activity_head SET position = 6, hash = '${before}'`)
    raw.close()
    const cut = openStore(file)
    expect(cut.activity.verify().sound).toBe(true)
    const found = cut.activity.verify(head.hash)
    expect(found.faults).toMatchObject([{ position: null, message: expect.stringContaining(head.hash) }])
    cut.close()
  })
})

describe('pruning', () => {
  it('keeps the rest verifiable, and the end of a removed row', () => {
    vi.useFakeTimers({ now: Date.parse('2027-01-01T00:00:00Z'), toFake: ['Date'] })
    const store = openStore(file)
    const { activity } = store
    try {
      const [, , open = 0] = write(store)
      const old = activity.verify().head
      vi.setSystemTime('2027-02-01T00:00:00Z')
      const [first = 0] = write(store)
      activity.end(open, end)
      const whole = activity.verify()
      expect(activity.prune('2026-12-31')).toBe(0)
      expect(activity.prune('2027-01-31')).toBe(4)
      expect(activity.list()[0]?.id).toBe(first)
      const found = activity.verify()
      expect(found).toMatchObject({
        sound: true,
        pruned: { position: old.position, hash: old.hash, before: '2027-01-31T00:00:00.000Z', rows: 4 },
      })
      expect(activity.verify(whole.head.hash).sound).toBe(true)
      expect(activity.verify(old.hash).sound).toBe(true)
      expect(() => activity.end(2, end)).toThrow('no activity 2')

      vi.setSystemTime('2027-03-01T00:00:00Z')
      activity.begin(start)
      expect(activity.prune('2027-02-28')).toBe(4)
      expect(activity.verify()).toMatchObject({ sound: true, pruned: { rows: 4 } })
      expect(activity.verify(old.hash).sound).toBe(false)
      expect(activity.prune('2028-01-01')).toBe(1)
      expect(activity.list()).toEqual([])
      expect(activity.verify()).toMatchObject({ sound: true, checked: 1 })
      activity.begin(start)
      expect(activity.verify()).toMatchObject({ sound: true, checked: 2 })
    } finally {
      vi.useRealTimers()
      store.close()
    }
  })

  it('still detects other removals', () => {
    const store = openStore(file)
    write(store)
    store.activity.prune('2000-01-01')
    store.close()
    const raw = new DatabaseSync(file)
    for (const table of ['activity', 'activity_end', 'activity_chain']) {
      expect(() => raw.exec(`DELETE FROM ${table}`)).toThrow(/append-only/)
    }
    raw.close()
  })

  it('requires a time', () => {
    const { activity } = openStore(':memory:')
    expect(() => activity.prune('yesterday')).toThrow(/"yesterday" is no time/)
  })
})

describe('a shared store', () => {
  it('has one chain for all writers', async () => {
    openStore(file).close()
    const program = join(folder, 'append.ts')
    const store = new URL('../../src/log/store/store.ts', import.meta.url).href
    writeFileSync(
      program,
      `import { openStore } from ${JSON.stringify(store)}
       const { activity } = openStore(process.argv[2])
       process.on('message', () => {
         for (let n = 0; n < 60; n++) {
           const id = activity.begin(${JSON.stringify(start)})
           activity.end(id, ${JSON.stringify(end)})
         }
         process.exit()
       })
       process.send('ready')`,
    )
    const children = [1, 2, 3].map(() => fork(program, [file]))
    const endings = children.map((child) => once(child, 'exit'))
    await Promise.all(children.map((child) => once(child, 'message')))
    for (const child of children) child.send('go')
    expect((await Promise.all(endings)).map(([code]) => code)).toEqual([0, 0, 0])
    const { activity } = openStore(file)
    expect(activity.list()).toHaveLength(180)
    expect(activity.verify()).toMatchObject({ sound: true, checked: 360 })
  })

  it('from before the chain existed is linked as it is', () => {
    const raw = new DatabaseSync(file)
    raw.exec(`
      CREATE TABLE activity (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL, server TEXT,
        summary TEXT NOT NULL, cause INTEGER, detail TEXT NOT NULL) STRICT;
      CREATE TABLE activity_end (activity INTEGER PRIMARY KEY REFERENCES activity (id), outcome TEXT NOT NULL,
        duration_ms REAL, detail TEXT NOT NULL) STRICT;
      CREATE TRIGGER activity_kept BEFORE UPDATE ON activity BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
      CREATE TRIGGER activity_stays BEFORE DELETE ON activity BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
      CREATE TRIGGER end_kept BEFORE UPDATE ON activity_end BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
      CREATE TRIGGER end_stays BEFORE DELETE ON activity_end BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
      CREATE TABLE grants (identity TEXT NOT NULL, tool TEXT NOT NULL, definition TEXT NOT NULL, verdict TEXT NOT NULL,
        label TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (identity, tool, definition)) STRICT;
      INSERT INTO activity VALUES (1, '2027', 'call', 's', 'x', NULL, '{"a":1}'), (2, '2027', 'read', NULL, 'y', 1, '{}');
      INSERT INTO activity_end VALUES (1, 'ok', 5, '{}');
      INSERT INTO grants VALUES ('i', 't', 'd', 'deny', 's', '2027');
      PRAGMA user_version = 1`)
    raw.close()
    const store = openStore(file)
    expect(store.activity.list()).toMatchObject([
      { id: 1, outcome: 'ok', durationMs: 5, detail: { a: 1 } },
      { id: 2, outcome: 'running' },
    ])
    expect(store.activity.verify()).toMatchObject({ sound: true, checked: 3 })
    expect(store.grants.list()).toEqual([
      {
        key: { identity: 'i', tool: 't', definition: 'd' },
        verdict: 'deny',
        scope: 'always',
        within: '',
        arguments: [],
        label: 's',
        at: '2027',
      },
    ])
    store.close()
  })
})
