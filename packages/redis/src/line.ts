import type { RedisConnection } from './client.ts'
import type { Faults } from './faults.ts'

const firstPauseMs = 50
const longestPauseMs = 2000

export interface LineOptions<C extends RedisConnection> {
  /** Makes a client that is not connected. */
  readonly make: () => C
  readonly faults: Faults
  /** What the connection is for, in warnings. */
  readonly what: string
  /** Milliseconds a connection may take to be made. */
  readonly timeoutMs: number
  readonly warn: (message: string) => void
  /** Runs on each new connection before it is used; `again` after the first one. Where it fails, another is made. */
  readonly ready?: (client: C, again: boolean) => Promise<void>
  /** Whether any error of the client is the end of it: not so for one that has many connections of its own. */
  readonly errorsEnd: boolean
}

/** One connection that is made again whenever it is lost, after a pause by chance that grows up to 2 s. */
export class Line<C extends RedisConnection> {
  readonly #options: LineOptions<C>
  #client: C | undefined
  /** Why there is no connection. */
  #cause: unknown = 'not connected yet'
  /** When it was lost, in milliseconds of `performance.now`. */
  #lostAt = 0
  #losing: ((cause: unknown) => void) | undefined
  #waiting: (() => void)[] = []
  #wake: (() => void) | undefined
  #closed = false

  constructor(options: LineOptions<C>) {
    this.#options = options
  }

  /** The connected client; undefined while there is none. */
  get client(): C | undefined {
    return this.#client
  }

  get cause(): unknown {
    return this.#cause
  }

  /** Milliseconds for which there has been no connection; 0 while there is one. */
  get awayMs(): number {
    return this.#client === undefined ? performance.now() - this.#lostAt : 0
  }

  /** Connects for the first time. Rejects with an McpError when that fails; nothing is tried again then. */
  async start(): Promise<void> {
    const { faults } = this.#options
    try {
      const { lost } = await this.#connect(false)
      this.#keep(lost)
    } catch (error) {
      throw faults.unreachable(error)
    }
  }

  /** Settles when there is a connection, or after so many milliseconds. */
  async ready(ms: number): Promise<void> {
    if (this.#client !== undefined || this.#closed || ms <= 0) return
    await within(new Promise<void>((resolve) => this.#waiting.push(resolve)), ms).catch(() => {})
  }

  /** Gives a client up that does not answer, for `ms` milliseconds already. */
  drop(client: C, cause: unknown, ms: number): void {
    if (this.#client !== client) return
    this.#losing?.(cause)
    this.#lostAt -= ms
  }

  /** Lets go of the connection; `gently` after what was sent. */
  async close(gently: boolean): Promise<void> {
    this.#closed = true
    const client = this.#client
    this.#client = undefined
    this.#wake?.()
    this.#tellWaiting()
    if (client === undefined) return
    if (gently) await within(Promise.resolve(client.close()), this.#options.timeoutMs).catch(() => {})
    destroy(client)
  }

  /** Makes one connection; `lost` settles with the reason when it is over. */
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
      await within(Promise.race([connected, lost.then((cause) => Promise.reject(cause))]), timeoutMs)
      if (this.#closed) throw new Error('closed')
    } catch (error) {
      connected.catch(() => {})
      destroy(client)
      throw error
    }
    this.#losing = lose
    this.#client = client
    this.#tellWaiting()
    return { lost: lost.finally(() => destroy(client)) }
  }

  /** Waits for the loss of a connection and makes the next, for as long as the line is open. */
  async #keep(first: Promise<unknown>): Promise<void> {
    const { faults, what, warn } = this.#options
    let lost = first
    for (;;) {
      const cause = await lost
      if (this.#closed) return
      warn(faults.sentence(`was lost for ${what} (${faults.reason(cause)}), and is being tried again`))
      const since = performance.now()
      for (let tries = 0; ; tries++) {
        await this.#pause(Math.random() * Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(tries, 10)))
        if (this.#closed) return
        try {
          lost = (await this.#connect(true)).lost
          break
        } catch (error) {
          this.#cause = error
        }
      }
      warn(faults.sentence(`is back for ${what} after ${Math.round(performance.now() - since)} ms`))
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #tellWaiting(): void {
    for (const tell of this.#waiting.splice(0)) tell()
  }
}

/** Settles as a promise does, or rejects after so many milliseconds. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`no answer within ${Math.round(ms)} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Nothing came in time. */
export class Late extends Error {}

function destroy(client: RedisConnection): void {
  try {
    client.destroy()
  } catch {
    // It was closed already.
  }
}
