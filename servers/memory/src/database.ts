import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { inTransaction, useWriteAheadLog } from '@jackfield/sdk/internal'
import { limits } from './types.ts'

/** The schema of the SQLite file, and access to it. Several processes may use one file. */

const schemaVersion = 1

const schema = `
  CREATE TABLE graphs (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    conversation TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    UNIQUE (owner, conversation)
  ) STRICT;
  CREATE TABLE entities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    graph INTEGER NOT NULL REFERENCES graphs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    UNIQUE (graph, name)
  ) STRICT;
  CREATE INDEX entities_by_change ON entities (graph, changed_at);
  CREATE TABLE observations (
    id INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    UNIQUE (entity, text)
  ) STRICT;
  CREATE TABLE relations (
    id INTEGER PRIMARY KEY,
    graph INTEGER NOT NULL REFERENCES graphs (id) ON DELETE CASCADE,
    source INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    UNIQUE (source, target, type)
  ) STRICT;
  CREATE INDEX relations_by_graph ON relations (graph);
  CREATE INDEX relations_by_target ON relations (target);
  CREATE TABLE terms (
    graph INTEGER NOT NULL REFERENCES graphs (id) ON DELETE CASCADE,
    term TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (graph, term, entity)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX terms_by_entity ON terms (entity);
  CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    conversation TEXT NOT NULL,
    name TEXT NOT NULL,
    listed INTEGER NOT NULL
  ) STRICT;
`

/** A row of a query. */
export type Row = Record<string, SQLOutputValue>

/**
 * Opens the database, and creates its tables on first use.
 * @param file a path, or `:memory:`
 * @throws Error if the file is not a database of this server, or is of a newer version
 */
export function openDatabase(file: string): DatabaseSync {
  if (file !== ':memory:') {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    // Readable for its owner only; SQLite gives the files next to it the same mode.
    closeSync(openSync(file, 'a', 0o600))
  }
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    useWriteAheadLog(database)
    database.exec('PRAGMA synchronous = NORMAL')
    database.exec('PRAGMA foreign_keys = ON')
    const pageSize = integer(database.prepare('PRAGMA page_size').get(), 'page_size')
    database.exec(`PRAGMA max_page_count = ${Math.floor(limits.fileBytes / pageSize)}`)
    inTransaction(database, () => {
      const found = integer(database.prepare('PRAGMA user_version').get(), 'user_version')
      if (found > schemaVersion) {
        throw new Error(
          `${file} was written by a newer memory server (layout ${found}; this version reads ${schemaVersion}). Update the server or choose another file.`,
        )
      }
      const tables = integer(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get(), 'n')
      if (found === 0 && tables > 0) {
        throw new Error(
          `${file} is not a memory database: it contains tables of another program. Choose another file.`,
        )
      }
      if (found === 0) {
        database.exec(schema)
        database.exec(`PRAGMA user_version = ${schemaVersion}`)
      }
    })
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/** The statements of a database, each prepared once. */
export class Statements {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** @param sql one of a fixed set of texts */
  prepare(sql: string): StatementSync {
    const statement = this.#prepared.get(sql) ?? this.#database.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}

/** A column of text. */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new TypeError(`Column ${column} is not text`)
  return value
}

/** A column of integers; 0 if there is no row. */
export function integer(row: Row | undefined, column: string): number {
  return Number(row?.[column] ?? 0)
}
