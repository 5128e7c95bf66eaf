import { closeSync, openSync } from 'node:fs'
import { openSqlite } from '../../core/sqlite.ts'
import type { TaskRow, TaskStore } from './store.ts'

const schema = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
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

const columns = 'id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body'

/**
 * Keeps tasks in an SQLite file, which any number of processes on one machine may share; a task whose process died is
 * taken over by another. Needs Node 22.13 or newer. The file holds what clients sent and were answered: it is created
 * readable for its owner alone.
 */
export function sqliteTaskStore(path: string): TaskStore {
  closeSync(openSync(path, 'a', 0o600))
  const db = openSqlite('sqliteTaskStore', path)
  db.exec(schema)
  const count = db.prepare(
    'SELECT count(*) AS everyone, count(*) FILTER (WHERE owner = ?) AS owned FROM tasks WHERE expiresAt > ?',
  )
  const insert = db.prepare(
    `INSERT INTO tasks (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  )
  const select = db.prepare(`SELECT ${columns} FROM tasks WHERE id = ? AND expiresAt > ?`)
  const update = db.prepare(
    `UPDATE tasks SET version = ?, expiresAt = ?, running = ?, holder = ?, heldUntil = ?, body = ?
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
  const takeover = db.prepare(
    `UPDATE tasks SET holder = ?, heldUntil = ?, version = version + 1 WHERE id IN (
      SELECT id FROM tasks WHERE running = 1 AND heldUntil <= ? AND expiresAt > ? LIMIT ?
    ) RETURNING ${columns}`,
  )
  const expiry = db.prepare('DELETE FROM tasks WHERE expiresAt <= ?')

  return {
    durable: true,
    add: async (row, room) => {
      db.exec('BEGIN IMMEDIATE')
      try {
        const { everyone, owned } = count.get(row.owner, Date.now()) ?? {}
        const fits = Number(everyone) < room.all && Number(owned) < room.owner
        const added = fits && insert.run(...valuesOf(row)).changes === 1
        db.exec('COMMIT')
        return added
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    },
    get: async (id) => {
      const found = select.get(id, Date.now())
      return found && rowOf(found)
    },
    replace: async (row) => {
      const { id, version, expiresAt, running, holder, heldUntil, body } = row
      const { changes } = update.run(
        version,
        expiresAt,
        running ? 1 : 0,
        holder,
        heldUntil,
        body,
        id,
        version - 1,
        Date.now(),
      )
      return changes === 1
    },
    list: async (owner, after, limit) =>
      page.all(owner, Date.now(), after?.createdAt ?? -1, after?.id ?? '', limit).map(rowOf),
    renew: async (holder, ids, heldUntil) =>
      renewal.all(heldUntil, holder, Date.now(), JSON.stringify(ids)).map(({ id }) => String(id)),
    take: async (holder, heldUntil, limit) => {
      const now = Date.now()
      return takeover.all(holder, heldUntil, now, now, limit).map(rowOf)
    },
    expire: async () => {
      expiry.run(Date.now())
    },
    close: () => db.close(),
  }
}

function valuesOf(row: TaskRow): (string | number)[] {
  const { id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body } = row
  return [id, version, owner, createdAt, expiresAt, running ? 1 : 0, holder, heldUntil, body]
}

function rowOf(found: Readonly<Record<string, unknown>>): TaskRow {
  const { id, version, owner, createdAt, expiresAt, running, holder, heldUntil, body } = found
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
