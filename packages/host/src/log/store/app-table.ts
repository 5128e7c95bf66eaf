import type { DatabaseSync } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { AppConsent } from '../../types/index.ts'

export const appMigration: string = `
  CREATE TABLE app_consent (
    identity TEXT NOT NULL,
    uri TEXT NOT NULL,
    server TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    asked TEXT NOT NULL,
    granted TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'deny')),
    any_contents INTEGER NOT NULL CHECK (any_contents IN (0, 1)),
    at TEXT NOT NULL,
    PRIMARY KEY (identity, uri)
  ) STRICT;
`

/** The user's decisions about app pages, by identity of their servers. */
export interface AppTable {
  get(identity: string, uri: string): AppConsent | undefined
  list(): AppConsent[]
  put(consent: AppConsent): void
  remove(identity: string, uri: string): boolean
}

export function createAppTable(database: DatabaseSync): AppTable {
  const get = database.prepare('SELECT * FROM app_consent WHERE identity = ? AND uri = ?')
  const list = database.prepare('SELECT * FROM app_consent ORDER BY server, uri')
  const insert = database.prepare(
    `INSERT OR REPLACE INTO app_consent
       (identity, uri, server, digest, bytes, asked, granted, verdict, any_contents, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const remove = database.prepare('DELETE FROM app_consent WHERE identity = ? AND uri = ?')
  return {
    get(identity, uri) {
      const row = get.get(identity, uri)
      return row && toConsent(row)
    },
    list: () => list.all().map(toConsent),
    put({ identity, uri, server, digest, bytes, csp, permissions, granted, verdict, anyContents, at }) {
      const requestedText = JSON.stringify({ csp, permissions })
      const grantedText = JSON.stringify(granted)
      insert.run(
        identity,
        uri,
        server,
        digest,
        bytes,
        requestedText,
        grantedText,
        verdict,
        anyContents ? 1 : 0,
        at,
      )
    },
    remove: (identity, uri) => Number(remove.run(identity, uri).changes) === 1,
  }
}

function toConsent(row: Record<string, unknown>): AppConsent {
  const requested: Pick<AppConsent, 'csp' | 'permissions'> = readJson(String(row['asked']))
  return {
    ...requested,
    identity: String(row['identity']),
    uri: String(row['uri']),
    server: String(row['server']),
    digest: String(row['digest']),
    bytes: Number(row['bytes']),
    granted: readJson(String(row['granted'])),
    verdict: row['verdict'] === 'allow' ? 'allow' : 'deny',
    anyContents: row['any_contents'] === 1,
    at: String(row['at']),
  }
}
