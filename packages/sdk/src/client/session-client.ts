import { McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import { RetryBackoff } from '../transports/client/retry-backoff.ts'
import { SessionEnded } from '../transports/client/transport.ts'
import { everyChange, wants } from './cache.ts'
import { CallDeadline } from './call-deadline.ts'
import type { ClientConnection, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import type { Era } from './negotiate.ts'
import { isSafe, sendWithRetry } from './retry.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'

export interface LegacyOptions {
  readonly wire: ClientConnection
  readonly facts: ServerFacts
  readonly timeoutMs: number
  /** Begins a new session on the same connection. */
  readonly initialize: () => Promise<ServerFacts>
  /** Tells the whole client of a change. */
  readonly publish: (change: ServerChange) => void
}

/** How many sessions may be lost within a minute to one request before it is given up. */
const maxLost = 3
const lostWithinMs = 60_000

interface Watcher {
  readonly filter: SubscriptionFilter
  tell(change: ServerChange): void
}

/** The era of sessions: `initialize` said who is here, and the server may ask by itself. */
export class Legacy implements Era {
  readonly takesRequests = true
  readonly #options: LegacyOptions
  readonly #watchers = new Set<Watcher>()
  readonly #subscribed = new Map<string, number>()
  readonly #pace = new RetryBackoff()
  #facts: ServerFacts
  #logLevel: LoggingLevel | undefined
  #session = 1
  #renewing: Promise<void> | undefined

  constructor(options: LegacyOptions) {
    this.#options = options
    this.#facts = options.facts
    const { wire } = options
    wire.onSessionEnded(() => {
      if (this.#renewing !== undefined) return
      this.#renew(this.#session).catch((error) =>
        wire.warn(`The server ended the session, and no other could be begun yet: ${error}`),
      )
    })
  }

  get facts(): ServerFacts {
    return this.#facts
  }

  envelope(): JsonObject {
    return {}
  }

  async send(out: OutgoingRequest): Promise<ReceivedResult> {
    let lost: number[] = []
    for (;;) {
      await this.#renewing
      const session = this.#session
      try {
        const answered = await this.#options.wire.exchange(out)
        this.#pace.useful()
        return answered
      } catch (error) {
        if (!(error instanceof SessionEnded)) throw error
        if (error.ran !== false && !isSafe(out)) {
          await this.#renew(session).catch(() => {})
          throw new McpError(
            'OUTCOME_UNKNOWN',
            `The server ended the session while ${out.method} was in flight, so nobody knows whether it ran. Check before calling again.`,
          )
        }
        const now = performance.now()
        lost = [...lost.filter((at) => now - at < lostWithinMs), now]
        if (lost.length === maxLost) throw tooOften(error)
        await this.#renew(session)
      }
    }
  }

  async setLogLevel(level: LoggingLevel | undefined): Promise<void> {
    if (level === undefined) throw new McpError('INVALID', 'A session always has a log level; choose one')
    if (this.#facts.capabilities.logging === undefined) {
      throw new McpError('CAPABILITY', 'The server sends no log messages: it did not declare "logging"')
    }
    await this.#ask('logging/setLevel', { level })
    this.#logLevel = level
  }

  async ping(options: CallOptions): Promise<void> {
    await this.#ask('ping', {}, options)
  }

  async rootsChanged(): Promise<void> {
    const session = this.#session
    const tell = (): Promise<void> =>
      this.#options.wire.link.notify({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' })
    try {
      await tell()
    } catch (error) {
      if (!(error instanceof SessionEnded)) throw error
      await this.#renew(session)
      await tell()
    }
  }

  changed(change: ServerChange): void {
    for (const watcher of this.#watchers) if (wants(watcher.filter, change)) watcher.tell(change)
  }

  async watch(filter: SubscriptionFilter, tell: (change: ServerChange) => void): Promise<Watch> {
    const { tools, prompts, resources } = this.#facts.capabilities
    const honored: SubscriptionFilter = {}
    if (filter.toolsListChanged && tools?.listChanged) honored.toolsListChanged = true
    if (filter.promptsListChanged && prompts?.listChanged) honored.promptsListChanged = true
    if (filter.resourcesListChanged && resources?.listChanged) honored.resourcesListChanged = true
    if (filter.resourceSubscriptions !== undefined && resources?.subscribe) {
      honored.resourceSubscriptions = await this.#subscribeAll([...new Set(filter.resourceSubscriptions)])
    }
    const watcher: Watcher = { filter: honored, tell }
    this.#watchers.add(watcher)
    let over = (): void => {}
    const closed = new Promise<void>((resolve) => {
      over = resolve
    })
    let letGo = (): void => {}
    const close = async (): Promise<void> => {
      if (!this.#watchers.delete(watcher)) return
      letGo()
      over()
      if (this.#options.wire.isOpen) await this.#unsubscribeAll(honored.resourceSubscriptions ?? [])
    }
    letGo = this.#options.wire.onClosed(close)
    return { acknowledged: honored, closed, close }
  }

  async #subscribeAll(uris: readonly string[]): Promise<string[]> {
    const good: string[] = []
    for (const uri of uris) {
      const held = this.#subscribed.get(uri) ?? 0
      this.#subscribed.set(uri, held + 1)
      try {
        if (held === 0) await this.#ask('resources/subscribe', { uri })
        good.push(uri)
      } catch (error) {
        this.#release(uri)
        if (!(error instanceof RpcError)) throw error
        this.#options.wire.warn(`The server does not let ${uri} be watched: ${error.message}`)
      }
    }
    return good
  }

  async #unsubscribeAll(uris: readonly string[]): Promise<void> {
    for (const uri of uris) {
      if (!this.#release(uri)) continue
      await this.#ask('resources/unsubscribe', { uri }).catch((error) => {
        this.#options.wire.warn(`Could not stop watching ${uri}: ${error}`)
      })
    }
  }

  /** Lets go of one hold on a subscription; true when it was the last. */
  #release(uri: string): boolean {
    const held = this.#subscribed.get(uri) ?? 0
    if (held > 1) this.#subscribed.set(uri, held - 1)
    else this.#subscribed.delete(uri)
    return held === 1
  }

  async #ask(method: string, params: JsonObject, options: CallOptions = {}): Promise<void> {
    const idleMs = options.timeoutMs ?? this.#options.timeoutMs
    const scope = new CallDeadline({ what: method, signal: options.signal, idleMs, totalMs: idleMs })
    try {
      await sendWithRetry({ method, params, scope }, this.#options.wire, (out) => this.send(out))
    } finally {
      scope.close()
    }
  }

  /** Begins a new session once for everyone who lost the same one. */
  async #renew(lost: number): Promise<void> {
    if (lost !== this.#session) return this.#renewing
    this.#session++
    this.#renewing = this.#begin().finally(() => {
      this.#renewing = undefined
    })
    this.#renewing.catch(() => {})
    return this.#renewing
  }

  /** Tells of everything watched, as any of it may have changed while nobody listened. */
  #catchUp(): void {
    const missed = [...this.#watchers].flatMap(({ filter }) => everyChange(filter))
    const distinct = new Map(missed.map((change) => [JSON.stringify(change), change]))
    for (const change of distinct.values()) {
      this.#options.publish(change)
      this.changed(change)
    }
  }

  async #begin(): Promise<void> {
    const { wire, initialize } = this.#options
    if (!this.#pace.mayTry()) throw tooOften(new SessionEnded(false))
    this.#facts = await initialize()
    const scope = new CallDeadline({
      what: 'renewing the session',
      idleMs: this.#options.timeoutMs,
      totalMs: this.#options.timeoutMs,
    })
    const redo = (method: string, params: JsonObject): Promise<unknown> =>
      sendWithRetry({ method, params, scope }, wire, (out) => wire.exchange(out)).catch((error) => {
        wire.warn(`${method} failed after the session was renewed: ${error}`)
      })
    try {
      if (this.#logLevel !== undefined && this.#facts.capabilities.logging !== undefined) {
        await redo('logging/setLevel', { level: this.#logLevel })
      }
      for (const uri of this.#subscribed.keys()) await redo('resources/subscribe', { uri })
    } finally {
      scope.close()
    }
    this.#catchUp()
  }
}

function tooOften(cause: SessionEnded): McpError {
  return new McpError(
    'CONNECTION_CLOSED',
    `The server ends its sessions before it answers anything, ${maxLost} and more within a minute. ` +
      'Several nodes behind one address that share no sessions do that: have each session sent to the node that began it. ' +
      'Otherwise try again in a minute',
    { cause },
  )
}
