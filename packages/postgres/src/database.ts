import { McpError } from '@jackfield/sdk'
import { retryDelay, TimeoutError, withTimeout } from '@jackfield/sdk/internal/stores'
import pg from 'pg'
import { PostgresErrors } from './errors.ts'
import type { PostgresOptions, PostgresPool } from './options.ts'
import { createSchema, type Schema, schemaOf } from './schema.ts'

/** A row of a result, by column. */
export type Row = Readonly<Record<string, unknown>>

const minRetryDelayMs = 50
const maxRetryDelayMs = 500

/** The database of a backplane or a task store: runs statements, each for a bounded time. */
export class Database {
  readonly errors: PostgresErrors
  readonly schema: Schema
  readonly timeoutMs: number
  /** URL of the connection that listens for messages; undefined if they are read from a table. */
  readonly listenUrl: string | undefined
  readonly #pool: PostgresPool
  readonly #end: () => Promise<void>
  readonly #onWarning: (message: string) => void
  /** When the connection was lost, by `performance.now`; undefined while connected. */
  #disconnectedAt: number | undefined
  /** Whether a statement is trying to reach the database again; others are rejected during a long outage. */
  #isProbing = false
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
        // Ends a connection that no longer responds, so that the pool replaces it.
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
  run(operation: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#track(() => this.#run(operation, text, values, false))
  }

  /** As `run`, for an idempotent statement: it is sent again after a lost connection. */
  runIdempotent(operation: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#track(() => this.#run(operation, text, values, true))
  }

  /** Calls `onWarning`, whose errors are ignored. */
  warn(text: string): void {
    try {
      this.#onWarning(this.errors.message(text))
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

  /** Waits during a short outage; rejects immediately during a longer one. */
  async #run(operation: string, text: string, values: unknown[], isIdempotent: boolean): Promise<Row[]> {
    const started = performance.now()
    const deadline = Math.max(started, (this.#disconnectedAt ?? started) + this.timeoutMs)
    if (this.#isLongOutage(started) && this.#isProbing) throw this.errors.disconnected('still not connected')
    for (let attempt = 0; ; attempt++) {
      const isProbe = this.#disconnectedAt !== undefined
      if (isProbe) this.#isProbing = true
      try {
        const remainingMs = Math.max(1, started + this.timeoutMs - performance.now())
        const result = await withTimeout(this.#pool.query(text, values), remainingMs)
        this.#onConnect()
        // Several statements have an array of results; no caller uses their rows.
        const rows = Array.isArray(result) ? [] : result.rows
        return rows.filter((row): row is Row => typeof row === 'object' && row !== null)
      } catch (error) {
        if (error instanceof TimeoutError || this.errors.wasTimeout(error))
          throw this.errors.timedOut(operation, this.timeoutMs)
        const wasUnsent = this.errors.wasUnsent(error)
        if (wasUnsent) this.#onDisconnect(error)
        const failure = wasUnsent ? this.errors.disconnected(error) : this.errors.failed(operation, error)
        const isRetried =
          wasUnsent ||
          this.errors.wasConflict(error) ||
          (isIdempotent && failure.code === 'CONNECTION_CLOSED')
        const delayMs = retryDelay(attempt, minRetryDelayMs, maxRetryDelayMs)
        if (!isRetried || performance.now() + delayMs >= deadline) throw failure
        await new Promise((resolve) => setTimeout(resolve, delayMs))
      } finally {
        if (isProbe) this.#isProbing = false
      }
    }
  }

  #isLongOutage(now: number): boolean {
    return this.#disconnectedAt !== undefined && now - this.#disconnectedAt >= this.timeoutMs
  }

  #onDisconnect(error: unknown): void {
    if (this.#disconnectedAt !== undefined) return
    this.#disconnectedAt = performance.now()
    this.warn(`was lost (${this.errors.reason(error)}) and is being reconnected`)
  }

  #onConnect(): void {
    if (this.#disconnectedAt === undefined) return
    const ms = Math.round(performance.now() - this.#disconnectedAt)
    this.#disconnectedAt = undefined
    this.warn(`is back after ${ms} ms`)
  }
}
