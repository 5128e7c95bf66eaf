import type { DatabaseSync } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'

/** A folder at the time of the question. `real` is null if it was missing. */
export interface SeenFolder {
  uri: string
  real: string | null
}

/** The user's decision on the roots of one server, in one workspace. */
export interface RootsConsent {
  verdict: 'allow' | 'deny'
  /** The folders in the question. */
  offered: SeenFolder[]
  /** The folders the server may see. */
  agreed: SeenFolder[]
  by: string
  /** ISO 8601. */
  at: string
}

interface RootsAsked {
  at: string
  count: number
  era: 'session' | 'stateless'
}

export interface RootsTable {
  /** Folders added in a workspace, oldest first. */
  added(workspace: string): { uri: string; name: string | null }[]
  add(workspace: string, uri: string, name: string | undefined): void
  remove(workspace: string, uri: string): boolean
  excluded(workspace: string): string[]
  exclude(workspace: string, pattern: string): void
  include(workspace: string, pattern: string): boolean
  consent(identity: string, workspace: string): RootsConsent | undefined
  decide(identity: string, workspace: string, consent: RootsConsent): void
  forget(identity: string, workspace: string): boolean
  asked(identity: string): RootsAsked | undefined
  noteAsked(identity: string, era: RootsAsked['era'], at: string): void
}

export const rootsMigration = `
  CREATE TABLE roots_added (
    workspace TEXT NOT NULL,
    uri TEXT NOT NULL,
    name TEXT,
    PRIMARY KEY (workspace, uri)
  ) STRICT;
  CREATE TABLE roots_excluded (
    workspace TEXT NOT NULL,
    pattern TEXT NOT NULL,
    PRIMARY KEY (workspace, pattern)
  ) STRICT;
  CREATE TABLE roots_consent (
    identity TEXT NOT NULL,
    workspace TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'deny')),
    offered TEXT NOT NULL,
    agreed TEXT NOT NULL,
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (identity, workspace)
  ) STRICT;
  CREATE TABLE roots_asked (
    identity TEXT PRIMARY KEY,
    era TEXT NOT NULL CHECK (era IN ('session', 'stateless')),
    at TEXT NOT NULL,
    count INTEGER NOT NULL
  ) STRICT;
`

export function createRootsTable(database: DatabaseSync): RootsTable {
  const added = database.prepare('SELECT uri, name FROM roots_added WHERE workspace = ? ORDER BY rowid')
  const add = database.prepare('INSERT OR REPLACE INTO roots_added (workspace, uri, name) VALUES (?, ?, ?)')
  const remove = database.prepare('DELETE FROM roots_added WHERE workspace = ? AND uri = ?')
  const excluded = database.prepare('SELECT pattern FROM roots_excluded WHERE workspace = ? ORDER BY rowid')
  const exclude = database.prepare('INSERT OR IGNORE INTO roots_excluded (workspace, pattern) VALUES (?, ?)')
  const include = database.prepare('DELETE FROM roots_excluded WHERE workspace = ? AND pattern = ?')
  const consent = database.prepare('SELECT * FROM roots_consent WHERE identity = ? AND workspace = ?')
  const decide = database.prepare(
    'INSERT OR REPLACE INTO roots_consent (identity, workspace, verdict, offered, agreed, by, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const forget = database.prepare('DELETE FROM roots_consent WHERE identity = ? AND workspace = ?')
  const asked = database.prepare('SELECT era, at, count FROM roots_asked WHERE identity = ?')
  const noteAsked = database.prepare(
    'INSERT INTO roots_asked (identity, era, at, count) VALUES (?, ?, ?, 1) ON CONFLICT (identity) DO UPDATE SET era = excluded.era, at = excluded.at, count = count + 1',
  )
  return {
    added: (workspace) =>
      added.all(workspace).map(({ uri, name }) => ({
        uri: String(uri),
        name: name === null ? null : String(name),
      })),
    add(workspace, uri, name) {
      add.run(workspace, uri, name ?? null)
    },
    remove: (workspace, uri) => remove.run(workspace, uri).changes > 0,
    excluded: (workspace) => excluded.all(workspace).map(({ pattern }) => String(pattern)),
    exclude(workspace, pattern) {
      exclude.run(workspace, pattern)
    },
    include: (workspace, pattern) => include.run(workspace, pattern).changes > 0,
    consent(identity, workspace) {
      const row = consent.get(identity, workspace)
      if (row === undefined) return undefined
      return {
        verdict: row['verdict'] === 'allow' ? 'allow' : 'deny',
        offered: readJson(String(row['offered'])),
        agreed: readJson(String(row['agreed'])),
        by: String(row['by']),
        at: String(row['at']),
      }
    },
    decide(identity, workspace, { verdict, offered, agreed, by, at }) {
      decide.run(identity, workspace, verdict, JSON.stringify(offered), JSON.stringify(agreed), by, at)
    },
    forget: (identity, workspace) => forget.run(identity, workspace).changes > 0,
    asked(identity) {
      const row = asked.get(identity)
      if (row === undefined) return undefined
      const era = row['era'] === 'session' ? 'session' : 'stateless'
      return { era, at: String(row['at']), count: Number(row['count']) }
    },
    noteAsked(identity, era, at) {
      noteAsked.run(identity, era, at)
    },
  }
}
