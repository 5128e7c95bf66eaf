import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@jackfield/sdk/internal'
import type { ConversationFacts } from '../../types/index.ts'
import { cannotRecord } from './store-error.ts'

/** The data of a conversation without its entries. */
export interface ConversationRow extends Omit<ConversationFacts, 'fork'> {
  /** The conversation it was forked from. */
  parent: string | null
  /** Number of entries shared with the parent. */
  shared: number
}

interface NewConversationEntry {
  at: string
  /** JSON. */
  entry: string
}

/** Stored conversations: one row each, and append-only entries. */
export interface ConversationTable {
  list(limit: number): ConversationRow[]
  get(id: string): ConversationRow | undefined
  /** Up to three rows with this id prefix. */
  beginningWith(start: string): ConversationRow[]
  /** Its own entries as JSON, from index `from` (default 0) up to but not including `before`. */
  entries(id: string, before: number, from?: number): string[]
  /** Number of entries, including shared ones. */
  count(id: string): number | undefined
  hasForks(id: string): boolean
  create(row: ConversationRow): void
  /** Appends entries after the first `known` and updates the row; false if other entries were appended. */
  append(row: ConversationRow, known: number, entries: readonly NewConversationEntry[]): boolean
  remove(id: string): void
  /** Deletes the oldest conversations without forks, while there are too many or their total size is too large. */
  prune(): void
}

export const conversationMigration = `
  CREATE TABLE conversation (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    turns INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    parent TEXT REFERENCES conversation (id),
    shared INTEGER NOT NULL,
    characters INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX conversation_last ON conversation (last_at);
  CREATE INDEX conversation_parent ON conversation (parent) WHERE parent IS NOT NULL;
  CREATE TABLE conversation_entry (
    conversation TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    at TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (conversation, place)
  ) STRICT;
  CREATE TRIGGER conversation_entry_kept BEFORE UPDATE ON conversation_entry
  BEGIN SELECT RAISE(ABORT, 'conversations are append-only'); END;
`

interface ConversationBounds {
  conversations: number
  /** Characters of all entries together. */
  characters: number
}

const conversationBounds: ConversationBounds = { conversations: 1_000, characters: 268_435_456 }

export function createConversationTable(
  database: DatabaseSync,
  bounds: ConversationBounds = conversationBounds,
): ConversationTable {
  const list = database.prepare('SELECT * FROM conversation ORDER BY last_at DESC, rowid DESC LIMIT ?')
  const get = database.prepare('SELECT * FROM conversation WHERE id = ?')
  const selectByPrefix = database.prepare(
    'SELECT * FROM conversation WHERE substr(id, 1, length(?1)) = ?1 LIMIT 3',
  )
  const entries = database.prepare(
    'SELECT entry FROM conversation_entry WHERE conversation = ? AND place < ? AND place >= ? ORDER BY place',
  )
  const last = database.prepare('SELECT MAX(place) AS place FROM conversation_entry WHERE conversation = ?')
  const forks = database.prepare('SELECT 1 FROM conversation WHERE parent = ? LIMIT 1')
  const create = database.prepare(
    `INSERT INTO conversation (id, title, model, at, last_at, turns, input_tokens, output_tokens, parent, shared, characters)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
  )
  const add = database.prepare(
    'INSERT INTO conversation_entry (conversation, place, at, entry) VALUES (?, ?, ?, ?)',
  )
  const change = database.prepare(
    `UPDATE conversation SET title = ?, model = ?, last_at = ?, turns = ?, input_tokens = ?, output_tokens = ?,
     characters = characters + ? WHERE id = ?`,
  )
  const remove = database.prepare('DELETE FROM conversation WHERE id = ?')
  const size = database.prepare('SELECT COUNT(*) AS count, SUM(characters) AS characters FROM conversation')
  const oldest = database.prepare(
    `SELECT id FROM conversation c WHERE NOT EXISTS (SELECT 1 FROM conversation f WHERE f.parent = c.id)
     ORDER BY last_at, rowid LIMIT 1`,
  )

  function count(id: string): number | undefined {
    const row = get.get(id)
    if (row === undefined) return undefined
    const place = last.get(id)?.['place']
    return typeof place === 'number' ? place + 1 : Number(row['shared'])
  }

  function write<T>(work: () => T): T {
    try {
      return inTransaction(database, work)
    } catch (error) {
      throw cannotRecord('the next messages', error)
    }
  }

  function insert(row: ConversationRow): void {
    const { id, title, model, at, lastAt, turns, inputTokens, outputTokens, parent, shared } = row
    create.run(id, title, model, at, lastAt, turns, inputTokens, outputTokens, parent, shared)
  }

  return {
    list: (limit) => list.all(limit).map(rowOf),
    get(id) {
      const row = get.get(id)
      return row === undefined ? undefined : rowOf(row)
    },
    beginningWith: (start) => selectByPrefix.all(start).map(rowOf),
    entries: (id, before, from = 0) => entries.all(id, before, from).map((row) => String(row['entry'])),
    count,
    hasForks: (id) => forks.get(id) !== undefined,
    create: insert,
    append: (row, known, added) =>
      write(() => {
        const there = count(row.id)
        if (there === undefined && known === 0) insert(row)
        else if (there !== known) return false
        added.forEach(({ at, entry }, offset) => void add.run(row.id, known + offset, at, entry))
        const characters = added.reduce((sum, { entry }) => sum + entry.length, 0)
        const { title, model, lastAt, turns, inputTokens, outputTokens, id } = row
        change.run(title, model, lastAt, turns, inputTokens, outputTokens, characters, id)
        return true
      }),
    remove: (id) => void remove.run(id),
    prune: () =>
      write(() => {
        for (;;) {
          const { count: total, characters } = size.get() ?? {}
          if (Number(total) <= bounds.conversations && Number(characters) <= bounds.characters) return
          const id = oldest.get()?.['id']
          // The only one left is the one being written.
          if (typeof id !== 'string' || Number(total) <= 1) return
          remove.run(id)
        }
      }),
  }
}

function rowOf(row: Record<string, unknown>): ConversationRow {
  const { parent } = row
  return {
    id: String(row['id']),
    title: String(row['title']),
    model: String(row['model']),
    at: String(row['at']),
    lastAt: String(row['last_at']),
    turns: Number(row['turns']),
    inputTokens: Number(row['input_tokens']),
    outputTokens: Number(row['output_tokens']),
    parent: typeof parent === 'string' ? parent : null,
    shared: Number(row['shared']),
  }
}
