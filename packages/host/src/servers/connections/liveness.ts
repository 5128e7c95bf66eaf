import { type JsonRpcMessage, McpError } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'

const pingTimeoutMs = 5_000

interface HealthCheckOptions {
  /** Milliseconds of silence after which the server is pinged; 0 for never. */
  readonly idlePingMs: number
  /** Sends a message that is not logged. */
  readonly quietly: (work: () => Promise<void>) => Promise<void>
  /** The connection is lost. */
  readonly onLost: (client: Client, error: McpError) => void
  /** The clock jumped, as after a suspend. */
  readonly onJump: () => void
}

/**
 * Checks that a remote connection is alive, after silence and after a failed request. The exit of a child process is noticed
 * without a check.
 */
export class HealthCheck {
  readonly #options: HealthCheckOptions
  #monitor: IdleMonitor | undefined
  #checking: Promise<void> | undefined

  constructor(options: HealthCheckOptions) {
    this.#options = options
  }

  /**
   * Starts with a connection, and ends the previous one. `quietMs` is the time since the last message; undefined once it is
   * closed.
   */
  begin(client: Client, quietMs: () => number | undefined): void {
    this.end()
    const { idlePingMs, onJump } = this.#options
    if (idlePingMs === 0) return
    this.#monitor = new IdleMonitor({
      intervalMs: idlePingMs,
      quietMs,
      onSilence: () => this.suspect(client),
      onJump,
    })
  }

  /** Sends a ping, one at a time. */
  async suspect(client: Client): Promise<void> {
    const { idlePingMs, quietly, onLost } = this.#options
    const timeoutMs = Math.min(pingTimeoutMs, idlePingMs === 0 ? pingTimeoutMs : idlePingMs)
    this.#checking ??= quietly(() => client.ping({ timeoutMs }))
      .catch((error: unknown) => {
        if (error instanceof McpError) onLost(client, error)
      })
      .finally(() => {
        this.#checking = undefined
      })
    await this.#checking
  }

  end(): void {
    this.#monitor?.end()
    this.#monitor = undefined
  }
}

interface PulseOptions {
  /** Interval in milliseconds; 0 for none. */
  intervalMs: number
  /** Called after this long without a message. */
  onSilence: () => void
  /** The machine was suspended, or its clock was set. */
  onJump: () => void
  /** Milliseconds since the last message; undefined while not connected. */
  quietMs: () => number | undefined
}

const tickMs = 5_000
const jumpMs = 15_000

/** Checks periodically whether a silent connection is alive, and whether the machine was suspended. */
class IdleMonitor {
  readonly #options: PulseOptions
  readonly #timer: NodeJS.Timeout
  #wallMs = Date.now()
  #clockMs = performance.now()

  constructor(options: PulseOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), Math.min(tickMs, options.intervalMs)).unref()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const { intervalMs: everyMs, quietMs, onSilence, onJump } = this.#options
    const wallMs = Date.now()
    const clockMs = performance.now()
    const jumped = Math.abs(wallMs - this.#wallMs - (clockMs - this.#clockMs)) > jumpMs
    this.#wallMs = wallMs
    this.#clockMs = clockMs
    if (jumped) onJump()
    else if ((quietMs() ?? 0) >= everyMs) onSilence()
  }
}

const maxRequestMs = 4_200_000
const longLivedMethods: ReadonlySet<string> = new Set(['subscriptions/listen'])

/** Tracks the messages of one connection: the time of the last one, and whether a response is pending. */
export class Traffic {
  readonly #now: () => number
  /** Start times of open requests, by sender and id. */
  readonly #open = { sent: new Map<unknown, number>(), received: new Map<unknown, number>() }
  #lastMs: number

  constructor(now: () => number) {
    this.#now = now
    this.#lastMs = now()
  }

  /** Time of the last message. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** Whether a request of either side is pending, not counting subscriptions. */
  get isBusy(): boolean {
    const now = this.#now()
    const { sent, received } = this.#open
    for (const open of [sent, received])
      for (const [id, since] of open) if (now - since > maxRequestMs) open.delete(id)
    return sent.size + received.size > 0
  }

  record(direction: 'sent' | 'received', message: JsonRpcMessage): void {
    this.#lastMs = this.#now()
    if (!('method' in message)) {
      this.#open[direction === 'sent' ? 'received' : 'sent'].delete(message.id)
    } else if ('id' in message) {
      if (!longLivedMethods.has(message.method)) this.#open[direction].set(message.id, this.#lastMs)
    } else if (message.method === 'notifications/cancelled') {
      this.#open[direction].delete(message.params?.['requestId'])
    }
  }
}

const conversationTtlMs = 3_600_000

/** Decides when a lazy server may be stopped: no running request, no message for a while, and no conversation that uses it. */
export class IdleTimer {
  readonly #afterMs: number
  readonly #now: () => number
  /** When a conversation last used the server. After an hour without use it counts as ended. */
  readonly #conversations = new Map<string, number>()
  #lastUseMs: number

  constructor(afterMs: number, now: () => number) {
    this.#afterMs = afterMs
    this.#now = now
    this.#lastUseMs = now()
  }

  use(conversation: string | undefined): void {
    this.#lastUseMs = this.#now()
    if (conversation !== undefined) this.#conversations.set(conversation, this.#lastUseMs)
  }

  endConversation(conversation: string): void {
    this.#conversations.delete(conversation)
  }

  /** Milliseconds until the next check; 0 if the server may be stopped now. */
  dueMs(traffic: Traffic): number {
    const now = this.#now()
    for (const [id, since] of this.#conversations) {
      if (now - since >= conversationTtlMs) this.#conversations.delete(id)
    }
    if (traffic.isBusy) return this.#afterMs
    const latest = Math.max(this.#lastUseMs, traffic.lastMs)
    const idle = latest + this.#afterMs - now
    const remainingMs = [...this.#conversations.values()].map((since) => since + conversationTtlMs - now)
    return Math.max(0, idle, ...remainingMs)
  }
}
