import type { Client } from '../client/types.ts'
import { McpError } from '../jsonrpc/error.ts'
import { Pace } from '../links/pace.ts'

/** A connection to an upstream server that is opened when it is needed, and again after it was lost. */
export class Upstream {
  readonly #open: () => Promise<Client>
  readonly #pace = new Pace()
  #client: Client | undefined
  #opening: Promise<Client> | undefined
  #closed = false

  constructor(open: () => Promise<Client>) {
    this.#open = open
  }

  /** The connection if it stands. */
  get current(): Client | undefined {
    return this.#client
  }

  /**
   * The connection, opened if it does not stand.
   * @throws McpError why it cannot be opened
   */
  get(): Promise<Client> {
    if (this.#closed) return Promise.reject(closed())
    if (this.#client !== undefined) return Promise.resolve(this.#client)
    this.#opening ??= this.#enter().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#opening?.catch(() => {})
    await this.#client?.close()
  }

  async #enter(): Promise<Client> {
    if (!this.#pace.mayTry()) {
      throw new McpError(
        'CONNECT_FAILED',
        'The upstream server ends its connections too often: it is given a pause',
      )
    }
    const client = await this.#open()
    this.#client = client
    client.closed.then(() => {
      if (this.#client === client) this.#client = undefined
    })
    if (!this.#closed) return client
    await client.close()
    throw closed()
  }
}

function closed(): McpError {
  return new McpError('CONNECTION_CLOSED', 'The proxy was closed')
}
