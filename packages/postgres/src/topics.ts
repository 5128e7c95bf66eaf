import { createHash } from 'node:crypto'
import { Reconnection, withTimeout } from '@jackfield/sdk/internal/stores'
import pg from 'pg'
import type { Database } from './database.ts'
import { now } from './schema.ts'

/** Subscriptions to topics, and messages to all subscribers of a topic on any node. */
export interface Topics {
  publish(topic: string, message: string): Promise<void>
  /** `lost` is called when messages may have been missed. Rejects with an McpError if the database is unavailable. */
  subscribe(topic: string, listener: (message: string) => void, lost?: () => void): Promise<() => void>
  close(): Promise<void>
}

/** A subscriber of a topic. */
interface Subscriber {
  readonly listener: (message: string) => void
  readonly lost: (() => void) | undefined
  /** The id of the newest message when it subscribed: only later ones are delivered to it. */
  readonly since: number
}

/** Maximum bytes of a notification payload; PostgreSQL allows 7999. */
const maxPayloadBytes = 7_900
/** Milliseconds for which published messages are collected into one statement. */
const flushMs = 1
const pollMs = 250
/** Messages are deleted after 120 s: after this time without a successful poll, some may have been missed. */
const maxPollGapMs = 60_000
const heartbeatMs = 10_000

/** Messages by LISTEN and NOTIFY, or by polling a table if there is no `listenUrl`. */
export function openTopics(database: Database): Promise<Topics> {
  const { listenUrl } = database
  return listenUrl === undefined
    ? Promise.resolve(new PolledTopics(database))
    : NotifiedTopics.open(database, listenUrl)
}

/** The subscribers of each channel, and the queue of messages to publish. */
abstract class BaseTopics implements Topics {
  protected readonly database: Database
  protected readonly subscribers = new Map<string, Set<Subscriber>>()
  protected isClosed = false
  #outgoing: { channel: string; message: string; sent: (result: Promise<void>) => void }[] = []
  #flushing: Promise<void> | undefined

  constructor(database: Database) {
    this.database = database
  }

  /** Queues the message; queued messages are sent in order, with one statement. */
  publish(topic: string, message: string): Promise<void> {
    if (this.isClosed) return Promise.reject(this.database.errors.closed())
    const channel = this.channelOf(topic)
    return new Promise<void>((resolve) => {
      this.#outgoing.push({ channel, message, sent: resolve })
      this.#flushing ??= this.#flush()
    })
  }

  abstract subscribe(
    topic: string,
    listener: (message: string) => void,
    lost?: () => void,
  ): Promise<() => void>

  async close(): Promise<void> {
    this.isClosed = true
    this.subscribers.clear()
    await this.#flushing
  }

  protected abstract send(channels: string[], messages: string[]): Promise<void>

  protected channelOf(topic: string): string {
    const id = this.database.schema.topicId(topic)
    return `jackfield:${createHash('sha256').update(id).digest('hex').slice(0, 40)}`
  }

  protected add(channel: string, subscriber: Subscriber): () => void {
    const subscribers = this.subscribers.get(channel) ?? new Set()
    this.subscribers.set(channel, subscribers.add(subscriber))
    return () => {
      if (!subscribers.delete(subscriber) || subscribers.size > 0) return
      if (this.subscribers.get(channel) === subscribers) this.subscribers.delete(channel)
    }
  }

  protected deliver(channel: string, message: string, id: number): void {
    for (const { listener, since } of [...(this.subscribers.get(channel) ?? [])]) {
      if (id > since) this.call(() => listener(message))
    }
  }

  /** Notifies all subscribers that messages may have been missed. */
  protected reportLoss(): void {
    for (const subscribers of [...this.subscribers.values()]) {
      for (const { lost } of [...subscribers]) this.call(() => lost?.())
    }
  }

  /** Calls a listener; an error is reported as a warning. */
  protected call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.database.warn(
        `delivered a message whose listener threw an error: ${this.database.errors.reason(error)}`,
      )
    }
  }

  async #flush(): Promise<void> {
    while (this.#outgoing.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, flushMs))
      const batch = this.#outgoing.splice(0, 1000)
      const result = this.send(
        batch.map(({ channel }) => channel),
        batch.map(({ message }) => message),
      )
      for (const { sent } of batch) sent(result)
      await result.catch(() => {})
    }
    this.#flushing = undefined
  }
}

