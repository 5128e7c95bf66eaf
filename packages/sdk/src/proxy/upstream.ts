import type { Client, ServerChange } from '../client/types.ts'
import { internalError, McpError, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { orAborted } from '../jsonrpc/promises.ts'
import { dropOldest } from '../jsonrpc/rotating-map.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import { type HeaderPlan, headerPlan } from '../protocol/headers.ts'
import { type ChangeSubscription, changesIn, everyList, listFlags } from '../request/changes.ts'
import { RetryBackoff, wait } from '../transports/client/retry-backoff.ts'
import { relayedError } from './questions.ts'

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
    if (!this.#backoff.tryAttempt()) {
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

const maxTools = 10_000

/** Adds the header plans of listed tools to those that are known by their names. */
export function addHeaderPlans(byTool: Map<string, HeaderPlan | undefined>, tools: unknown): void {
  if (!Array.isArray(tools)) return
  for (const tool of tools) {
    if (!isObject(tool) || typeof tool['name'] !== 'string' || !isObject(tool['inputSchema'])) continue
    byTool.delete(tool['name'])
    byTool.set(tool['name'], planOf(tool['inputSchema']))
  }
  dropOldest(byTool, maxTools)
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

/** The upstream subscriptions on behalf of all clients: each resource once, until its last subscriber unsubscribes, and the lists. */
export class UpstreamSubscriptions {
  readonly #upstream: Upstream
  readonly #onChange: (change: ServerChange) => void
  readonly #max: number
  readonly #byUri = new Map<string, { readonly subscription: UpstreamSubscription; users: number }>()
  #lists: UpstreamSubscription | undefined
  #listUsers = 0

  /** @param max maximum number of resources subscribed to at once */
  constructor(upstream: Upstream, max: number, onChange: (change: ServerChange) => void) {
    this.#upstream = upstream
    this.#max = max
    this.#onChange = onChange
  }

  get inUse(): boolean {
    return this.#byUri.size > 0 || this.#listUsers > 0
  }

  /** Rejects with an RpcError if resources cannot be subscribed to; failed subscriptions to lists are retried. */
  async subscribe(filter: SubscriptionFilter): Promise<ChangeSubscription> {
    const uris = [...new Set(filter.resourceSubscriptions ?? [])]
    const wantsLists = changesIn({ ...filter, resourceSubscriptions: [] }).length > 0
    const subscriptions = this.#subscribeUris(uris)
    if (wantsLists) {
      this.#listUsers++
      this.#lists ??= subscribeUpstream(this.#upstream, everyList, true, this.#onChange)
      subscriptions.add(this.#lists)
    }
    let released = false
    const release = (): void => {
      if (released) return
      released = true
      this.#releaseUris(uris)
      if (!wantsLists || --this.#listUsers > 0) return
      this.#lists?.close()
      this.#lists = undefined
    }
    try {
      const agreed = await Promise.all(Array.from(subscriptions, ({ opened }) => opened))
      return { acknowledged: acceptedBy(filter, agreed), release }
    } catch (error) {
      release()
      throw relayedError(error)
    }
  }

  close(): void {
    for (const { subscription } of this.#byUri.values()) subscription.close()
    this.#lists?.close()
  }

  #subscribeUris(uris: readonly string[]): Set<UpstreamSubscription> {
    const newUris = uris.filter((uri) => !this.#byUri.has(uri))
    if (this.#byUri.size + newUris.length > this.#max) {
      throw internalError(`Too many resource subscriptions: at most ${this.#max} are allowed`)
    }
    if (newUris.length > 0) {
      const filter = { resourceSubscriptions: newUris }
      const subscription = subscribeUpstream(this.#upstream, filter, false, (change) => this.#changed(change))
      for (const uri of newUris) this.#byUri.set(uri, { subscription, users: 0 })
    }
    const used = new Set<UpstreamSubscription>()
    for (const uri of uris) {
      const entry = this.#byUri.get(uri)
      if (entry === undefined) continue
      entry.users++
      used.add(entry.subscription)
    }
    return used
  }

  #releaseUris(uris: readonly string[]): void {
    for (const uri of uris) {
      const entry = this.#byUri.get(uri)
      if (entry === undefined || --entry.users > 0) continue
      this.#byUri.delete(uri)
      const used = [...this.#byUri.values()].some(({ subscription }) => subscription === entry.subscription)
      if (!used) entry.subscription.close()
    }
  }

  /** A server may report a sub-resource of a subscribed one (Resources, Subscriptions). */
  #changed(change: ServerChange): void {
    if (change.type !== 'resource') return
    for (const uri of this.#byUri.keys()) {
      if (change.uri.startsWith(uri)) this.#onChange({ type: 'resource', uri })
    }
  }
}

/** One upstream subscription, reopened until it is closed. */
interface UpstreamSubscription {
  /** Resolves with the accepted filter once it is open. */
  readonly opened: Promise<SubscriptionFilter>
  close(): void
}

/** @param retryFirst retries even if the first attempt fails */
function subscribeUpstream(
  upstream: Upstream,
  filter: SubscriptionFilter,
  retryFirst: boolean,
  onChange: (change: ServerChange) => void,
): UpstreamSubscription {
  const backoff = new RetryBackoff()
  const stop = new AbortController()
  const { signal } = stop
  const publish = (change: ServerChange): void => {
    if (!signal.aborted) onChange(change)
  }
  const run = async (
    resolve: (acknowledged: SubscriptionFilter) => void,
    reject: (error: unknown) => void,
  ): Promise<void> => {
    let wasOpened = false
    let mayHaveMissed = false
    while (!signal.aborted) {
      try {
        let hasReceived = false
        const client = await upstream.get()
        const watch = await client.watch(filter, (change) => {
          hasReceived = true
          publish(change)
        })
        resolve(watch.acknowledged)
        if (mayHaveMissed) for (const change of changesIn(filter)) publish(change)
        await orAborted(watch.closed, signal).catch(() => {})
        await watch.close()
        wasOpened = true
        if (hasReceived) backoff.reset()
      } catch (error) {
        if (!wasOpened && retryFirst) resolve({})
        else if (!wasOpened) reject(error)
        if (isFinal(error) || !(wasOpened || retryFirst)) return
      }
      mayHaveMissed = true
      await wait(backoff.afterFailure(undefined), signal).catch(() => {})
    }
  }
  const opened = new Promise<SubscriptionFilter>((resolve, reject) => {
    run(resolve, reject).catch(reject)
  })
  opened.catch(() => {})
  return { opened, close: () => stop.abort() }
}

/** Whether a retry is useless: the server rejected the subscription. */
function isFinal(error: unknown): boolean {
  return error instanceof RpcError || (error instanceof McpError && error.code === 'CAPABILITY')
}

/** The part of a filter that any of several subscriptions accepted. */
function acceptedBy(
  requested: SubscriptionFilter,
  agreed: readonly SubscriptionFilter[],
): SubscriptionFilter {
  const accepted: SubscriptionFilter = {}
  for (const flag of Object.values(listFlags)) {
    if (requested[flag] === true && agreed.some((filter) => filter[flag] === true)) accepted[flag] = true
  }
  const { resourceSubscriptions: uris } = requested
  if (uris === undefined) return accepted
  const acceptedUris = new Set(agreed.flatMap(({ resourceSubscriptions = [] }) => resourceSubscriptions))
  return { ...accepted, resourceSubscriptions: uris.filter((uri) => acceptedUris.has(uri)) }
}
