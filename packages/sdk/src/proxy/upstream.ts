import type { Client } from '../client/types.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { type HeaderPlan, headerPlan } from '../protocol/headers.ts'
import type { Exchange, InputStrategy } from '../request/exchange.ts'
import type { Server } from '../server/server.ts'
import { RetryBackoff } from '../transports/client/retry-backoff.ts'
import { ResourceIndex } from './resource-index.ts'

/** A connection to an upstream server, opened on demand and reopened after a loss. */
export class Upstream {
  readonly #open: () => Promise<Client>
  readonly #backoff = new RetryBackoff()
  #client: Client | undefined
  #opening: Promise<Client> | undefined
  #closed = false

  constructor(open: () => Promise<Client>) {
    this.#open = open
  }

  /** The open connection, if any. */
  get current(): Client | undefined {
    return this.#client
  }

  /**
   * The connection, opened if necessary.
   * @throws McpError if it cannot be opened
   */
  get(): Promise<Client> {
    if (this.#closed) return Promise.reject(closed())
    if (this.#client !== undefined) return Promise.resolve(this.#client)
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#opening?.catch(() => {})
    await this.#client?.close()
  }

  async #connect(): Promise<Client> {
    if (!this.#backoff.mayTry()) {
      throw new McpError(
        'CONNECT_FAILED',
        'The upstream server closes its connections too often. Try again later.',
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

/** One server of a composition. */
export class Member {
  readonly prefix: string
  readonly server: Server
  readonly resources: ResourceIndex

  constructor(prefix: string, server: Server) {
    this.prefix = prefix
    this.server = server
    this.resources = new ResourceIndex(this)
  }

  /**
   * An exchange for this member. Its input requests are sealed under `requestName`, so that no other member accepts their
   * state.
   * @param requestName the name the client uses; the member's prefix if names are not changed
   */
  exchange(exchange: Exchange, params: Readonly<JsonObject>, requestName: string = this.prefix): Exchange {
    return { ...exchange, params, inputStrategy: withRequestName(exchange.inputStrategy, requestName) }
  }
}

function withRequestName(inputStrategy: InputStrategy, name: string): InputStrategy {
  const renamed = (exchange: Exchange): Exchange => ({
    ...exchange,
    params: { ...exchange.params, name },
    inputStrategy,
  })
  const { relay } = inputStrategy
  return {
    begin: (exchange) => inputStrategy.begin(renamed(exchange)),
    resume: (exchange) => inputStrategy.resume(renamed(exchange)),
    ...(relay === undefined ? {} : { relay }),
  }
}

const maxTools = 10_000

/** The header plans of an upstream server's tools, as far as they were listed. */
export class HeaderPlanCache {
  readonly #byTool = new Map<string, HeaderPlan | undefined>()

  get(tool: string): HeaderPlan | undefined {
    return this.#byTool.get(tool)
  }

  /** Adds listed tools. */
  learn(tools: unknown): void {
    if (!Array.isArray(tools)) return
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool['name'] !== 'string' || !isObject(tool['inputSchema'])) continue
      this.#byTool.delete(tool['name'])
      this.#byTool.set(tool['name'], planOf(tool['inputSchema']))
    }
    for (const oldest of this.#byTool.keys()) {
      if (this.#byTool.size <= maxTools) break
      this.#byTool.delete(oldest)
    }
  }

  /** Forgets all tools after a change. */
  clear(): void {
    this.#byTool.clear()
  }
}

/** A tool with invalid annotations has no plan; clients ignore such tools. */
function planOf(inputSchema: Record<string, unknown>): HeaderPlan | undefined {
  try {
    const plan = headerPlan(inputSchema)
    return plan.length === 0 ? undefined : plan
  } catch {
    return undefined
  }
}
