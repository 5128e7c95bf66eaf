import type { RedisClient } from './client.ts'
import type { Faults } from './faults.ts'
import { Late, type Line, within } from './line.ts'

const heartbeatMs = 10_000

/** Somebody who listens to a topic. */
interface Ear {
  readonly listener: (message: string) => void
  readonly lost: (() => void) | undefined
}

/** What is listened to, on one connection: each channel once however many listen, until the last of them leaves. */
export class Topics {
  readonly #faults: Faults
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  readonly #ears = new Map<string, Set<Ear>>()
  /** Channels that each connection listens to. */
  readonly #heard = new WeakMap<RedisClient, Set<string>>()
  #line: Line<RedisClient> | undefined
  #work: Promise<void> = Promise.resolve()
  #beat: ReturnType<typeof setInterval> | undefined

  constructor(faults: Faults, timeoutMs: number, warn: (message: string) => void) {
    this.#faults = faults
    this.#timeoutMs = timeoutMs
    this.#warn = warn
  }

  /** Uses a line, and looks every 10 s whether it is alive: a connection on which nothing is sent may die unseen. */
  use(line: Line<RedisClient>): void {
    this.#line = line
    this.#beat = setInterval(() => {
      const { client } = line
      if (client === undefined) return
      within(client.sendCommand(['PING']), this.#timeoutMs).catch((error) =>
        line.drop(client, error, this.#timeoutMs),
      )
    }, heartbeatMs)
    this.#beat.unref()
  }

  /** Listens on a new connection to all that was listened to, and says that something may have been missed. */
  async renew(client: RedisClient, again: boolean): Promise<void> {
    for (const channel of this.#ears.keys()) await this.#listen(client, channel)
    if (!again) return
    for (const ear of [...this.#ears.values()].flatMap((ears) => [...ears])) this.#tell(() => ear.lost?.())
  }

  /** Rejects with an McpError when the channel cannot be listened to in time. */
  async subscribe(
    channel: string,
    listener: (message: string) => void,
    lost: (() => void) | undefined,
  ): Promise<() => void> {
    const ear: Ear = { listener, lost }
    const ears = this.#ears.get(channel) ?? new Set()
    this.#ears.set(channel, ears.add(ear))
    const leave = (): void => {
      if (!ears.delete(ear) || ears.size > 0) return
      if (this.#ears.get(channel) === ears) this.#ears.delete(channel)
      this.#settle(channel).catch(() => {})
    }
    try {
      await this.#settle(channel)
    } catch (error) {
      leave()
      throw error
    }
    return leave
  }

  close(): void {
    clearInterval(this.#beat)
    this.#ears.clear()
  }

  /** Makes what the connection listens to what is wanted. One after the other, since Redis' answers name no command. */
  #settle(channel: string): Promise<void> {
    const settled = this.#work.then(() => this.#settleNow(channel))
    this.#work = settled.catch(() => {})
    return settled
  }

  async #settleNow(channel: string): Promise<void> {
    const line = this.#line
    if (line === undefined) return
    await line.ready(this.#timeoutMs - line.awayMs)
    const { client } = line
    if (client === undefined) throw this.#faults.away(line.cause)
    const wanted = this.#ears.has(channel)
    if (wanted === this.#heardOn(client).has(channel)) return
    const name = wanted ? 'SUBSCRIBE' : 'UNSUBSCRIBE'
    try {
      if (wanted) await within(this.#listen(client, channel), this.#timeoutMs)
      else await within(client.unsubscribe(channel), this.#timeoutMs)
      if (!wanted) this.#heardOn(client).delete(channel)
    } catch (error) {
      const isLate = error instanceof Late
      line.drop(client, error, isLate ? this.#timeoutMs : 0)
      if (isLate) throw this.#faults.late(name, this.#timeoutMs)
      // The next connection listens to all that is wanted, or this is tried once more.
      await this.#settleNow(channel)
    }
  }

  async #listen(client: RedisClient, channel: string): Promise<void> {
    await client.subscribe(channel, (message) => {
      for (const { listener } of [...(this.#ears.get(channel) ?? [])]) this.#tell(() => listener(message))
    })
    this.#heardOn(client).add(channel)
  }

  #heardOn(client: RedisClient): Set<string> {
    const heard = this.#heard.get(client) ?? new Set()
    this.#heard.set(client, heard)
    return heard
  }

  #tell(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#warn(`A listener of the backplane failed: ${this.#faults.reason(error)}`)
    }
  }
}
