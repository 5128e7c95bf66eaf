import { Reconnection, withTimeout } from '@jackfield/sdk/internal/stores'
import type { RedisConnection } from './client.ts'
import type { RedisErrors } from './errors.ts'

export interface ReconnectingClientOptions<C extends RedisConnection> {
  /** Creates a client that is not connected. */
  readonly create: () => C
  readonly errors: RedisErrors
  /** What the connection is for, in warnings: `commands` or `messages`. */
  readonly purpose: string
  /** Connection timeout in milliseconds. */
  readonly timeoutMs: number
  readonly warn: (message: string) => void
  /** Prepares each new connection before it is used. If it rejects, the connection is replaced. */
  readonly onConnect?: (client: C, isReconnect: boolean) => Promise<void>
  /** Whether every error event ends the connection; not for a cluster client with several connections. */
  readonly errorEndsConnection: boolean
}

/** A client that is replaced when its connection is lost, after random delays of up to 2 s. */
export class ReconnectingClient<C extends RedisConnection> {
  readonly #options: ReconnectingClientOptions<C>
  #client: C | undefined
  /** Why there is no connection. */
  #cause: unknown = 'not connected yet'
  /** When the connection was lost, by `performance.now`. */
  #lostAt = 0
  #lose: ((cause: unknown) => void) | undefined
  #waiters: (() => void)[] = []
  readonly #reconnection = new Reconnection()
  #isClosed = false

  constructor(options: ReconnectingClientOptions<C>) {
    this.#options = options
  }

  /** The connected client, if any. */
  get client(): C | undefined {
    return this.#client
  }

  /** Why there is no connection. */
  get cause(): unknown {
    return this.#cause
  }

  /** Milliseconds without a connection; 0 while connected. */
  get disconnectedMs(): number {
    return this.#client === undefined ? performance.now() - this.#lostAt : 0
  }

  /** Connects for the first time. Rejects with an McpError if that fails; it is not retried. */
  async start(): Promise<void> {
    const { errors } = this.#options
    try {
      const { lost } = await this.#connect(false)
      this.#reconnectAfter(lost)
    } catch (error) {
      throw errors.unreachable(error)
    }
  }

  /** Resolves when connected, or after `ms` milliseconds. */
  async ready(ms: number): Promise<void> {
    if (this.#client !== undefined || this.#isClosed || ms <= 0) return
    await withTimeout(new Promise<void>((resolve) => this.#waiters.push(resolve)), ms).catch(() => {})
  }

  /** Replaces a client that has not responded for `ms` milliseconds. */
  drop(client: C, cause: unknown, ms: number): void {
    if (this.#client !== client) return
    this.#lose?.(cause)
    this.#lostAt -= ms
  }

  /** Closes the connection: after pending commands if `isGraceful`, else immediately. */
  async close(isGraceful: boolean): Promise<void> {
    this.#isClosed = true
    const client = this.#client
    this.#client = undefined
    this.#reconnection.close()
    this.#resolveWaiters()
    if (client === undefined) return
    if (isGraceful)
      await withTimeout(Promise.resolve(client.close()), this.#options.timeoutMs).catch(() => {})
    destroy(client)
  }

  /** Opens one connection; `lost` resolves with the reason when it ends. */
  async #connect(isReconnect: boolean): Promise<{ lost: Promise<unknown> }> {
    const { create, timeoutMs, onConnect, errorEndsConnection } = this.#options
    const client = create()
    let lose: (cause: unknown) => void = () => {}
    const lost = new Promise<unknown>((resolve) => {
      lose = (cause) => {
        if (this.#client === client) {
          this.#client = undefined
          this.#cause = cause
          this.#lostAt = performance.now()
        }
        resolve(cause)
      }
    })
    client.on('error', (error) => {
      if (errorEndsConnection) lose(error)
    })
    client.on('end', () => {
      if (errorEndsConnection) lose('the connection ended')
    })
    const connected = client.connect().then(() => onConnect?.(client, isReconnect))
    try {
      await withTimeout(Promise.race([connected, lost.then((cause) => Promise.reject(cause))]), timeoutMs)
      if (this.#isClosed) throw new Error('closed')
    } catch (error) {
      connected.catch(() => {})
      destroy(client)
      throw error
    }
    this.#lose = lose
    this.#client = client
    this.#resolveWaiters()
    return { lost: lost.finally(() => destroy(client)) }
  }

  /** Reconnects after every loss, until this is closed. */
  #reconnectAfter(firstLoss: Promise<unknown>): void {
    const { errors, purpose, warn } = this.#options
    this.#reconnection.keep(firstLoss, () => this.#connect(true), {
      lost: (cause) =>
        warn(errors.message(`was lost for ${purpose} (${errors.reason(cause)}) and is being reconnected`)),
      back: (afterMs) => warn(errors.message(`is back for ${purpose} after ${afterMs} ms`)),
      failed: (error) => {
        this.#cause = error
      },
    })
  }

  #resolveWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve()
  }
}

function destroy(client: RedisConnection): void {
  try {
    client.destroy()
  } catch {
    // Already closed.
  }
}
