import type { DatabaseSync } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { ArgumentTest, GrantScope } from '../types/index.ts'

/** One definition of one tool of one server, by what they are and not by what they are called. */
export interface GrantKey {
  identity: string
  tool: string
  definition: string
}

/** An answer about a tool. */
export interface StoredGrant {
  key: GrantKey
  verdict: 'allow' | 'deny'
  scope: GrantScope
  /** The conversation or the workspace folder that it holds in; empty where it holds everywhere. */
  within: string
  /** Empty: any arguments. */
  arguments: readonly ArgumentTest[]
  /** Names the server for a person who looks through the answers. */
  label: string
  /** ISO 8601. */
  at: string
}

/** Answers about tools that outlive the host. One of the same key, scope, place and arguments replaces another. */
export interface GrantTable {
  find(key: GrantKey): StoredGrant[]
  put(grant: StoredGrant): void
  list(): StoredGrant[]
  remove(grant: StoredGrant): void
}

export function createGrantTable(database: DatabaseSync): GrantTable {
  const find = database.prepare('SELECT * FROM remembered WHERE identity = ? AND tool = ? AND definition = ?')
  const put = database.prepare(
    `INSERT INTO remembered (identity, tool, definition, scope, within, arguments, verdict, label, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET verdict = excluded.verdict, label = excluded.label, at = excluded.at`,
  )
  const every = database.prepare('SELECT * FROM remembered')
  const remove = database.prepare(
    `DELETE FROM remembered
     WHERE identity = ? AND tool = ? AND definition = ? AND scope = ? AND within = ? AND arguments = ?`,
  )
  const place = ({ key, scope, within, arguments: tests }: StoredGrant): string[] => [
    key.identity,
    key.tool,
    key.definition,
    scope,
    within,
    JSON.stringify(tests),
  ]
  return {
    find: (key) => find.all(key.identity, key.tool, key.definition).map(toGrant),
    put(grant) {
      put.run(...place(grant), grant.verdict, grant.label, grant.at)
    },
    list: () => every.all().map(toGrant),
    remove(grant) {
      remove.run(...place(grant))
    },
  }
}

function toGrant(row: Record<string, unknown>): StoredGrant {
  return {
    key: {
      identity: String(row['identity']),
      tool: String(row['tool']),
      definition: String(row['definition']),
    },
    verdict: row['verdict'] === 'allow' ? 'allow' : 'deny',
    scope: row['scope'] === 'always' ? 'always' : 'workspace',
    within: String(row['within']),
    arguments: readJson(String(row['arguments'])),
    label: String(row['label']),
    at: String(row['at']),
  }
}
