import { McpError, type McpErrorCode } from '@jackfield/sdk'
import { decodeOrRaw, reasonWithout } from '@jackfield/sdk/internal/stores'

/** Errors of Node.js and of `pg` before a statement was sent. */
const connectFailure =
  /ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|timeout exceeded when trying to connect|Connection terminated due to connection timeout/
/** SQLSTATE of a server that accepts no connection now. */
const unavailableStates = new Set(['57P03', '53300'])

/** Creates errors that name the database, without its credentials. */
export class PostgresErrors {
  readonly #server: string
  readonly #secrets: readonly string[]

  constructor(url: string | undefined) {
    const address = url !== undefined && URL.canParse(url) ? new URL(url) : undefined
    if (url !== undefined && (address === undefined || !/^postgres(ql)?:$/.test(address.protocol))) {
      throw new McpError('INVALID', 'url must look like postgres://user:password@host:5432/database')
    }
    const port = address?.port === '' ? 5432 : address?.port
    this.#server =
      address === undefined ? "the pool's address" : `${address.hostname}:${port}${address.pathname}`
    const password = address?.password ?? ''
    this.#secrets = [url ?? '', password, decodeOrRaw(password)]
  }

  /** Whether nothing was sent, so that any statement may be repeated. */
  wasUnsent(error: unknown): boolean {
    const state = stateOf(error)
    return state === undefined ? connectFailure.test(this.reason(error)) : unavailableStates.has(state)
  }

  /** Whether `pg` stopped waiting for the response. */
  wasTimeout(error: unknown): boolean {
    return error instanceof Error && error.message === 'Query read timeout'
  }

  /** Whether PostgreSQL aborted the transaction (serialization failure, deadlock), so that the statement had no effect. */
  wasConflict(error: unknown): boolean {
    return /^40(001|P01)$/.test(stateOf(error) ?? '')
  }

  /** There is no connection, so the statement was not sent. */
  disconnected(cause: unknown): McpError {
    return this.#create(
      'CONNECT_FAILED',
      `cannot be reached (${this.reason(cause)}), and the statement was not sent. Check that it runs, and the address, user and password. The next operation tries to connect again`,
    )
  }

  /** The statement was sent, and its response did not arrive in time. */
  timedOut(operation: string, ms: number): McpError {
    return this.#create(
      'TIMEOUT',
      `did not answer ${operation} within ${ms} ms, so it may or may not have run. Check its load, locks and the network, and try again later`,
    )
  }

  /** The connection was lost, or PostgreSQL returned an error. */
  failed(operation: string, cause: unknown): McpError {
    const reason = this.reason(cause)
    const state = stateOf(cause)
    if (state === undefined || state.startsWith('08') || state.startsWith('57P')) {
      return this.#create(
        'CONNECTION_CLOSED',
        `was lost before it answered ${operation} (${reason}), so it may or may not have run. Try again later`,
      )
    }
    const hint = /^(42P01|42883|3F000)$/.test(state)
      ? '. The tables are missing or old: call migratePostgres, or leave "migrate" at its default'
      : ''
    return this.#create(codeOf(state), `rejected ${operation}: ${reason}${hint}`)
  }

  /** The backplane or task store was closed. */
  closed(): McpError {
    return new McpError('CONNECTION_CLOSED', 'The store was closed: create a new one to continue')
  }

  /** The message of an error, without credentials. */
  reason(cause: unknown): string {
    return reasonWithout(this.#secrets, cause)
  }

  /** A message that begins with the name of the database. */
  message(text: string): string {
    return `PostgreSQL at ${this.#server} ${text}`
  }

  #create(code: McpErrorCode, text: string): McpError {
    return new McpError(code, this.message(text))
  }
}

/** The SQLSTATE of an error of PostgreSQL. */
function stateOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in Object(error)
    ? code
    : undefined
}

function codeOf(state: string): McpErrorCode {
  if (state.startsWith('28') || state === '42501') return 'UNAUTHORIZED'
  return state.startsWith('53') || state.startsWith('54') ? 'LIMIT' : 'CONNECT_FAILED'
}
