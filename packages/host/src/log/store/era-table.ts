import type { DatabaseSync } from 'node:sqlite'

/** How a server was found to speak. */
export interface KnownEra {
  era: 'session' | 'stateless'
  /** Of the server, as it says itself. */
  version: string | undefined
}

/** What servers were found to speak, by what they are. */
export interface EraTable {
  get(identity: string): KnownEra | undefined
  put(identity: string, known: KnownEra): void
  forget(identity: string): void
}

export const eraMigration = `
  CREATE TABLE eras (
    identity TEXT PRIMARY KEY,
    era TEXT NOT NULL CHECK (era IN ('session', 'stateless')),
    version TEXT,
    at INTEGER NOT NULL
  ) STRICT;
`

const keptMs = 7 * 86_400_000

export function createEraTable(database: DatabaseSync, now: () => number = Date.now): EraTable {
  const get = database.prepare('SELECT era, version, at FROM eras WHERE identity = ?')
  const put = database.prepare('INSERT OR REPLACE INTO eras (identity, era, version, at) VALUES (?, ?, ?, ?)')
  const forget = database.prepare('DELETE FROM eras WHERE identity = ?')
  return {
    get(identity) {
      const row = get.get(identity)
      if (row === undefined || now() - Number(row['at']) > keptMs) return undefined
      const version = row['version']
      return {
        era: row['era'] === 'session' ? 'session' : 'stateless',
        version: typeof version === 'string' ? version : undefined,
      }
    },
    put: (identity, { era, version }) => {
      put.run(identity, era, version ?? null, now())
    },
    forget: (identity) => {
      forget.run(identity)
    },
  }
}
