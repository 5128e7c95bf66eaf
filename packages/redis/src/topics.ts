import { TimeoutError, withTimeout } from '@jackfield/sdk/internal/stores'
import type { RedisClient } from './client.ts'
import type { RedisErrors } from './errors.ts'
import type { ReconnectingClient } from './reconnecting-client.ts'

const heartbeatMs = 10_000

/** A subscriber of a topic. */
interface Subscriber {
  readonly listener: (message: string) => void
  readonly lost: (() => void) | undefined
}

/** Subscriptions on one connection: each channel once, until its last subscriber leaves. */
export class Topics {
  readonly #faults: RedisErrors
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  /** The channels each connection is subscribed to. */
  readonly #subscribed = new WeakMap<RedisClient, Set<string>>()
  #connection: ReconnectingClient<RedisClient> | undefined
  #work: Promise<void> = Promise.resolve()
  #pingTimer: ReturnType<typeof setInterval> | undefined

  constructor(faults: RedisErrors, timeoutMs: number, warn: (message: string) => void) {
    this.#faults = faults
    this.#timeoutMs = timeoutMs
    this.#warn = warn
  }

  /** Uses a connection and pings it every 10 s: an idle connection may be lost unnoticed. */
  use(line: ReconnectingClient<RedisClient>): void {
    this.#connection = line
    this.#pingTimer = setInterval(() => {
      const { client } = line
      if (client === undefined) return
      withTimeout(client.sendCommand(['PING']), this.#timeoutMs).catch((error) =>
        line.drop(client, error, this.#timeoutMs),
      )
    }, heartbeatMs)
    this.#pingTimer.unref()
  }

  /** Subscribes a new connection to all channels, and reports that messages may have been missed. */
  async renew(client: RedisClient, again: boolean): Promise<void> {
    for (const channel of this.#subscribers.keys()) await this.#listen(client, channel)
    if (!again) return
    for (const subscriber of [...this.#subscribers.values()].flatMap((subscribers) => [...subscribers]))
      this.#callListener(() => subscriber.lost?.())
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
    const leave = (): void => {
      if (!subscribers.delete(subscriber) || subscribers.size > 0) return
      if (this.#subscribers.get(channel) === subscribers) this.#subscribers.delete(channel)
      this.#synchronize(channel).catch(() => {})
    }
    try {
      await this.#synchronize(channel)
    } catch (error) {
      leave()
      throw error
    }
    return leave
  }

  close(): void {
    clearInterval(this.#pingTimer)
    this.#subscribers.clear()
  }

  /** Makes the connection's subscription to a channel match its subscribers, one change at a time: replies name no command. */
  #synchronize(channel: string): Promise<void> {
    const settled = this.#work.then(() => this.#settleNow(channel))
    this.#work = settled.catch(() => {})
    return settled
  }

  async #settleNow(channel: string): Promise<void> {
    const line = this.#connection
    if (line === undefined) return
    await line.ready(this.#timeoutMs - line.awayMs)
    const { client } = line
    if (client === undefined) throw this.#faults.away(line.cause)
    const wanted = this.#subscribers.has(channel)
    if (wanted === this.#channelsOf(client).has(channel)) return
    const name = wanted ? 'SUBSCRIBE' : 'UNSUBSCRIBE'
    try {
      if (wanted) await withTimeout(this.#listen(client, channel), this.#timeoutMs)
      else await withTimeout(client.unsubscribe(channel), this.#timeoutMs)
      if (!wanted) this.#channelsOf(client).delete(channel)
    } catch (error) {
      const isLate = error instanceof TimeoutError
      line.drop(client, error, isLate ? this.#timeoutMs : 0)
      if (isLate) throw this.#faults.late(name, this.#timeoutMs)
      // Retried with the next connection.
      await this.#settleNow(channel)
    }
  }

  async #listen(client: RedisClient, channel: string): Promise<void> {
    await client.subscribe(channel, (message) => {
      for (const { listener } of [...(this.#subscribers.get(channel) ?? [])])
        this.#callListener(() => listener(message))
    })
    this.#channelsOf(client).add(channel)
  }

  #channelsOf(client: RedisClient): Set<string> {
    const subscribed = this.#subscribed.get(client) ?? new Set()
    this.#subscribed.set(client, subscribed)
    return subscribed
  }

  #callListener(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#warn(`A listener of messages failed: ${this.#faults.reason(error)}`)
    }
  }
}
