import { allChanges } from '../client/cache.ts'
import type { ServerChange } from '../client/types.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import type { ChangeSubscription } from '../request/changes.ts'
import { RetryBackoff, wait } from '../transports/client/retry-backoff.ts'
import { relayedError } from './questions.ts'
import type { Upstream } from './upstream.ts'

const lists: SubscriptionFilter = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
}

/**
 * What is listened for upstream on behalf of everybody downstream: each resource once however many want it, until the
 * last of them lets go, and the lists while anybody wants them.
 */
export class Watches {
  readonly #upstream: Upstream
  readonly #tell: (change: ServerChange) => void
  readonly #max: number
  readonly #byUri = new Map<string, { readonly watching: Watching; holds: number }>()
  #lists: Watching | undefined
  #listHolds = 0

  /** `max`: how many resources at once. */
  constructor(upstream: Upstream, max: number, tell: (change: ServerChange) => void) {
    this.#upstream = upstream
    this.#max = max
    this.#tell = tell
  }

  /** Whether anybody listens. */
  get inUse(): boolean {
    return this.#byUri.size > 0 || this.#listHolds > 0
  }

  /** Rejects with an RpcError where resources cannot be watched; lists that cannot be are tried again by themselves. */
  async hold(filter: SubscriptionFilter): Promise<ChangeSubscription> {
    const uris = [...new Set(filter.resourceSubscriptions ?? [])]
    const wantsLists = allChanges({ ...filter, resourceSubscriptions: [] }).length > 0
    const watchings = this.#take(uris)
    if (wantsLists) watchings.add(this.#takeLists())
    let held = true
    const release = (): void => {
      if (!held) return
      held = false
      this.#release(uris)
      if (wantsLists) this.#releaseLists()
    }
    try {
      const agreed = await Promise.all(Array.from(watchings, ({ opened }) => opened))
      return { acknowledged: common(filter, agreed), release }
    } catch (error) {
      release()
      throw relayedError(error)
    }
  }

  /** Ends everything. */
  close(): void {
    for (const { watching } of this.#byUri.values()) watching.close()
    this.#lists?.close()
  }

  #take(uris: readonly string[]): Set<Watching> {
    const fresh = uris.filter((uri) => !this.#byUri.has(uri))
    if (this.#byUri.size + fresh.length > this.#max) {
      throw new RpcError(ErrorCode.InternalError, `Too many resources are watched: at most ${this.#max} are`)
    }
    if (fresh.length > 0) {
      const filter = { resourceSubscriptions: fresh }
      const watching = new Watching(this.#upstream, filter, false, (change) => this.#changed(change))
      for (const uri of fresh) this.#byUri.set(uri, { watching, holds: 0 })
    }
    const used = new Set<Watching>()
    for (const uri of uris) {
      const entry = this.#byUri.get(uri)
      if (entry === undefined) continue
      entry.holds++
      used.add(entry.watching)
    }
    return used
  }

  #release(uris: readonly string[]): void {
    for (const uri of uris) {
      const entry = this.#byUri.get(uri)
      if (entry === undefined || --entry.holds > 0) continue
      this.#byUri.delete(uri)
      const used = [...this.#byUri.values()].some(({ watching }) => watching === entry.watching)
      if (!used) entry.watching.close()
    }
  }

  #takeLists(): Watching {
    this.#listHolds++
    this.#lists ??= new Watching(this.#upstream, lists, true, this.#tell)
    return this.#lists
  }

  #releaseLists(): void {
    if (--this.#listHolds > 0) return
    this.#lists?.close()
    this.#lists = undefined
  }

  /** A server may tell of what lies under a resource that is watched; it was the resource that somebody asked for. */
  #changed(change: ServerChange): void {
    if (change.type !== 'resource') return
    for (const uri of this.#byUri.keys()) {
      if (change.uri.startsWith(uri)) this.#tell({ type: 'resource', uri })
    }
  }
}

/** One watch upstream, opened again whenever it ends before it was let go. */
class Watching {
  /** Settles when it stands, with what was agreed. */
  readonly opened: Promise<SubscriptionFilter>
  readonly #upstream: Upstream
  readonly #filter: SubscriptionFilter
  readonly #tell: (change: ServerChange) => void
  readonly #pace = new RetryBackoff()
  readonly #stop = new AbortController()

  /** `patient`: goes on trying where the server cannot be reached at first. */
  constructor(
    upstream: Upstream,
    filter: SubscriptionFilter,
    patient: boolean,
    tell: (change: ServerChange) => void,
  ) {
    this.#upstream = upstream
    this.#filter = filter
    this.#tell = tell
    this.opened = new Promise((resolve, reject) => {
      const failed = (error: unknown): boolean => {
        if (patient) resolve({})
        else reject(error)
        return patient && !isFinal(error)
      }
      this.#live(resolve, failed).catch(reject)
    })
    this.opened.catch(() => {})
  }

  close(): void {
    this.#stop.abort()
  }

  async #live(
    opened: (honored: SubscriptionFilter) => void,
    failed: (error: unknown) => boolean,
  ): Promise<void> {
    const { signal } = this.#stop
    let stood = false
    let missed = false
    while (!signal.aborted) {
      try {
        const honored = await this.#once((filter) => {
          opened(filter)
          if (missed) for (const change of allChanges(this.#filter)) this.#heard(change)
        })
        stood = true
        if (honored) this.#pace.reset()
      } catch (error) {
        if (!stood && !failed(error)) return
        if (isFinal(error)) return
      }
      missed = true
      await wait(this.#pace.afterFailure(undefined), signal).catch(() => {})
    }
  }

  /** Runs one watch to its end; whether anything was heard on it. */
  async #once(opened: (honored: SubscriptionFilter) => void): Promise<boolean> {
    const { signal } = this.#stop
    let heard = false
    const client = await this.#upstream.get()
    const watch = await client.watch(this.#filter, (change) => {
      heard = true
      this.#heard(change)
    })
    opened(watch.acknowledged)
    let stop = (): void => {}
    const stopped = new Promise<void>((resolve) => {
      stop = resolve
    })
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await Promise.race([watch.closed, stopped])
    } finally {
      signal.removeEventListener('abort', stop)
    }
    await watch.close()
    return heard
  }

  #heard(change: ServerChange): void {
    if (!this.#stop.signal.aborted) this.#tell(change)
  }
}

/** Whether trying again is of no use: the server said no. */
function isFinal(error: unknown): boolean {
  return error instanceof RpcError || (error instanceof McpError && error.code === 'CAPABILITY')
}

/** What of a filter was agreed in any of several watches. */
function common(wanted: SubscriptionFilter, agreed: readonly SubscriptionFilter[]): SubscriptionFilter {
  const all: SubscriptionFilter = {}
  for (const kind of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const) {
    if (wanted[kind] === true && agreed.some((filter) => filter[kind] === true)) all[kind] = true
  }
  const { resourceSubscriptions: uris } = wanted
  if (uris === undefined) return all
  const told = new Set(agreed.flatMap(({ resourceSubscriptions = [] }) => resourceSubscriptions))
  return { ...all, resourceSubscriptions: uris.filter((uri) => told.has(uri)) }
}
