import type { Backplane } from '@jackfield/sdk'
import { connectRedis, keyOf, requireSize } from './connections.ts'
import type { RedisOptions } from './options.ts'
import { append, read, spend, swap } from './scripts.ts'

/** A backplane for any number of nodes. */
export interface RedisBackplane extends Backplane {
  /** Closes the connections after pending commands; later operations reject. */
  close(): Promise<void>
}

/** A hundred years: Redis rejects expiry times it cannot represent. */
const longestMs = 3_155_760_000_000

/**
 * A backplane on Redis 6.2 or later, Valkey, or a cluster of either, with two connections: one for commands, one for messages.
 * It reconnects after random pauses of up to 2 s; commands wait for that up to `timeoutMs`, and reject immediately during
 * longer outages. Methods reject with an McpError: TIMEOUT and CONNECTION_CLOSED if the command may have run, CONNECT_FAILED if
 * nothing was sent, LIMIT for values over 64 MiB or more than 10 000 pending commands. `onWarning` is called for a
 * `maxmemory-policy` that evicts keys.
 * @throws McpError CONNECT_FAILED if Redis cannot be reached; INVALID for an invalid option
 */
export async function redisBackplane(options: RedisOptions): Promise<RedisBackplane> {
  const { prefix, commands, topics, faults, close } = await connectRedis(options)
  let isClosed = false
  const valueAt = (key: string): string => keyOf(`${prefix}v:`, key)
  const logAt = (log: string): string => keyOf(`${prefix}l:`, log)
  const channelOf = (topic: string): string => keyOf(`${prefix}t:`, topic)
  const drop = (at: string): Promise<unknown> => commands.repeat(at, ['UNLINK', at])

  return {
    spansProcesses: true,
    get: async (key) => {
      const value = await commands.read(valueAt(key))
      return typeof value === 'string' ? value : undefined
    },
    set: async (key, value, ttlMs) => {
      const at = valueAt(key)
      const ttl = ttlArgument(ttlMs)
      if (ttl === '0') await drop(at)
      else await commands.repeat(at, ['SET', at, requireSize(value), 'PX', ttl])
    },
    add: async (key, value, ttlMs) => {
      const at = valueAt(key)
      const ttl = ttlArgument(ttlMs)
      const args = ttl === '0' ? ['EXISTS', at] : ['SET', at, requireSize(value), 'NX', 'PX', ttl]
      const reply = await commands.run(at, args)
      return reply === 'OK' || reply === 0
    },
    swap: async (key, expected, value, ttlMs) => {
      const at = valueAt(key)
      return (
        (await commands.script(swap, at, [requireSize(expected), requireSize(value), ttlArgument(ttlMs)])) ===
        1
      )
    },
    delete: async (key) => {
      await Promise.all([drop(valueAt(key)), drop(logAt(key))])
    },
    append: async (log, entry, keep, ttlMs, previous = '') => {
      const kept = String(Math.max(0, Math.floor(keep)))
      const unique = String(Math.floor(Math.random() * 2 ** 48))
      const args = [requireSize(entry), kept, ttlArgument(ttlMs), previous, unique]
      return String(await commands.script(append, logAt(log), args))
    },
    read: async (log, position, newest = position) => {
      if (!isPosition(position) || !isPosition(newest)) return undefined
      const flat = await commands.script(read, logAt(log), [position, newest])
      if (!Array.isArray(flat)) return undefined
      return Array.from({ length: flat.length / 2 }, (_, at) => ({
        position: String(flat[at * 2]),
        entry: String(flat[at * 2 + 1]),
      }))
    },
    publish: async (topic, message) => {
      const channel = channelOf(topic)
      await commands.run(channel, ['PUBLISH', channel, requireSize(message)])
    },
    subscribe: (topic, listener, lost) => {
      if (isClosed) return Promise.reject(faults.closed())
      return topics.subscribe(channelOf(topic), listener, lost)
    },
    spend: async (key, cost, { refillMs, capacity }) => {
      const micros = [cost * refillMs, capacity * refillMs].map((ms) => String(Math.ceil(ms * 1000)))
      return Number(await commands.script(spend, keyOf(`${prefix}b:`, key), micros)) / 1000
    },
    close: () => {
      isClosed = true
      return close()
    },
  }
}

/** Whether a text can be the id of a stream's entry. */
function isPosition(text: string): boolean {
  return /^\d{1,16}-\d{1,16}$/.test(text)
}

/** A time to live for Redis; '0' if it has passed. */
function ttlArgument(ttlMs: number): string {
  return ttlMs > 0 ? String(Math.min(longestMs, Math.ceil(ttlMs))) : '0'
}
