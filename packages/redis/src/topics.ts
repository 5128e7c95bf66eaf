import { TimeoutError, withTimeout } from '@jackfield/sdk/internal/stores'
import type { RedisClient } from './client.ts'
import type { RedisErrors } from './errors.ts'
import type { ReconnectingClient } from './reconnecting-client.ts'

const heartbeatMs = 10_000

/** A subscriber of a channel. */
interface Subscriber {
  readonly listener: (message: string) => void
  readonly lost: (() => void) | undefined
}

/** Subscriptions on one connection. A channel is subscribed to while it has subscribers. */
export class Topics {
  readonly #errors: RedisErrors
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  /** The channels that each client is subscribed to. */
  readonly #channels = new WeakMap<RedisClient, Set<string>>()
  #connection: ReconnectingClient<RedisClient> | undefined
  /** Changes of subscriptions run one after the other. */
  #queue: Promise<void> = Promise.resolve()
  #heartbeat: ReturnType<typeof setInterval> | undefined

  constructor(errors: RedisErrors, timeoutMs: number, warn: (message: string) => void) {
    this.#errors = errors
    this.#timeoutMs = timeoutMs
    this.#warn = warn
  }

  /** Uses a connection, and pings it every 10 s: the loss of an idle connection may go unnoticed. */
  start(connection: ReconnectingClient<RedisClient>): void {
    this.#connection = connection
    this.#heartbeat = setInterval(() => {
      const { client } = connection
      if (client === undefined) return
      withTimeout(client.sendCommand(['PING']), this.#timeoutMs).catch((error) =>
        connection.drop(client, error, this.#timeoutMs),
      )
    }, heartbeatMs)
    this.#heartbeat.unref()
  }

  /** Subscribes a new client to all channels. After a reconnection, reports that messages may have been missed. */
  async resubscribe(client: RedisClient, isReconnect: boolean): Promise<void> {
    for (const channel of this.#subscribers.keys()) await this.#listen(client, channel)
    if (!isReconnect) return
    for (const subscriber of [...this.#subscribers.values()].flatMap((subscribers) => [...subscribers]))
      this.#call(() => subscriber.lost?.())
  }

  /** Rejects with an McpError if the subscription fails or times out. */
  async subscribe(
    channel: string,
    listener: (message: string) => void,
    lost: (() => void) | undefined,
  ): Promise<() => void> {
    const subscriber: Subscriber = { listener, lost }
    const subscribers = this.#subscribers.get(channel) ?? new Set()
    this.#subscribers.set(channel, subscribers.add(subscriber))
    const unsubscribe = (): void => {
      if (!subscribers.delete(subscriber) || subscribers.size > 0) return
      if (this.#subscribers.get(channel) === subscribers) this.#subscribers.delete(channel)
      this.#synchronize(channel).catch(() => {})
    }
    try {
      await this.#synchronize(channel)
    } catch (error) {
      unsubscribe()
      throw error
    }
    return unsubscribe
  }

  close(): void {
    clearInterval(this.#heartbeat)
    this.#subscribers.clear()
  }

  /** Subscribes to a channel or unsubscribes from it, as its subscribers require. Redis replies do not name their command. */
  #synchronize(channel: string): Promise<void> {
    const synchronized = this.#queue.then(() => this.#synchronizeNow(channel))
    this.#queue = synchronized.catch(() => {})
    return synchronized
  }

  async #synchronizeNow(channel: string): Promise<void> {
    const connection = this.#connection
    if (connection === undefined) return
    await connection.ready(this.#timeoutMs - connection.disconnectedMs)
    const { client } = connection
    if (client === undefined) throw this.#errors.disconnected(connection.cause)
    const isWanted = this.#subscribers.has(channel)
    if (isWanted === this.#channelsOf(client).has(channel)) return
    try {
      if (isWanted) await withTimeout(this.#listen(client, channel), this.#timeoutMs)
      else {
        await withTimeout(client.unsubscribe(channel), this.#timeoutMs)
        this.#channelsOf(client).delete(channel)
      }
    } catch (error) {
      const isTimeout = error instanceof TimeoutError
      connection.drop(client, error, isTimeout ? this.#timeoutMs : 0)
      if (isTimeout) throw this.#errors.timedOut(isWanted ? 'SUBSCRIBE' : 'UNSUBSCRIBE', this.#timeoutMs)
      // Retried on the next connection.
      await this.#synchronizeNow(channel)
    }
  }

  async #listen(client: RedisClient, channel: string): Promise<void> {
    await client.subscribe(channel, (message) => {
      for (const { listener } of [...(this.#subscribers.get(channel) ?? [])])
        this.#call(() => listener(message))
    })
    this.#channelsOf(client).add(channel)
  }

  #channelsOf(client: RedisClient): Set<string> {
    const channels = this.#channels.get(client) ?? new Set()
    this.#channels.set(client, channels)
    return channels
  }

  /** Calls a listener; an error is reported as a warning. */
  #call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#warn(`A message listener failed: ${this.#errors.reason(error)}`)
    }
  }
}
