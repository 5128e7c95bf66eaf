import type { ClaimedTask, TaskChange, TaskRow, TaskStore } from '@jackfield/sdk/extensions/tasks'
import { subscribeUntilDone } from '@jackfield/sdk/internal/stores'
import { Database, type Row } from './database.ts'
import type { PostgresOptions } from './options.ts'
import { now } from './schema.ts'
import { openTopics } from './topics.ts'

/** A task store for any number of processes. */
export interface PostgresTaskStore extends TaskStore {
  /** Closes the connections after pending statements; later operations reject. A `pool` of the options stays open. */
  close(): Promise<void>
}

const topic = 'tasks'
const expireBatch = 1000
const columns = 'id, version, owner, created_at, expires_at, running, holder, held_until, body'

/**
 * Stores tasks in PostgreSQL 13 or later. Options, reconnections and errors are those of `postgresBackplane`. Without a connection
 * that listens (see `listenUrl`), changes are found by polling: every `pollIntervalMs` of the tasks extension.
 * @throws McpError CONNECT_FAILED if the database cannot be reached; UNAUTHORIZED if its user may not create the tables; INVALID
 *   for an invalid option
 */
export async function postgresTaskStore(options: PostgresOptions): Promise<PostgresTaskStore> {
  const database = await Database.open(options)
  const topics = await openTopics(database).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const s = database.schema.name
  let closing: Promise<void> | undefined

  /** Publishes a change after its transaction: transactions that notify are committed one after the other. */
  const notify = (id: string, version: number, running: boolean, holder: string, delayMs: number): void => {
    if (database.listenUrl === undefined) return
    const message = JSON.stringify([id, version, running, holder, Math.max(0, delayMs)])
    topics.publish(topic, message).catch(() => {})
  }

  const changed = (listener: (change?: TaskChange) => void): (() => void) =>
    subscribeUntilDone(
      (receive) => topics.subscribe(topic, receive, () => listener()),
      (message) => listener(changeOf(message)),
      listener,
      () => closing !== undefined,
    )

  return {
    durable: true,
    add: async ({ id, owner, ttlMs, holder, holdMs, body }, capacity) => {
      const values = [id, encodeOwner(owner), Math.ceil(ttlMs), holder, Math.ceil(holdMs), body]
      const [found] = await database.run(
        'add',
        `SELECT ${s}.add_task($1, $2, $3, $4, $5, $6, $7, $8) AS created_at`,
        [...values, capacity.owner, capacity.all],
      )
      const created = found?.['created_at']
      if (created === null || created === undefined) return undefined
      if (holder === '') notify(id, 1, true, '', holdMs)
      const createdAt = Number(created)
      return {
        id,
        version: 1,
        owner,
        createdAt,
        expiresAt: createdAt + Math.ceil(ttlMs),
        running: true,
        holder,
        heldUntil: createdAt + Math.ceil(holdMs),
        body,
      }
    },
    get: async (id) => {
      if (!isStorable(id)) return undefined
      const text = `SELECT ${columns} FROM ${s}.tasks WHERE id = $1 AND expires_at > ${now}`
      const [found] = await database.runIdempotent('get', text, [id])
      return found && rowOf(found)
    },
    replace: async ({ id, version, running, holder, holdMs, body }) => {
      if (!isStorable(id)) return false
      const [replaced] = await database.run(
        'replace',
        `UPDATE ${s}.tasks
          SET version = $2, running = $3, holder = $4, held_until = coalesce(${now} + $5::bigint, held_until), body = $6
          WHERE id = $1 AND version = $2 - 1 AND expires_at > ${now} RETURNING held_until - ${now} AS delay`,
        [id, version, running, holder, holdMs === undefined ? null : Math.ceil(holdMs), body],
      )
      if (replaced === undefined) return false
      notify(id, version, running, holder, Number(replaced['delay']))
      return true
    },
    list: async (owner, after, limit) => {
      const text = `SELECT ${columns} FROM ${s}.tasks
        WHERE owner = $1 AND expires_at > ${now} AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4`
      const values = [encodeOwner(owner), after?.createdAt ?? -1, after?.id ?? '', limit]
      return (await database.runIdempotent('list', text, values)).map(rowOf)
    },
    renew: async (holder, ids, leaseMs) => {
      if (ids.length === 0) return []
      const text = `UPDATE ${s}.tasks SET held_until = ${now} + $3
        WHERE running AND holder = $1 AND id = ANY($2) AND expires_at > ${now} RETURNING id`
      const values = [holder, ids.filter(isStorable), Math.ceil(leaseMs)]
      return (await database.runIdempotent('renew', text, values)).map(({ id }) => String(id))
    },
    claim: async (holder, leaseMs, scope) => {
      if ('id' in scope && !isStorable(scope.id)) return []
      const only = 'id' in scope ? 'id = $5' : 'true'
      const text = `WITH due AS MATERIALIZED (
          SELECT id AS due_id, holder AS previous FROM ${s}.tasks
          WHERE running AND held_until <= ${now} - $4::bigint AND expires_at > ${now} AND ${only}
          ORDER BY held_until LIMIT $3 FOR UPDATE SKIP LOCKED
        )
        UPDATE ${s}.tasks SET holder = $1, held_until = ${now} + $2::bigint, version = version + 1
        FROM due WHERE id = due_id RETURNING ${columns}, previous`
      const [limit, overdueMs] = 'id' in scope ? [1, 0] : [scope.limit, scope.overdueMs ?? 0]
      const values = [holder, Math.ceil(leaseMs), limit, overdueMs, ...('id' in scope ? [scope.id] : [])]
      return (await database.run('claim', text, values)).map((found): ClaimedTask => {
        const row = rowOf(found)
        notify(row.id, row.version, true, holder, leaseMs)
        return { ...row, previousHolder: String(found['previous']) }
      })
    },
    expire: async () => {
      for (;;) {
        const counterSlot = Math.floor(Math.random() * 16)
        const text = `SELECT ${s}.expire_tasks($1, $2) AS expired`
        const [found] = await database.run('expire', text, [expireBatch, counterSlot])
        if (Number(found?.['expired']) < expireBatch) return
      }
    },
    ...(database.listenUrl === undefined ? {} : { changed }),
    close: () => {
      closing ??= topics.close().then(() => database.close())
      return closing
    },
  }
}

/** An owner as text of PostgreSQL, which cannot contain NUL: as a JSON string if it has NUL or begins with a quotation mark. */
function encodeOwner(owner: string): string {
  return owner.includes('\0') || owner.startsWith('"') ? JSON.stringify(owner) : owner
}

function decodeOwner(text: string): string {
  return text.startsWith('"') ? String(JSON.parse(text)) : text
}

function isStorable(id: string): boolean {
  return !id.includes('\0')
}

function rowOf(row: Row): TaskRow {
  return {
    id: String(row['id']),
    version: Number(row['version']),
    owner: decodeOwner(String(row['owner'])),
    createdAt: Number(row['created_at']),
    expiresAt: Number(row['expires_at']),
    running: row['running'] === true,
    holder: String(row['holder']),
    heldUntil: Number(row['held_until']),
    body: String(row['body']),
  }
}

/** The change in a message; undefined if it cannot be parsed, so that any task may have changed. */
function changeOf(message: string): TaskChange | undefined {
  try {
    const parts: unknown = JSON.parse(message)
    if (!Array.isArray(parts)) return undefined
    const [id, version, running, holder, delayMs] = parts
    return {
      id: String(id),
      version: Number(version),
      running: running === true,
      holder: String(holder),
      delayMs: Number(delayMs),
    }
  } catch {
    return undefined
  }
}
