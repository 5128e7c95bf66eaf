import type { DatabaseSync } from 'node:sqlite'

/** That the person agreed to start one server as one file defines it. */
export interface Consent {
  /** Of the file and everything that says what is started, as one hash. */
  identity: string
  file: string
  server: string
  /** The command line or address that was agreed to. */
  command: string
  /** ISO 8601. */
  at: string
}

export interface ConsentTable {
  has(identity: string): boolean
  /** What was agreed to last for the server that a file calls so. */
  last(file: string, server: string): Consent | undefined
  put(consent: Consent): void
  list(): Consent[]
  /** Forgets every consent about a server of a file; how many there were. */
  remove(file: string, server: string): number
}

export const consentMigration = `
  CREATE TABLE consents (
    identity TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    server TEXT NOT NULL,
    command TEXT NOT NULL,
    at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX consents_server ON consents (file, server);
`

export function createConsentTable(database: DatabaseSync): ConsentTable {
  const has = database.prepare('SELECT 1 FROM consents WHERE identity = ?')
  const last = database.prepare(
    'SELECT * FROM consents WHERE file = ? AND server = ? ORDER BY at DESC, rowid DESC LIMIT 1',
  )
  const every = database.prepare('SELECT * FROM consents ORDER BY at, rowid')
  const put = database.prepare(
    'INSERT OR REPLACE INTO consents (identity, file, server, command, at) VALUES (?, ?, ?, ?, ?)',
  )
  const remove = database.prepare('DELETE FROM consents WHERE file = ? AND server = ?')
  return {
    has: (identity) => has.get(identity) !== undefined,
    last(file, server) {
      const row = last.get(file, server)
      return row === undefined ? undefined : consentOf(row)
    },
    put({ identity, file, server, command, at }) {
      put.run(identity, file, server, command, at)
    },
    list: () => every.all().map(consentOf),
    remove: (file, server) => Number(remove.run(file, server).changes),
  }
}

function consentOf(row: Record<string, unknown>): Consent {
  return {
    identity: String(row['identity']),
    file: String(row['file']),
    server: String(row['server']),
    command: String(row['command']),
    at: String(row['at']),
  }
}