/** Messages as notifications. A message that is too long is stored in the table, and its notification has its id. */
class NotifiedTopics extends BaseTopics {
  readonly #url: string
  #client: pg.Client | undefined
  /** The channels that `#client` listens to. */
  readonly #listening = new Set<string>()
  #waiters: (() => void)[] = []
  /** Statements on `#client` run one after the other. */
  #statements: Promise<unknown> = Promise.resolve()
  /** Received messages are delivered one after the other. */
  #deliveries: Promise<unknown> = Promise.resolve()
  #heartbeat: ReturnType<typeof setInterval> | undefined
  readonly #reconnection = new Reconnection()
  #sequence = 0

  private constructor(database: Database, url: string) {
    super(database)
    this.#url = url
  }

  static async open(database: Database, url: string): Promise<Topics> {
    const topics = new NotifiedTopics(database, url)
    try {
      topics.#reconnectAfter(await topics.#connect())
    } catch (error) {
      throw database.errors.disconnected(error)
    }
    topics.#heartbeat = setInterval(() => topics.#ping(), heartbeatMs).unref()
    return topics
  }

  async subscribe(
    topic: string,
    listener: (message: string) => void,
    lost?: () => void,
  ): Promise<() => void> {
    if (this.isClosed) throw this.database.errors.closed()
    const channel = this.channelOf(topic)
    const remove = this.add(channel, { listener, lost, since: -1 })
    const unsubscribe = (): void => {
      remove()
      if (!this.subscribers.has(channel)) this.#synchronize(channel).catch(() => {})
    }
    try {
      await this.#synchronize(channel)
    } catch (error) {
      unsubscribe()
      throw error
    }
    return unsubscribe
  }

  override async close(): Promise<void> {
    await super.close()
    clearInterval(this.#heartbeat)
    this.#reconnection.close()
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => {})
  }

  protected async send(channels: string[], messages: string[]): Promise<void> {
    const payloads = await Promise.all(
      messages.map(async (message, index) => {
        // PostgreSQL merges equal notifications of one transaction, so each has a number.
        const prefix = `${++this.#sequence} `
        const inline = `${prefix}${JSON.stringify(message)}`
        if (Buffer.byteLength(inline) <= maxPayloadBytes) return inline
        const [stored] = await this.database.run(
          'a long message',
          `INSERT INTO ${this.database.schema.name}.messages (channel, body, sent_at)
            VALUES ($1, $2, ${now}) RETURNING id`,
          [channels[index], Buffer.from(message)],
        )
        return `${prefix}#${String(stored?.['id'])}`
      }),
    )
    await this.database.run(
      'messages',
      'SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS m (channel, payload)',
      [channels, payloads],
    )
  }

  /** Listens to a channel or stops listening to it, as its subscribers require. */
  #synchronize(channel: string): Promise<void> {
    const synchronized = this.#statements.then(() => this.#synchronizeNow(channel))
    this.#statements = synchronized.catch(() => {})
    return synchronized
  }

  async #synchronizeNow(channel: string): Promise<void> {
    const { errors, timeoutMs } = this.database
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const isWanted = this.subscribers.has(channel)
      if (this.#client === undefined && !isWanted) return
      await this.#ready(deadline - performance.now())
      const client = this.#client
      if (client === undefined) throw errors.disconnected('the connection for messages was lost')
      if (isWanted === this.#listening.has(channel)) return
      try {
        const statement = `${isWanted ? 'LISTEN' : 'UNLISTEN'} ${pg.escapeIdentifier(channel)}`
        await withTimeout(client.query(statement), timeoutMs)
        if (isWanted) this.#listening.add(channel)
        else this.#listening.delete(channel)
        return
      } catch (error) {
        this.#drop(client)
        if (performance.now() >= deadline) throw errors.failed('LISTEN', error)
      }
    }
  }

  /** Resolves when connected, or after `ms` milliseconds. */
  #ready(ms: number): Promise<void> {
    if (this.#client !== undefined || ms <= 0) return Promise.resolve()
    return withTimeout(new Promise<void>((resolve) => this.#waiters.push(resolve)), ms).catch(() => {})
  }

  /** Opens the connection; `lost` resolves when it ends. */
  async #connect(): Promise<{ lost: Promise<unknown> }> {
    const { timeoutMs } = this.database
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
      application_name: 'jackfield messages',
    })
    const lost = new Promise<unknown>((resolve) => {
      client.once('error', resolve)
      client.once('end', () => resolve('the connection ended'))
    })
    client.on('error', () => {})
    client.on('notification', ({ channel, payload = '' }) => this.#receive(channel, payload))
    try {
      await client.connect()
      this.#listening.clear()
      for (const channel of this.subscribers.keys()) {
        await withTimeout(client.query(`LISTEN ${pg.escapeIdentifier(channel)}`), timeoutMs)
        this.#listening.add(channel)
      }
      if (this.isClosed) throw this.database.errors.closed()
    } catch (error) {
      client.end().catch(() => {})
      throw error
    }
    this.#client = client
    for (const resolve of this.#waiters.splice(0)) resolve()
    return { lost: lost.finally(() => this.#drop(client)) }
  }

  /** Reconnects after every loss, until this is closed. */
  #reconnectAfter({ lost }: { lost: Promise<unknown> }): void {
    const { database } = this
    this.#reconnection.keep(lost, () => this.#connect(), {
      lost: (cause) =>
        database.warn(`was lost for messages (${database.errors.reason(cause)}) and is being reconnected`),
      back: (afterMs) => {
        database.warn(`is back for messages after ${afterMs} ms`)
        this.reportLoss()
      },
    })
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined
    client.end().catch(() => {})
  }

  /** Checks the connection: the loss of an idle one may go unnoticed. */
  #ping(): void {
    const client = this.#client
    if (client === undefined) return
    this.#statements = this.#statements
      .then(() => withTimeout(client.query('SELECT 1'), this.database.timeoutMs))
      .catch(() => this.#drop(client))
  }

  /** Delivers notifications in the order of their arrival, although some messages have to be read from the table. */
  #receive(channel: string, payload: string): void {
    const body = payload.slice(payload.indexOf(' ') + 1)
    this.#deliveries = this.#deliveries.then(async () => {
      if (!body.startsWith('#')) {
        const message = parseJson(body)
        if (typeof message === 'string') this.deliver(channel, message, 0)
        return
      }
      const { name } = this.database.schema
      try {
        const text = `SELECT body FROM ${name}.messages WHERE id = $1`
        const [stored] = await this.database.runIdempotent('a long message', text, [body.slice(1)])
        if (Buffer.isBuffer(stored?.['body'])) this.deliver(channel, stored['body'].toString(), 0)
        else this.reportLoss()
      } catch {
        this.reportLoss()
      }
    })
  }
}

