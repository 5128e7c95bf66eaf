import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { reasonOf } from '../../shared/text.ts'
import { atomically } from './chain.ts'

/** A resource of one server, as read by one principal. */
interface ResourceTextKey {
  identity: string
  principal: string
  uri: string
}

export interface NewResourceText extends ResourceTextKey {
  mimeType: string | null
  text: string
  /** The words of the URI and of the text, normalized and separated by spaces: what queries match. */
  uriWords: string
  textWords: string
  /** When it was read, ISO 8601. */
  at: string
}

/** A stored text that matches a query. */
export interface ResourceTextRow extends ResourceTextKey {
  seq: number
  mimeType: string | null
  at: string
  /** Relevance by BM25: a higher number is a better match. */
  relevance: number
}

/** The texts of resources that were read, with a full-text index and a size limit. */
export interface ResourceTextTable {
  /** Why texts are neither stored nor found, in a sentence; undefined if they are. */
  readonly unavailable: string | undefined
  /** Stores a text, replacing the previous one, and removes the oldest beyond the limit. */
  put(text: NewResourceText): void
  /** Matching rows of these phrases (normalized words separated by spaces; the last word may be a prefix). */
  match(phrases: readonly string[]): ResourceTextRow[]
  /** The rows that one phrase matches, by `seq`. */
  matching(phrase: string): Set<number>
  text(seq: number): string | undefined
  /** Removes what was read before a time, ISO 8601. */
  prune(before: string): void
  /** Removes all texts of a server, under all identities. */
  forget(identity: string): void
}

export const resourceTextMigration = `
  CREATE TABLE resource_text (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL,
    principal TEXT NOT NULL,
    uri TEXT NOT NULL,
    mime_type TEXT,
    bytes INTEGER NOT NULL,
    at TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (identity, principal, uri)
  ) STRICT;
  CREATE INDEX resource_text_at ON resource_text (at, seq, bytes);
`

/**
 * Creates the index if it is missing and this SQLite has FTS5. It is no part of a migration, since a store must open without FTS5
 * too. It is contentless; words are normalized and separated by spaces only.
 */
export function createTextIndex(database: DatabaseSync): void {
  try {
    database.exec(`
      CREATE VIRTUAL TABLE IF NOT EXISTS resource_words
      USING fts5(uri, text, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '2 3')
    `)
  } catch (error) {
    if (!isMissingIndexError(error)) throw error
  }
}

/** Whether the store has the index, which a SQLite without FTS5 cannot create. */
export function hasTextIndex(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'resource_words'").get() !== undefined
}

function isMissingIndexError(error: unknown): boolean {
  return /no such (?:module|table)/i.test(reasonOf(error))
}

interface ResourceTextBounds {
  /** UTF-8 bytes of all texts together. */
  bytes: number
  texts: number
  ageMs: number
}

const dayMs = 86_400_000
export const resourceTextBounds: ResourceTextBounds = { bytes: 67_108_864, texts: 5_000, ageMs: 90 * dayMs }
/** For a host without a file. */
export const memoryResourceTextBounds: ResourceTextBounds = { ...resourceTextBounds, bytes: 8_388_608 }

/** Weight of a match in the URI, relative to one in the text. */
const uriWeight = 4
/** Maximum rows of one query. */
const maxMatches = 1_000

export function createResourceTextTable(
  database: DatabaseSync,
  bounds: ResourceTextBounds = resourceTextBounds,
  now: () => number = Date.now,
): ResourceTextTable {
  const removeBefore = database.prepare('DELETE FROM resource_text WHERE at < ?')
  const removeServer = database.prepare('DELETE FROM resource_text WHERE identity = ?')
  const text = database.prepare('SELECT text FROM resource_text WHERE seq = ?')
  const index = openIndex(database)
  const oldest = (): string => new Date(now() - bounds.ageMs).toISOString()
  /** Removes rows, and their words from the index. */
  const remove = (statement: StatementSync, value: string): void =>
    atomically(database, () => {
      if (statement.run(value).changes > 0) index?.compact()
    })
  return {
    unavailable: index === undefined ? withoutFts5 : undefined,
    put(newText) {
      if (index === undefined) return
      atomically(database, () => {
        index.write(newText)
        index.trim(oldest(), bounds)
      })
    },
    match: (phrases) => index?.match(phrases, oldest()) ?? [],
    matching: (phrase) => index?.matching(phrase) ?? new Set(),
    text(seq) {
      const stored = text.get(seq)?.['text']
      return typeof stored === 'string' ? stored : undefined
    },
    prune: (before) => remove(removeBefore, before),
    forget: (identity) => remove(removeServer, identity),
  }
}

