import { type Backplane, McpError } from '@jackfield/sdk'
import { createClient } from '@redis/client'
import type { Carrier, RedisClient, RedisCluster } from './client.ts'
import { Commands } from './commands.ts'
import { warnOfEviction } from './eviction.ts'
import { Faults } from './faults.ts'
import { Line } from './line.ts'
import type { RedisBackplaneOptions } from './options.ts'
import { after, append, swap } from './scripts.ts'
import { Topics } from './topics.ts'

/** A backplane that many nodes share. */
export interface RedisBackplane extends Backplane {
  /** Lets go of the connections; what is under way is finished first. Afterwards everything rejects. */
  close(): Promise<void>
}

/** The largest value, entry or message, in bytes of UTF-8. */
const mostBytes = 64 * 2 ** 20
/** A hundred years: Redis refuses times it cannot count. */
const longestMs = 3_155_760_000_000
/** The least a connection may take to be made, however little a command may take. */
const connectMs = 5000

/**
 * A backplane on Redis 6.2 or later, Valkey, or a cluster of either. It keeps two connections: one for commands, one for
 * messages. A lost connection is made again, after pauses by chance of up to 2 s; commands wait for that as long as
 * `timeoutMs` allows, and while Redis is away for longer they reject at once. Every method rejects with an McpError that
 * says what happened: TIMEOUT and CONNECTION_CLOSED where it is not known whether the command was done, CONNECT_FAILED
 * where nothing was sent, LIMIT for values over 64 MiB, or when 10 000 commands wait for their answers. `onWarning` is called
 * for a `maxmemory-policy` that evicts keys.
 * @throws McpError CONNECT_FAILED when Redis cannot be reached; INVALID for a wrong option
 */
