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

/** Maximum UTF-8 bytes of a value, entry or message. */
const maxValueBytes = 64 * 2 ** 20
/** Minimum connection timeout in milliseconds, however short the command timeout is. */
const minConnectTimeoutMs = 5000

/** The two connections of a backplane or a task store: one for commands, one for messages. */
export interface RedisConnections {
  readonly prefix: string
  readonly commands: Commands
  readonly topics: Topics
  readonly errors: RedisErrors
  /** Closes both after pending commands. */
  close(): Promise<void>
}

/** @throws McpError CONNECT_FAILED if Redis cannot be reached; INVALID for an invalid option */
export async function connectRedis(options: RedisOptions): Promise<RedisConnections> {
  const { prefix = 'jackfield:', timeoutMs = 5000 } = options
  if (!(timeoutMs > 0)) throw new McpError('INVALID', `timeoutMs must be more than 0, and is ${timeoutMs}`)
  const warn = ignoringErrors(options.onWarning ?? ((message) => console.warn(message)))
  const { errors, createSender, createSubscriber, errorEndsConnection } = targetOf(options)
  const topics = new Topics(errors, timeoutMs, warn)
  const common = { errors, timeoutMs: Math.max(timeoutMs, minConnectTimeoutMs), warn }
  const commandConnection = new ReconnectingClient({
    ...common,
    create: createSender,
    purpose: 'commands',
    errorEndsConnection,
  })
  const messageConnection = new ReconnectingClient({
    ...common,
    create: createSubscriber,
    purpose: 'messages',
    errorEndsConnection: true,
    onConnect: (client, isReconnect) => topics.resubscribe(client, isReconnect),
  })
  const commands = new Commands(commandConnection, errors, timeoutMs, !('subscriber' in options))
  try {
    await Promise.all([commandConnection.start(), messageConnection.start()])
  } catch (error) {
    await Promise.all([commandConnection.close(false), messageConnection.close(false)])
    throw error
  }
  topics.start(messageConnection)
  await warnOfEviction(commands, errors, `${prefix}v:`, warn)
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await commands.close()
    topics.close()
    await Promise.all([commandConnection.close(true), messageConnection.close(false)])
  }
  return {
    prefix,
    commands,
    topics,
    errors,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** How clients are created, and the errors that name their server. */
interface RedisTarget {
  readonly errors: RedisErrors
  readonly createSender: () => CommandSender
  readonly createSubscriber: () => RedisClient
  readonly errorEndsConnection: boolean
}

function targetOf(options: RedisOptions): RedisTarget {
  if ('url' in options) {
    const { url } = options
    const { host, secrets } = addressOf(url)
    const socket = { reconnectStrategy: false, connectTimeout: minConnectTimeoutMs } as const
    const create = (): RedisClient => createClient({ url, socket })
    return {
      errors: new RedisErrors(host, secrets),
      createSender: () => withTextReplies(create()),
      createSubscriber: create,
      errorEndsConnection: true,
    }
  }
  const errors = new RedisErrors("the client's address", [])
  if ('subscriber' in options) {
    const { client, subscriber } = options
    return {
      errors,
      createSender: () => withTextRepliesInCluster(client.duplicate()),
      createSubscriber: () => subscriber.duplicate(),
      errorEndsConnection: false,
    }
  }
  const { client } = options
  const create = (): RedisClient => client.duplicate()
  return {
    errors,
    createSender: () => withTextReplies(create()),
    createSubscriber: create,
    errorEndsConnection: true,
  }
}

/** Replies as text, whatever the type mapping of the given client. `Commands` has its own timeout. */
const textReplies = { typeMapping: {}, timeout: undefined }

function withTextReplies(client: RedisClient): CommandSender {
  return {
    connect: () => client.connect(),
    close: () => client.close(),
    destroy: () => client.destroy(),
    on: (event, listener) => client.on(event, listener),
    send: (_key, args) => client.sendCommand(args, textReplies),
  }
}

function withTextRepliesInCluster(cluster: RedisCluster): CommandSender {
  return {
    connect: () => cluster.connect(),
    close: () => cluster.close(),
    destroy: () => cluster.destroy(),
    on: (event, listener) => cluster.on(event, listener),
    send: (key, args) => cluster.sendCommand(key, false, args, textReplies),
  }
}

/** Host and port of a URL, and its secrets. */
function addressOf(url: string): { host: string; secrets: string[] } {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !/^rediss?:$/.test(address.protocol)) {
    throw new McpError('INVALID', 'url must look like redis://user:password@host:6379/0')
  }
  const { password, hostname, port } = address
  const secrets = [password, decodeOrRaw(password)]
  return { host: `${hostname}:${port === '' ? 6379 : port}`, secrets: [url, ...secrets] }
}

/**
 * The key in Redis for a name.
 * @throws McpError INVALID for a name that is not well-formed Unicode: names that differ would have the same key
 */
export function keyOf(prefix: string, name: string): string {
  requireWellFormed('key', name)
  return prefix + name
}

/** A value that Redis returns unchanged. @throws McpError LIMIT if it is too large; INVALID if it is not well-formed Unicode */
export function requireStorable(value: string): string {
  requireWellFormed('value', value)
  if (value.length * 3 > maxValueBytes && Buffer.byteLength(value) > maxValueBytes) {
    throw new McpError(
      'LIMIT',
      `A value has more than ${maxValueBytes} bytes, the maximum. Store it elsewhere, and a reference to it here`,
    )
  }
  return value
}

function requireWellFormed(what: 'key' | 'value', text: string): void {
  if (text.isWellFormed()) return
  throw new McpError('INVALID', `A ${what} has an unpaired surrogate, which cannot be stored as UTF-8`)
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
