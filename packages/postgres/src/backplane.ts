import { createHash } from 'node:crypto'
import { type Backplane, McpError } from '@jackfield/sdk'
import { ReadBatches } from '@jackfield/sdk/internal/stores'
import { Database } from './database.ts'
import type { PostgresOptions } from './options.ts'
import { now } from './schema.ts'
import { openTopics } from './topics.ts'

/** A backplane for several nodes. */
export interface PostgresBackplane extends Backplane {
  /** Closes the connections after pending statements; later operations reject. A `pool` of the options stays open. */
  close(): Promise<void>
}

/** Maximum UTF-8 bytes of a value or entry. */
const maxValueBytes = 64 * 2 ** 20
/** Maximum bytes of a key that is stored unchanged; index entries of PostgreSQL are limited. */
const maxPlainKeyBytes = 512
/** 100 years. */
const maxTtlMs = 3_155_760_000_000
const expireEveryMs = 30_000
/** Maximum number of records that one statement reads. */
const maxKeys = 100

/**
 * A backplane on PostgreSQL 13 or later, for about ten nodes: used states and sessions are as durable as the database. Each node
 * has a pool of connections for statements, and one that listens for messages (see `listenUrl`). During a short outage
 * operations wait up to `timeoutMs`, during a longer one they reject immediately. Methods reject with an McpError: TIMEOUT and
 * CONNECTION_CLOSED if the statement may have run, CONNECT_FAILED if nothing was sent, LIMIT for values over 64 MiB.
 * @throws McpError CONNECT_FAILED if the database cannot be reached; UNAUTHORIZED if its user may not create the tables; INVALID
 *   for an invalid option
 */
export async function postgresBackplane(options: PostgresOptions): Promise<PostgresBackplane> {
  const database = await Database.open(options)
  const topics = await openTopics(database).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const s = database.schema.name
  const expiryTimer = setInterval(() => {
    database.runIdempotent('expiry', `SELECT ${s}.expire()`).catch(() => {})
  }, expireEveryMs).unref()
  let closing: Promise<void> | undefined
  const reads = new ReadBatches(async (names) => {
    const keys = names.map(keyOf)
    const text = `SELECT key, value FROM ${s}.records WHERE key = ANY($1) AND expires_at > ${now}`
    const rows = await database.runIdempotent('get', text, [keys])
    const values = new Map(rows.map((row) => [hexOf(row['key']), row['value']]))
    return keys.map((key) => values.get(hexOf(key)))
  }, maxKeys)

  return {
    spansProcesses: true,
    get: async (key) => {
      requireWellFormed(key)
      if (closing !== undefined) throw database.errors.closed()
      return textOf(await reads.get(key))
    },
    set: async (key, value, ttlMs) => {
      const ttl = ttlArgument(ttlMs)
      if (ttl === 0) {
        await database.runIdempotent('set', `DELETE FROM ${s}.records WHERE key = $1`, [keyOf(key)])
        return
      }
      const text = `INSERT INTO ${s}.records VALUES ($1, $2, ${now} + $3)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`
      await database.runIdempotent('set', text, [keyOf(key), bytesOf(value), ttl])
    },
    add: async (key, value, ttlMs) => {
      const ttl = ttlArgument(ttlMs)
      if (ttl === 0) {
        const text = `SELECT 1 FROM ${s}.records WHERE key = $1 AND expires_at > ${now}`
        return (await database.runIdempotent('add', text, [keyOf(key)])).length === 0
      }
      const text = `INSERT INTO ${s}.records AS r VALUES ($1, $2, ${now} + $3)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
        WHERE r.expires_at <= ${now} RETURNING 1`
      return (await database.run('add', text, [keyOf(key), bytesOf(value), ttl])).length === 1
    },
    swap: async (key, expected, value, ttlMs) => {
      const ttl = ttlArgument(ttlMs)
      const where = `WHERE key = $1 AND value = $2 AND expires_at > ${now} RETURNING 1`
      const args = [keyOf(key), bytesOf(expected)]
      const swapped =
        ttl === 0
          ? await database.run('swap', `DELETE FROM ${s}.records ${where}`, args)
          : await database.run(
              'swap',
              `UPDATE ${s}.records SET value = $3, expires_at = ${now} + $4 ${where}`,
              [...args, bytesOf(value), ttl],
            )
      return swapped.length === 1
    },
    delete: async (key) => {
      const text = `WITH r AS (DELETE FROM ${s}.records WHERE key = $1), l AS (DELETE FROM ${s}.logs WHERE name = $1)
        DELETE FROM ${s}.log_entries WHERE log = $1`
      await database.runIdempotent('delete', text, [keyOf(key)])
    },
    append: async (log, entry, keep, ttlMs, previous) => {
      const expected = previous === undefined ? null : isPosition(previous) ? previous : '-1'
      const args = [keyOf(log), bytesOf(entry), Math.max(0, Math.floor(keep)), ttlArgument(ttlMs), expected]
      const [found] = await database.run('append', `SELECT ${s}.append($1, $2, $3, $4, $5) AS position`, args)
      return String(found?.['position'])
    },
    read: async (log, position, newest = position) => {
      if (!isPosition(position) || !isPosition(newest)) return undefined
      const text = `SELECT e.position, e.entry FROM ${s}.logs l JOIN ${s}.log_entries e ON e.log = l.name
        WHERE l.name = $1 AND l.expires_at > ${now} AND e.position >= $2
          AND EXISTS (SELECT FROM ${s}.log_entries WHERE log = $1 AND position = $2)
          AND EXISTS (SELECT FROM ${s}.log_entries WHERE log = $1 AND position = $3)
        ORDER BY e.position`
      const rows = await database.runIdempotent('read', text, [keyOf(log), position, newest])
      if (rows.length === 0) return undefined
      return rows.map((row) => ({ position: String(row['position']), entry: textOf(row['entry']) ?? '' }))
    },
    publish: async (topic, message) => {
      requireWellFormed(message)
      await topics.publish(topic, message)
    },
    subscribe: (topic, listener, lost) => topics.subscribe(topic, listener, lost),
    spend: async (key, cost, { refillMs, capacity }) => {
      const micros = [cost * refillMs, capacity * refillMs].map((ms) => Math.ceil(ms * 1000))
      const text = `SELECT ${s}.spend($1, $2, $3) AS micros`
      const [found] = await database.run('spend', text, [keyOf(key), ...micros])
      return Number(found?.['micros']) / 1000
    },
    close: () => {
      clearInterval(expiryTimer)
      reads.flush()
      closing ??= topics.close().then(() => database.close())
      return closing
    },
  }
}

