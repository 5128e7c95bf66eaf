import { Socket } from 'node:net'
import type pg from 'pg'
import { abortError, EngineError, type Statement } from '../engine.ts'
import type { Connection } from '../pool.ts'

export interface PostgresAccess {
  /** A connection URL. It may contain a password, so it is never part of a message. */
  url: string
  /** Whether roles that can use files and programs of the database server are accepted. */
  allowSuperuser: boolean
}

/** A result with values as text. */
export interface RawResult {
  command: string
  rowCount: number
  fields: { name: string; type: number }[]
  rows: (string | null)[][]
}

/** Bytes of one response of the database, above which its connection is closed. */
const maxResponseBytes = 33_554_432
const connectMs = 10_000
/** Milliseconds that a statement waits for a lock. */
const maxLockMs = 5_000
/** Milliseconds until a connection is closed whose statement did not end after it was cancelled. */
const cancelMs = 2_000

/** pg's own type lacks `queryMode`. */
interface ExtendedQuery extends pg.QueryArrayConfig {
  queryMode: 'extended'
}

/** One connection to PostgreSQL. */
export class PostgresConnection implements Connection {
  readonly #access: PostgresAccess
  readonly #client: pg.Client
  readonly #socket: Socket
  #processId = 0
  #isBroken = false

  private constructor(access: PostgresAccess, client: pg.Client, socket: Socket) {
    this.#access = access
    this.#client = client
    this.#socket = socket
    const broken = (): void => {
      this.#isBroken = true
    }
    client.on('error', broken)
    client.on('end', broken)
  }

  /** Connects, and checks the rights of the role. @throws EngineError without address or password */
  static async open(access: PostgresAccess, signal: AbortSignal): Promise<PostgresConnection> {
    const { client, socket } = await connect(access, signal)
    const connection = new PostgresConnection(access, client, socket)
    try {
      if (!access.allowSuperuser) await connection.#checkRole(signal)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  get isBroken(): boolean {
    return this.#isBroken
  }

  /**
   * Runs one statement; several are a syntax error. Aborting the signal cancels it.
   * @param prefix text of this package before the statement, for the positions in errors
   */
  async run({ sql, parameters }: Statement, signal: AbortSignal, prefix = ''): Promise<RawResult> {
    if (signal.aborted) throw abortError(signal)
    if (this.#isBroken) throw new EngineError('The connection to the database was lost. Try again.')
    if (sql.includes('\0')) throw new EngineError('The SQL contains a NUL character.')
    const query: ExtendedQuery = {
      text: prefix + sql,
      values: [...parameters],
      rowMode: 'array',
      // With parameters or not: the simple protocol would run several statements.
      queryMode: 'extended',
    }
    const bytesBefore = this.#socket.bytesRead
    let isTooLarge = false
    const watch = setInterval(() => {
      if (this.#socket.bytesRead - bytesBefore <= maxResponseBytes) return
      isTooLarge = true
      this.#destroy()
    }, 20)
    this.#socket.ref()
    const running = this.#client.query<(string | null)[]>(query)
    const cancel = (): void => {
      // A late cancellation would cancel the next statement, so the connection is not used again.
      this.#isBroken = true
      void this.#cancel(running)
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const { command, rowCount, fields, rows } = await running
      return {
        command,
        rowCount: rowCount ?? 0,
        fields: fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })),
        rows,
      }
    } catch (error) {
      if (signal.aborted) throw abortError(signal)
      if (isTooLarge) {
        throw new EngineError(
          `The rows have more than ${maxResponseBytes / 1_048_576} MiB together. Select fewer columns, or a part of long values with left().`,
        )
      }
      throw errorOf(error, sql, prefix)
    } finally {
      clearInterval(watch)
      signal.removeEventListener('abort', cancel)
      this.#socket.unref()
    }
  }

  /** Runs a statement of this package. */
  runInternal(sql: string, signal: AbortSignal, ...parameters: string[]): Promise<RawResult> {
    return this.run({ sql, parameters }, signal)
  }

  /** Begins a transaction whose statements, and whose pauses, PostgreSQL limits. */
  async begin(
    access: 'READ ONLY' | 'READ WRITE',
    { timeoutMs, idleMs }: { timeoutMs: number; idleMs: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.runInternal(`BEGIN ${access}`, signal)
    // A query sets the snapshot, after which the transaction cannot be made READ WRITE.
    const { rows } = await this.runInternal(
      `SELECT pg_backend_pid(), set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
         set_config('idle_in_transaction_session_timeout', $3, true), set_config('bytea_output', 'hex', true),
         set_config('datestyle', 'ISO', true)`,
      signal,
      String(timeoutMs),
      String(Math.min(timeoutMs, maxLockMs)),
      String(idleMs),
    )
    this.#processId = Number(rows[0]?.[0])
  }

  /** Ends the transaction and everything a statement left in the session: settings, prepared statements, locks. */
  async reset(): Promise<void> {
    const signal = AbortSignal.timeout(cancelMs)
    await this.runInternal('ROLLBACK', signal)
    await this.runInternal('DISCARD ALL', signal)
  }

  close(): void {
    this.#isBroken = true
    this.#client.end().catch(() => {})
    this.#socket.unref()
  }

  #destroy(): void {
    this.#isBroken = true
    this.#socket.destroy()
  }

