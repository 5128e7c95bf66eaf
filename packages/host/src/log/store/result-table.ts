import type { DatabaseSync } from 'node:sqlite'
import type { StoredResult } from '../../types/index.ts'

/** A stored result, as JSON text. */
interface ResultRow extends Omit<StoredResult, 'uri' | 'result'> {
  result: string
}

/** Tool results that were too large for a model, within a size limit. */
export interface ResultTable {
  get(id: string): ResultRow | undefined
  /** Stores a result, and deletes the oldest beyond the limits. */
  put(result: ResultRow): void
}

export const resultMigration = `
  CREATE TABLE results (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    conversation TEXT,
    activity INTEGER,
    result TEXT NOT NULL,
    characters INTEGER NOT NULL,
    at TEXT NOT NULL
  ) STRICT;
`

interface ResultBounds {
  /** Characters of all results together. */
  characters: number
  results: number
  ageMs: number
}

const resultBounds: ResultBounds = { characters: 134_217_728, results: 1_000, ageMs: 7 * 86_400_000 }

export function createResultTable(
  database: DatabaseSync,
  bounds: ResultBounds = resultBounds,
  now: () => number = Date.now,
): ResultTable {
  const get = database.prepare('SELECT * FROM results WHERE id = ?')
  const insert = database.prepare(
    `INSERT INTO results (id, server, tool, conversation, activity, result, characters, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const tooOld = database.prepare('DELETE FROM results WHERE at < ?')
  const tooMany = database.prepare(
    `DELETE FROM results WHERE seq IN (
       SELECT seq FROM (
         SELECT seq, SUM(characters) OVER (ORDER BY seq DESC) AS total, ROW_NUMBER() OVER (ORDER BY seq DESC) AS place
         FROM results
       ) WHERE total > ? OR place > ?
     )`,
  )
  const oldest = (): string => new Date(now() - bounds.ageMs).toISOString()
  return {
    get(id) {
      const row = get.get(id)
      if (row === undefined || String(row['at']) < oldest()) return undefined
      const { conversation, activity } = row
      return {
        id,
        server: String(row['server']),
        tool: String(row['tool']),
        conversation: typeof conversation === 'string' ? conversation : null,
        activity: typeof activity === 'number' ? activity : null,
        result: String(row['result']),
        at: String(row['at']),
      }
    },
    put({ id, server, tool, conversation, activity, result, at }) {
      insert.run(id, server, tool, conversation, activity, result, result.length, at)
      tooOld.run(oldest())
      tooMany.run(bounds.characters, bounds.results)
    },
  }
}
