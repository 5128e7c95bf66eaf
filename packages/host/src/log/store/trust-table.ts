import type { DatabaseSync } from 'node:sqlite'
import { inTransaction, readJson } from '@jackfield/sdk/internal'
import { isRecord, type JsonRecord } from '../../shared/json.ts'
import type { TrustItem } from '../../types/index.ts'

/** One version of one definition of a server. */
export interface DefinitionText {
  hash: string
  content: JsonRecord
  /** When it was first seen or accepted. ISO 8601. */
  at: string
  /** The revisions in which it was seen, which have different members. Undefined if unknown. */
  revisions?: readonly string[]
}

/** One definition of a server: the accepted version and the version last seen. */
export interface TrustRow extends TrustItem {
  agreed?: DefinitionText
  seen: DefinitionText
  /** The hash of a version that the user blocked. */
  blocked?: string
  listed: boolean
}

interface TrustedServer {
  identity: string
  /** Its name when last seen. */
  label: string
  at: string
}

/** The names in one list of a server, as shown to a host with the capabilities of `profile`. */
export interface ListKey {
  identity: string
  what: TrustItem['what']
  profile: string
}

/** Definitions of servers, by identity. */
export interface TrustTable {
  /** Changes when another program wrote to the store. */
  version(): number
  servers(): TrustedServer[]
  rows(identity: string): TrustRow[]
  /** The names last listed; undefined if the list was never seen with this profile. */
  names(key: ListKey): string[] | undefined
  /** Runs work in a transaction. */
  write(work: (writer: TrustWriter) => void): void
}

export interface TrustWriter {
  server(server: TrustedServer): void
  row(identity: string, row: TrustRow): void
  names(key: ListKey, names: readonly string[]): void
  remove(identity: string, item: TrustItem): void
  /** Deletes all rows of a server. */
  forget(identity: string): void
}

const kinds: readonly TrustItem['what'][] = ['instructions', 'tool', 'prompt', 'resource', 'template']

export function createTrustTable(database: DatabaseSync, version: () => number): TrustTable {
  const servers = database.prepare('SELECT identity, label, at FROM trust_servers ORDER BY at, label')
  const rows = database.prepare('SELECT * FROM trust_items WHERE identity = ?')
  const names = database.prepare(
    'SELECT names FROM trust_lists WHERE identity = ? AND what = ? AND profile = ?',
  )
  const putServer = database.prepare(
    `INSERT INTO trust_servers (identity, label, at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET label = excluded.label`,
  )
  const putRow = database.prepare(
    `INSERT OR REPLACE INTO trust_items (identity, what, name, agreed, agreed_says, agreed_at,
       seen, seen_says, seen_at, blocked, listed, agreed_revisions, seen_revisions)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const putNames = database.prepare(
    'INSERT OR REPLACE INTO trust_lists (identity, what, profile, names) VALUES (?, ?, ?, ?)',
  )
  const remove = database.prepare('DELETE FROM trust_items WHERE identity = ? AND what = ? AND name = ?')
  const forgetStatements = ['trust_items', 'trust_lists', 'trust_servers'].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE identity = ?`),
  )
  const writer: TrustWriter = {
    server: ({ identity, label, at }) => putServer.run(identity, label, at),
    row: (identity, { what, name, agreed, seen, blocked, listed }) => {
      // Equal accepted and current versions are stored once.
      const differs = agreed !== undefined && agreed.hash !== seen.hash
      putRow.run(
        identity,
        what,
        name,
        agreed?.hash ?? null,
        differs ? JSON.stringify(agreed.content) : null,
        agreed?.at ?? null,
        seen.hash,
        JSON.stringify(seen.content),
        seen.at,
        blocked ?? null,
        listed ? 1 : 0,
        agreed?.revisions?.join(' ') ?? null,
        seen.revisions?.join(' ') ?? null,
      )
    },
    names: ({ identity, what, profile }, listed) =>
      putNames.run(identity, what, profile, JSON.stringify(listed)),
    remove: (identity, { what, name }) => remove.run(identity, what, name),
    forget: (identity) => {
      for (const statement of forgetStatements) statement.run(identity)
    },
  }
  return {
    version,
    servers: () =>
      servers.all().map((row) => ({
        identity: String(row['identity']),
        label: String(row['label']),
        at: String(row['at']),
      })),
    rows: (identity) => rows.all(identity).flatMap(toRow),
    names: ({ identity, what, profile }) => {
      const row = names.get(identity, what, profile)
      const listed: unknown = row === undefined ? undefined : readJson(String(row['names']))
      return Array.isArray(listed) ? listed.map(String) : undefined
    },
    write: (work) => inTransaction(database, () => work(writer)),
  }
}

function toRow(row: Record<string, unknown>): TrustRow[] {
  const what = kinds.find((part) => part === row['what'])
  if (what === undefined) return []
  const seen = definitionText(row['seen'], row['seen_says'], row['seen_at'], row['seen_revisions'])
  const agreed =
    row['agreed'] === null
      ? undefined
      : definitionText(
          row['agreed'],
          row['agreed_says'] ?? row['seen_says'],
          row['agreed_at'],
          row['agreed_revisions'],
        )
  return [
    {
      what,
      name: String(row['name']),
      seen,
      listed: row['listed'] === 1,
      ...(agreed !== undefined && { agreed }),
      ...(typeof row['blocked'] === 'string' && { blocked: row['blocked'] }),
    },
  ]
}

function definitionText(hash: unknown, content: unknown, at: unknown, revisions: unknown): DefinitionText {
  const value: unknown = readJson(String(content))
  return {
    hash: String(hash),
    content: isRecord(value) ? value : {},
    at: String(at),
    ...(typeof revisions === 'string' && { revisions: revisions.split(' ') }),
  }
}

export const trustRevisionsMigration = `
  ALTER TABLE trust_items ADD COLUMN agreed_revisions TEXT;
  ALTER TABLE trust_items ADD COLUMN seen_revisions TEXT;
`

export const trustMigration = `
  CREATE TABLE trust_servers (
    identity TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE trust_lists (
    identity TEXT NOT NULL,
    what TEXT NOT NULL,
    profile TEXT NOT NULL,
    names TEXT NOT NULL,
    PRIMARY KEY (identity, what, profile)
  ) STRICT;
  CREATE TABLE trust_items (
    identity TEXT NOT NULL,
    what TEXT NOT NULL,
    name TEXT NOT NULL,
    agreed TEXT,
    agreed_says TEXT,
    agreed_at TEXT,
    seen TEXT NOT NULL,
    seen_says TEXT NOT NULL,
    seen_at TEXT NOT NULL,
    blocked TEXT,
    listed INTEGER NOT NULL,
    PRIMARY KEY (identity, what, name)
  ) STRICT;
`
