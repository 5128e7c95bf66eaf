import { McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcNotification } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { deferred } from '../jsonrpc/promises.ts'
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  SubscriptionFilter,
} from '../protocol/definitions.ts'
import { MetaKey } from '../protocol/meta.ts'
import { changesIn, changingLists, listFlags } from '../request/changes.ts'
import { RetryBackoff, wait } from '../transports/client/retry-backoff.ts'
import { changeOf } from './cache.ts'
import { CallDeadline, withDeadline } from './call-deadline.ts'
import type { ClientConnection, EraClient, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import { isGatewayFailure, retryAfterOf, sendWithRetry } from './retry.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'

/** Milliseconds after which a subscription counts as stable. */
const stableAfterMs = 30_000
/** Gateway failures after which a new subscription fails. */
const maxRefusals = 5

interface StatelessClientOptions {
  readonly connection: ClientConnection
  readonly facts: ServerFacts
  readonly info: Implementation
  /** The capabilities that the next request declares. */
  readonly capabilities: () => ClientCapabilities
  readonly logLevel: LoggingLevel | undefined
  readonly timeoutMs: number
  readonly publish: (change: ServerChange) => void
  /** Drops cached results that a change may have made stale, without a notification. */
  readonly invalidate: (change: ServerChange) => void
}

/** Speaks 2026-07-28: no session, every request carries the client's info and capabilities. */
export class StatelessClient implements EraClient {
  readonly facts: ServerFacts
  readonly #options: StatelessClientOptions
  #logLevel: LoggingLevel | undefined

  constructor(options: StatelessClientOptions) {
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

  send(outgoing: OutgoingRequest): Promise<ReceivedResult> {
    return this.#options.connection.request(outgoing)
  }

  async setLogLevel(level: LoggingLevel | undefined): Promise<void> {
    this.#logLevel = level
  }

  async ping(options: CallOptions): Promise<void> {
    const { timeoutMs, connection } = this.#options
    const out = { method: 'server/discover', params: { _meta: this.envelope(options) } }
    await withDeadline('ping', options.timeoutMs ?? timeoutMs, options.signal, (deadline) =>
      sendWithRetry({ ...out, deadline }, connection, (one) => this.send(one)),
    )
  }

  async rootsChanged(): Promise<void> {}

  changed(): void {}

  watch(filter: SubscriptionFilter, onChange: (change: ServerChange) => void): Promise<Watch> {
    return subscribe(this.#options, { notifications: filter, _meta: this.envelope({}) }, (change) => {
      this.#options.publish(change)
      onChange(change)
    })
  }
}

/** The `_meta` members of every stateless request. */
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

/** Opens a `subscriptions/listen` stream, which is reopened whenever it breaks. Resolves when it is acknowledged. */
function subscribe(
  { connection, timeoutMs, invalidate }: StatelessClientOptions,
  params: JsonObject,
  onChange: (change: ServerChange) => void,
): Promise<Watch> {
  const closed = deferred()
  const stop = new AbortController()
  const { signal } = stop
  const removeListener = connection.onClosed(() => stop.abort())
  const close = (): Promise<void> => {
    stop.abort()
    return closed.promise
  }

  /** Runs one stream. Resolves when either side closed it regularly. */
  const listen = async (onAcknowledged: (acknowledged: SubscriptionFilter) => void): Promise<void> => {
    const method = 'subscriptions/listen'
    const ended = new AbortController()
    const over = AbortSignal.any([signal, ended.signal])
    const deadline = new CallDeadline({ label: method, signal: over, idleMs: timeoutMs, totalMs: timeoutMs })
    let isAcknowledged = false
    const onNotification = (message: JsonRpcNotification): void => {
      if (message.method === 'notifications/subscriptions/acknowledged') {
        if (isAcknowledged) return
        isAcknowledged = true
        deadline.pause()
        onAcknowledged(filterIn(message.params?.['notifications']))
      } else if (message.method === 'notifications/cancelled') {
        ended.abort()
      } else {
        const change = changeOf(message)
        if (change !== undefined) onChange(change)
      }
    }
    try {
      await connection.request({ method, params, deadline, onNotification })
    } catch (error) {
      if (!isAcknowledged || !over.aborted) throw error
    } finally {
      deadline.close()
    }
    if (!isAcknowledged) {
      throw new McpError('PROTOCOL', 'The server ended the subscription before acknowledging it')
    }
  }

  const keepListening = async (opened: (acknowledged: SubscriptionFilter) => void): Promise<void> => {
    const backoff = new RetryBackoff()
    let acknowledged: SubscriptionFilter | undefined
    let since = Number.POSITIVE_INFINITY
    let refusals = 0
    do {
      const last = acknowledged
      let retryMs: number | undefined
      try {
        await listen((filter) => {
          since = performance.now()
          acknowledged = filter
          if (last !== undefined) {
            for (const change of changesIn(last)) onChange(change)
            return
          }
          // A change between the last response and the subscription was not notified.
          for (const change of changesIn(filter)) invalidate(change)
          opened(filter)
        })
        return
      } catch (error) {
        retryMs = retryAfterOf(error)
        if (acknowledged === undefined) {
          const isTransient = isGatewayFailure(error) && (retryMs ?? 0) < timeoutMs
          // The end of the connection itself has another error.
          const isStopped = signal.aborted && error instanceof McpError && error.code === 'CANCELLED'
          if (!isStopped && (!isTransient || ++refusals > maxRefusals)) throw error
        } else if (signal.aborted || error instanceof RpcError) return
      }
      // A server that acknowledges and closes at once counts as failing.
      if (performance.now() - since >= stableAfterMs) backoff.reset()
      await wait(backoff.afterFailure(retryMs), signal).catch(() => {})
    } while (!signal.aborted)
    if (acknowledged === undefined)
      throw new McpError('CONNECTION_CLOSED', 'The connection closed before the subscription began')
  }

  return new Promise((resolve, reject) => {
    keepListening((acknowledged) => resolve({ acknowledged, closed: closed.promise, close }))
      .finally(() => {
        removeListener()
        closed.resolve()
      })
      .catch(reject)
  })
}

function filterIn(value: unknown): SubscriptionFilter {
  if (!isObject(value)) return {}
  const { resourceSubscriptions: uris } = value
  const filter: SubscriptionFilter = {}
  for (const list of changingLists) if (value[listFlags[list]] === true) filter[listFlags[list]] = true
  if (Array.isArray(uris)) filter.resourceSubscriptions = uris.filter((uri) => typeof uri === 'string')
  return filter
}
