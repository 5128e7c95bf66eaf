import type { Client } from '../client/types.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { type HeaderPlan, headerPlan } from '../protocol/headers.ts'
import type { Exchange, InputStrategy } from '../request/exchange.ts'
import type { Server } from '../server/server.ts'
import { RetryBackoff } from '../transports/client/retry-backoff.ts'
import { ResourceIndex } from './resource-index.ts'

/** A connection to an upstream server that is opened when it is needed, and again after it was lost. */
export class Upstream {
  readonly #open: () => Promise<Client>
  readonly #pace = new RetryBackoff()
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
    if (!this.#pace.tryAttempt()) {
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

/** One server of a composition. */
export class Member {
  readonly prefix: string
  readonly server: Server
  readonly catalogue: ResourceIndex

  constructor(prefix: string, server: Server) {
    this.prefix = prefix
    this.server = server
    this.catalogue = new ResourceIndex(this)
  }

  /**
   * An exchange as this member sees it. What it asks is sealed under its own name, so that no answer given to it opens
   * in another.
   * @param outer the name the client knows; the prefix alone where names are not changed
   */
  exchange(exchange: Exchange, params: Readonly<JsonObject>, outer: string = this.prefix): Exchange {
    return { ...exchange, params, inputStrategy: underName(exchange.inputStrategy, outer) }
  }
}

function underName(asking: InputStrategy, name: string): InputStrategy {
  const renamed = (exchange: Exchange): Exchange => ({
    ...exchange,
    params: { ...exchange.params, name },
    inputStrategy: asking,
  })
  const { relay } = asking
  return {
    begin: (exchange) => asking.begin(renamed(exchange)),
    resume: (exchange) => asking.resume(renamed(exchange)),
    ...(relay === undefined ? {} : { relay }),
  }
}

const maxTools = 10_000

/** Which arguments of an upstream server's tools travel as headers, as far as their list was seen. */
export class HeaderPlanCache {
  readonly #byTool = new Map<string, HeaderPlan | undefined>()

  get(tool: string): HeaderPlan | undefined {
    return this.#byTool.get(tool)
  }

  /** Takes note of listed tools. */
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

  /** Forgets every tool: they changed. */
  clear(): void {
    this.#byTool.clear()
  }
}

/** A tool whose annotations break a rule mirrors nothing: clients leave it out by themselves. */
function planOf(inputSchema: Record<string, unknown>): HeaderPlan | undefined {
  try {
    const plan = headerPlan(inputSchema)
    return plan.length === 0 ? undefined : plan
  } catch {
    return undefined
  }
}
