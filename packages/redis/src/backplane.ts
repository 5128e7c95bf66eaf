import { type Backplane, McpError } from '@jackfield/sdk'
import { createClient } from '@redis/client'
import type { CommandSender, RedisClient, RedisCluster } from './client.ts'
import { Commands } from './commands.ts'
import { warnOfEviction } from './eviction.ts'
import { RedisErrors } from './faults.ts'
import { ReconnectingClient } from './line.ts'
import type { RedisBackplaneOptions } from './options.ts'
import { append, read, swap } from './scripts.ts'
import { Topics } from './topics.ts'

/** A backplane for any number of nodes. */
export interface RedisBackplane extends Backplane {
  /** Closes the connections after pending commands; later operations reject. */
  close(): Promise<void>
}

/** Most UTF-8 bytes of a value, entry or message. */
const mostBytes = 64 * 2 ** 20
/** A hundred years: Redis rejects expiry times it cannot represent. */
const longestMs = 3_155_760_000_000
/** Shortest connection timeout, however short the command timeout is. */
const connectMs = 5000

/**
 * A backplane on Redis 6.2 or later, Valkey, or a cluster of either, with two connections: one for commands, one for messages.
 * It reconnects after random pauses of up to 2 s; commands wait for that up to `timeoutMs`, and reject immediately during
 * longer outages. Methods reject with an McpError: TIMEOUT and CONNECTION_CLOSED if the command may have run, CONNECT_FAILED if
 * nothing was sent, LIMIT for values over 64 MiB or more than 10 000 pending commands. `onWarning` is called for a
 * `maxmemory-policy` that evicts keys.
 * @throws McpError CONNECT_FAILED if Redis cannot be reached; INVALID for an invalid option
 */
export async function redisBackplane(options: RedisBackplaneOptions): Promise<RedisBackplane> {
  const { prefix = 'jackfield:', timeoutMs = 5000 } = options
  if (!(timeoutMs > 0)) throw new McpError('INVALID', `timeoutMs must be more than 0, and is ${timeoutMs}`)
  const warn = ignoringErrors(options.onWarning ?? ((message) => console.warn(message)))
  const { faults, carrier, subscriber, errorsEnd } = targetOf(options)
  const topics = new Topics(faults, timeoutMs, warn)
  const lines = { faults, timeoutMs: Math.max(timeoutMs, connectMs), warn }
  const line = new ReconnectingClient({ ...lines, make: carrier, what: 'commands', errorsEnd })
  const heard = new ReconnectingClient({
    ...lines,
    make: subscriber,
    what: 'messages',
    errorsEnd: true,
    ready: (client, again) => topics.renew(client, again),
  })
  const commands = new Commands(line, faults, timeoutMs)
  try {
    await Promise.all([line.start(), heard.start()])
  } catch (error) {
    await Promise.all([line.close(false), heard.close(false)])
    throw error
  }
  topics.use(heard)
  await warnOfEviction(commands, faults, `${prefix}v:`, warn)

  const valueAt = (key: string): string => keyOf(`${prefix}v:`, key)
  const logAt = (log: string): string => keyOf(`${prefix}l:`, log)
  const channelOf = (topic: string): string => keyOf(`${prefix}t:`, topic)
  const drop = (at: string): Promise<unknown> => commands.repeat(at, ['UNLINK', at])
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await commands.close()
    topics.close()
    await Promise.all([line.close(true), heard.close(false)])
  }

  return {
    spansProcesses: true,
    get: async (key) => {
      const at = valueAt(key)
      const value = await commands.repeat(at, ['GET', at])
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
      if (closing !== undefined) return Promise.reject(faults.closed())
      return topics.subscribe(channelOf(topic), listener, lost)
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** How clients are created, and the server's name for messages. */
interface RedisTarget {
  readonly faults: RedisErrors
  readonly carrier: () => CommandSender
  readonly subscriber: () => RedisClient
  readonly errorsEnd: boolean
}

function targetOf(options: RedisBackplaneOptions): RedisTarget {
  if ('url' in options) {
    const { url } = options
    const { host, secrets } = addressOf(url)
    const socket = { reconnectStrategy: false, connectTimeout: connectMs } as const
    const make = (): RedisClient => createClient({ url, socket })
    const faults = new RedisErrors(host, secrets)
    return { faults, carrier: () => withTextReplies(make()), subscriber: make, errorsEnd: true }
  }
  const faults = new RedisErrors("the client's address", [])
  if ('subscriber' in options) {
    const { client, subscriber } = options
    return {
      faults,
      carrier: () => withTextRepliesInCluster(client.duplicate()),
      subscriber: () => subscriber.duplicate(),
      errorsEnd: false,
    }
  }
  const { client } = options
  const make = (): RedisClient => client.duplicate()
  return { faults, carrier: () => withTextReplies(make()), subscriber: make, errorsEnd: true }
}

/** Replies as text, whatever the type mapping of the given client. */
const asText = { typeMapping: {} }

function withTextReplies(client: RedisClient): CommandSender {
  return {
    connect: () => client.connect(),
    close: () => client.close(),
    destroy: () => client.destroy(),
    on: (event, listener) => client.on(event, listener),
    send: (_key, args) => client.sendCommand(args, asText),
  }
}

function withTextRepliesInCluster(cluster: RedisCluster): CommandSender {
  return {
    connect: () => cluster.connect(),
    close: () => cluster.close(),
    destroy: () => cluster.destroy(),
    on: (event, listener) => cluster.on(event, listener),
    send: (key, args) => cluster.sendCommand(key, false, args, asText),
  }
}

/** Host and port of a URL, and its secrets. */
function addressOf(url: string): { host: string; secrets: string[] } {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !/^rediss?:$/.test(address.protocol)) {
    throw new McpError('INVALID', 'The url of a backplane must look like redis://user:password@host:6379/0')
  }
  const { password, hostname, port } = address
  const secrets = [password, decodeOrRaw(password)]
  return { host: `${hostname}:${port === '' ? 6379 : port}`, secrets: [url, ...secrets] }
}

function decodeOrRaw(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
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

function keyOf(prefix: string, name: string): string {
  if (!name.isWellFormed())
    throw invalidOption('A key has half a surrogate pair, which Redis would not keep apart')
  return prefix + name
}

function requireSize(value: string): string {
  if (!value.isWellFormed())
    throw invalidOption('A value has half a surrogate pair, which Redis would not give back')
  if (value.length * 3 > mostBytes && Buffer.byteLength(value) > mostBytes) {
    throw new McpError(
      'LIMIT',
      `A value has more than ${mostBytes} bytes: keep it elsewhere, and its name here`,
    )
  }
  return value
}

function invalidOption(why: string): McpError {
  return new McpError('INVALID', why)
}

/** A warning callback whose errors are ignored. */
function ignoringErrors(report: (message: string) => void): (message: string) => void {
  return (message) => {
    try {
      report(message)
    } catch {
      // A warning callback that fails cannot be reported.
    }
  }
}
