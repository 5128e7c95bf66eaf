import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { inTransaction, useWriteAheadLog } from '@jackfield/sdk/internal'
import { readErrorReason } from '../../shared/files.ts'
import { reasonOf } from '../../shared/text.ts'
import { formMigration } from './answer-tables.ts'
import { appMigration } from './app-table.ts'
import { atomically } from './chain.ts'
import { conversationMigration } from './conversation-table.ts'
import { choiceReasonMigration, sealedMigration, startMigration } from './inbox-tables.ts'
import { logQueueMigration, rowIdsMigration } from './log-writer.ts'
import { runningFolder } from './owners.ts'
import { createTextIndex, hasTextIndex, resourceTextMigration } from './resource-text-table.ts'
import { resultMigration } from './result-table.ts'
import { rootsMigration } from './roots-table.ts'
import { samplingMigration } from './sampling-table.ts'
import { consentMigration, eraMigration, identityMigration, manifestMigration } from './server-tables.ts'
import { advice, faultOf, StoreError, type StoreFault } from './store-error.ts'
import { taskMigration } from './task-table.ts'
import { traceFactsMigration, traceMigration } from './trace-table.ts'
import { trustMigration, trustRevisionsMigration } from './trust-table.ts'

/** Migrations; the store's `user_version` is the number of those applied. */
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
  `
  CREATE TABLE ends (
    activity INTEGER PRIMARY KEY,
    outcome TEXT NOT NULL,
    duration_ms REAL,
    detail TEXT NOT NULL
  ) STRICT;
  INSERT INTO ends SELECT activity, outcome, duration_ms, detail FROM activity_end;
  DROP TABLE activity_end;
  ALTER TABLE ends RENAME TO activity_end;
  CREATE TABLE activity_chain (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('row', 'end', 'prune')),
    activity INTEGER NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (activity, kind)
  ) STRICT;
  CREATE TABLE activity_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL,
    hash TEXT NOT NULL,
    pruned INTEGER NOT NULL
  ) STRICT;
  INSERT INTO activity_head VALUES (1, 0, '', 0);
  CREATE TABLE activity_prune (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    position INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at TEXT NOT NULL,
    before TEXT NOT NULL,
    rows INTEGER NOT NULL
  ) STRICT;
  DROP TRIGGER activity_stays;
  CREATE TRIGGER activity_stays BEFORE DELETE ON activity WHEN NOT EXISTS (
    SELECT 1 FROM activity_chain c JOIN activity_head h
    WHERE c.kind = 'row' AND c.activity = OLD.id AND c.position <= h.pruned
  ) BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER end_kept BEFORE UPDATE ON activity_end BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER end_stays BEFORE DELETE ON activity_end WHEN NOT EXISTS (
    SELECT 1 FROM activity_chain c JOIN activity_head h
    WHERE c.kind = 'end' AND c.activity = OLD.activity AND c.position <= h.pruned
  ) BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER chain_kept BEFORE UPDATE ON activity_chain BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TRIGGER chain_stays BEFORE DELETE ON activity_chain WHEN OLD.position > (SELECT pruned FROM activity_head)
  BEGIN SELECT RAISE(ABORT, 'activity is append-only'); END;
  CREATE TABLE remembered (
    identity TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('workspace', 'always')),
    within TEXT NOT NULL,
    arguments TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'deny')),
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (identity, tool, definition, scope, within, arguments)
  ) STRICT;
  INSERT INTO remembered SELECT identity, tool, definition, 'always', '', '[]', verdict, label, at FROM grants;
  DROP TABLE grants;
  CREATE TABLE labels_seen (
    conversation TEXT NOT NULL,
    label TEXT NOT NULL,
    server TEXT NOT NULL,
    PRIMARY KEY (conversation, label, server)
  ) STRICT;
  `,
  samplingMigration,
  `
  CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    server TEXT NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'withdrawn', 'lost')),
    at TEXT NOT NULL,
    activity INTEGER,
    owner TEXT,
    call INTEGER,
    round INTEGER,
    answer TEXT,
    answered_by TEXT,
    answered_at TEXT,
    reason TEXT
  ) STRICT;
  CREATE INDEX inbox_state ON inbox (state, seq);
  CREATE INDEX inbox_call ON inbox (call, round) WHERE call IS NOT NULL;
  CREATE TABLE parked_call (
    call INTEGER PRIMARY KEY,
    owner TEXT,
    identity TEXT NOT NULL,
    request TEXT NOT NULL,
    round INTEGER NOT NULL,
    asked TEXT NOT NULL,
    sent INTEGER NOT NULL CHECK (sent IN (0, 1)),
    at TEXT NOT NULL
  ) STRICT;
  `,
  trustMigration,
  consentMigration,
  `${eraMigration}${manifestMigration}${resultMigration}`,
  conversationMigration,
  traceMigration,
  formMigration,
  rootsMigration,
  `${sealedMigration}${identityMigration}${traceFactsMigration}`,
  resourceTextMigration,
  trustRevisionsMigration,
  taskMigration,
  logQueueMigration,
  appMigration,
  rowIdsMigration,
  startMigration,
  choiceReasonMigration,
]

/** Milliseconds for which statements wait for other programs. */
const busyMs = 5_000

/**
 * Opens the SQLite file, or memory for `:memory:`, and migrates its schema. Its mode is set so that only its owner may read it. A
 * file that cannot be opened is never replaced.
 * @throws StoreError
 */
