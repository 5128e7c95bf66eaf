import type { DatabaseSync } from 'node:sqlite'
import { McpError } from '../jsonrpc/error.ts'

/**
 * Opens an SQLite file with the runtime's own driver, which is looked up here because importing it fails on older versions.
 * @param what the feature that needs it, for the error
 * @throws McpError 'CONNECT_FAILED' where the runtime has no SQLite
 */
export function openSqlite(what: string, path: string): DatabaseSync {
  const found =
    typeof process.getBuiltinModule === 'function' ? process.getBuiltinModule('node:sqlite') : undefined
  if (found !== undefined) return new found.DatabaseSync(path)
  throw new McpError(
    'CONNECT_FAILED',
    `${what} needs node:sqlite, which Node ${process.versions.node} does not have: it needs Node 22.13 or later`,
  )
}
