import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'

/** Statements that bring a store from one version to the next; the store's `user_version` counts those done. */
const migrations: readonly string[] = [
  `
  CREATE TABLE activity (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    server TEXT,
    summary TEXT NOT NULL,
    cause INTEGER,
    detail TEXT NOT NULL
  ) STRICT;
  CREATE INDEX activity_server ON activity (server, id);
  CREATE INDEX activity_kind ON activity (kind, id);
  CREATE TABLE activity_end (
    activity INTEGER PRIMARY KEY REFERENCES activity (id),
    outcome TEXT NOT NULL,
    duration_ms REAL,
    detail TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER activity_kept BEFORE UPDATE ON activity BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER activity_stays BEFORE DELETE ON activity BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER end_kept BEFORE UPDATE ON activity_end BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER end_stays BEFORE DELETE ON activity_end BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TABLE grants (
    identity TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'deny')),
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (identity, tool, definition)
  ) STRICT;
  `,
]

/** The store cannot be opened: the message says which and why. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
}

/**
 * Opens the SQLite file, or memory for `:memory:`, and brings its schema up to date. Only its owner may read a new file.
 * @throws StoreError
 */
export function openDatabase(file: string): DatabaseSync {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (sqlite === undefined) {
    throw new StoreError(
      `The host keeps its activity in node:sqlite, which Node ${process.versions.node} lacks. Run Node 22.13 or newer.`,
    )
  }
  try {
    if (file !== ':memory:') {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      closeSync(openSync(file, 'a', 0o600))
    }
    const database = new sqlite.DatabaseSync(file)
    try {
      database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;')
      migrate(database)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw new StoreError(
      `Cannot use ${file} as the store: ${error instanceof Error ? error.message : String(error)}. Name another file, or move this one away.`,
      { cause: error },
    )
  }
}

function migrate(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
    if (version > migrations.length) {
      throw new Error(
        `a newer Jackfield wrote it (store version ${version}, this one knows ${migrations.length})`,
      )
    }
    for (const statements of migrations.slice(version)) database.exec(statements)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}
