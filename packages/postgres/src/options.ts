/** Options of every backplane and task store. */
export interface PostgresSettings {
  /**
   * Schema with the tables, functions and messages; deployments that share a database need different ones. Lower-case letters,
   * digits and `_`. Default `jackfield`.
   */
  schema?: string
  /**
   * URL for the one connection that listens for messages of other nodes. It must reach PostgreSQL itself: a pooler such as
   * PgBouncer in transaction mode cannot listen. With `false`, and without a URL, messages are written to a table and read
   * every 250 ms; all nodes must do the same. Default: `url`.
   */
  listenUrl?: string | false
  /** Milliseconds one statement may take, including a reconnection. Default 5000. */
  timeoutMs?: number
  /**
   * Whether to create and update the tables at the start, which needs the right to create the schema. Default true. With false,
   * call `migratePostgres` as part of a deployment.
   */
  migrate?: boolean
  /** Called when PostgreSQL is lost, and when it is back. Default `console.warn`. */
  onWarning?: (message: string) => void
}

/** The method of a `pg` pool that the stores use. */
export interface PostgresPool {
  /** Runs a statement. Each may run on another connection. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** The database of a backplane or a task store. */
export type PostgresOptions = PostgresSettings &
  (
    | {
        /** URL of the database: `postgres://user:password@host:5432/database`, with `?sslmode=verify-full` for TLS. */
        url: string
        /** Maximum number of connections for statements. Default 10. */
        maxConnections?: number
      }
    | {
        /** A `pg` pool, which is not closed with the store. */
        pool: PostgresPool
      }
  )
