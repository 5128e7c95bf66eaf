import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTogether } from '../../../../test/setup/open-together.ts'
import { openStore } from '../../src/log/store/store.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jackfield-store-'))
})
afterEach(() => rm(folder, { recursive: true }))

const start = {
  kind: 'call',
  server: 's',
  summary: 's: x',
  cause: null,
  detail: { arguments: { a: 1 } },
} as const
const key = { identity: 'i', tool: 't', definition: 'd' }
const grant = {
  key,
  verdict: 'allow',
  scope: 'always',
  within: '',
  arguments: [],
  label: 's',
  at: '2027-01-01T00:00:00.000Z',
} as const

describe('activity', () => {
  it('is recorded from start to end, with causes', () => {
    const { activity } = openStore(':memory:')
    const call = activity.begin(start)
    const inner = activity.begin({ ...start, kind: 'elicitation', cause: call, detail: {} })
    expect(activity.list().map((row) => row.outcome)).toEqual(['running', 'running'])
    activity.end(inner, { outcome: 'accepted', durationMs: 5, detail: {} })
    const row = activity.end(call, { outcome: 'ok', durationMs: 12, detail: { result: 'done' } })()
    expect(row).toMatchObject({
      id: call,
      kind: 'call',
      server: 's',
      summary: 's: x',
      outcome: 'ok',
      durationMs: 12,
      cause: null,
      detail: { arguments: { a: 1 }, result: 'done' },
    })
    expect(Date.parse(row.at)).not.toBeNaN()
    expect(activity.list().map((each) => [each.kind, each.cause, each.outcome])).toEqual([
      ['call', null, 'ok'],
      ['elicitation', call, 'accepted'],
    ])
  })

  it('lists the newest rows, oldest first, by server and kind', () => {
    const { activity } = openStore(':memory:')
    const ids = ['a', 'b', 'a', 'b'].map((server, n) =>
      activity.begin({ ...start, server, kind: n < 2 ? 'call' : 'read' }),
    )
    expect(activity.list({ server: 'a' }).map((row) => row.id)).toEqual([ids[0], ids[2]])
    expect(activity.list({ kind: 'read' }).map((row) => row.id)).toEqual([ids[2], ids[3]])
    expect(activity.list({ limit: 3 }).map((row) => row.id)).toEqual(ids.slice(1))
    expect(activity.list({ server: "a' OR 1=1 --" })).toEqual([])
  })

  it('cannot be changed or deleted, nor ended twice', () => {
    const file = join(folder, 'a.db')
    const store = openStore(file)
    const id = store.activity.begin(start)
    store.activity.end(id, { outcome: 'ok', durationMs: 1, detail: {} })
    expect(() => store.activity.end(id, { outcome: 'error', durationMs: 1, detail: {} })).toThrow()
    store.close()
    const raw = new DatabaseSync(file)
    for (const statement of [
      "UPDATE activity SET summary = 'x'",
      'DELETE FROM activity',
      "UPDATE activity_end SET outcome = 'ok'",
      'DELETE FROM activity_end',
    ]) {
      expect(() => raw.exec(statement)).toThrow(/append-only/)
    }
    raw.close()
  })

  it('cuts long details, and marks the cut', () => {
    const { activity } = openStore(':memory:')
    const id = activity.begin(start)
    const long = 'x'.repeat(400_000)
    const deep = { a: {} }
    let at: Record<string, unknown> = deep.a
    for (let i = 0; i < 100; i++) at = at['b'] = {}
    const row = activity.end(id, {
      outcome: 'ok',
      durationMs: 1,
      detail: { short: 'kept', long, deep, items: Array.from({ length: 1000 }, (_, n) => n) },
    })()
    expect(row.detail['short']).toBe('kept')
    expect(row.detail['long']).toMatch(/^x{2000}… \[398000 more characters\]$/)
    expect(JSON.stringify(row.detail['items'])).toContain('900 more items')
    expect(JSON.stringify(row.detail['deep'])).toContain('nested deeper')
    expect(row.detail['cut']).toMatchObject({
      long: {
        characters: 400_002,
        sha256: createHash('sha256').update(JSON.stringify(long)).digest('hex'),
      },
    })
    expect(row.detail['cut']).not.toHaveProperty('short')
    expect(JSON.stringify(row.detail).length).toBeLessThan(10_000)
  })
})

