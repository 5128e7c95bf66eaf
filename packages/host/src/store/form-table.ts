import type { DatabaseSync } from 'node:sqlite'
import { readJson } from '@jackfield/sdk/internal'

export const formMigration: string = `
  CREATE TABLE form_answers (
    identity TEXT NOT NULL,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (identity, field)
  ) STRICT;
`

const keptPerServer = 500

/** Values of forms' fields that the person let be remembered, by what the server is. */
export interface FormTable {
  /** The value as it was sent; undefined where there is none. */
  get(identity: string, field: string): unknown
  /** Keeps a value; the oldest of the server's are dropped beyond 500. */
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
       SELECT field FROM form_answers WHERE identity = ?1 ORDER BY at DESC, rowid DESC LIMIT ${keptPerServer}
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
