import type { DatabaseSync } from 'node:sqlite'
import { excerpt, McpError, messageOf } from '../jsonrpc/error.ts'
import { type Backplane, type MemoryBounds, memoryBackplane } from '../request/backplane.ts'
import { limits } from '../request/limits.ts'
import { inTransaction, openSqlite } from './open-sqlite.ts'

/** A backplane in an SQLite file. */
export interface SqliteBackplane extends Backplane {
  /** Closes the file; later operations on it reject. */
  close(): void
}

// Triggers maintain the totals, so that all processes count together without scanning all rows.
const schema = `
  CREATE TABLE IF NOT EXISTS entries (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    expiresAt INTEGER NOT NULL,
    owner TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS entries_by_expiry ON entries (expiresAt);
  CREATE TABLE IF NOT EXISTS totals (
    owner TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    chars INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO totals VALUES ('', 0, 0);
  CREATE TABLE IF NOT EXISTS buckets (key TEXT PRIMARY KEY, fullAt REAL NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entries BEGIN
    UPDATE totals SET count = count + 1, chars = chars + length(NEW.value) WHERE owner = '';
    INSERT INTO totals SELECT 'of ' || NEW.owner, 0, 0 WHERE NEW.owner IS NOT NULL ON CONFLICT DO NOTHING;
    UPDATE totals SET count = count + 1, chars = chars + length(NEW.value) WHERE owner = 'of ' || NEW.owner;
  END;
  CREATE TRIGGER IF NOT EXISTS entry_deleted AFTER DELETE ON entries BEGIN
    UPDATE totals SET count = count - 1, chars = chars - length(OLD.value) WHERE owner = '';
    UPDATE totals SET count = count - 1, chars = chars - length(OLD.value) WHERE owner = 'of ' || OLD.owner;
    DELETE FROM totals WHERE owner = 'of ' || OLD.owner AND count = 0;
  END;
`

/** One owner may have a fifth of the values and of their characters. */
const ownerFraction = 5
const sweepEveryMs = 30_000

/**
 * A backplane in an SQLite file for one machine: used states and stored values survive the process, and any number of
 * processes on the machine may share it. A value is on disk when its promise resolves. Changes and session events stay within
 * each process. Requires Node 22.13. The file is created with mode 0600.
 *
 * Like the backplane in memory it is bounded by `limits.remembered` and `limits.rememberedChars`, a fifth of them per
 * principal, and rejects with McpError 'LIMIT' when full.
 * @throws McpError 'CONNECT_FAILED' for a file that cannot be opened, or is not a backplane
 */
export function sqliteBackplane(path: string, changed: Partial<MemoryBounds> = {}): SqliteBackplane {
  const bounds = { ...limits, ...changed }
  const db = openDatabase(path)
  const select = db.prepare('SELECT value, owner FROM entries WHERE key = ? AND expiresAt > ?')
  const insert = db.prepare('INSERT INTO entries (key, value, expiresAt, owner) VALUES (?, ?, ?, ?)')
  const remove = db.prepare('DELETE FROM entries WHERE key = ?')
  const expire = db.prepare('DELETE FROM entries WHERE expiresAt <= ?')
  const bucketOf = db.prepare('SELECT fullAt FROM buckets WHERE key = ?')
  const putBucket = db.prepare(
    'INSERT INTO buckets VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET fullAt = excluded.fullAt',
  )
  const dropBuckets = db.prepare('DELETE FROM buckets WHERE fullAt <= ?')
  const total = db.prepare('SELECT count, chars FROM totals WHERE owner = ?')
  const { append, read, publish, subscribe, delete: deleteLog } = memoryBackplane(bounds)
  let nextSweep = 0

  const change = <T>(work: (now: number) => T): T =>
    inTransaction(db, () => {
      const now = Date.now()
      if (now >= nextSweep) {
        nextSweep = now + sweepEveryMs
        expire.run(now)
        dropBuckets.run(now)
      }
      return work(now)
    })
  const exceededLimit = (key: string, chars: number, share: number): string | undefined => {
    const { count = 0, chars: used = 0 } = total.get(key) ?? {}
    if (Number(count) >= Math.ceil(bounds.remembered / share)) return 'limits.remembered'
    return Number(used) + chars > Math.ceil(bounds.rememberedChars / share)
      ? 'limits.rememberedChars'
      : undefined
  }
  const exceeded = (chars: number, owner: string | undefined): string | undefined => {
    const full = exceededLimit('', chars, 1)
    if (full !== undefined) return `The backplane file is full (${full})`
    const share = owner === undefined ? undefined : exceededLimit(`of ${owner}`, chars, ownerFraction)
    return share && `"${excerpt(owner ?? '')}" has used its share of the backplane file (a fifth of ${share})`
  }
  const write = (key: string, value: string, now: number, ttlMs: number, owner: string | undefined): void => {
    remove.run(key)
    if (exceeded(value.length, owner) !== undefined) expire.run(now)
    const reason = exceeded(value.length, owner)
    if (reason !== undefined) {
      throw new McpError('LIMIT', `${reason}. Try again when some of it has expired, or raise the limit.`)
    }
    insert.run(key, value, Math.ceil(now + ttlMs), owner ?? null)
  }

  return {
    get: async (key) => {
      const row = select.get(key, Date.now())
      return row && String(row['value'])
    },
    set: async (key, value, ttlMs, owner) => change((now) => write(key, value, now, ttlMs, owner)),
    add: async (key, value, ttlMs, owner) =>
      change((now) => {
        if (select.get(key, now) !== undefined) return false
        write(key, value, now, ttlMs, owner)
        return true
      }),
    swap: async (key, expected, value, ttlMs) =>
      change((now) => {
        const row = select.get(key, now)
        if (row?.['value'] !== expected) return false
        const { owner } = row
        write(key, value, now, ttlMs, typeof owner === 'string' ? owner : undefined)
        return true
      }),
    delete: async (key) => {
      remove.run(key)
      await deleteLog(key)
    },
    append,
    read,
    publish,
    subscribe,
    spend: async (key, cost, { refillMs, capacity }) =>
      change((now) => {
        const after = Math.max(Number(bucketOf.get(key)?.['fullAt'] ?? now), now) + cost * refillMs
        const waitMs = after - now - capacity * refillMs
        if (waitMs > 0) return waitMs
        putBucket.run(key, after)
        return 0
      }),
    close: () => db.close(),
  }
}

function openDatabase(path: string): DatabaseSync {
  try {
    const db = openSqlite('sqliteBackplane', path)
    db.exec(schema)
    return db
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    throw new McpError(
      'CONNECT_FAILED',
      `The backplane file ${path} cannot be opened (${messageOf(cause)}). Give the path of a file in a folder of this machine that the server may write to`,
      { cause },
    )
  }
}
