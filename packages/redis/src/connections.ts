import { McpError } from '@jackfield/sdk'
import { decodeOrRaw } from '@jackfield/sdk/internal/stores'
import { createClient } from '@redis/client'
import type { CommandSender, RedisClient, RedisCluster } from './client.ts'
import { Commands } from './commands.ts'
import { RedisErrors } from './errors.ts'
import { warnOfEviction } from './eviction.ts'
import type { RedisOptions } from './options.ts'
import { ReconnectingClient } from './reconnecting-client.ts'
import { Topics } from './topics.ts'

/** Most UTF-8 bytes of a value, entry or message. */
const mostBytes = 64 * 2 ** 20
/** Shortest connection timeout, however short the command timeout is. */
const connectMs = 5000

/** The two connections of a backplane or a task store: one for commands, one for messages. */
export interface RedisConnections {
  readonly prefix: string
  readonly commands: Commands
  readonly topics: Topics
  readonly faults: RedisErrors
  readonly warn: (message: string) => void
  /** Closes both after pending commands. */
  close(): Promise<void>
}

/** @throws McpError CONNECT_FAILED if Redis cannot be reached; INVALID for an invalid option */
export async function connectRedis(options: RedisOptions): Promise<RedisConnections> {
  const { prefix = 'jackfield:', timeoutMs = 5000 } = options
  if (!(timeoutMs > 0)) throw new McpError('INVALID', `timeoutMs must be more than 0, and is ${timeoutMs}`)
  const warn = ignoringErrors(options.onWarning ?? ((message) => console.warn(message)))
  const { faults, carrier, subscriber, errorsEnd } = targetOf(options)
  const topics = new Topics(faults, timeoutMs, warn)
  const lines = { faults, timeoutMs: Math.max(timeoutMs, connectMs), warn }
  const line = new ReconnectingClient({ ...lines, make: carrier, what: 'commands', errorsEnd })
  const messages = new ReconnectingClient({
    ...lines,
    make: subscriber,
    what: 'messages',
    errorsEnd: true,
    ready: (client, again) => topics.renew(client, again),
  })
  const commands = new Commands(line, faults, timeoutMs, !('subscriber' in options))
  try {
    await Promise.all([line.start(), messages.start()])
  } catch (error) {
    await Promise.all([line.close(false), messages.close(false)])
    throw error
  }
  topics.use(messages)
  await warnOfEviction(commands, faults, `${prefix}v:`, warn)
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await commands.close()
    topics.close()
    await Promise.all([line.close(true), messages.close(false)])
  }
  return {
    prefix,
    commands,
    topics,
    faults,
    warn,
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

function targetOf(options: RedisOptions): RedisTarget {
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

/** Replies as text, whatever the type mapping of the given client; and no timer for each command, as `Commands` has one. */
const asText = { typeMapping: {}, timeout: undefined }

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

export function keyOf(prefix: string, name: string): string {
  if (!name.isWellFormed())
    throw invalidOption('A key has half a surrogate pair, which Redis would not keep apart')
  return prefix + name
}

export function requireSize(value: string): string {
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