/** Messages in a table that every node polls. */
class PolledTopics extends BaseTopics {
  /** The id of the newest message that was read. */
  #lastId = 0
  /** When messages were read last, by `performance.now`. */
  #lastPollAt = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined

  async subscribe(
    topic: string,
    listener: (message: string) => void,
    lost?: () => void,
  ): Promise<() => void> {
    if (this.isClosed) throw this.database.errors.closed()
    const since = await this.#newestId()
    const remove = this.add(this.channelOf(topic), { listener, lost, since })
    if (this.#timer === undefined) {
      this.#lastId = since
      this.#lastPollAt = performance.now()
      this.#schedulePoll()
    }
    return remove
  }

  override async close(): Promise<void> {
    await super.close()
    clearTimeout(this.#timer)
  }

  protected async send(channels: string[], messages: string[]): Promise<void> {
    const bodies = messages.map((message) => Buffer.from(message))
    const text = `SELECT ${this.database.schema.name}.publish($1::text[], $2::bytea[])`
    await this.database.run('messages', text, [channels, bodies])
  }

  async #newestId(): Promise<number> {
    const text = `SELECT coalesce(max(id), 0) AS newest FROM ${this.database.schema.name}.messages`
    const [found] = await this.database.runIdempotent('the newest message', text)
    // The unlogged table is empty after a crash of PostgreSQL, and its ids begin again.
    return Math.max(this.#lastId, Number(found?.['newest']))
  }

  #schedulePoll(): void {
    if (this.isClosed) return
    this.#timer = setTimeout(() => {
      if (this.subscribers.size === 0) {
        this.#timer = undefined
        return
      }
      this.#poll()
        .catch(() => {})
        .finally(() => this.#schedulePoll())
    }, pollMs).unref()
  }

  async #poll(): Promise<void> {
    const channels = [...this.subscribers.keys()]
    const messages = await this.database.runIdempotent(
      'messages',
      `SELECT id, channel, body FROM ${this.database.schema.name}.messages
        WHERE id > $1 AND channel = ANY($2) ORDER BY id LIMIT 1000`,
      [this.#lastId, channels],
    )
    // A channel that was subscribed to during the query may have messages before these: read again, or they would be skipped.
    if ([...this.subscribers.keys()].some((channel) => !channels.includes(channel))) return this.#poll()
    const now = performance.now()
    if (now - this.#lastPollAt > maxPollGapMs) this.reportLoss()
    this.#lastPollAt = now
    for (const { id, channel, body } of messages) {
      this.#lastId = Number(id)
      if (Buffer.isBuffer(body)) this.deliver(String(channel), body.toString(), this.#lastId)
    }
    if (messages.length === 1000) await this.#poll()
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
