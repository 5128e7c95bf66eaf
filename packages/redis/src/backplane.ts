import type { Backplane } from '@jackfield/sdk'
import { connectRedis, keyOf, requireStorable } from './connections.ts'
import type { RedisOptions } from './options.ts'
import { append, read, spend, swap } from './scripts.ts'

/** A backplane for any number of nodes. */
export interface RedisBackplane extends Backplane {
  /** Closes the connections after pending commands; later operations reject. */
  close(): Promise<void>
}

/** 100 years: Redis rejects expiry times that it cannot represent. */
const maxTtlMs = 3_155_760_000_000

/**
 * A backplane on Redis 6.2 or later, Valkey, or a cluster of either, with two connections: one for commands, one for messages.
 * It reconnects after random pauses of up to 2 s; commands wait for that up to `timeoutMs`, and reject immediately during
 * longer outages. Methods reject with an McpError: TIMEOUT and CONNECTION_CLOSED if the command may have run, CONNECT_FAILED if
 * nothing was sent, LIMIT for values over 64 MiB or more than 10 000 pending commands. `onWarning` is called for a
 * `maxmemory-policy` that evicts keys.
 * @throws McpError CONNECT_FAILED if Redis cannot be reached; INVALID for an invalid option
 */
export async function redisBackplane(options: RedisOptions): Promise<RedisBackplane> {
  const { prefix, commands, topics, errors, close } = await connectRedis(options)
  let isClosed = false
  const valueKey = (key: string): string => keyOf(`${prefix}v:`, key)
  const logKey = (log: string): string => keyOf(`${prefix}l:`, log)
  const channelName = (topic: string): string => keyOf(`${prefix}t:`, topic)
  const unlink = (redisKey: string): Promise<unknown> =>
    commands.runIdempotent(redisKey, ['UNLINK', redisKey])

  return {
    spansProcesses: true,
    get: async (key) => {
      const value = await commands.get(valueKey(key))
      return typeof value === 'string' ? value : undefined
    },
    set: async (key, value, ttlMs) => {
      const redisKey = valueKey(key)
      const ttl = ttlArgument(ttlMs)
      if (ttl === '0') await unlink(redisKey)
      else await commands.runIdempotent(redisKey, ['SET', redisKey, requireStorable(value), 'PX', ttl])
    },
    add: async (key, value, ttlMs) => {
      const redisKey = valueKey(key)
      const ttl = ttlArgument(ttlMs)
      const args =
        ttl === '0' ? ['EXISTS', redisKey] : ['SET', redisKey, requireStorable(value), 'NX', 'PX', ttl]
      const reply = await commands.run(redisKey, args)
      return reply === 'OK' || reply === 0
    },
    swap: async (key, expected, value, ttlMs) => {
      const args = [requireStorable(expected), requireStorable(value), ttlArgument(ttlMs)]
      return (await commands.runScript(swap, valueKey(key), args)) === 1
    },
    delete: async (key) => {
      await Promise.all([unlink(valueKey(key)), unlink(logKey(key))])
    },
    append: async (log, entry, keep, ttlMs, previous = '') => {
      const maxEntries = String(Math.max(0, Math.floor(keep)))
      const random = String(Math.floor(Math.random() * 2 ** 48))
      const args = [requireStorable(entry), maxEntries, ttlArgument(ttlMs), previous, random]
      return String(await commands.runScript(append, logKey(log), args))
    },
    read: async (log, position, newest = position) => {
      if (!isPosition(position) || !isPosition(newest)) return undefined
      const flat = await commands.runScript(read, logKey(log), [position, newest])
      if (!Array.isArray(flat)) return undefined
      return Array.from({ length: flat.length / 2 }, (_, index) => ({
        position: String(flat[index * 2]),
        entry: String(flat[index * 2 + 1]),
      }))
    },
    publish: async (topic, message) => {
      const channel = channelName(topic)
      await commands.run(channel, ['PUBLISH', channel, requireStorable(message)])
    },
    subscribe: (topic, listener, lost) => {
      if (isClosed) return Promise.reject(errors.closed())
      return topics.subscribe(channelName(topic), listener, lost)
    },
    spend: async (key, cost, { refillMs, capacity }) => {
      const micros = [cost * refillMs, capacity * refillMs].map((ms) => String(Math.ceil(ms * 1000)))
      return Number(await commands.runScript(spend, keyOf(`${prefix}b:`, key), micros)) / 1000
    },
    close: () => {
      isClosed = true
      return close()
    },
  }
}

/** Whether a text has the form of a stream entry id. */
function isPosition(text: string): boolean {
  return /^\d{1,16}-\d{1,16}$/.test(text)
}

/** A time to live as an argument of a command; '0' if it is not positive. */
function ttlArgument(ttlMs: number): string {
  return ttlMs > 0 ? String(Math.min(maxTtlMs, Math.ceil(ttlMs))) : '0'
}
