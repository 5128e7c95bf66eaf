import type {
  ClaimedTask,
  ClaimScope,
  TaskCapacity,
  TaskChange,
  TaskRow,
  TaskStore,
} from '@jackfield/sdk/extensions/tasks'
import { subscribeUntilDone } from '@jackfield/sdk/internal/stores'
import { connectRedis, keyOf, type RedisConnections, requireStorable } from './connections.ts'
import type { RedisOptions } from './options.ts'
import { addTask, claimTasks, expireTasks, listTasks, renewTasks, replaceTask } from './task-scripts.ts'

/** A task store for any number of processes. */
export interface RedisTaskStore extends TaskStore {
  /** Closes the connections after pending commands; later operations reject. */
  close(): Promise<void>
}

const shardCount = 16
const expireBatch = 1000
/** Milliseconds after which all tasks are counted again. */
const countIntervalMs = 1000
const fields = ['v', 'o', 'c', 'e', 'r', 'h', 'u', 'b'] as const

/**
 * Stores tasks in Redis 6.2 or later, Valkey, or a cluster of either, with two connections. All tasks of one owner are in one of 16
 * hash slots, by which a cluster distributes them. The limit of all tasks is checked against counts that are up to 1 s old.
 * Options, reconnections and errors are those of `redisBackplane`. A task is as durable as Redis: set `appendonly`.
 * @throws McpError CONNECT_FAILED if Redis cannot be reached; INVALID for an invalid option
 */
export async function redisTaskStore(options: RedisOptions): Promise<RedisTaskStore> {
  return new Store(await connectRedis(options))
}

class Store implements RedisTaskStore {
  readonly durable = true
  readonly #redis: RedisConnections
  readonly #channel: string
  readonly #counts: number[] = []
  #countedAt = Number.NEGATIVE_INFINITY
  /** The shard where the next claim begins. */
  #nextShard = Math.floor(Math.random() * shardCount)
  #closed = false

  constructor(redis: RedisConnections) {
    this.#redis = redis
    this.#channel = `${redis.prefix}tasks`
  }