  /** Cancels the running statement on a second connection. If it does not end, this connection is closed. */
  async #cancel(running: Promise<unknown>): Promise<void> {
    const timer = setTimeout(() => this.#destroy(), cancelMs)
    const settled = (): void => clearTimeout(timer)
    running.then(settled, settled)
    try {
      const { client } = await connect(this.#access, AbortSignal.timeout(cancelMs))
      await client.query('SELECT pg_cancel_backend($1)', [this.#processId])
      await client.end()
    } catch {
      this.#destroy()
    }
  }

  async #checkRole(signal: AbortSignal): Promise<void> {
    const { rows } = await this.runInternal(
      `SELECT rolname FROM pg_roles WHERE rolsuper AND rolname IN (session_user, current_user) OR
         rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
         AND pg_has_role(session_user, oid, 'MEMBER') LIMIT 1`,
      signal,
    )
    const role = rows[0]?.[0]
    if (role === undefined) return
    throw new EngineError(
      `The role has the rights of ${role}, with which even a read-only query can use files and programs of the database server. ` +
        'Connect with a role that has fewer rights, or start the server with --allow-superuser.',
    )
  }
}

async function connect(
  { url }: PostgresAccess,
  signal: AbortSignal,
): Promise<{ client: pg.Client; socket: Socket }> {
  const { Client } = await driver()
  const socket = new Socket()
  const abort = (): void => {
    socket.destroy()
  }
  signal.addEventListener('abort', abort, { once: true })
  try {
    const client = new Client({
      connectionString: url,
      stream: () => socket,
      // Values stay text, so that nothing is rounded.
      types: { getTypeParser: () => (text: string) => text },
      connectionTimeoutMillis: connectMs,
      application_name: 'jackfield-server-database',
      client_encoding: 'UTF8',
      keepAlive: true,
    })
    client.on('error', () => {})
    await client.connect()
    socket.unref()
    return { client, socket }
  } catch (error) {
    socket.destroy()
    if (signal.aborted) throw abortError(signal, 'Connecting')
    throw new EngineError(`Cannot connect to the database: ${connectFailure(error)}`)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function driver(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (error) {
    throw new EngineError(
      'PostgreSQL needs the optional package pg, which is not installed: npm install pg',
      {
        cause: error,
      },
    )
  }
}

const failures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the address refuses connections. Check host and port, and that PostgreSQL runs.',
  ECONNRESET: 'the connection was closed. Check that the address is that of PostgreSQL.',
  ENOENT: 'there is no socket file. Check the path of the socket folder.',
  ENOTFOUND: 'the host name was not found.',
  EAI_AGAIN: 'the host name could not be looked up.',
  ETIMEDOUT: 'the address did not answer.',
  '28P01': 'the user name or the password is wrong.',
  '28000': 'the server does not accept this user.',
  '3D000': 'the database does not exist.',
  '53300': 'the server has too many connections.',
  '57P03': 'the server is starting or shutting down.',
}

/** Why a connection failed, without any part of the URL. */
function connectFailure(error: unknown): string {
  const { code, message }: { code?: unknown; message?: unknown } = Object(error)
  const known = typeof code === 'string' ? failures[code] : undefined
  if (known !== undefined) return known
  if (/SSL|certificate|self.signed/i.test(String(message))) {
    return 'TLS failed. Check sslmode and sslrootcert in the URL.'
  }
  if (/timeout/i.test(String(message))) return 'the address did not answer in time.'
  if (/password must be a string|no password/i.test(String(message))) return 'the server requires a password.'
  return typeof code === 'string' ? `error ${code}.` : 'the connection failed.'
}

/** The error of a statement with its position, detail and hint. */
function errorOf(error: unknown, sql: string, prefix: string): Error {
  const { code, message, position, detail, hint }: Record<string, unknown> = Object(error)
  if (typeof code !== 'string' || typeof message !== 'string') {
    return new EngineError('The connection to the database was lost. Try again.')
  }
  if (!/^[0-9A-Z]{5}$/.test(code)) {
    return new EngineError(`The connection to the database was lost (${code}). Try again.`)
  }
  const parts = [`${message} (SQLSTATE ${code})`]
  if (typeof position === 'string') parts.push(locationIn(sql, Number(position) - [...prefix].length))
  if (typeof detail === 'string') parts.push(`Detail: ${detail}`)
  if (typeof hint === 'string') parts.push(`Hint: ${hint}`)
  if (code === '25006') parts.push('Queries run in a read-only transaction.')
  if (code === '57014') parts.push('The time limit of the statement was reached. Read less, or use an index.')
  return new EngineError(parts.filter((part) => part !== '').join('\n'))
}

/** A position in a statement as line and column. PostgreSQL counts characters. */
function locationIn(sql: string, position: number): string {
  const characters = [...sql]
  if (position < 1 || position > characters.length + 1) return ''
  const before = characters
    .slice(0, position - 1)
    .join('')
    .split('\n')
  const column = [...(before.at(-1) ?? '')].length + 1
  const near = characters
    .slice(position - 1, position + 29)
    .join('')
    .split('\n')[0]
  return `At line ${before.length}, column ${column}: ${near}`
}
