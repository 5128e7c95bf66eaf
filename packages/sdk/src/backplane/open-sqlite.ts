import type { DatabaseSync } from 'node:sqlite'
import { McpError } from '../jsonrpc/error.ts'

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
    db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    return db
  }
  throw new McpError(
    'CONNECT_FAILED',
    `${what} needs node:sqlite, which Node ${process.versions.node} does not have: it needs Node 22.13 or later`,
  )
}

/** Runs work in one transaction, which is rolled back if it throws. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}