export function openDatabase(file: string): DatabaseSync {
  const { DatabaseSync } = sqlite()
  try {
    if (file !== ':memory:') {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      closeSync(openSync(file, 'a', 0o600))
      restrictToOwner(file)
    }
    const database = new DatabaseSync(file)
    try {
      database.exec(`PRAGMA busy_timeout = ${busyMs}`)
      useWriteAheadLog(database)
      database.exec('PRAGMA synchronous = NORMAL')
      const isNew = migrate(database)
      // In one transaction, so that no other program removes what it has listed.
      if (!isNew) atomically(database, () => readRoots(database))
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    const fault = faultOf(error)
    throw new StoreError(
      `Cannot use ${file} as the store: ${readErrorReason(error)}. ${advice[fault]}`,
      fault,
      {
        cause: error,
      },
    )
  }
}

/** A number that changes when another connection wrote to the store. It is read once per synchronous run. */
export function createStoreVersion(database: DatabaseSync): () => number {
  const read = database.prepare('PRAGMA data_version')
  let version: number | undefined
  const forget = (): void => {
    version = undefined
  }
  return () => {
    if (version === undefined) {
      version = Number(read.get()?.['data_version'])
      queueMicrotask(forget)
    }
    return version
  }
}

/**
 * Renames a damaged store and the files SQLite keeps beside it, so that the next host creates a new one. Nothing is deleted.
 * Returns the new name.
 * @throws StoreError if it is not damaged, is in use, or cannot be renamed
 */
export function setAsideStore(file: string): string {
  const fault = checkPages(file)
  if (fault !== 'damaged') {
    throw new StoreError(
      `${file} was left as it is: ${fault === undefined ? 'it is not damaged' : 'it cannot be examined now'}.${fault === undefined ? '' : ` ${advice[fault]}`}`,
      fault ?? 'other',
    )
  }
  const newName = `${file}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`
  try {
    for (const suffix of ['-wal', '-shm', '']) {
      if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${newName}${suffix}`)
    }
  } catch (error) {
    const renameFault = faultOf(error)
    throw new StoreError(
      `${file} cannot be renamed: ${reasonOf(error)}. ${advice[renameFault]}`,
      renameFault,
      {
        cause: error,
      },
    )
  }
  return newName
}

/** Checks every page of a store read-only; undefined if it is intact. */
function checkPages(file: string): StoreFault | undefined {
  const { DatabaseSync } = sqlite()
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      database.exec(`PRAGMA busy_timeout = ${busyMs}`)
      const rows = database.prepare('PRAGMA quick_check(1)').all()
      return rows.every((row) => row['quick_check'] === 'ok') ? undefined : 'damaged'
    } finally {
      database.close()
    }
  } catch (error) {
    return faultOf(error)
  }
}

function sqlite(): typeof import('node:sqlite') {
  const sqliteModule = process.getBuiltinModule('node:sqlite')
  if (sqliteModule !== undefined) return sqliteModule
  throw new StoreError(
    `The host stores its activity with node:sqlite, which Node ${process.versions.node} does not have. Use Node 22.13 or newer.`,
    'other',
  )
}

/** The files that SQLite and the host keep beside the store get its mode, and may exist already. */
function restrictToOwner(file: string): void {
  if (process.platform === 'win32') return
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats !== undefined && (stats.mode & 0o077) !== 0) chmodSync(path, 0o600)
  }
  const running = runningFolder(file)
  if (existsSync(running)) chmodSync(running, 0o700)
}

/**
 * Reads the first page of every table and index: otherwise a damaged one would be noticed only on use, possibly after a call was
 * made.
 */
function readRoots(database: DatabaseSync): void {
  // Without those of a full-text index, whose module SQLite may lack.
  const tables = "pragma_table_list t WHERE t.schema = 'main' AND t.type = 'table'"
  const roots = database
    .prepare(
      `SELECT t.name AS tab, NULL AS ind, NULL AS col FROM ${tables}
       UNION ALL SELECT t.name, i.name, c.name FROM pragma_index_list(t.name) i, pragma_index_info(i.name) c, ${tables}
         AND i.partial = 0 AND c.seqno = 0 AND c.name IS NOT NULL`,
    )
    .all()
  const quoted = (name: unknown): string => `"${String(name).replaceAll('"', '""')}"`
  const reads = roots.map(({ tab, ind, col }) =>
    ind === null
      ? `(SELECT 1 FROM ${quoted(tab)} NOT INDEXED LIMIT 1)`
      : `(SELECT ${quoted(col)} FROM ${quoted(tab)} INDEXED BY ${quoted(ind)} ORDER BY ${quoted(col)} LIMIT 1)`,
  )
  // One statement: preparing one for each root would take most of the time.
  database.prepare(`SELECT ${reads.join(', ')}`).get()
}

/** Returns whether the store is new: it had no schema before. */
function migrate(database: DatabaseSync): boolean {
  // Opening a current store must not wait for a transaction of another program.
  if (versionOf(database) === migrations.length && hasTextIndex(database)) return false
  return inTransaction(database, () => {
    const version = versionOf(database)
    if (version > migrations.length) {
      throw new StoreError(
        `a newer Jackfield wrote it (store version ${version}, this one knows ${migrations.length})`,
        'newer',
      )
    }
    for (const statements of migrations.slice(version)) database.exec(statements)
    createTextIndex(database)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
    return version === 0
  })
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}
