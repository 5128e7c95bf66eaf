import type { DatabaseSync } from 'node:sqlite'

/** What servers with variables in their command or address were when those were last looked up. */
export interface IdentityTable {
  get(template: string): string | undefined
  /** Keeps one; the oldest are dropped beyond 1 000. */
  put(template: string, identity: string): void
}

export const identityMigration: string = `
  CREATE TABLE identities (
    template TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
`

const keptIdentities = 1_000

export function createIdentityTable(database: DatabaseSync, now: () => number = Date.now): IdentityTable {
  const get = database.prepare('SELECT identity FROM identities WHERE template = ?')
  const put = database.prepare('INSERT OR REPLACE INTO identities (template, identity, at) VALUES (?, ?, ?)')
  const trim = database.prepare(
    `DELETE FROM identities WHERE template NOT IN (
       SELECT template FROM identities ORDER BY at DESC, rowid DESC LIMIT ${keptIdentities}
     )`,
  )
  return {
    get(template) {
      const identity = get.get(template)?.['identity']
      return typeof identity === 'string' ? identity : undefined
    },
    put(template, identity) {
      put.run(template, identity, now())
      trim.run()
    },
  }
}