const withoutFts5 = `the SQLite of this Node (${process.versions.node}) was built without FTS5, its full-text search`

/** The full-text index; undefined if SQLite has none. */
function openIndex(database: DatabaseSync) {
  try {
    // Without the module, an index created by another Node exists and cannot be read.
    database.exec('SELECT rowid FROM resource_words LIMIT 0')
  } catch (error) {
    if (isMissingIndexError(error)) return undefined
    throw error
  }
  const selectExisting = database.prepare(
    'SELECT seq, text = ? AS same FROM resource_text WHERE identity = ? AND principal = ? AND uri = ?',
  )
  const touch = database.prepare('UPDATE resource_text SET at = ?, mime_type = ? WHERE seq = ?')
  const drop = database.prepare('DELETE FROM resource_text WHERE seq = ?')
  const dropWords = database.prepare('DELETE FROM resource_words WHERE rowid = ?')
  const add = database.prepare(
    `INSERT INTO resource_text (identity, principal, uri, mime_type, bytes, at, text) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const addWords = database.prepare('INSERT INTO resource_words (rowid, uri, text) VALUES (?, ?, ?)')
  const selectSurplus = database.prepare(
    `SELECT seq FROM (
       SELECT seq, at, SUM(bytes) OVER newest AS total, ROW_NUMBER() OVER newest AS place
       FROM resource_text WINDOW newest AS (ORDER BY at DESC, seq DESC)
     ) WHERE total > ? OR place > ? OR at < ?`,
  )
  const dropOrphans = database.prepare(
    'DELETE FROM resource_words WHERE rowid NOT IN (SELECT seq FROM resource_text)',
  )
  const match = database.prepare(
    `SELECT r.seq, r.identity, r.principal, r.uri, r.mime_type, r.at, -bm25(resource_words, ${uriWeight}, 1) AS relevance
     FROM resource_words JOIN resource_text r ON r.seq = resource_words.rowid
     WHERE resource_words MATCH ? AND r.at >= ? ORDER BY relevance DESC LIMIT ${maxMatches}`,
  )
  const matching = database.prepare('SELECT rowid AS seq FROM resource_words WHERE resource_words MATCH ?')
  const removeRow = (seq: number): void => {
    drop.run(seq)
    dropWords.run(seq)
  }
  return {
    write({ identity, principal, uri, mimeType, text, uriWords, textWords, at }: NewResourceText): void {
      const known = selectExisting.get(text, identity, principal, uri)
      if (known?.['same'] === 1) {
        touch.run(at, mimeType, Number(known['seq']))
        return
      }
      if (known !== undefined) removeRow(Number(known['seq']))
      const bytes = Buffer.byteLength(text)
      const { lastInsertRowid } = add.run(identity, principal, uri, mimeType, bytes, at, text)
      addWords.run(lastInsertRowid, uriWords, textWords)
    },
    trim(oldest: string, { bytes, texts }: ResourceTextBounds): void {
      for (const { seq } of selectSurplus.all(bytes, texts, oldest)) removeRow(Number(seq))
    },
    /** Removes words whose text was deleted, and rewrites the index without them. */
    compact(): void {
      dropOrphans.run()
      database.exec(`INSERT INTO resource_words (resource_words) VALUES ('optimize')`)
    },
    match: (phrases: readonly string[], oldest: string): ResourceTextRow[] =>
      match.all(phrases.map(phraseQuery).join(' OR '), oldest).map((row) => ({
        seq: Number(row['seq']),
        identity: String(row['identity']),
        principal: String(row['principal']),
        uri: String(row['uri']),
        mimeType: typeof row['mime_type'] === 'string' ? row['mime_type'] : null,
        at: String(row['at']),
        relevance: Number(row['relevance']),
      })),
    matching: (phrase: string): Set<number> =>
      new Set(matching.all(phraseQuery(phrase)).map(({ seq }) => Number(seq))),
  }
}

/** A phrase in the syntax of FTS5, the last word as a prefix. */
function phraseQuery(phrase: string): string {
  return `"${phrase.replaceAll('"', '')}" *`
}
