import { McpError } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import type { Revocation } from '@jackfield/sdk/client/auth'
import { noLists, type ServerLists } from '../../core/trust/definitions.ts'
import { failureFrom } from '../../shared/failures.ts'
import { pause } from '../../shared/signals.ts'
import { reasonOf } from '../../shared/text.ts'
import type { ConnectionState, ServerConfig } from '../../types/index.ts'
import { SignInNeeded } from '../login/sign-in-needed.ts'
import { Breaker, backoff } from './backoff.ts'
import { allKinds, ListCache, principalOf, StoredLists } from './lists.ts'
import { HealthCheck, IdleTimer, Traffic } from './liveness.ts'
import { type ConnectionOptions, Opener } from './opener.ts'
import {
  failedState,
  hasLists,
  isConnecting,
  isFinal,
  isUp,
  notConnected,
  type StateDetails,
  StateStore,
} from './states.ts'

const retryFailedMs = 60_000
const defaultSleepAfterMs = 600_000
const maxTimerMs = 2 ** 31 - 1

/**
 * One client of one server, kept connected: a lost remote server is reconnected with growing pauses, a program only until it has
 * failed too often. Lists are kept across reconnects, so that names do not disappear for a moment.
 */
export class ServerConnection {
  readonly name: string
  readonly config: ServerConfig
  readonly #options: ConnectionOptions
  readonly #closeSignal = new AbortController()
  readonly #breaker = new Breaker()
  readonly #listCache: ListCache
  readonly #storedLists: StoredLists | undefined
  readonly #idleTimer: IdleTimer
  readonly #closing = new Set<Promise<void>>()
  readonly #states: StateStore
  readonly #opener: Opener
  readonly #healthCheck: HealthCheck | undefined
  #client: Client | undefined
  #pid: number | undefined
  #traffic: Traffic
  #attempt: Promise<void> | undefined
  /** Ends the pause before the next attempt. */
  #retryNow = new AbortController()
  #lossReason: unknown
  #retryTimer: NodeJS.Timeout | undefined
  #sleepTimer: NodeJS.Timeout | undefined

