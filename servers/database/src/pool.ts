import { EngineError, stopped } from './engine.ts'
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
  /** Connections at once. */
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
    if (signal.aborted) throw stopped(signal, 'The request')
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
        this.#next()
        throw error
      }
    }
    await this.#turn(signal)
    return this.lease(signal)
  }

  /** Gives a connection back. It is reset first, so this does not wait. */
  release(connection: C): void {
    const end = (): void => {
      this.#close(connection)
      this.#next()
    }
    const isUseless = (): boolean => connection.isBroken || this.#isClosed
    if (isUseless()) {
      end()
      return
    }
    connection.reset().then(() => {
      if (isUseless()) {
        end()
        return
      }
      const timer = setTimeout(() => {
        this.#idle.delete(connection)
        this.#close(connection)
      }, idleMs)
      timer.unref()
      this.#idle.set(connection, timer)
      this.#next()
    }, end)
  }

  /** Closes the idle connections now and the others when they are released. */
  close(): void {
    this.#isClosed = true
    for (const [connection, timer] of this.#idle) {
      clearTimeout(timer)
      this.#close(connection)
    }
    this.#idle.clear()
    for (const turn of this.#waiting.splice(0)) turn()
  }

  #close(connection: C): void {
    this.#open--
    connection.close()
  }

  #next(): void {
    this.#waiting.shift()?.()
  }

  /** Resolves when a connection may be free. */
  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= maxWaiting) {
      throw new EngineError(
        `All ${count(this.#options.max, 'connection')} are in use and ${maxWaiting} requests are waiting. Try again later.`,
      )
    }
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        reject(stopped(signal, 'Waiting for a connection'))
      }
      this.#waiting.push(turn)
      signal.addEventListener('abort', abort, { once: true })
      this.#options.onExhausted()
    })
  }
}
