import { inTransaction, openSqlite } from '../../backplane/open-sqlite.ts'
import type { TaskRow, TaskStore } from './store.ts'

const schema = `
  CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    owner TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    expiresAt INTEGER NOT NULL,
    running INTEGER NOT NULL,
    holder TEXT NOT NULL,
    heldUntil INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS tasks_by_owner ON tasks (owner, createdAt, id);
  CREATE INDEX IF NOT EXISTS tasks_by_expiry ON tasks (expiresAt);
  CREATE INDEX IF NOT EXISTS tasks_running ON tasks (heldUntil) WHERE running = 1;
`

// Triggers maintain the counts, so that all processes count together without scanning rows. '' counts all tasks.
const counts = `
  CREATE TABLE task_counts (owner TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO task_counts SELECT '', count(*) FROM tasks;
  INSERT INTO task_counts SELECT 'of ' || owner, count(*) FROM tasks GROUP BY owner;
  CREATE TRIGGER task_added AFTER INSERT ON tasks BEGIN
    UPDATE task_counts SET count = count + 1 WHERE owner = '';
    INSERT INTO task_counts VALUES ('of ' || NEW.owner, 1) ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER task_deleted AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET count = count - 1 WHERE owner = '' OR owner = 'of ' || OLD.owner;
    DELETE FROM task_counts WHERE owner = 'of ' || OLD.owner AND count = 0;
  END;
`

const columns = 'id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body'

/**
 * Stores tasks in an SQLite file that any number of processes on one machine may share; if a process ends unexpectedly, another takes over
 * its tasks. Requires Node 22.13. The file contains requests and results; it is created with mode 0600.
 */
export function sqliteTaskStore(path: string): TaskStore {
  const db = openSqlite('sqliteTaskStore', path)
  db.exec(schema)
  inTransaction(db, () => {
    const countTable = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'task_counts'").get()
    if (countTable === undefined) db.exec(counts)
  })
  const count = db.prepare(
    `SELECT coalesce(sum(count) FILTER (WHERE owner = ''), 0) AS everyone, coalesce(sum(count) FILTER (WHERE owner <> ''), 0) AS owned
      FROM task_counts WHERE owner IN ('', 'of ' || ?)`,
  )
  const insert = db.prepare(
    `INSERT INTO tasks (${columns}) VALUES (?, 1, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING ${columns}`,
  )
  const select = db.prepare(`SELECT ${columns} FROM tasks WHERE id = ? AND expiresAt > ?`)
  const update = db.prepare(
    `UPDATE tasks SET version = ?, running = ?, holder = ?, heldUntil = coalesce(?, heldUntil), body = ?
      WHERE id = ? AND version = ? AND expiresAt > ?`,
  )
  const page = db.prepare(
    `SELECT ${columns} FROM tasks WHERE owner = ? AND expiresAt > ? AND (createdAt, id) > (?, ?)
      ORDER BY createdAt, id LIMIT ?`,
  )
  const renewal = db.prepare(
    `UPDATE tasks SET heldUntil = ? WHERE running = 1 AND holder = ? AND expiresAt > ?
      AND id IN (SELECT value FROM json_each(?)) RETURNING id`,
  )
  const due = db.prepare(
    `SELECT ${columns} FROM tasks WHERE running = 1 AND heldUntil <= ? AND expiresAt > ? ORDER BY heldUntil LIMIT ?`,
  )
  const dueOne = db.prepare(
    `SELECT ${columns} FROM tasks WHERE running = 1 AND heldUntil <= ? AND expiresAt > ? AND id = ?`,
  )
  const assign = db.prepare('UPDATE tasks SET holder = ?, heldUntil = ?, version = version + 1 WHERE id = ?')
  const expiry = db.prepare('DELETE FROM tasks WHERE expiresAt <= ?')

  return {
    durable: true,
    add: async ({ id, owner, ttlMs, holder, holdMs, body }, capacity) =>
      inTransaction(db, () => {
        const now = Date.now()
        const isFull = (): boolean => {
          const { everyone, owned } = count.get(owner) ?? {}
          return Number(everyone) >= capacity.all || Number(owned) >= capacity.owner
        }
        if (isFull()) expiry.run(now)
        if (isFull()) return undefined
        const added = insert.get(id, owner, now, now + ttlMs, holder, now + holdMs, body)
        return added && rowOf(added)
      }),
    get: async (id) => {
      const columnValues = select.get(id, Date.now())
      return columnValues && rowOf(columnValues)
    },
    replace: async ({ id, version, running, holder, holdMs, body }) => {
      const now = Date.now()
      const heldUntil = holdMs === undefined ? null : now + holdMs
      return update.run(version, running ? 1 : 0, holder, heldUntil, body, id, version - 1, now).changes === 1
    },
    list: async (owner, after, limit) =>
      page.all(owner, Date.now(), after?.createdAt ?? -1, after?.id ?? '', limit).map(rowOf),
    renew: async (holder, ids, leaseMs) => {
      if (ids.length === 0) return []
      const now = Date.now()
      return renewal.all(now + leaseMs, holder, now, JSON.stringify(ids)).map(({ id }) => String(id))
    },
    claim: async (holder, leaseMs, scope) => {
      const selectDue = (now: number): TaskRow[] => {
        if ('id' in scope) return dueOne.all(now, now, scope.id).map(rowOf)
        return due.all(now - (scope.overdueMs ?? 0), now, scope.limit).map(rowOf)
      }
      // Without due tasks, which is the usual case, no write lock is taken.
      if (selectDue(Date.now()).length === 0) return []
      return inTransaction(db, () => {
        const now = Date.now()
        const heldUntil = now + leaseMs
        return selectDue(now).map((row) => {
          assign.run(holder, heldUntil, row.id)
          return { ...row, version: row.version + 1, holder, heldUntil, previousHolder: row.holder }
        })
      })
    },
    expire: async () => {
      expiry.run(Date.now())
    },
    close: () => db.close(),
  }
}

function rowOf(columnValues: Readonly<Record<string, unknown>>): TaskRow {
  const { id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body } = columnValues
  return {
    id: String(id),
    version: Number(version),
    owner: String(owner),
    createdAt: Number(createdAt),
    expiresAt: Number(expiresAt),
    running: running === 1,
    holder: String(holder),
    heldUntil: Number(heldUntil),
    body: String(body),
  }
}
