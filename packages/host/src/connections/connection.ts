import { McpError, type SubscriptionFilter } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { serverIdentity } from '../policy/index.ts'
import { failureFrom, reasonOf } from '../text.ts'
import type { ConnectionState, Failure, ServerConfig } from '../types/index.ts'
import { Breaker, backoff } from './backoff.ts'
import {
  everyKind,
  type ListKind,
  type ListProblem,
  noLists,
  refreshLists,
  type ServerLists,
} from './lists.ts'

export interface ConnectionOptions {
  name: string
  config: ServerConfig
  /** What the client answers and says about itself. */
  client: ConnectOptions
  connectTimeoutMs: number
  /** Lists to fetch; default all. */
  lists?: readonly ListKind[] | undefined
  /** Whether lists are kept up to date; default true. */
  follow?: boolean | undefined
  /** Hears every change of state, after `state` has it. */
  onState: (state: ConnectionState) => void
  /** The lists have new contents. */
  onLists: () => void
  onResourceUpdated: (uri: string) => void
  onStderr: (text: string) => void
  onWarning: (message: string) => void
}

const debounceMs = 100
const probeTimeoutMs = 5_000
const pingTimeoutMs = 5_000
const watchWaitMs = 1_000
const leastListMs = 1_000
const lastingMs = 60_000
const coolDownMs = 60_000

/**
 * One client of one server, kept alive: a server that goes away is brought back with growing pauses, until it failed
 * too often. Lists outlive a short absence, so that names do not come and go with every hiccup.
 */
export class ServerConnection {
  readonly name: string
  readonly identity: string
  readonly config: ServerConfig
  readonly #options: ConnectionOptions
  readonly #over = new AbortController()
  readonly #breaker = new Breaker()
  readonly #waiting = new Set<() => void>()
  readonly #problems = new Map<ListKind, ListProblem>()
  readonly #kinds: readonly ListKind[]
  readonly #stale = new Set<ListKind>()
  #state: ConnectionState
  #lists: ServerLists = noLists
  #client: Client | undefined
  #attempt: Promise<void> | undefined
  /** Ends the pause before the next attempt. */
  #hurry = new AbortController()
  #lostBecause = ''
  #refreshing: Promise<void> = Promise.resolve()
  #refreshTimer: NodeJS.Timeout | undefined
  #refreshDue = Number.POSITIVE_INFINITY
  #listFailures = 0
  #watchFailures = 0
  #coolDown: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined
  readonly #closing = new Set<Promise<void>>()

  constructor(options: ConnectionOptions) {
    this.name = options.name
    this.config = options.config
    this.identity = serverIdentity(options.config)
    this.#options = options
    this.#kinds = options.lists ?? everyKind
    this.#state = options.config.disabled ? { state: 'disabled' } : { state: 'connecting' }
  }

  get state(): ConnectionState {
    return this.#state
  }

  /** What the server offers; empty once it is given up. */
  get lists(): ServerLists {
    const { state } = this.#state
    return state === 'ready' || state === 'degraded' || state === 'reconnecting' ? this.#lists : noLists
  }

  /** The client while the connection stands. */
  get client(): Client | undefined {
    return this.#client
  }

