import { createHash } from 'node:crypto'
import { Reconnection, withTimeout } from '@jackfield/sdk/internal/stores'
import pg from 'pg'
import type { Database } from './database.ts'

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
  /** Only later messages of the table are for it. */
  readonly since: number
}

/** Most bytes of a message in a notification; PostgreSQL allows 7999 with the rest. */
const mostInlineBytes = 7_900
const flushMs = 1
const pollMs = 250
/** Messages are deleted after 120 s: without a successful look for so long, some may have been missed. */
const missedMs = 60_000
const heartbeatMs = 10_000

/** Notifications on one connection, or messages in a table. */
export function openTopics(database: Database): Promise<Topics> {
  const { listenUrl } = database
  return listenUrl === undefined
    ? Promise.resolve(new PolledTopics(database))
    : ListenedTopics.open(database, listenUrl)
}

/** The subscribers of each channel, and the messages that wait to be sent. */
abstract class BaseTopics implements Topics {
  protected readonly database: Database
  protected readonly subscribers = new Map<string, Set<Subscriber>>()
  protected isClosed = false
  #outgoing: { channel: string; message: string; sent: (result: Promise<void>) => void }[] = []
  #flushing: Promise<void> | undefined

  constructor(database: Database) {
    this.database = database
  }

  /** Collects messages for a moment, and sends them in their order with one statement. */
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
    const name = this.database.schema.channel(topic)
    return `jackfield:${createHash('sha256').update(name).digest('hex').slice(0, 40)}`
  }

  protected add(channel: string, subscriber: Subscriber): () => void {
    const all = this.subscribers.get(channel) ?? new Set()
    this.subscribers.set(channel, all.add(subscriber))
    return () => {
      if (!all.delete(subscriber) || all.size > 0) return
      if (this.subscribers.get(channel) === all) this.subscribers.delete(channel)
    }
  }

  protected deliver(channel: string, message: string, id: number): void {
    for (const { listener, since } of [...(this.subscribers.get(channel) ?? [])]) {
      if (id > since) this.call(() => listener(message))
    }
  }

  protected lost(): void {
    for (const all of [...this.subscribers.values()]) {
      for (const { lost } of [...all]) this.call(() => lost?.())
    }
  }

  protected call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.database.warn(`delivered a message whose listener failed: ${this.database.errors.reason(error)}`)
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

/** Messages as notifications. Those too long for one are in the table, and their notifications have their ids. */
class ListenedTopics extends BaseTopics {
  readonly #url: string
  /** The connection, and the channels it listens to. */
  #client: pg.Client | undefined
  readonly #listening = new Set<string>()
  #waiters: (() => void)[] = []
  /** Changes of subscriptions, and messages, each in their order. */
  #work: Promise<unknown> = Promise.resolve()
  #incoming: Promise<unknown> = Promise.resolve()
  #heartbeat: ReturnType<typeof setInterval> | undefined
  readonly #reconnection = new Reconnection()
  #sequence = 0

  private constructor(database: Database, url: string) {
    super(database)
    this.#url = url
  }

