import { invalid, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { deferred } from '../jsonrpc/promises.ts'
import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import { changesIn, changingLists, listFlags } from '../request/changes.ts'
import { RetryBackoff } from '../transports/client/retry-backoff.ts'
import { SessionEnded } from '../transports/client/transport.ts'
import { matchesFilter } from './cache.ts'
import { withDeadline } from './call-deadline.ts'
import type { ClientConnection, EraClient, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import { isRepeatable, sendWithRetry } from './retry.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'

interface SessionClientOptions {
  readonly connection: ClientConnection
  readonly facts: ServerFacts
  readonly timeoutMs: number
  /** Starts a new session on the same connection. */
  readonly initialize: () => Promise<ServerFacts>
  readonly publish: (change: ServerChange) => void
}

/** Sessions that one request may lose within a minute before it fails. */
const maxLostSessions = 3
const lostWindowMs = 60_000

interface Watcher {
  readonly filter: SubscriptionFilter
  onChange(change: ServerChange): void
}

/** Speaks revisions up to 2025-11-25: sessions, renewed when the server ends them, and requests from the server. */
export class SessionClient implements EraClient {
  readonly #options: SessionClientOptions
  readonly #watchers = new Set<Watcher>()
  readonly #subscribed = new Map<string, number>()
  readonly #backoff = new RetryBackoff()
  #facts: ServerFacts
  #logLevel: LoggingLevel | undefined
  #session = 1
  #renewing: Promise<void> | undefined

  constructor(options: SessionClientOptions) {
    this.#options = options
    this.#facts = options.facts
    const { connection } = options
    connection.onSessionEnded(() => {
      if (this.#renewing !== undefined) return
      this.#renew(this.#session).catch((error) =>
        connection.warn(`The server ended the session, and a new one could not be started yet: ${error}`),
      )
    })
  }

  get facts(): ServerFacts {
    return this.#facts
  }

  envelope(): JsonObject {
    return {}
  }

  async send(outgoing: OutgoingRequest): Promise<ReceivedResult> {
    let lost: number[] = []
    for (;;) {
      await this.#renewing
      const session = this.#session
      try {
        const answered = await this.#options.connection.request(outgoing)
        this.#backoff.reset()
        return answered
      } catch (error) {
        if (!(error instanceof SessionEnded)) throw error
        if (error.ran !== false && !isRepeatable(outgoing)) {
          await this.#renew(session).catch(() => {})
          throw new McpError(
            'OUTCOME_UNKNOWN',
            `The server ended the session while ${outgoing.method} was in flight, so it may have run. Check before calling it again.`,
          )
        }
        const now = performance.now()
        lost = [...lost.filter((at) => now - at < lostWindowMs), now]
        if (lost.length === maxLostSessions) throw lostTooOften(error)
        await this.#renew(session)
      }
    }
  }

  async setLogLevel(level: LoggingLevel | undefined): Promise<void> {
    if (level === undefined) throw invalid('A session always has a log level, so it cannot be undefined')
    if (this.#facts.capabilities.logging === undefined) {
      throw new McpError('CAPABILITY', 'The server sends no log messages: it did not declare "logging"')
    }
    await this.#request('logging/setLevel', { level })
    this.#logLevel = level
  }

  async ping(options: CallOptions): Promise<void> {
    await this.#request('ping', {}, options)
  }

  async rootsChanged(): Promise<void> {
    const session = this.#session
    const notify = (): Promise<void> =>
      this.#options.connection.transport.notify({
        jsonrpc: '2.0',
        method: 'notifications/roots/list_changed',
      })
    try {
      await notify()
    } catch (error) {
      if (!(error instanceof SessionEnded)) throw error
      await this.#renew(session)
      await notify()
    }
  }

  changed(change: ServerChange): void {
    for (const watcher of this.#watchers) if (matchesFilter(watcher.filter, change)) watcher.onChange(change)
  }

  async watch(filter: SubscriptionFilter, onChange: (change: ServerChange) => void): Promise<Watch> {
    const { capabilities } = this.#facts
    const acknowledged: SubscriptionFilter = {}
    for (const list of changingLists) {
      const flag = listFlags[list]
      if (filter[flag] && capabilities[list]?.listChanged) acknowledged[flag] = true
    }
    if (filter.resourceSubscriptions !== undefined && capabilities.resources?.subscribe) {
      acknowledged.resourceSubscriptions = await this.#subscribeAll([
        ...new Set(filter.resourceSubscriptions),
      ])
    }
    const watcher: Watcher = { filter: acknowledged, onChange }
    this.#watchers.add(watcher)
    const closed = deferred()
    let removeCloseListener = (): void => {}
    const close = async (): Promise<void> => {
      if (!this.#watchers.delete(watcher)) return
      removeCloseListener()
      closed.resolve()
      if (this.#options.connection.isOpen)
        await this.#unsubscribeAll(acknowledged.resourceSubscriptions ?? [])
    }
    removeCloseListener = this.#options.connection.onClosed(close)
    return { acknowledged, closed: closed.promise, close }
  }

  async #subscribeAll(uris: readonly string[]): Promise<string[]> {
    const subscribed: string[] = []
    for (const uri of uris) {
      const count = this.#subscribed.get(uri) ?? 0
      this.#subscribed.set(uri, count + 1)
      try {
        if (count === 0) await this.#request('resources/subscribe', { uri })
        subscribed.push(uri)
      } catch (error) {
        this.#release(uri)
        if (!(error instanceof RpcError)) throw error
        this.#options.connection.warn(`The server refused the subscription to ${uri}: ${error.message}`)
      }
    }
    return subscribed
  }

  async #unsubscribeAll(uris: readonly string[]): Promise<void> {
    for (const uri of uris) {
      if (!this.#release(uri)) continue
      await this.#request('resources/unsubscribe', { uri }).catch((error) => {
        this.#options.connection.warn(`Could not unsubscribe from ${uri}: ${error}`)
      })
    }
  }

  /** Releases one use of a subscription; whether it was the last. */
  #release(uri: string): boolean {
    const count = this.#subscribed.get(uri) ?? 0
    if (count > 1) this.#subscribed.set(uri, count - 1)
    else this.#subscribed.delete(uri)
    return count === 1
  }

  async #request(method: string, params: JsonObject, options: CallOptions = {}): Promise<void> {
    await withDeadline(method, options.timeoutMs ?? this.#options.timeoutMs, options.signal, (deadline) =>
      sendWithRetry({ method, params, deadline }, this.#options.connection, (one) => this.send(one)),
    )
  }

  /** Starts one new session for all requests that lost the same one. */
  async #renew(lost: number): Promise<void> {
    if (lost !== this.#session) return this.#renewing
    this.#session++
    this.#renewing = this.#begin().finally(() => {
      this.#renewing = undefined
    })
    this.#renewing.catch(() => {})
    return this.#renewing
  }

  /** Publishes a change of everything watched: it may have been missed between the sessions. */
  #publishAllChanges(): void {
    const missed = [...this.#watchers].flatMap(({ filter }) => changesIn(filter))
    const distinct = new Map(missed.map((change) => [JSON.stringify(change), change]))
    for (const change of distinct.values()) {
      this.#options.publish(change)
      this.changed(change)
    }
  }

  async #begin(): Promise<void> {
    const { connection, initialize, timeoutMs } = this.#options
    if (!this.#backoff.tryAttempt()) throw lostTooOften(new SessionEnded(false))
    this.#facts = await initialize()
    await withDeadline('the renewal of the session', timeoutMs, undefined, async (deadline) => {
      const restore = (method: string, params: JsonObject): Promise<unknown> =>
        sendWithRetry({ method, params, deadline }, connection, (one) => connection.request(one)).catch(
          (error) => connection.warn(`${method} failed after the session was renewed: ${error}`),
        )
      if (this.#logLevel !== undefined && this.#facts.capabilities.logging !== undefined) {
        await restore('logging/setLevel', { level: this.#logLevel })
      }
      for (const uri of this.#subscribed.keys()) await restore('resources/subscribe', { uri })
    })
    this.#publishAllChanges()
  }
}

function lostTooOften(cause: SessionEnded): McpError {
  return new McpError(
    'CONNECTION_CLOSED',
    `The server ended ${maxLostSessions} sessions within a minute without a response. ` +
      'If several nodes share its address, route each session to the node that started it. ' +
      'Otherwise try again in a minute',
    { cause },
  )
}