  /** Connects for the first time, or again after it failed. Resolves when the server is ready or failed. */
  async start(): Promise<void> {
    if (this.#state.state === 'disabled' || this.#over.signal.aborted) return
    clearTimeout(this.#coolDown)
    this.#breaker.reset()
    if (this.#client === undefined) await this.#run(() => this.#once({ state: 'connecting' }))
  }

  /** Connects anew at once, whatever the state. Resolves when the server is ready or failed. */
  async reconnect(): Promise<void> {
    if (this.#state.state === 'disabled') throw new McpError('INVALID', `${this.name} is disabled`)
    if (this.#over.signal.aborted) return
    clearTimeout(this.#coolDown)
    this.#breaker.reset()
    this.#hurry.abort()
    this.#hurry = new AbortController()
    if (this.#attempt !== undefined) return this.#attempt
    const client = this.#client
    if (client !== undefined) this.#drop(client)
    await this.#run(() =>
      this.#once({ state: 'reconnecting', attempt: 1, reason: 'it was asked for', inMs: 0 }),
    )
  }

  /** The client, after waiting out a reconnection. Throws an McpError where there will be none. */
  async ready(signal: AbortSignal): Promise<Client> {
    const giveUp = AbortSignal.any([signal, AbortSignal.timeout(this.#options.connectTimeoutMs)])
    while (this.#client === undefined || !isUp(this.#state)) {
      signal.throwIfAborted()
      const { state } = this.#state
      if (giveUp.aborted || (state !== 'connecting' && state !== 'reconnecting')) {
        throw new McpError('CONNECTION_CLOSED', `${this.name} is not connected: ${describe(this.#state)}`)
      }
      await this.#change(giveUp)
    }
    return this.#client
  }

  /**
   * A request failed in a way that a lost connection would explain; finds out whether it is one. A child process
   * needs no such check, since its end is noticed.
   */
  async suspect(client: Client): Promise<void> {
    if (!('url' in this.config)) return
    this.#checking ??= client
      .ping({ timeoutMs: pingTimeoutMs })
      .then(
        () => {},
        (error: unknown) => {
          if (error instanceof McpError) this.#lost(client, error)
        },
      )
      .finally(() => {
        this.#checking = undefined
      })
    await this.#checking
  }

  async close(): Promise<void> {
    this.#over.abort(new McpError('CONNECTION_CLOSED', 'The host was closed'))
    if (this.#state.state !== 'disabled') this.#state = { state: 'failed', reason: 'the host was closed' }
    this.#forgetRefresh()
    clearTimeout(this.#coolDown)
    if (this.#client !== undefined) this.#end(this.#client)
    await Promise.all([this.#attempt, ...this.#closing])
  }

  /** One attempt at a time; a connection that is lost while it is being made is made again. */
  #run(work: () => Promise<void>): Promise<void> {
    this.#attempt ??= work().finally(() => {
      this.#attempt = undefined
      if (this.#client === undefined && isUp(this.#state)) this.#run(() => this.#reconnect())
    })
    return this.#attempt
  }

  #end(client: Client): void {
    const closing = client
      .close()
      .catch(() => {})
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  async #once(state: ConnectionState): Promise<void> {
    this.#become(state)
    try {
      await this.#connect()
    } catch (error) {
      this.#fail(reasonOf(error), failureFrom(error))
    }
  }

  async #connect(): Promise<void> {
    const {
      client: options,
      config,
      connectTimeoutMs,
      onResourceUpdated,
      onStderr,
      onWarning,
    } = this.#options
    const since = performance.now()
    const target =
      'url' in config ? http(config.url, { headers: config.headers ?? {} }) : stdio({ ...config, onStderr })
    const client = await connect(target, {
      ...options,
      connectTimeoutMs,
      // Leaves time to start a server again that says nothing to the first question.
      probeTimeoutMs: Math.min(probeTimeoutMs, Math.ceil(connectTimeoutMs / 2)),
      signal: this.#over.signal,
      onWarning,
      onChange: (change) => {
        if (change.type === 'resource') onResourceUpdated(change.uri)
        else if (this.#options.follow !== false) this.#refreshSoon(change.type)
      },
    })
    if (this.#over.signal.aborted) return this.#end(client)
    this.#client = client
    client.closed.then((reason) => this.#lost(client, reason))
    if (this.#options.follow !== false) {
      await Promise.race([this.#watch(client), pause(watchWaitMs, this.#over.signal)])
    }
    const leftMs = Math.ceil(connectTimeoutMs - (performance.now() - since))
    await this.#refresh(client, this.#kinds, Math.max(leastListMs, leftMs))
    if (this.#client !== client) throw new McpError('CONNECTION_CLOSED', this.#lostBecause)
  }

  /** Asks to be told of changes; a server that cannot be watched is only less up to date. */
  async #watch(client: Client): Promise<void> {
    const filter = listChanges(client, this.#kinds)
    if (Object.keys(filter).length === 0) return
    try {
      const watch = await client.watch(filter)
      const since = performance.now()
      watch.closed.then(() => {
        if (performance.now() - since > lastingMs) this.#watchFailures = 0
        this.#watchAgain(client)
      })
    } catch (error) {
      this.#options.onWarning(`Changes cannot be watched: ${reasonOf(error)}`)
    }
  }

  async #watchAgain(client: Client): Promise<void> {
    if (this.#isGone(client)) return
    await this.suspect(client)
    this.#watchFailures++
    await pause(backoff(this.#watchFailures + 3), this.#over.signal)
    if (this.#isGone(client)) return
    this.#watch(client)
    for (const kind of this.#kinds) this.#refreshSoon(kind)
  }

  #isGone(client: Client): boolean {
    return client !== this.#client || this.#over.signal.aborted
  }

  /** Fetches a list again before long; a refresh that is due sooner takes it along. */
  #refreshSoon(kind: ListKind, afterMs = debounceMs): void {
    if (!this.#kinds.includes(kind)) return
    this.#stale.add(kind)
    const due = performance.now() + afterMs
    if (this.#over.signal.aborted || this.#refreshDue <= due) return
    this.#forgetRefresh()
    this.#refreshDue = due
    this.#refreshTimer = setTimeout(() => {
      this.#refreshDue = Number.POSITIVE_INFINITY
      const client = this.#client
      if (client === undefined) return
      this.#refreshing = this.#refreshing.then(() =>
        this.#refresh(client, [...this.#stale], this.#options.connectTimeoutMs),
      )
    }, afterMs)
  }

  #forgetRefresh(): void {
    clearTimeout(this.#refreshTimer)
    this.#refreshDue = Number.POSITIVE_INFINITY
  }

  async #refresh(client: Client, kinds: readonly ListKind[], withinMs: number): Promise<void> {
    for (const kind of kinds) this.#stale.delete(kind)
    const { lists, problems } = await refreshLists(client, this.#lists, kinds, withinMs)
    if (this.#isGone(client)) return
    this.#lists = lists
    for (const kind of kinds) this.#problems.delete(kind)
    for (const [kind, problem] of problems) this.#problems.set(kind, problem)
    if (this.#problems.size > 0) {
      const problems = [...this.#problems.values()]
      const reason = problems.map((problem) => problem.reason).join('; ')
      const error = problems.find((problem) => problem.error !== undefined)?.error
      const told = this.#state.state === 'degraded' && this.#state.reason === reason
      if (!told) this.#become({ state: 'degraded', reason, ...(error !== undefined && { error }) })
      this.#listFailures++
      for (const kind of this.#problems.keys()) this.#refreshSoon(kind, backoff(this.#listFailures + 3))
    } else if (this.#state.state !== 'ready') {
      this.#listFailures = 0
      const { era, revision } = client.server
      this.#become({ state: 'ready', era, revision, sinceMs: Date.now() })
    }
    this.#options.onLists()
  }

  #lost(client: Client, reason: unknown): void {
    if (client !== this.#client) return
    this.#lostBecause = reason === undefined ? 'the connection ended' : reasonOf(reason)
    this.#drop(client)
    if (!this.#over.signal.aborted) this.#run(() => this.#reconnect())
  }

  #drop(client: Client): void {
    this.#client = undefined
    this.#problems.clear()
    this.#forgetRefresh()
    this.#end(client)
  }

  async #reconnect(): Promise<void> {
    let reason = this.#lostBecause
    let last: Failure | undefined
    for (let attempt = 1; !this.#over.signal.aborted; attempt++) {
      if (this.#breaker.fail()) return this.#fail(`failed too often within a minute, last: ${reason}`, last)
      const inMs = backoff(attempt)
      this.#become({ state: 'reconnecting', attempt, reason, inMs })
      await pause(inMs, AbortSignal.any([this.#over.signal, this.#hurry.signal]))
      if (this.#over.signal.aborted) return
      try {
        return await this.#connect()
      } catch (error) {
        reason = reasonOf(error)
        last = failureFrom(error)
      }
    }
  }

  /** Gives up. What is reached over the network often heals by itself, so that is tried again now and then. */
  #fail(reason: string, error?: Failure): void {
    this.#lists = noLists
    this.#become({ state: 'failed', reason, ...(error !== undefined && { error }) })
    this.#options.onLists()
    if (!('url' in this.config)) return
    this.#coolDown = setTimeout(() => this.start(), coolDownMs)
    this.#coolDown.unref()
  }

  #become(state: ConnectionState): void {
    if (this.#over.signal.aborted) return
    this.#state = state
    for (const wake of this.#waiting) wake()
    this.#options.onState(state)
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}

/** The list changes that the server can tell of, among these kinds. */
export function listChanges(client: Client, kinds: readonly ListKind[] = everyKind): SubscriptionFilter {
  const { tools, prompts, resources } = client.server.capabilities
  return {
    ...(tools?.listChanged && kinds.includes('tools') && { toolsListChanged: true }),
    ...(prompts?.listChanged && kinds.includes('prompts') && { promptsListChanged: true }),
    ...(resources?.listChanged && kinds.includes('resources') && { resourcesListChanged: true }),
  }
}

export function isUp(state: ConnectionState): boolean {
  return state.state === 'ready' || state.state === 'degraded'
}

export function describe(state: ConnectionState): string {
  return 'reason' in state ? `${state.state} (${state.reason})` : state.state
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
