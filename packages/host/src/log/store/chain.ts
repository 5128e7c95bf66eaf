import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'

/** What a link of the chain is about: the beginning of a row, its end, or that older links were taken away. */
export type LinkKind = 'row' | 'end' | 'prune'

/** One stored value as it was given, or as the bytes it was read as. */
export type ChainField = string | number | null | Uint8Array

/** What was written, for its link. */
export interface Written {
  id: number
  fields: readonly ChainField[]
}

/** The chain over the activity log: each link's hash covers what was written and the hash of the link before. */
export interface Chain {
  /** Runs `write` and links what it wrote, both or neither. Gives the id of what was written. */
  append(kind: LinkKind, write: () => Written): number
}

export function createChain(database: DatabaseSync): Chain {
  // The first statement writes, so that it waits for other programs and then sees what they appended.
  const step = database.prepare('UPDATE activity_head SET position = position + 1 RETURNING position, hash')
  const link = database.prepare(
    'INSERT INTO activity_chain (position, kind, activity, hash) VALUES (?, ?, ?, ?)',
  )
  const keep = database.prepare('UPDATE activity_head SET hash = ?')
  return {
    append: (kind, write) =>
      atomically(database, () => {
        const head = step.get()
        const { id, fields } = write()
        const hash = linkHash(String(head?.['hash']), kind, id, fields)
        link.run(Number(head?.['position']), kind, id, hash)
        keep.run(hash)
        return id
      }),
  }
}

/** SHA-256 over the hash before and every stored byte, in hexadecimal. */
export function linkHash(before: string, kind: string, id: number, fields: readonly ChainField[]): string {
  const hash = createHash('sha256')
  for (const field of [before, kind, id, ...fields]) {
    if (field === null) {
      hash.update('-;')
      continue
    }
    const bytes = field instanceof Uint8Array ? field : Buffer.from(String(field))
    hash.update(`${bytes.length}:`).update(bytes).update(';')
  }
  return hash.digest('hex')
}

/** All of the work or nothing of it, also within a transaction that is under way. */
export function atomically<T>(database: DatabaseSync, work: () => T): T {
  database.exec('SAVEPOINT whole')
  try {
    const result = work()
    database.exec('RELEASE whole')
    return result
  } catch (error) {
    rollBack(database, 'ROLLBACK TO whole; RELEASE whole')
    throw error
  }
}

/** Undoes a transaction. SQLite has done so itself where the disk is full or cannot be written. */
export function rollBack(database: DatabaseSync, statement = 'ROLLBACK'): void {
  try {
    database.exec(statement)
  } catch {
    // No transaction is left; the caller throws the error that ended it.
  }
}
