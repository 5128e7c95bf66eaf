import { abortError, EngineError } from './engine.ts'
import { count } from './sql.ts'

/** A connection that can be used again, or not. */
export interface Connection {
  /** Whether it failed or was stopped. It is then closed instead of used again. */
  readonly isBroken: boolean
  /** Restores the state of a new connection. */
  reset(): Promise<void>
  close(): void
}

export interface PoolOptions<C extends Connection> {
  connect(signal: AbortSignal): Promise<C>
  /** Maximum number of connections. */
  max: number
  /** Called when a lease has to wait: closes a result that is kept open for its next page, if there is one. */
  onExhausted(): void
}

const idleMs = 30_000
const maxWaiting = 64

/** A bounded number of connections, which are opened when needed and closed after 30 s without use. */
export class Pool<C extends Connection> {
  readonly #options: PoolOptions<C>
  readonly #idle = new Map<C, ReturnType<typeof setTimeout>>()
  readonly #waiting: (() => void)[] = []
  #open = 0
  #isClosed = false

  constructor(options: PoolOptions<C>) {
    this.#options = options
  }

  /** A connection for this caller alone, until `release`. @throws EngineError */
  async lease(signal: AbortSignal): Promise<C> {
    if (signal.aborted) throw abortError(signal, 'The request')
    if (this.#isClosed) throw new EngineError('The server is closing.')
    const [idle] = this.#idle.keys()
    if (idle !== undefined) {
      clearTimeout(this.#idle.get(idle))
      this.#idle.delete(idle)
      if (!idle.isBroken) return idle
      this.#close(idle)
    }
    if (this.#open < this.#options.max) {
      this.#open++
      try {
        return await this.#options.connect(signal)
      } catch (error) {
        this.#open--
        this.#wakeNext()
        throw error
      }
    }
    await this.#waitForConnection(signal)
    return this.lease(signal)
  }

  /** Returns a connection to the pool, in the background: it is reset first. */
  release(connection: C): void {
    const discard = (): void => {
      this.#close(connection)
      this.#wakeNext()
    }
    const mustClose = (): boolean => connection.isBroken || this.#isClosed
    if (mustClose()) {
      discard()
      return
    }
    connection.reset().then(() => {
      if (mustClose()) {
        discard()
        return
      }
      const timer = setTimeout(() => {
        this.#idle.delete(connection)
        this.#close(connection)
      }, idleMs)
      timer.unref()
      this.#idle.set(connection, timer)
      this.#wakeNext()
    }, discard)
  }

  /** Closes the idle connections now and the others when they are released. */
  close(): void {
    this.#isClosed = true
    for (const [connection, timer] of this.#idle) {
      clearTimeout(timer)
      this.#close(connection)
    }
    this.#idle.clear()
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #close(connection: C): void {
    this.#open--
    connection.close()
  }

  /** Wakes the request that has waited longest. */
  #wakeNext(): void {
    this.#waiting.shift()?.()
  }

  /** Resolves when a connection may be free. */
  #waitForConnection(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= maxWaiting) {
      throw new EngineError(
        `All ${count(this.#options.max, 'connection')} are in use and ${maxWaiting} requests are waiting. Try again later.`,
      )
    }
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1)
        reject(abortError(signal, 'Waiting for a connection'))
      }
      this.#waiting.push(wake)
      signal.addEventListener('abort', abort, { once: true })
      this.#options.onExhausted()
    })
  }
}
