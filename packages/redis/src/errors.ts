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

  unreachable(cause: unknown): McpError {
    return this.#create(
      'CONNECT_FAILED',
      `could not be reached (${this.reason(cause)}). Check that it runs, and the address, user and password`,
    )
  }

  away(cause: unknown): McpError {
    return this.#create(
      'CONNECT_FAILED',
      `is away (${this.reason(cause)}), and nothing was sent. It is being tried again all the time: repeat this later`,
    )
  }

  late(command: string, ms: number): McpError {
    return this.#create(
      'TIMEOUT',
      `did not answer ${command} within ${ms} ms, so whether it was done is not known. Look at its load and at the network, and repeat this later`,
    )
  }

  broken(command: string, cause: unknown): McpError {
    return this.#create(
      'CONNECTION_CLOSED',
      `was lost before it answered ${command} (${this.reason(cause)}), so whether it was done is not known. Repeat this later`,
    )
  }

  refused(command: string, cause: unknown): McpError {
    const reason = this.reason(cause)
    return this.#create(codeOf(reason), `refused ${command}: ${reason}`)
  }

  full(pending: number): McpError {
    return this.#create(
      'LIMIT',
      `has ${pending} commands of this node to answer, and no more are taken. Repeat this later`,
    )
  }

  closed(): McpError {
    return new McpError('CONNECTION_CLOSED', 'This was closed: create a new one to continue')
  }

  /** The message of an error, without credentials. */
  reason(cause: unknown): string {
    return reasonWithout(this.#secrets, cause)
  }

  /** A message about the server. */
  sentence(what: string): string {
    return `Redis at ${this.#server} ${what}`
  }

  #create(code: McpErrorCode, what: string): McpError {
    return new McpError(code, this.sentence(what))
  }
}

function codeOf(reason: string): McpErrorCode {
  if (/^(NOAUTH|NOPERM|WRONGPASS)\b/.test(reason)) return 'UNAUTHORIZED'
  return reason.startsWith('OOM') ? 'LIMIT' : 'CONNECT_FAILED'
}
