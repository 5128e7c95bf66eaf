import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { sqliteTaskStore } from '../../../src/extensions/tasks/sqlite.ts'
import { memoryTaskStore, type TaskRow, type TaskStore } from '../../../src/extensions/tasks/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'jackfield-tasks-'))
let files = 0
const file = (): string => join(folder, `${++files}.db`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.useRealTimers())

const room = { owner: 100, all: 100 }
const row = (id: string, more: Partial<TaskRow> = {}): TaskRow => ({
  id,
  version: 1,
  owner: 'ada',
  createdAt: Date.now(),
  expiresAt: Date.now() + 60_000,
  running: true,
  holder: 'one',
  heldUntil: Date.now() + 1000,
  body: `{"of":"${id}"}`,
  ...more,
})

const stores: [string, () => TaskStore][] = [
  ['in memory', memoryTaskStore],
  ['in SQLite', () => sqliteTaskStore(file())],
]

describe.each(stores)('a store of tasks %s', (_name, make) => {
  const opened: TaskStore[] = []
  const open = (): TaskStore => {
    const store = make()
    opened.push(store)
    return store
  }
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close?.()
  })

  it('gives back what was added, and nothing for other ids', async () => {
    const store = open()
    const added = row('a')
    expect(await store.add(added, room)).toBe(true)
    expect(await store.get('a')).toEqual(added)
    expect(await store.get('b')).toBeUndefined()
  })

  it('adds no id twice', async () => {
    const store = open()
    await store.add(row('a', { body: 'first' }), room)
    expect(await store.add(row('a', { body: 'second' }), room)).toBe(false)
    expect((await store.get('a'))?.body).toBe('first')
  })

  it('has room for so many of one owner, and so many in all', async () => {
    const store = open()
    const few = { owner: 2, all: 3 }
    expect(await store.add(row('a'), few)).toBe(true)
    expect(await store.add(row('b'), few)).toBe(true)
    expect(await store.add(row('c'), few)).toBe(false)
    expect(await store.add(row('d', { owner: 'bob' }), few)).toBe(true)
    expect(await store.add(row('e', { owner: 'eve' }), few)).toBe(false)
  })

  it('replaces a version by the next one only', async () => {
    const store = open()
    const first = row('a')
    await store.add(first, room)
    expect(await store.replace({ ...first, version: 2, body: 'second' })).toBe(true)
    expect(await store.replace({ ...first, version: 2, body: 'late' })).toBe(false)
    expect(await store.replace({ ...first, version: 4, body: 'early' })).toBe(false)
    expect(await store.replace(row('b', { version: 2 }))).toBe(false)
    expect((await store.get('a'))?.body).toBe('second')
  })

  it('lists the tasks of one owner by age, a page at a time', async () => {
    const store = open()
    const at = Date.now()
    await store.add(row('z', { createdAt: at }), room)
    await store.add(row('b', { createdAt: at + 1 }), room)
    await store.add(row('a', { createdAt: at + 1 }), room)
    await store.add(row('x', { owner: 'bob' }), room)
    const page = await store.list('ada', undefined, 2)
    expect(page.map(({ id }) => id)).toEqual(['z', 'a'])
    const rest = await store.list('ada', page[1], 2)
    expect(rest.map(({ id }) => id)).toEqual(['b'])
  })

  it('gives a running task to another holder once nobody holds it, and to one only', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const store = open()
    await store.add(row('a'), room)
    await store.add(row('waiting', { running: false }), room)
    expect(await store.claim('two', Date.now() + 1000, 10)).toEqual([])
    vi.setSystemTime(Date.now() + 1001)
    const taken = await store.claim('two', Date.now() + 1000, 10)
    expect(taken).toMatchObject([{ id: 'a', version: 2, holder: 'two' }])
    expect(await store.claim('three', Date.now() + 1000, 10)).toEqual([])
    expect(await store.replace({ ...row('a'), version: 2, body: 'from the first holder' })).toBe(false)
  })

  it('holds tasks for longer, for whoever has them', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const store = open()
    await store.add(row('a'), room)
    await store.add(row('b', { running: false }), room)
    await store.add(row('c', { holder: 'two' }), room)
    expect(await store.renew('one', ['a', 'b', 'c', 'd'], Date.now() + 5000)).toEqual(['a'])
    vi.setSystemTime(Date.now() + 4000)
    expect((await store.claim('three', Date.now() + 1000, 10)).map(({ id }) => id)).toEqual(['c'])
  })

  it('knows nothing of a task that has expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const store = open()
    await store.add(row('a', { heldUntil: 0 }), { owner: 1, all: 1 })
    vi.setSystemTime(Date.now() + 60_000)
    expect(await store.get('a')).toBeUndefined()
    expect(await store.replace(row('a', { version: 2 }))).toBe(false)
    expect(await store.list('ada', undefined, 10)).toEqual([])
    expect(await store.renew('one', ['a'], Date.now() + 1000)).toEqual([])
    expect(await store.claim('two', Date.now() + 1000, 10)).toEqual([])
    await store.expire()
    expect(await store.add(row('b'), { owner: 1, all: 1 })).toBe(true)
  })
})

describe('a store of tasks in SQLite', () => {
  it('shares its tasks with everybody who opens the file', async () => {
    const path = file()
    const [one, two] = [sqliteTaskStore(path), sqliteTaskStore(path)]
    const added = row('a')
    await one.add(added, room)
    expect(await two.get('a')).toEqual(added)
    expect(await two.replace({ ...added, version: 2 })).toBe(true)
    expect(await one.replace({ ...added, version: 2 })).toBe(false)
    one.close?.()
    two.close?.()
    const again = sqliteTaskStore(path)
    expect((await again.get('a'))?.version).toBe(2)
    again.close?.()
  })

  it.skipIf(process.platform === 'win32')('keeps its file from other people', () => {
    const path = file()
    sqliteTaskStore(path).close?.()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })
})