  async add(
    { id: suffix, owner, ttlMs, holder, holdMs, body }: Parameters<TaskStore['add']>[0],
    capacity: TaskCapacity,
  ): Promise<TaskRow | undefined> {
    const shard = shardOfOwner(owner)
    const id = shard.toString(16) + suffix
    await this.#refreshCounts(capacity.all)
    const otherShards = this.#counts.reduce((sum, count, at) => (at === shard ? sum : sum + count), 0)
    const limits = [String(capacity.owner), String(Math.max(0, capacity.all - otherShards))]
    const [ttl, hold] = [msArgument(ttlMs), msArgument(holdMs)]
    const args = [id, requireStorable(owner), ttl, holder, hold, requireStorable(body), ...limits]
    const now = await this.#redis.commands.runScript(addTask, this.#keyPrefix(shard), [
      ...args,
      this.#channel,
    ])
    if (typeof now !== 'string') return undefined
    this.#counts[shard] = (this.#counts[shard] ?? 0) + 1
    const createdAt = Number(now)
    return {
      id,
      version: 1,
      owner,
      createdAt,
      expiresAt: createdAt + Number(ttl),
      running: true,
      holder,
      heldUntil: createdAt + Number(hold),
      body,
    }
  }

  async get(id: string): Promise<TaskRow | undefined> {
    const shard = shardOfTask(id)
    if (shard === undefined) return undefined
    const key = keyOf(`${this.#keyPrefix(shard)}k:`, id)
    return rowOf(id, await this.#redis.commands.runIdempotent(key, ['HMGET', key, ...fields]))
  }

  async replace(update: Parameters<TaskStore['replace']>[0]): Promise<boolean> {
    const { id, version, running, holder, holdMs, body } = update
    const shard = shardOfTask(id)
    if (shard === undefined) return false
    const hold = holdMs === undefined ? '' : msArgument(holdMs)
    const args = [
      id,
      String(version),
      running ? '1' : '0',
      holder,
      hold,
      requireStorable(body),
      this.#channel,
    ]
    return (await this.#redis.commands.runScript(replaceTask, this.#keyPrefix(shard), args)) === 1
  }

  async list(owner: string, after: Parameters<TaskStore['list']>[1], limit: number): Promise<TaskRow[]> {
    const args = [requireStorable(owner), String(after?.createdAt ?? -1), after?.id ?? '', String(limit)]
    return rowsOf(
      await this.#redis.commands.runScript(listTasks, this.#keyPrefix(shardOfOwner(owner)), args),
    ).map(({ row }) => row)
  }

  async renew(holder: string, ids: readonly string[], leaseMs: number): Promise<string[]> {
    const groups = new Map<number, string[]>()
    for (const id of ids) {
      const shard = shardOfTask(id)
      if (shard !== undefined) groups.set(shard, [...(groups.get(shard) ?? []), id])
    }
    const renewed = await Promise.all(
      Array.from(groups, async ([shard, idsOfShard]) => {
        const args = [holder, msArgument(leaseMs), ...idsOfShard]
        const reply = await this.#redis.commands.runScript(renewTasks, this.#keyPrefix(shard), args)
        return Array.isArray(reply) ? reply.map(String) : []
      }),
    )
    return renewed.flat()
  }

  async claim(holder: string, leaseMs: number, scope: ClaimScope): Promise<ClaimedTask[]> {
    const claimIn = async (shard: number, limit: number, overdueMs: number, ...id: string[]) => {
      const args = [holder, msArgument(leaseMs), String(limit), msArgument(overdueMs), this.#channel, ...id]
      const claimed = rowsOf(await this.#redis.commands.runScript(claimTasks, this.#keyPrefix(shard), args))
      return claimed.map(({ row, extra }) => ({
        ...row,
        version: row.version + 1,
        holder,
        heldUntil: Number(extra),
        previousHolder: row.holder,
      }))
    }
    if ('id' in scope) {
      const shard = shardOfTask(scope.id)
      return shard === undefined ? [] : claimIn(shard, 1, 0, scope.id)
    }
    const claimed: ClaimedTask[] = []
    for (let visited = 0; visited < shardCount && claimed.length < scope.limit; visited++) {
      const shard = this.#nextShard++ % shardCount
      claimed.push(...(await claimIn(shard, scope.limit - claimed.length, scope.overdueMs ?? 0)))
    }
    return claimed
  }

  async expire(): Promise<void> {
    const expireShard = async (shard: number): Promise<void> => {
      for (;;) {
        const args = [String(expireBatch)]
        const expired = await this.#redis.commands.runScript(expireTasks, this.#keyPrefix(shard), args)
        if (expired !== expireBatch) return
      }
    }
    await Promise.all(Array.from({ length: shardCount }, (_, shard) => expireShard(shard)))
  }

  changed(listener: (change?: TaskChange) => void): () => void {
    const { topics } = this.#redis
    return subscribeUntilDone(
      (receive) => topics.subscribe(this.#channel, receive, () => listener()),
      (message) => listener(changeOf(message)),
      listener,
      () => this.#closed,
    )
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#redis.close()
  }

  /** Counts all tasks, unless they were counted less than a second ago and are far from the limit. */
  async #refreshCounts(limit: number): Promise<void> {
    const total = this.#counts.reduce((sum, count) => sum + count, 0)
    const now = performance.now()
    if (now - this.#countedAt < countIntervalMs && total < limit * 0.9) return
    const counted = await Promise.all(
      Array.from({ length: shardCount }, (_, shard) => {
        const key = `${this.#keyPrefix(shard)}expiry`
        return this.#redis.commands.runIdempotent(key, ['ZCARD', key])
      }),
    )
    this.#countedAt = now
    for (const [shard, count] of counted.entries()) this.#counts[shard] = Number(count)
  }

  #keyPrefix(shard: number): string {
    return `${this.#redis.prefix}{tasks-${shard.toString(16)}}:`
  }
}

/** The shard of an owner: the FNV-1a hash of its name. */
function shardOfOwner(owner: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(owner)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0) % shardCount
}

/** The shard of a task, which is the first digit of its id; undefined if the id has none. */
function shardOfTask(id: string): number | undefined {
  return /^[0-9a-f]/.test(id) ? Number.parseInt(id.slice(0, 1), 16) : undefined
}

function msArgument(time: number): string {
  return String(Math.ceil(time))
}

function rowOf(id: string, reply: unknown): TaskRow | undefined {
  if (!Array.isArray(reply) || typeof reply[0] !== 'string') return undefined
  const [version, owner, createdAt, expiresAt, running, holder, heldUntil, body] = reply.map(String)
  return {
    id,
    version: Number(version),
    owner: owner ?? '',
    createdAt: Number(createdAt),
    expiresAt: Number(expiresAt),
    running: running === '1',
    holder: holder ?? '',
    heldUntil: Number(heldUntil),
    body: body ?? '',
  }
}

/** The rows of a reply, each with the value after its fields. */
function rowsOf(reply: unknown): { row: TaskRow; extra: unknown }[] {
  if (!Array.isArray(reply)) return []
  return reply.flatMap((pair: unknown) => {
    const [id, values] = Array.isArray(pair) ? pair : []
    const row = rowOf(String(id), values)
    return row === undefined ? [] : [{ row, extra: values[fields.length] }]
  })
}

/** The change in a message; undefined if it cannot be parsed, so that any task may have changed. */
function changeOf(message: string): TaskChange | undefined {
  try {
    const parts: unknown = JSON.parse(message)
    if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string')) return undefined
    const [id = '', version, running, holder = '', delayMs] = parts
    return { id, version: Number(version), running: running === '1', holder, delayMs: Number(delayMs) }
  } catch {
    return undefined
  }
}
