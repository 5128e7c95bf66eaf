import type { DatabaseSync } from 'node:sqlite'
import { McpError } from '../jsonrpc/error.ts'

/** Milliseconds for which statements wait for other programs. */
const busyMs = 5_000

/**
 * Opens an SQLite file, created with mode 0600, with the runtime's own driver, which is looked up here because importing it fails on older versions.
 * @param what the feature that needs it, for the error
 * @throws McpError 'CONNECT_FAILED' where the runtime has no SQLite
 */
export function openSqlite(what: string, path: string): DatabaseSync {
  const sqlite =
    typeof process.getBuiltinModule === 'function' ? process.getBuiltinModule('node:sqlite') : undefined
  if (sqlite !== undefined) {
    // Looked up as well: the build puts this file in a chunk that browsers load.
    const { closeSync, openSync } = process.getBuiltinModule('node:fs')
    closeSync(openSync(path, 'a', 0o600))
    const db = new sqlite.DatabaseSync(path)
    db.exec(`PRAGMA busy_timeout = ${busyMs}`)
    useWriteAheadLog(db)
    db.exec('PRAGMA synchronous = FULL')
    return db
  }
  throw new McpError(
    'CONNECT_FAILED',
    `${what} needs node:sqlite, which Node ${process.versions.node} does not have: it needs Node 22.13 or later`,
  )
}

/** Switches to a write-ahead log. SQLite does not wait for other programs that do so at the same time, so it is tried again. */
export function useWriteAheadLog(db: DatabaseSync): void {
  const deadlineMs = performance.now() + busyMs
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadlineMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

/** Whether an error is SQLITE_BUSY or SQLITE_LOCKED, which are the last byte of their extended codes. */
function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
  return code === 5 || code === 6
}

/**
 * Runs work in one transaction, which may write from its start: it waits for other programs, and reads what they wrote. It is
 * rolled back if the work throws. No transaction may be open.
 */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    try {
      db.exec('ROLLBACK')
    } catch {
      // A full disk, for example, has ended the transaction already.
    }
    throw error
  }
}
