import { McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  SubscriptionFilter,
} from '../protocol/definitions.ts'
import { MetaKey } from '../protocol/meta.ts'
import { RetryBackoff, wait } from '../transports/client/retry-backoff.ts'
import { changeIn, everyChange } from './cache.ts'
import { CallDeadline } from './call-deadline.ts'
import type { ClientConnection, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import type { Era } from './negotiate.ts'
import { isGatewayFailure, sendWithRetry, wishOf } from './retry.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'

/** Milliseconds after which a watch counts as one that works. */
const lastingMs = 30_000
/** How often a watch that a gateway did not let through is asked for again before it is given up. */
const maxRefusals = 5

export interface ModernOptions {
  readonly wire: ClientConnection
  readonly facts: ServerFacts
  readonly info: Implementation
  /** What the next request declares. */
  readonly capabilities: () => ClientCapabilities
  readonly logLevel: LoggingLevel | undefined
  readonly timeoutMs: number
  /** Tells the whole client of a change. */
  readonly publish: (change: ServerChange) => void
  /** Drops answers that a change may have made stale, without telling anybody. */
  readonly forget: (change: ServerChange) => void
}

/** The era without sessions: every request says who sends it. */
export class Modern implements Era {
  readonly facts: ServerFacts
  readonly takesRequests = false
  readonly #options: ModernOptions
  #logLevel: LoggingLevel | undefined

  constructor(options: ModernOptions) {
    this.#options = options
    this.facts = options.facts
    this.#logLevel = options.logLevel
  }

  envelope({ logLevel, onLog, relay }: CallOptions): JsonObject {
    const { info, facts } = this.#options
    const capabilities = relay?.capabilities ?? this.#options.capabilities()
    const level = logLevel ?? this.#logLevel ?? (onLog === undefined ? undefined : 'info')
    return envelope(facts.revision, info, capabilities, level)
  }

  send(out: OutgoingRequest): Promise<ReceivedResult> {
    return this.#options.wire.exchange(out)
  }

  async setLogLevel(level: LoggingLevel | undefined): Promise<void> {
    this.#logLevel = level
  }

  async ping(options: CallOptions): Promise<void> {
    const { timeoutMs } = this.#options
    const idleMs = options.timeoutMs ?? timeoutMs
    const scope = new CallDeadline({ what: 'the ping', signal: options.signal, idleMs, totalMs: idleMs })
    try {
      const out = { method: 'server/discover', params: { _meta: this.envelope(options) }, scope }
      await sendWithRetry(out, this.#options.wire, (one) => this.send(one))
    } finally {
      scope.close()
    }
  }

  async rootsChanged(): Promise<void> {}

  changed(): void {}

  async watch(filter: SubscriptionFilter, tell: (change: ServerChange) => void): Promise<Watch> {
    const subscription = new Subscription(this.#options, this.envelope({}), filter, (change) => {
      this.#options.publish(change)
      tell(change)
    })
    const honored = await subscription.open()
    return {
      acknowledged: honored,
      closed: subscription.closed,
      close: () => subscription.close(),
    }
  }
}

/** The `_meta` fields every request of this era carries. */
export function envelope(
  version: string,
  info: Implementation,
  capabilities: ClientCapabilities,
  logLevel: LoggingLevel | undefined,
): JsonObject {
  const meta: JsonObject = {
    [MetaKey.protocolVersion]: version,
    [MetaKey.clientInfo]: info,
    [MetaKey.clientCapabilities]: capabilities,
  }
  if (logLevel !== undefined) meta[MetaKey.logLevel] = logLevel
  return meta
}

/** One `subscriptions/listen` stream, opened again whenever it breaks off. */
class Subscription {
  readonly closed: Promise<void>
  readonly #options: ModernOptions
  readonly #params: JsonObject
  readonly #tell: (change: ServerChange) => void
  readonly #stop = new AbortController()
  #over: () => void = () => {}

  constructor(
    options: ModernOptions,
    meta: JsonObject,
    filter: SubscriptionFilter,
    tell: (change: ServerChange) => void,
  ) {
    this.#options = options
    this.#params = { notifications: filter, _meta: meta }
    this.#tell = tell
    const letGo = options.wire.onClosed(() => this.#stop.abort())
    this.closed = new Promise((resolve) => {
      this.#over = () => {
        letGo()
        resolve()
      }
    })
  }

  /** Resolves with what the server agreed to tell; the stream then lives on by itself. */
  open(): Promise<SubscriptionFilter> {
    return new Promise((resolve, reject) => {
      this.#live(resolve).then(this.#over, (error) => {
        this.#over()
        reject(error)
      })
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.closed
  }

  async #live(opened: (honored: SubscriptionFilter) => void): Promise<void> {
    const pace = new RetryBackoff()
    let honored: SubscriptionFilter | undefined
    let since = Number.POSITIVE_INFINITY
    let refusals = 0
    do {
      const missed = honored
      let retryMs: number | undefined
      try {
        await this.#listen((filter) => {
          since = performance.now()
          honored = filter
          if (missed !== undefined) {
            for (const change of everyChange(missed)) this.#tell(change)
            return
          }
          // Of a change that came between an answer and this moment, nobody tells.
          for (const change of everyChange(filter)) this.#options.forget(change)
          opened(filter)
        })
        return
      } catch (error) {
        retryMs = wishOf(error)
        if (honored === undefined) {
          const passes = isGatewayFailure(error) && (retryMs ?? 0) < this.#options.timeoutMs
          if (!passes || ++refusals > maxRefusals) throw error
        } else if (this.#stop.signal.aborted || error instanceof RpcError) return
      }
      // A server that agrees and then hangs up at once is no better than one that refuses.
      if (performance.now() - since >= lastingMs) pace.useful()
      await wait(pace.afterFailure(retryMs), this.#stop.signal).catch(() => {})
    } while (!this.#stop.signal.aborted)
    if (honored === undefined)
      throw new McpError('CONNECTION_CLOSED', 'The connection ended before the watch began')
  }

  /** Runs one stream. Resolves when either side ended it in good order. */
  async #listen(acknowledged: (honored: SubscriptionFilter) => void): Promise<void> {
    const { wire, timeoutMs } = this.#options
    const ended = new AbortController()
    const end = (): void => ended.abort()
    this.#stop.signal.addEventListener('abort', end, { once: true })
    const scope = new CallDeadline({
      what: 'subscriptions/listen',
      signal: ended.signal,
      idleMs: timeoutMs,
      totalMs: timeoutMs,
    })
    let known = false
    const onNotice = (message: JsonRpcNotification): void => {
      if (message.method === 'notifications/subscriptions/acknowledged') {
        if (known) return
        known = true
        scope.pause()
        acknowledged(filterIn(message.params?.['notifications']))
      } else if (message.method === 'notifications/cancelled') {
        end()
      } else {
        const change = changeIn(message)
        if (change !== undefined) this.#tell(change)
      }
    }
    try {
      await wire.exchange({ method: 'subscriptions/listen', params: this.#params, scope, onNotice })
    } catch (error) {
      if (!known || !ended.signal.aborted) throw error
    } finally {
      scope.close()
      this.#stop.signal.removeEventListener('abort', end)
    }
    if (!known) {
      throw new McpError('PROTOCOL', 'The server ended the subscription before it acknowledged it')
    }
  }
}

function filterIn(value: unknown): SubscriptionFilter {
  if (!isObject(value)) return {}
  const { resourceSubscriptions: uris } = value
  const filter: SubscriptionFilter = {}
  for (const kind of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const) {
    if (value[kind] === true) filter[kind] = true
  }
  if (Array.isArray(uris)) filter.resourceSubscriptions = uris.filter((uri) => typeof uri === 'string')
  return filter
}
