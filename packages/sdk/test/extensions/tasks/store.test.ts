import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryTaskStore, type NewTask, type TaskStore } from '@jackfield/sdk/extensions/tasks'
import { sqliteTaskStore } from '@jackfield/sdk/extensions/tasks/sqlite'
import { taskStoreContract } from '@jackfield/sdk/testing'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'jackfield-tasks-'))
let files = 0
const file = (): string => join(folder, `${++files}.db`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hour = 3_600_000
const room = { owner: 100, all: 100 }
const task = (more: Partial<NewTask> = {}): NewTask => ({
  id: crypto.randomUUID(),
  owner: 'ada',
  ttlMs: hour,
  holder: 'one',
  holdMs: hour,
  body: '{}',
  ...more,
})

const stores: [string, (connections: number) => Promise<TaskStore[]>][] = [
  [
    'in memory',
    async (connections) => {
      const store = memoryTaskStore()
      return Array.from({ length: connections }, () => store)
    },
  ],
  [
    'in SQLite',
    async (connections) => {
      const path = file()
      return Array.from({ length: connections }, () => sqliteTaskStore(path))
    },
  ],
]

describe.each(stores)('a store of tasks %s', (_name, open) => {
  for (const { name, run } of taskStoreContract(open)) it(name, run)

  it('adds an id only once, from any opener', async () => {
    const [store] = await open(1)
    const twice = task({ body: '"first"' })
    const added = await store?.add(twice, room)
    expect(await store?.add({ ...twice, body: '"second"' }, room)).toBeUndefined()
    expect((await store?.get(added?.id ?? ''))?.body).toBe('"first"')
    await store?.close?.()
  })
})

describe('a store of tasks in SQLite', () => {
  it('shares its tasks with every process that opens the file', async () => {
    const path = file()
    const [one, two] = [sqliteTaskStore(path), sqliteTaskStore(path)]
    const added = await one.add(task(), room)
    if (added === undefined) throw new Error('not added')
    expect(await two.get(added.id)).toEqual(added)
    expect(await two.replace({ ...added, version: 2 })).toBe(true)
    expect(await one.replace({ ...added, version: 2 })).toBe(false)
    one.close?.()
    two.close?.()
    const again = sqliteTaskStore(path)
    expect((await again.get(added.id))?.version).toBe(2)
    again.close?.()
  })

  it('reads the tasks of a file of an earlier version', async () => {
    const path = file()
    const before = sqliteTaskStore(path)
    for (const owner of ['ada', 'ada', 'bob']) await before.add(task({ owner }), room)
    before.close?.()
    const db = new DatabaseSync(path)
    db.exec('DROP TRIGGER task_added; DROP TRIGGER task_deleted; DROP TABLE task_counts')
    db.close()
    const store = sqliteTaskStore(path)
    expect(await store.add(task(), { owner: 2, all: 100 })).toBeUndefined()
    expect(await store.add(task({ owner: 'bob' }), { owner: 2, all: 3 })).toBeUndefined()
    expect(await store.add(task({ owner: 'bob' }), { owner: 2, all: 4 })).toBeDefined()
    store.close?.()
  })

  it.skipIf(process.platform === 'win32')('is readable by its owner only', () => {
    const path = file()
    sqliteTaskStore(path).close?.()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })
})
