import type { DatabaseSync } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'
import type { ArgumentTest, GrantScope } from '../../types/index.ts'

/** One definition of one tool of one server, by identity and fingerprint. */
export interface GrantKey {
  identity: string
  tool: string
  definition: string
}

/** A grant for a tool. */
export interface StoredGrant {
  key: GrantKey
  verdict: 'allow' | 'deny'
  scope: GrantScope
  /** The conversation or workspace folder in which it is valid; empty for everywhere. */
  within: string
  /** Empty: any arguments. */
  arguments: readonly ArgumentTest[]
  /** The server's name for lists of grants. */
  label: string
  /** ISO 8601. */
  at: string
}

/** Grants that outlive the host. One with the same key, scope, place and arguments replaces another. */
export interface GrantTable {
  find(key: GrantKey): StoredGrant[]
  put(grant: StoredGrant): void
  list(): StoredGrant[]
  remove(grant: StoredGrant): void
}

/** `version` changes when another program wrote to the store. */
export function createGrantTable(database: DatabaseSync, version: () => number): GrantTable {
  const insert = database.prepare(
    `INSERT INTO remembered (identity, tool, definition, scope, within, arguments, verdict, label, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET verdict = excluded.verdict, label = excluded.label, at = excluded.at`,
  )
  const selectAll = database.prepare('SELECT * FROM remembered')
  const remove = database.prepare(
    `DELETE FROM remembered
     WHERE identity = ? AND tool = ? AND definition = ? AND scope = ? AND within = ? AND arguments = ?`,
  )
  const keyValues = ({ key, scope, within, arguments: tests }: StoredGrant): string[] => [
    key.identity,
    key.tool,
    key.definition,
    scope,
    within,
    JSON.stringify(tests),
  ]
  /** Every grant by its key, cached until the next write. */
  let grantsByKey: Map<string, StoredGrant[]> | undefined
  let knownVersion: number | undefined
  const byKey = (): Map<string, StoredGrant[]> => {
    const now = version()
    if (grantsByKey === undefined || now !== knownVersion)
      grantsByKey = Map.groupBy(selectAll.all().map(toGrant), ({ key }) => textOf(key))
    knownVersion = now
    return grantsByKey
  }
  return {
    find(key) {
      const grants = byKey()
      return grants.size === 0 ? [] : (grants.get(textOf(key)) ?? [])
    },
    put(grant) {
      grantsByKey = undefined
      insert.run(...keyValues(grant), grant.verdict, grant.label, grant.at)
    },
    list: () => selectAll.all().map(toGrant),
    remove(grant) {
      grantsByKey = undefined
      remove.run(...keyValues(grant))
    },
  }
}

function textOf({ identity, tool, definition }: GrantKey): string {
  return JSON.stringify([identity, tool, definition])
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

/** A label of data that a conversation saw, and the server of the data. */
export interface SeenLabel {
  label: string
  server: string
}

/** The labels of data that each conversation saw, so that a resumed one still has them. */
export interface LabelTable {
  add(conversation: string, seen: SeenLabel): void
  of(conversation: string): readonly SeenLabel[]
}

/** Conversations whose labels are cached. */
const maxCached = 256

/** `version` changes when another program wrote to the store. */
export function createLabelTable(database: DatabaseSync, version: () => number): LabelTable {
  const add = database.prepare(
    'INSERT INTO labels_seen (conversation, label, server) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const select = database.prepare(
    'SELECT label, server FROM labels_seen WHERE conversation = ? ORDER BY label, server',
  )
  /** The labels of each conversation, cached until the next write: every call asks for them. */
  const known = new Map<string, SeenLabel[]>()
  let knownVersion: number | undefined
  const of = (conversation: string): SeenLabel[] => {
    const now = version()
    if (now !== knownVersion || known.size >= maxCached) known.clear()
    knownVersion = now
    const cached = known.get(conversation)
    if (cached !== undefined) return cached
    const seen = select
      .all(conversation)
      .map((row) => ({ label: String(row['label']), server: String(row['server']) }))
    known.set(conversation, seen)
    return seen
  }
  return {
    add(conversation, { label, server }) {
      if (of(conversation).some((seen) => seen.label === label && seen.server === server)) return
      known.delete(conversation)
      add.run(conversation, label, server)
    },
    of,
  }
}

export const formMigration: string = `
  CREATE TABLE form_answers (
    identity TEXT NOT NULL,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (identity, field)
  ) STRICT;
`

const maxStoredPerServer = 500

/** Form values that the user allowed to be remembered, by identity of the server. */
export interface FormTable {
  /** The value as it was sent; undefined if there is none. */
  get(identity: string, field: string): unknown
  /** Stores a value; beyond 500, the oldest of the server are removed. */
  set(identity: string, field: string, value: unknown): void
  forget(identity: string, field: string): void
}

export function createFormTable(database: DatabaseSync): FormTable {
  const get = database.prepare('SELECT value FROM form_answers WHERE identity = ? AND field = ?')
  const set = database.prepare(
    `INSERT INTO form_answers (identity, field, value, at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at`,
  )
  const trim = database.prepare(
    `DELETE FROM form_answers WHERE identity = ?1 AND field NOT IN (
       SELECT field FROM form_answers WHERE identity = ?1 ORDER BY at DESC, rowid DESC LIMIT ${maxStoredPerServer}
     )`,
  )
  const forget = database.prepare('DELETE FROM form_answers WHERE identity = ? AND field = ?')
  return {
    get(identity, field) {
      const row = get.get(identity, field)
      return row === undefined ? undefined : readJson(String(row['value']))
    },
    set(identity, field, value) {
      set.run(identity, field, JSON.stringify(value), new Date().toISOString())
      trim.run(identity)
    },
    forget(identity, field) {
      forget.run(identity, field)
    },
  }
}
