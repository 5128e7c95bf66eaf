import type { DatabaseSync } from 'node:sqlite'

/** What a server listed when it last ran, as JSON text. */
export interface Manifest {
  lists: string
  /** When it was listed, in milliseconds since 1970. */
  atMs: number
}

/**
 * What servers listed, by what they are and who they listed it to: one that shows different things to different people
 * is never taken at what it showed somebody else.
 */
export interface ManifestTable {
  /** Undefined also where it is older than 30 days. */
  get(identity: string, principal: string): Manifest | undefined
  /** Keeps nothing of more than 8 million characters. */
  put(identity: string, principal: string, lists: string): void
  /** Forgets what a server listed to anybody. */
  forget(identity: string): void
}

export const manifestMigration = `
  CREATE TABLE manifests (
    identity TEXT NOT NULL,
    principal TEXT NOT NULL,
    lists TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (identity, principal)
  ) STRICT;
`

const keptMs = 30 * 86_400_000
const maxChars = 8_000_000

export function createManifestTable(database: DatabaseSync, now: () => number = Date.now): ManifestTable {
  const get = database.prepare('SELECT lists, at FROM manifests WHERE identity = ? AND principal = ?')
  const put = database.prepare(
    'INSERT OR REPLACE INTO manifests (identity, principal, lists, at) VALUES (?, ?, ?, ?)',
  )
  const forget = database.prepare('DELETE FROM manifests WHERE identity = ?')
  const prune = database.prepare('DELETE FROM manifests WHERE at < ?')
  return {
    get(identity, principal) {
      const row = get.get(identity, principal)
      const atMs = Number(row?.['at'])
      return row === undefined || now() - atMs > keptMs ? undefined : { lists: String(row['lists']), atMs }
    },
    put(identity, principal, lists) {
      prune.run(now() - keptMs)
      if (lists.length <= maxChars) put.run(identity, principal, lists, now())
    },
    forget: (identity) => {
      forget.run(identity)
    },
  }
}