export async function redisBackplane(options: RedisBackplaneOptions): Promise<RedisBackplane> {
  const { prefix = 'jackfield:', timeoutMs = 5000 } = options
  if (!(timeoutMs > 0)) throw new McpError('INVALID', `timeoutMs must be more than 0, and is ${timeoutMs}`)
  const warn = quietly(options.onWarning ?? ((message) => console.warn(message)))
  const { faults, carrier, subscriber, errorsEnd } = wayTo(options)
  const topics = new Topics(faults, timeoutMs, warn)
  const lines = { faults, timeoutMs: Math.max(timeoutMs, connectMs), warn }
  const line = new Line({ ...lines, make: carrier, what: 'commands', errorsEnd })
  const heard = new Line({
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

  const valueAt = (key: string): string => named(`${prefix}v:`, key)
  const logAt = (log: string): string => named(`${prefix}l:`, log)
  const channelOf = (topic: string): string => named(`${prefix}t:`, topic)
  const drop = (at: string): Promise<unknown> => commands.repeat(at, ['UNLINK', at])
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await commands.close()
    topics.close()
    await Promise.all([line.close(true), heard.close(false)])
  }

  return {
    get: async (key) => {
      const at = valueAt(key)
      const value = await commands.repeat(at, ['GET', at])
      return typeof value === 'string' ? value : undefined
    },
    set: async (key, value, ttlMs) => {
      const at = valueAt(key)
      const ttl = living(ttlMs)
      if (ttl === '0') await drop(at)
      else await commands.repeat(at, ['SET', at, checked(value), 'PX', ttl])
    },
    add: async (key, value, ttlMs) => {
      const at = valueAt(key)
      const ttl = living(ttlMs)
      const args = ttl === '0' ? ['EXISTS', at] : ['SET', at, checked(value), 'NX', 'PX', ttl]
      const reply = await commands.run(at, args)
      return reply === 'OK' || reply === 0
    },
    swap: async (key, expected, value, ttlMs) => {
      const at = valueAt(key)
      return (await commands.script(swap, at, [checked(expected), checked(value), living(ttlMs)])) === 1
    },
    delete: async (key) => {
      await Promise.all([drop(valueAt(key)), drop(logAt(key))])
    },
    append: async (log, entry, keep, ttlMs) => {
      const kept = String(Math.max(0, Math.floor(keep)))
      return Number(await commands.script(append, logAt(log), [checked(entry), kept, living(ttlMs)]))
    },
    after: async (log, position) => {
      if (!Number.isSafeInteger(position) || position < 0) return undefined
      const entries = await commands.script(after, logAt(log), [String(position)])
      if (!Array.isArray(entries)) return undefined
      return entries.map((entry, at) => ({ position: position + at + 1, entry: String(entry) }))
    },
    publish: async (topic, message) => {
      const channel = channelOf(topic)
      await commands.run(channel, ['PUBLISH', channel, checked(message)])
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

/** How clients are made, and what is said of where they lead. */
interface Way {
  readonly faults: Faults
  readonly carrier: () => Carrier
  readonly subscriber: () => RedisClient
  readonly errorsEnd: boolean
}

function wayTo(options: RedisBackplaneOptions): Way {
  if ('url' in options) {
    const { url } = options
    const { host, secrets } = addressOf(url)
    const socket = { reconnectStrategy: false, connectTimeout: connectMs } as const
    const make = (): RedisClient => createClient({ url, socket })
    const faults = new Faults(host, secrets)
    return { faults, carrier: () => carrying(make()), subscriber: make, errorsEnd: true }
  }
  const faults = new Faults("the client's address", [])
  if ('subscriber' in options) {
    const { client, subscriber } = options
    return {
      faults,
      carrier: () => carryingInCluster(client.duplicate()),
      subscriber: () => subscriber.duplicate(),
      errorsEnd: false,
    }
  }
  const { client } = options
  const make = (): RedisClient => client.duplicate()
  return { faults, carrier: () => carrying(make()), subscriber: make, errorsEnd: true }
}

/** Replies as text, however the client whose options are used reads them. */
const asText = { typeMapping: {} }

function carrying(client: RedisClient): Carrier {
  return {
    connect: () => client.connect(),
    close: () => client.close(),
    destroy: () => client.destroy(),
    on: (event, listener) => client.on(event, listener),
    send: (_key, args) => client.sendCommand(args, asText),
  }
}

function carryingInCluster(cluster: RedisCluster): Carrier {
  return {
    connect: () => cluster.connect(),
    close: () => cluster.close(),
    destroy: () => cluster.destroy(),
    on: (event, listener) => cluster.on(event, listener),
    send: (key, args) => cluster.sendCommand(key, false, args, asText),
  }
}

/** Host and port of an address, and what of it nobody may read. */
function addressOf(url: string): { host: string; secrets: string[] } {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !/^rediss?:$/.test(address.protocol)) {
    throw new McpError('INVALID', 'The url of a backplane must look like redis://user:password@host:6379/0')
  }
  const { password, hostname, port } = address
  const secrets = [password, decoded(password)]
  return { host: `${hostname}:${port === '' ? 6379 : port}`, secrets: [url, ...secrets] }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Milliseconds to live as Redis takes them; '0' for what is over at once. */
function living(ttlMs: number): string {
  return ttlMs > 0 ? String(Math.min(longestMs, Math.ceil(ttlMs))) : '0'
}

function named(prefix: string, name: string): string {
  if (!name.isWellFormed()) throw unfit('A key has half a surrogate pair, which Redis would not keep apart')
  return prefix + name
}

function checked(value: string): string {
  if (!value.isWellFormed()) throw unfit('A value has half a surrogate pair, which Redis would not give back')
  if (value.length * 3 > mostBytes && Buffer.byteLength(value) > mostBytes) {
    throw new McpError(
      'LIMIT',
      `A value has more than ${mostBytes} bytes: keep it elsewhere, and its name here`,
    )
  }
  return value
}

function unfit(why: string): McpError {
  return new McpError('INVALID', why)
}

/** A reporter that throws must not take what it is told of with it. */
function quietly(report: (message: string) => void): (message: string) => void {
  return (message) => {
    try {
      report(message)
    } catch {
      // Nobody is left to tell.
    }
  }
}
