import type { DatabaseSync } from 'node:sqlite'

/** One definition of one tool of one server, by what they are and not by what they are called. */
export interface GrantKey {
  identity: string
  tool: string
  definition: string
}

export interface StoredGrant {
  key: GrantKey
  verdict: 'allow' | 'deny'
  label: string
  /** ISO 8601. */
  at: string
}

/** Lasting answers about tools. */
export interface GrantTable {
  find(key: GrantKey): 'allow' | 'deny' | undefined
  /** `label` names the server for a person who looks through the grants. */
  put(key: GrantKey, verdict: 'allow' | 'deny', label: string): void
  list(): StoredGrant[]
  remove(key: GrantKey): void
}

export function createGrantTable(database: DatabaseSync): GrantTable {
  const find = database.prepare(
    'SELECT verdict FROM grants WHERE identity = ? AND tool = ? AND definition = ?',
  )
  const put = database.prepare(
    `INSERT INTO grants (identity, tool, definition, verdict, label, at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET verdict = excluded.verdict, label = excluded.label, at = excluded.at`,
  )
  const every = database.prepare('SELECT identity, tool, definition, verdict, label, at FROM grants')
  const remove = database.prepare('DELETE FROM grants WHERE identity = ? AND tool = ? AND definition = ?')
  return {
    find(key) {
      const verdict = find.get(key.identity, key.tool, key.definition)?.['verdict']
      return verdict === 'allow' || verdict === 'deny' ? verdict : undefined
    },
    put(key, verdict, label) {
      put.run(key.identity, key.tool, key.definition, verdict, label, new Date().toISOString())
    },
    list: () =>
      every.all().map((row) => ({
        key: {
          identity: String(row['identity']),
          tool: String(row['tool']),
          definition: String(row['definition']),
        },
        verdict: row['verdict'] === 'allow' ? 'allow' : 'deny',
        label: String(row['label']),
        at: String(row['at']),
      })),
    remove(key) {
      remove.run(key.identity, key.tool, key.definition)
    },
  }
}