describe('the store file', () => {
  it('keeps activity and grants, and continues the numbering', () => {
    const file = join(folder, 'deep', 'er', 'store.db')
    const first = openStore(file)
    const id = first.activity.begin(start)
    first.grants.put(grant)
    first.close()
    const second = openStore(file)
    expect(second.activity.list()).toMatchObject([{ id, outcome: 'running' }])
    expect(second.activity.begin(start)).toBe(id + 1)
    expect(second.grants.find(key)).toEqual([grant])
    for (const other of [{ identity: 'x' }, { tool: 'x' }, { definition: 'x' }]) {
      expect(second.grants.find({ ...key, ...other })).toEqual([])
    }
    const denied = { ...grant, verdict: 'deny' } as const
    second.grants.put(denied)
    expect(second.grants.list()).toEqual([denied])
    second.close()
  })

  it('is readable by its owner only', async () => {
    const file = join(folder, 'store.db')
    openStore(file).close()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it.runIf(process.platform !== 'win32')(
    'becomes unreadable for others who could read it before',
    async () => {
      const file = join(folder, 'store.db')
      const first = openStore(file)
      first.activity.begin(start)
      const all = (await readdir(folder)).map((name) => join(folder, name))
      expect(all).toEqual(expect.arrayContaining([file, `${file}-wal`]))
      for (const path of all) await chmod(path, path.endsWith('.running') ? 0o755 : 0o644)
      const second = openStore(file)
      second.activity.begin(start)
      for (const path of all) {
        const found = await stat(path)
        expect([path, found.mode & 0o777]).toEqual([path, found.isDirectory() ? 0o700 : 0o600])
      }
      second.close()
      first.close()
    },
  )

  it('can be shared by two programs', () => {
    const file = join(folder, 'store.db')
    const [one, two] = [openStore(file), openStore(file)]
    const ids = [one, two, one, two].map((store) => store.activity.begin(start))
    expect(new Set(ids).size).toBe(4)
    expect(one.activity.list().map((row) => row.id)).toEqual(ids)
    one.close()
    two.close()
  })

  it('of the current version is opened while another program writes to it', () => {
    const file = join(folder, 'store.db')
    const first = openStore(file)
    const id = first.activity.begin(start)
    first.close()
    const raw = new DatabaseSync(file)
    raw.exec('BEGIN IMMEDIATE')
    const store = openStore(file)
    expect(store.activity.list().map((row) => row.id)).toEqual([id])
    raw.close()
    store.close()
  })

  it('has the labels that a conversation saw in any program, each once', async () => {
    const file = join(folder, 'store.db')
    const [one, two] = [openStore(file), openStore(file)]
    const seen = (label: string) => ({ label, server: 's' })
    expect([one, two].map((store) => store.labels.of('c'))).toEqual([[], []])
    for (let time = 0; time < 2; time++) one.labels.add('c', seen('private'))
    expect(one.labels.of('c')).toEqual([seen('private')])
    await new Promise(setImmediate)
    two.labels.add('c', seen('mail'))
    await new Promise(setImmediate)
    for (const store of [one, two]) {
      expect(store.labels.of('c')).toEqual([seen('mail'), seen('private')])
      expect(store.labels.of('d')).toEqual([])
      store.close()
    }
  })

  it('gets the rows of a program that was killed, once', () => {
    const file = join(folder, 'store.db')
    const killed = openStore(file)
    const [ended, running] = [killed.activity.begin(start), killed.activity.begin(start)]
    killed.activity.end(ended, { outcome: 'ok', durationMs: 3, detail: { result: 1 } })
    const next = openStore(file)
    for (let time = 0; time < 2; time++)
      expect(next.activity.list()).toMatchObject([
        { id: ended, outcome: 'ok', durationMs: 3, detail: { arguments: { a: 1 }, result: 1 } },
        { id: running, outcome: 'running' },
      ])
    expect(next.activity.begin(start)).toBeGreaterThan(running)
    expect(killed.activity.list()).toHaveLength(3)
    expect(next.activity.verify()).toMatchObject({ sound: true, checked: 4 })
  })

  it('of an earlier version keeps its queued rows and its questions', () => {
    const file = join(folder, 'store.db')
    openStore(file).close()
    const raw = new DatabaseSync(file)
    raw.exec(`
      PRAGMA user_version = 17;
      CREATE TABLE activity_queue (seq INTEGER PRIMARY KEY, activity INTEGER NOT NULL, at TEXT, kind TEXT, server TEXT,
        summary TEXT, cause INTEGER, target TEXT, outcome TEXT, duration_ms REAL, detail TEXT NOT NULL) STRICT;
      INSERT INTO activity_queue (activity, at, kind, server, summary, detail)
        VALUES (7, '2027-01-01T00:00:00.000Z', 'call', 's', 's: x', '{"tool":"x"}');
      INSERT INTO activity_queue (activity, outcome, duration_ms, detail) VALUES (7, 'ok', 1.5, '{"result":1}');
      INSERT INTO inbox (id, server, question, state, at)
        VALUES ('q', 's', '{"kind":"install","id":"q","cause":{"server":"s"}}', 'open', '2027-01-01T00:00:00.000Z'),
        ('r', 's', '{"kind":"sampling-request","id":"r","choice":{"model":"a","why":"best","ranking":[{"model":"a","why":"fast"},{"model":"b","why":"slow"}]}}',
          'open', '2027-01-01T00:00:00.000Z')`)
    raw.close()
    const store = openStore(file)
    expect(store.activity.list()).toMatchObject([
      { id: 7, outcome: 'ok', durationMs: 1.5, detail: { tool: 'x', result: 1 } },
    ])
    expect(store.activity.begin(start)).toBe(8)
    expect(store.inbox.get('q')?.question.kind).toBe('start')
    expect(store.inbox.get('r')?.question).toEqual({
      kind: 'sampling-request',
      id: 'r',
      choice: {
        model: 'a',
        reason: 'best',
        ranking: [
          { model: 'a', reason: 'fast' },
          { model: 'b', reason: 'slow' },
        ],
      },
    })
    expect(store.activity.verify().sound).toBe(true)
    store.close()
  })

  it('of a newer version is not changed', () => {
    const file = join(folder, 'store.db')
    const raw = new DatabaseSync(file)
    raw.exec('PRAGMA user_version = 99')
    raw.close()
    expect(() => openStore(file)).toThrow(/newer Jackfield wrote it \(store version 99/)
  })

  it('that is not a store is named in the error', async () => {
    const file = join(folder, 'store.db')
    await writeFile(file, 'not a database, but long enough to look like one'.repeat(50))
    expect(() => openStore(file)).toThrow(/Cannot use .*store\.db as the store/)
  })

  it('needs node:sqlite, and a missing one is reported in one line', () => {
    const spy = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
    expect(() => openStore(':memory:')).toThrow(
      /^The host stores its activity with node:sqlite.*Use Node 22\.13 or newer\.$/,
    )
    spy.mockRestore()
  })
})

it('programs that open a new store at the same moment can all use it', { timeout: 60_000 }, async () => {
  const store = new URL('../../src/log/store/store.ts', import.meta.url).href
  const reports = await openTogether(
    `import { openStore } from ${JSON.stringify(store)}
     const use = (file) => {
       const store = openStore(file)
       store.activity.begin(${JSON.stringify(start)})
       store.close()
     }`,
  )
  expect(new Set(reports)).toEqual(new Set(['used']))
})