  static async open(database: Database, url: string): Promise<Topics> {
    const topics = new ListenedTopics(database, url)
    try {
      topics.#keep(await topics.#connect())
    } catch (error) {
      throw database.errors.away(error)
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
    const leave = (): void => {
      remove()
      if (!this.subscribers.has(channel)) this.#synchronize(channel).catch(() => {})
    }
    try {
      await this.#synchronize(channel)
    } catch (error) {
      leave()
      throw error
    }
    return leave
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
      messages.map(async (message, at) => {
        // Equal notifications of one transaction are merged, so each has a number.
        const prefix = `${++this.#sequence} `
        const inline = `${prefix}${JSON.stringify(message)}`
        if (Buffer.byteLength(inline) <= mostInlineBytes) return inline
        const [stored] = await this.database.run(
          'a long message',
          `INSERT INTO ${this.database.schema.name}.messages (channel, body, sent_at)
            VALUES ($1, $2, extract(epoch FROM now()) * 1000) RETURNING id`,
          [channels[at], Buffer.from(message)],
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

  /** Makes the connection listen to exactly the channels with subscribers. */
  #synchronize(channel: string): Promise<void> {
    const settled = this.#work.then(() => this.#settle(channel))
    this.#work = settled.catch(() => {})
    return settled
  }

  async #settle(channel: string): Promise<void> {
    const { errors, timeoutMs } = this.database
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const isWanted = this.subscribers.has(channel)
      if (this.#client === undefined && !isWanted) return
      await this.#connected(deadline - performance.now())
      const client = this.#client
      if (client === undefined) throw errors.away('the connection for messages was lost')
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

  #connected(ms: number): Promise<void> {
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

  /** Reconnects after every loss, until it is closed. */
  #keep({ lost }: { lost: Promise<unknown> }): void {
    const { database } = this
    this.#reconnection.keep(lost, () => this.#connect(), {
      lost: (cause) =>
        database.warn(`was lost for messages (${database.errors.reason(cause)}), and is being tried again`),
      back: (afterMs) => {
        database.warn(`is back for messages after ${afterMs} ms`)
        this.lost()
      },
    })
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined
    client.end().catch(() => {})
  }

  /** An idle connection may be lost unnoticed. */
  #ping(): void {
    const client = this.#client
    if (client === undefined) return
    this.#work = this.#work
      .then(() => withTimeout(client.query('SELECT 1'), this.database.timeoutMs))
      .catch(() => this.#drop(client))
  }

  /** Delivers a notification, in the order of their arrival also where some have to be read from the table. */
  #receive(channel: string, payload: string): void {
    const body = payload.slice(payload.indexOf(' ') + 1)
    this.#incoming = this.#incoming.then(async () => {
      if (!body.startsWith('#')) {
        const message: unknown = parsed(body)
        if (typeof message === 'string') this.deliver(channel, message, 0)
        return
      }
      const { name } = this.database.schema
      try {
        const text = `SELECT body FROM ${name}.messages WHERE id = $1`
        const [stored] = await this.database.repeat('a long message', text, [body.slice(1)])
        if (Buffer.isBuffer(stored?.['body'])) this.deliver(channel, stored['body'].toString(), 0)
        else this.lost()
      } catch {
        this.lost()
      }
    })
  }
}

/** Messages in a table that every node reads. */
class PolledTopics extends BaseTopics {
  #last = 0
  #lastLook = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined

  async subscribe(
    topic: string,
    listener: (message: string) => void,
    lost?: () => void,
  ): Promise<() => void> {
    if (this.isClosed) throw this.database.errors.closed()
    const since = await this.#newest()
    const remove = this.add(this.channelOf(topic), { listener, lost, since })
    if (this.#timer === undefined) {
      this.#last = since
      this.#lastLook = performance.now()
      this.#lookLater()
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

  async #newest(): Promise<number> {
    const text = `SELECT coalesce(max(id), 0) AS newest FROM ${this.database.schema.name}.messages`
    const [found] = await this.database.repeat('the newest message', text)
    // A table that lost its messages with PostgreSQL counts on.
    return Math.max(this.#last, Number(found?.['newest']))
  }

  #lookLater(): void {
    if (this.isClosed) return
    this.#timer = setTimeout(() => {
      if (this.subscribers.size === 0) {
        this.#timer = undefined
        return
      }
      this.#look()
        .catch(() => {})
        .finally(() => this.#lookLater())
    }, pollMs).unref()
  }

  async #look(): Promise<void> {
    const channels = [...this.subscribers.keys()]
    const messages = await this.database.repeat(
      'messages',
      `SELECT id, channel, body FROM ${this.database.schema.name}.messages
        WHERE id > $1 AND channel = ANY($2) ORDER BY id LIMIT 1000`,
      [this.#last, channels],
    )
    const now = performance.now()
    if (now - this.#lastLook > missedMs) this.lost()
    this.#lastLook = now
    for (const { id, channel, body } of messages) {
      this.#last = Number(id)
      if (Buffer.isBuffer(body)) this.deliver(String(channel), body.toString(), this.#last)
    }
    if (messages.length === 1000) await this.#look()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
