import { Reconnection, withTimeout } from '@jackfield/sdk/internal/stores'
import type { RedisConnection } from './client.ts'
import type { RedisErrors } from './errors.ts'

export interface ReconnectionOptions<C extends RedisConnection> {
  /** Creates a client that is not connected. */
  readonly make: () => C
  readonly faults: RedisErrors
  /** The purpose of the connection, for warnings. */
  readonly what: string
  /** Connection timeout in milliseconds. */
  readonly timeoutMs: number
  readonly warn: (message: string) => void
  /** Runs on each new connection before it is used; `again` after the first. If it fails, the connection is replaced. */
  readonly ready?: (client: C, again: boolean) => Promise<void>
  /** Whether every client error ends the connection; not for a cluster client with several connections. */
  readonly errorsEnd: boolean
}

/** A connection that reconnects after random pauses of up to 2 s. */
export class ReconnectingClient<C extends RedisConnection> {
  readonly #options: ReconnectionOptions<C>
  #client: C | undefined
  /** Why there is no connection. */
  #cause: unknown = 'not connected yet'
  /** When the connection was lost, by `performance.now`. */
  #lostAt = 0
  #onLost: ((cause: unknown) => void) | undefined
  #waiters: (() => void)[] = []
  readonly #reconnection = new Reconnection()
  #closed = false

  constructor(options: ReconnectionOptions<C>) {
    this.#options = options
  }

  /** The connected client, if any. */
  get client(): C | undefined {
    return this.#client
  }

  get cause(): unknown {
    return this.#cause
  }

  /** Milliseconds without a connection; 0 while connected. */
  get awayMs(): number {
    return this.#client === undefined ? performance.now() - this.#lostAt : 0
  }

  /** Connects for the first time. Rejects with an McpError without a retry. */
  async start(): Promise<void> {
    const { faults } = this.#options
    try {
      const { lost } = await this.#connect(false)
      this.#keep(lost)
    } catch (error) {
      throw faults.unreachable(error)
    }
  }

  /** Resolves when connected, or after `ms` milliseconds. */
  async ready(ms: number): Promise<void> {
    if (this.#client !== undefined || this.#closed || ms <= 0) return
    await withTimeout(new Promise<void>((resolve) => this.#waiters.push(resolve)), ms).catch(() => {})
  }

  /** Drops a client that has not responded for `ms` milliseconds. */
  drop(client: C, cause: unknown, ms: number): void {
    if (this.#client !== client) return
    this.#onLost?.(cause)
    this.#lostAt -= ms
  }

  /** Closes the connection; `gently` after pending commands. */
  async close(gently: boolean): Promise<void> {
    this.#closed = true
    const client = this.#client
    this.#client = undefined
    this.#reconnection.close()
    this.#resolveWaiters()
    if (client === undefined) return
    if (gently) await withTimeout(Promise.resolve(client.close()), this.#options.timeoutMs).catch(() => {})
    destroy(client)
  }

  /** Opens one connection; `lost` resolves with the reason when it ends. */
  async #connect(again: boolean): Promise<{ lost: Promise<unknown> }> {
    const { make, timeoutMs, ready, errorsEnd } = this.#options
    const client = make()
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
      if (errorsEnd) lose(error)
    })
    client.on('end', () => {
      if (errorsEnd) lose('the connection ended')
    })
    const connected = client.connect().then(() => ready?.(client, again))
    try {
      await withTimeout(Promise.race([connected, lost.then((cause) => Promise.reject(cause))]), timeoutMs)
      if (this.#closed) throw new Error('closed')
    } catch (error) {
      connected.catch(() => {})
      destroy(client)
      throw error
    }
    this.#onLost = lose
    this.#client = client
    this.#resolveWaiters()
    return { lost: lost.finally(() => destroy(client)) }
  }

  /** Reconnects after every loss, until the line is closed. */
  #keep(first: Promise<unknown>): void {
    const { faults, what, warn } = this.#options
    this.#reconnection.keep(first, () => this.#connect(true), {
      lost: (cause) =>
        warn(faults.sentence(`was lost for ${what} (${faults.reason(cause)}), and is being tried again`)),
      back: (afterMs) => warn(faults.sentence(`is back for ${what} after ${afterMs} ms`)),
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
