import type { DatabaseSync } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { HostTask } from '../../types/index.ts'
import type { SuspendedCall } from './inbox-tables.ts'

export const taskMigration: string = `
  CREATE TABLE task (
    call INTEGER PRIMARY KEY,
    owner TEXT,
    server TEXT NOT NULL,
    identity TEXT NOT NULL,
    task TEXT NOT NULL,
    request TEXT NOT NULL,
    status TEXT NOT NULL,
    message TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT
  ) STRICT;
`

/** A call that its server runs as a task. */
export interface TaskRow {
  /** The activity row of the call. */
  readonly call: number
  /** The program that polls it; it may have ended since. */
  readonly owner: string | null
  readonly server: string
  /** The server's identity. */
  readonly identity: string
  /** The server's id of the task. */
  readonly task: string
  /** Without secrets. */
  readonly request: Omit<SuspendedCall['request'], 'server' | 'holes'>
  readonly status: HostTask['status']
  readonly message: string | null
  readonly createdAt: string
  readonly expiresAt: string | null
}

/** Unfinished tasks. */
export interface TaskTable {
  add(row: TaskRow): void
  setStatus(call: number, status: HostTask['status'], message: string | null): void
  /** Takes ownership; false if another program was faster. */
  claim(call: number, from: string | null, owner: string): boolean
  /** Releases the ownership. */
  release(call: number, owner: string): void
  remove(call: number): void
  /** Oldest first. */
  list(): TaskRow[]
}

const columns = 'call, owner, server, identity, task, request, status, message, created_at, expires_at'

export function createTaskTable(database: DatabaseSync): TaskTable {
  const insert = database.prepare(`INSERT INTO task (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const setStatus = database.prepare('UPDATE task SET status = ?, message = ? WHERE call = ?')
  const claim = database.prepare('UPDATE task SET owner = ? WHERE call = ? AND owner IS ?')
  const release = database.prepare('UPDATE task SET owner = NULL WHERE call = ? AND owner = ?')
  const remove = database.prepare('DELETE FROM task WHERE call = ?')
  const selectAll = database.prepare(`SELECT ${columns} FROM task ORDER BY call`)
  return {
    add({ call, owner, server, identity, task, request, status, message, createdAt, expiresAt }) {
      const text = JSON.stringify(request)
      insert.run(call, owner, server, identity, task, text, status, message, createdAt, expiresAt)
    },
    setStatus(call, status, message) {
      setStatus.run(status, message, call)
    },
    claim: (call, from, owner) => Number(claim.run(owner, call, from).changes) === 1,
    release(call, owner) {
      release.run(call, owner)
    },
    remove(call) {
      remove.run(call)
    },
    list: () => selectAll.all().map(toRow),
  }
}

function toRow(row: Record<string, unknown>): TaskRow {
  const { owner, message, status, expires_at: expiresAt } = row
  return {
    call: Number(row['call']),
    owner: typeof owner === 'string' ? owner : null,
    server: String(row['server']),
    identity: String(row['identity']),
    task: String(row['task']),
    request: readJson(String(row['request'])),
    status: status === 'input_required' ? status : 'working',
    message: typeof message === 'string' ? message : null,
    createdAt: String(row['created_at']),
    expiresAt: typeof expiresAt === 'string' ? expiresAt : null,
  }
}