/**
 * Creates or updates the tables of the backplane and the task store, as a step of a deployment whose nodes have no right to do so.
 * @throws McpError as `postgresBackplane`
 */
export async function migratePostgres(options: PostgresOptions): Promise<void> {
  const database = await Database.open({ ...options, migrate: true })
  await database.close()
}

/** Whether a text has the form of a position: microseconds since 1970. */
function isPosition(text: string): boolean {
  return /^\d{1,16}$/.test(text)
}

/** A time to live in whole milliseconds; 0 if it is not positive. */
function ttlArgument(ttlMs: number): number {
  return ttlMs > 0 ? Math.min(maxTtlMs, Math.ceil(ttlMs)) : 0
}

/** The bytes of a key, or of a long key its digest with a first byte that no other key has. */
function keyOf(key: string): Buffer {
  requireWellFormed(key)
  const bytes = Buffer.from(key)
  if (bytes.length <= maxPlainKeyBytes) return bytes
  // 0xff is never part of UTF-8 text.
  return Buffer.concat([Buffer.of(0xff), createHash('sha256').update(bytes).digest()])
}

/** A value as bytes, because the type text cannot contain NUL. */
function bytesOf(value: string): Buffer {
  requireWellFormed(value)
  const bytes = Buffer.from(value)
  if (bytes.length <= maxValueBytes) return bytes
  throw new McpError(
    'LIMIT',
    `A value has more than ${maxValueBytes} bytes, the maximum. Store it elsewhere, and a reference to it here`,
  )
}

function hexOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : ''
}

function textOf(value: unknown): string | undefined {
  return Buffer.isBuffer(value) ? value.toString() : undefined
}

function requireWellFormed(text: string): void {
  if (text.isWellFormed()) return
  throw new McpError(
    'INVALID',
    'A key, value or message has an unpaired surrogate, which cannot be stored as UTF-8',
  )
}
