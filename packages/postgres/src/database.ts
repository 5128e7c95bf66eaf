import { McpError } from '@jackfield/sdk'
import { retryDelay, TimeoutError, withTimeout } from '@jackfield/sdk/internal/stores'
import pg from 'pg'
import { PostgresErrors } from './errors.ts'
import type { PostgresOptions, PostgresPool } from './options.ts'
import { createSchema, type Schema, schemaOf } from './schema.ts'

/** A row of a result, by column. */
export type Row = Readonly<Record<string, unknown>>

const firstPauseMs = 50
const longestPauseMs = 500

/** The database of a backplane or a task store: runs statements, each for a bounded time. */
export class Database {
  readonly errors: PostgresErrors
  readonly schema: Schema
  readonly timeoutMs: number
  /** Where messages are listened for; undefined if they are read from a table. */
  readonly listenUrl: string | undefined
  readonly #pool: PostgresPool
  readonly #end: () => Promise<void>
  readonly #onWarning: (message: string) => void
  /** Since when there is no connection, by `performance.now`. */
  #awaySince: number | undefined
  #probing = false
  #pending = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  private constructor(options: PostgresOptions) {
    const { timeoutMs = 5000, schema = 'jackfield', listenUrl } = options
    if (!(timeoutMs > 0)) throw new McpError('INVALID', `timeoutMs must be more than 0, and is ${timeoutMs}`)
    this.timeoutMs = timeoutMs
    this.schema = schemaOf(schema)
    this.#onWarning = options.onWarning ?? ((message) => console.warn(message))
    if ('url' in options) {
      const { url, maxConnections = 10 } = options
      this.errors = new PostgresErrors(url)
      this.listenUrl = listenUrl === false ? undefined : (listenUrl ?? url)
      const pool = new pg.Pool({
        connectionString: url,
        max: maxConnections,
        connectionTimeoutMillis: timeoutMs,
        // Ends a connection that no longer answers, which frees its place in the pool.
        query_timeout: timeoutMs,
        keepAlive: true,
        application_name: 'jackfield',
      })
      // An idle connection that ends is replaced; without a listener its error would end the process.
      pool.on('error', () => {})
      this.#pool = pool
      this.#end = () => pool.end()
    } else {
      this.errors = new PostgresErrors(undefined)
      this.listenUrl = listenUrl === false ? undefined : listenUrl
      this.#pool = options.pool
      this.#end = async () => {}
    }
  }

  /**
   * Connects, and creates or updates the tables unless `migrate` is false.
   * @throws McpError CONNECT_FAILED if the database cannot be reached; INVALID for an invalid option
   */
  static async open(options: PostgresOptions): Promise<Database> {
    const database = new Database(options)
    try {
      await createSchema(database, options.migrate ?? true)
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** Runs a statement. Rejects with an McpError if the database is unavailable, times out, or returns an error. */
  run(what: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#track(() => this.#run(what, text, values, false))
  }

  /** The same for a statement without effect, or with the same effect if it is repeated. */
  repeat(what: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#track(() => this.#run(what, text, values, true))
  }

  /** Calls `onWarning`, whose errors are ignored. */
  warn(what: string): void {
    try {
      this.#onWarning(this.errors.sentence(what))
    } catch {
      // A warning callback that fails cannot be reported.
    }
  }

  /** Rejects new statements, waits for pending ones, and closes the connections that it opened. */
  close(): Promise<void> {
    this.#closed ??= Promise.allSettled([...this.#pending]).then(() => this.#end())
    return this.#closed
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw this.errors.closed()
    const running = work()
    this.#pending.add(running)
    try {
      return await running
    } finally {
      this.#pending.delete(running)
    }
  }

  /** Waits during a short outage; rejects at once during a longer one. */
  async #run(what: string, text: string, values: unknown[], mayRepeat: boolean): Promise<Row[]> {
    const started = performance.now()
    const deadline = Math.max(started, (this.#awaySince ?? started) + this.timeoutMs)
    if (this.#isLongAway(started) && this.#probing) throw this.errors.away('still not connected')
    for (let tries = 0; ; tries++) {
      const isProbe = this.#awaySince !== undefined
      if (isProbe) this.#probing = true
      try {
        const left = Math.max(1, Math.min(this.timeoutMs, started + this.timeoutMs - performance.now()))
        const result = await withTimeout(this.#pool.query(text, values), left)
        this.#connected()
        // Several statements have several results, which nothing reads.
        const rows = Array.isArray(result) ? [] : result.rows
        return rows.filter((row): row is Row => typeof row === 'object' && row !== null)
      } catch (error) {
        if (error instanceof TimeoutError || this.errors.wasLate(error))
          throw this.errors.late(what, this.timeoutMs)
        const wasUnsent = this.errors.wasUnsent(error)
        if (wasUnsent) this.#lost(error)
        const failure = wasUnsent ? this.errors.away(error) : this.errors.failed(what, error)
        const isRepeated =
          wasUnsent || this.errors.wasConflict(error) || (mayRepeat && failure.code === 'CONNECTION_CLOSED')
        const pause = retryDelay(tries, firstPauseMs, longestPauseMs)
        if (!isRepeated || performance.now() + pause >= deadline) throw failure
        await new Promise((resolve) => setTimeout(resolve, pause))
      } finally {
        if (isProbe) this.#probing = false
      }
    }
  }

  #isLongAway(now: number): boolean {
    return this.#awaySince !== undefined && now - this.#awaySince >= this.timeoutMs
  }

  #lost(error: unknown): void {
    if (this.#awaySince !== undefined) return
    this.#awaySince = performance.now()
    this.warn(`was lost (${this.errors.reason(error)}), and is being tried again`)
  }

  #connected(): void {
    if (this.#awaySince === undefined) return
    const ms = Math.round(performance.now() - this.#awaySince)
    this.#awaySince = undefined
    this.warn(`is back after ${ms} ms`)
  }
}