  constructor(options: ConnectionOptions) {
    const { name, config, lists: kinds = allKinds, follow = true, onWarning } = options
    this.name = name
    this.config = config
    this.#options = options
    this.#listCache = new ListCache({
      kinds,
      follow,
      timeoutMs: options.connectTimeoutMs,
      signal: this.#closeSignal.signal,
      onFetched: (client) => this.#onListsFetched(client),
      suspect: (client) => this.suspect(client),
      onWarning,
    })
    if (config.lazy === true)
      this.#storedLists = new StoredLists(options.manifests, options.identity, name, config)
    const now = (): number => performance.now()
    this.#idleTimer = new IdleTimer(config.sleepAfterMs ?? defaultSleepAfterMs, now)
    this.#traffic = new Traffic(now)
    this.#opener = new Opener({
      ...options,
      signal: this.#closeSignal.signal,
      onChange: (change) => {
        if (change.type !== 'resource') this.#listCache.changed(change.type)
      },
    })
    if ('url' in config) {
      this.#healthCheck = new HealthCheck({
        idlePingMs: options.idlePingMs,
        quietly: (work) => this.#opener.withoutStateChanges(work),
        onLost: (client, error) => this.#onConnectionLost(client, error),
        onJump: () => this.#onClockJump(),
      })
    }
    const initialState: StateDetails = config.disabled
      ? { state: 'disabled', reason: 'switched off in its configuration' }
      : { state: 'connecting', reason: 'not started yet' }
    this.#states = new StateStore(initialState, {
      shown: options.shown,
      onState: options.onState,
      signal: this.#closeSignal.signal,
    })
  }

  /** Its identity, independent of its name. */
  get identity(): string {
    return this.#options.identity()
  }

  /** The principal: the account, or the credentials that the server identifies the caller by. */
  get principal(): string {
    return principalOf(this.name, this.config)
  }

  get state(): ConnectionState {
    return this.#states.state
  }

  /** The server's definitions; empty once the server has failed. */
  get lists(): ServerLists {
    return hasLists(this.state) ? this.#listCache.lists : noLists
  }

  /** The client while connected. */
  get client(): Client | undefined {
    return this.#client
  }

  /** The process id while connected; undefined for a remote server. */
  get pid(): number | undefined {
    return this.#client === undefined ? undefined : this.#pid
  }

  /**
   * Connects for the first time, or again after a failure. Resolves when the server is ready or failed; a lazy one with cached
   * lists stays idle.
   */
  async start(): Promise<void> {
    if (this.state.state === 'disabled' || this.#closeSignal.signal.aborted) return
    clearTimeout(this.#retryTimer)
    this.#breaker.reset()
    if (this.#client !== undefined || this.state.state === 'asleep') return
    const stored = this.#storedLists?.load()
    if (stored === undefined || this.#attempt !== undefined)
      return this.#startConnecting('the host starts it')
    this.#listCache.lists = stored.lists
    this.#setState({ state: 'asleep', reason: 'it starts when it is needed', listedMs: stored.atMs })
    this.#options.onLists()
  }

  /** Reconnects immediately, in any state. Resolves when the server is ready or failed. */
  async reconnect(): Promise<void> {
    await this.#restart({ state: 'reconnecting', attempt: 1, reason: 'a reconnect was requested', inMs: 0 })
  }

  /** Starts the login that the user agreed to. Resolves when the server is ready. */
  async signIn(): Promise<void> {
    if (!('url' in this.config))
      throw new McpError('INVALID', `${this.name} is a program, which needs no sign-in`)
    await this.#restart(
      {
        state: 'needs-sign-in',
        reason: 'waiting for you to sign in in the browser',
        fixes: [],
      },
      'openly',
    )
    if (!isUp(this.state)) {
      throw notConnected('UNAUTHORIZED', `You are not signed in to ${this.name}`, this.state)
    }
  }

  /** Removes the login and the lists of its account. */
  async signOut(): Promise<Revocation> {
    if (!('url' in this.config))
      throw new McpError('INVALID', `${this.name} is a program, which needs no sign-in`)
    const revocation = await this.#opener.forget()
    this.#options.manifests.forget(this.identity)
    this.#options.texts.forget(this.identity)
    const client = this.#client
    if (client === undefined) return revocation
    this.#releaseClient(client)
    this.#listCache.lists = noLists
    this.#setState({
      state: 'needs-sign-in',
      reason: 'you signed out',
      fixes: [{ action: 'sign-in', server: this.name }],
    })
    this.#options.onLists()
    return revocation
  }

  /** The client, after the server was started or reconnected if necessary. Throws an McpError if there is none. */
  async ready(signal: AbortSignal, conversation?: string): Promise<Client> {
    const connected = this.readyNow(conversation)
    if (connected !== undefined) return connected
    // Created only to wait: its timer outlives the call.
    let timeoutSignal: AbortSignal | undefined
    if (this.state.state === 'asleep') this.#startConnecting('it is needed')
    while (this.#client === undefined || !isUp(this.state)) {
      signal.throwIfAborted()
      timeoutSignal ??= AbortSignal.any([signal, AbortSignal.timeout(this.#options.connectTimeoutMs)])
      if (timeoutSignal.aborted || !isConnecting(this.state)) {
        const code = this.state.state === 'needs-sign-in' ? 'UNAUTHORIZED' : 'CONNECTION_CLOSED'
        throw notConnected(code, `${this.name} is not connected`, this.state)
      }
      await this.#states.next(timeoutSignal)
    }
    return this.#client
  }

  /** The client for a request made now; undefined while the server is not connected. */
  readyNow(conversation?: string): Client | undefined {
    this.#idleTimer.use(conversation)
    return isUp(this.state) ? this.#client : undefined
  }

  /** A conversation ended, so it no longer keeps this server running. */
  endConversation(conversation: string): void {
    this.#idleTimer.endConversation(conversation)
    this.#scheduleSleep()
  }

  /**
   * A request failed in a way that a lost connection could explain; checks whether it is lost. A child process needs no check,
   * since its exit is noticed.
   */
  async suspect(client: Client): Promise<void> {
    await this.#healthCheck?.suspect(client)
  }

  async close(): Promise<void> {
    this.#closeSignal.abort(new McpError('CONNECTION_CLOSED', 'The host was closed'))
    if (this.state.state !== 'disabled') {
      this.#states.end({ state: 'failed', reason: 'the host was closed', fixes: [] })
    }
    clearTimeout(this.#retryTimer)
    const client = this.#client
    this.#listCache.detach()
    this.#healthCheck?.end()
    clearTimeout(this.#sleepTimer)
    if (client !== undefined) this.#closeClient(client)
    await Promise.all([this.#attempt, ...this.#closing])
  }

  #startConnecting(reason: string): Promise<void> {
    return this.#run(() => this.#attemptOnce({ state: 'connecting', reason }))
  }

  async #restart(state: StateDetails, mode: 'quietly' | 'openly' = 'quietly'): Promise<void> {
    if (this.state.state === 'disabled') throw new McpError('INVALID', `${this.name} is disabled`)
    if (this.#closeSignal.signal.aborted) return
    clearTimeout(this.#retryTimer)
    this.#breaker.reset()
    this.#retryNow.abort()
    this.#retryNow = new AbortController()
    if (this.#attempt !== undefined) {
      await this.#attempt
      if (mode === 'quietly') return
    }
    const client = this.#client
    if (client !== undefined) this.#releaseClient(client)
    await this.#run(() => this.#attemptOnce(state, mode))
  }

  /** One attempt at a time; a connection lost during setup is made again. */
  #run(work: () => Promise<void>): Promise<void> {
    this.#attempt ??= work().finally(() => {
      this.#attempt = undefined
      if (this.#client === undefined && isUp(this.state)) this.#run(() => this.#reconnect())
    })
    return this.#attempt
  }

  #closeClient(client: Client): void {
    const closing = client
      .close()
      .catch(() => {})
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  async #attemptOnce(state: StateDetails, mode: 'quietly' | 'openly' = 'quietly'): Promise<void> {
    this.#setState(state)
    try {
      await this.#connect(mode)
    } catch (error) {
      await this.#setFailed(error)
    }
  }

  async #connect(mode: 'quietly' | 'openly'): Promise<void> {
    const before = this.state
    if (await this.#options.needsApproval()) {
      this.#setState({
        state: 'needs-approval',
        reason: 'you have not agreed yet to start it',
        fixes: [{ action: 'approve', server: this.name }],
      })
    }
    const config = await this.#opener.prepare()
    this.#closeSignal.signal.throwIfAborted()
    if (this.state !== before) this.#setState({ state: 'connecting', reason: 'you agreed to start it' })
    const { client, traffic, pid, sinceMs, ended } = await this.#opener.open(config, mode)
    if (this.#closeSignal.signal.aborted) return this.#closeClient(client)
    this.#client = client
    this.#pid = pid
    this.#traffic = traffic
    client.closed.then((reason) => {
      ended()
      this.#onConnectionLost(client, reason)
    })
    await this.#listCache.begin(client, this.#options.connectTimeoutMs - (performance.now() - sinceMs))
    if (this.#client !== client) throw this.#lossReason
    this.#monitor(client)
  }

  /** Watches an open connection for loss and for idleness. */
  #monitor(client: Client): void {
    this.#idleTimer.use(undefined)
    this.#scheduleSleep()
    this.#healthCheck?.begin(client, () =>
      this.#client === client ? performance.now() - this.#traffic.lastMs : undefined,
    )
  }

  /** The machine was suspended: pending retries run at once, and cached data may be outdated. */
  #onClockJump(): void {
    this.#retryNow.abort()
    this.#retryNow = new AbortController()
    if (this.#client === undefined) return
    this.suspect(this.#client)
    this.#listCache.refreshAll()
  }

  #scheduleSleep(): void {
    clearTimeout(this.#sleepTimer)
    const client = this.#client
    if (this.#storedLists === undefined || client === undefined || this.#closeSignal.signal.aborted) return
    const dueMs = isUp(this.state) ? this.#idleTimer.dueMs(this.#traffic) : retryFailedMs
    if (dueMs > 0) {
      this.#sleepTimer = setTimeout(() => this.#scheduleSleep(), Math.min(dueMs, maxTimerMs)).unref()
      return
    }
    this.#releaseClient(client)
    this.#setState({ state: 'asleep', reason: 'not in use', listedMs: Date.now() })
  }

  #onListsFetched(client: Client): void {
    const { problem } = this.#listCache
    if (problem !== undefined) {
      const wasReported = this.state.state === 'degraded' && this.state.reason === problem.reason
      if (!wasReported) this.#setState({ state: 'degraded', ...problem })
    } else {
      const { era, revision } = client.server
      if (this.state.state !== 'ready') this.#setState({ state: 'ready', era, revision })
      this.#storeLists()
    }
    this.#options.onLists()
  }

  #storeLists(): void {
    try {
      this.#storedLists?.save(this.#listCache.lists)
    } catch (error) {
      // Stored lists only save a start of the server.
      this.#options.onWarning(`Its lists could not be stored: ${reasonOf(error)}`)
    }
  }

  #onConnectionLost(client: Client, reason: unknown): void {
    if (client !== this.#client) return
    this.#lossReason = reason ?? new McpError('CONNECTION_CLOSED', 'the connection ended')
    this.#releaseClient(client)
    if (!this.#closeSignal.signal.aborted) this.#run(() => this.#reconnect())
  }

  #releaseClient(client: Client): void {
    this.#client = undefined
    this.#listCache.detach()
    this.#closeClient(client)
  }

  async #reconnect(): Promise<void> {
    let lastError = this.#lossReason
    for (let attempt = 1; !this.#closeSignal.signal.aborted; attempt++) {
      if (isFinal(lastError)) return this.#setFailed(lastError)
      const tooOften = this.#breaker.recordFailure()
      if (tooOften && !('url' in this.config)) {
        return this.#setFailed(lastError, `failed too often within a minute, last: ${reasonOf(lastError)}`)
      }
      // A connection that is lost within moments does not reset the backoff.
      const inMs = backoff(Math.max(attempt, this.#breaker.recent))
      this.#setState({ state: 'reconnecting', attempt, reason: reasonOf(lastError), inMs })
      await pause(inMs, AbortSignal.any([this.#closeSignal.signal, this.#retryNow.signal]))
      if (this.#closeSignal.signal.aborted) return
      try {
        return await this.#connect('quietly')
      } catch (error) {
        lastError = error
      }
    }
  }

  /** Stops retrying. Remote servers often recover, so they are retried from time to time. */
  async #setFailed(error: unknown, reason = reasonOf(error)): Promise<void> {
    const failure = failureFrom(error)
    const isRejected = failure?.code === 'INVALID' || failure?.code === 'REFUSED'
    this.#listCache.lists = noLists
    this.#healthCheck?.end()
    this.#setState(
      failedState({
        name: this.name,
        config: this.config,
        reason,
        failure,
        unapproved: isRejected && (await this.#options.needsApproval()),
        signsIn: this.#opener.signsIn,
      }),
    )
    this.#options.onLists()
    if (error instanceof SignInNeeded) this.#options.onSignIn(error)
    // A refusal or a missing program does not recover by itself; a login can happen in another program.
    if (!('url' in this.config) || isRejected || this.#closeSignal.signal.aborted) return
    this.#retryTimer = setTimeout(() => this.start(), retryFailedMs).unref()
  }

  #setState(state: StateDetails): void {
    const isSandboxed = 'sandbox' in this.config && this.config.sandbox && isUp(state)
    this.#states.set(isSandboxed ? { ...state, sandboxed: true } : state)
  }
}
