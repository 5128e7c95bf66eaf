import { McpError, type McpErrorCode } from '@jackfield/sdk'
import { reasonWithout } from '@jackfield/sdk/internal/stores'

/** Creates errors that name the Redis server, without its credentials. */
export class RedisErrors {
  readonly #server: string
  readonly #secrets: readonly string[]

  /**
   * @param server host and port, for messages
   * @param secrets texts to remove from messages
   */
  constructor(server: string, secrets: readonly string[]) {
    this.#server = server
    this.#secrets = secrets
  }

  /** The first connection failed. */
  unreachable(cause: unknown): McpError {
    return this.#create(
      'CONNECT_FAILED',
      `cannot be reached (${this.reason(cause)}). Check that it runs, and the address, user and password`,
    )
  }

  /** There is no connection, so the command was not sent. */
  disconnected(cause: unknown): McpError {
    return this.#create(
      'CONNECT_FAILED',
      `is disconnected (${this.reason(cause)}), and the command was not sent. It is being reconnected; try again later`,
    )
  }

  /** The command was sent, and its reply did not arrive in time. */
  timedOut(command: string, ms: number): McpError {
    return this.#create(
      'TIMEOUT',
      `did not answer ${command} within ${ms} ms, so it may or may not have run. Check the load of Redis and the network, and try again later`,
    )
  }

  /** The command was sent, and the connection ended before its reply. */
  connectionLost(command: string, cause: unknown): McpError {
    return this.#create(
      'CONNECTION_CLOSED',
      `was lost before it answered ${command} (${this.reason(cause)}), so it may or may not have run. Try again later`,
    )
  }

  /** Redis answered with an error. */
  rejected(command: string, cause: unknown): McpError {
    const reason = this.reason(cause)
    return this.#create(codeOf(reason), `rejected ${command}: ${reason}`)
  }

  /** Too many commands are pending. */
  overloaded(pending: number): McpError {
    return this.#create(
      'LIMIT',
      `has not answered ${pending} commands of this process yet, which is the limit. Try again later`,
    )
  }

  /** The backplane or task store was closed. */
  closed(): McpError {
    return new McpError('CONNECTION_CLOSED', 'The store was closed: create a new one to continue')
  }

  /** The message of an error, without credentials. */
  reason(cause: unknown): string {
    return reasonWithout(this.#secrets, cause)
  }

  /** A message that begins with the name of the server. */
  message(text: string): string {
    return `Redis at ${this.#server} ${text}`
  }

  #create(code: McpErrorCode, text: string): McpError {
    return new McpError(code, this.message(text))
  }
}

function codeOf(reason: string): McpErrorCode {
  if (/^(NOAUTH|NOPERM|WRONGPASS)\b/.test(reason)) return 'UNAUTHORIZED'
  return reason.startsWith('OOM') ? 'LIMIT' : 'CONNECT_FAILED'
}
