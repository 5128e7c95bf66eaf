import { ErrorCode, type ResourceTemplate, RpcError, type SubscriptionFilter } from '@jackfield/sdk'
import type { Client, ReadOptions } from '@jackfield/sdk/client'
import { readJson } from '@jackfield/sdk/internal'
import { noLists, type ServerLists } from '../../core/trust/definitions.ts'
import type { ManifestTable } from '../../log/store/server-tables.ts'
import { failureFrom } from '../../shared/failures.ts'
import { fingerprint } from '../../shared/fingerprint.ts'
import { isRecord } from '../../shared/json.ts'
import { pause } from '../../shared/signals.ts'
import { reasonOf, withConfiguredLimit } from '../../shared/text.ts'
import type { Failure, ServerConfig } from '../../types/index.ts'
import { backoff } from './backoff.ts'

interface ListCacheOptions {
  /** Lists to fetch. */
  kinds: readonly ListKind[]
  /** Whether they are kept up to date. */
  follow: boolean
  /** Milliseconds a list may take. */
  timeoutMs: number
  /** Aborted when the connection is closed. */
  signal: AbortSignal
  /** Lists were fetched or failed. */
  onFetched: (client: Client) => void
  /** A subscription ended: checks whether the connection did. */
  suspect: (client: Client) => Promise<void>
  onWarning: (message: string) => void
}

const debounceMs = 100
const watchWaitMs = 1_000
const minListMs = 1_000
const stableAfterMs = 60_000

/** The lists of one server, fetched and kept up to date. They outlive a client, so that names stay while it reconnects. */
export class ListCache {
  lists: ServerLists = noLists
  readonly #options: ListCacheOptions
  readonly #problems = new Map<ListKind, ListProblem>()
  readonly #stale = new Set<ListKind>()
  #client: Client | undefined
  #refreshing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #refreshAtMs = Number.POSITIVE_INFINITY
  #listFailures = 0
  #watchFailures = 0

  constructor(options: ListCacheOptions) {
    this.#options = options
  }

  /** Why a list could not be fetched; undefined if all could. */
  get problem(): { reason: string; error?: Failure } | undefined {
    if (this.#problems.size === 0) return undefined
    const problems = [...this.#problems.values()]
    const reason = problems.map((problem) => problem.reason).join('; ')
    const error = problems.find((problem) => problem.error !== undefined)?.error
    return { reason, ...(error !== undefined && { error }) }
  }

  /** Subscribes to changes with this client and fetches its lists. Resolves when both were tried. */
  async begin(client: Client, withinMs: number): Promise<void> {
    const { follow, signal, kinds } = this.#options
    const since = performance.now()
    this.#client = client
    if (follow)
      await Promise.race([
        this.#watch(client),
        pause(Math.max(0, Math.min(watchWaitMs, withinMs / 3)), signal),
      ])
    const leftMs = Math.ceil(withinMs - (performance.now() - since))
    await this.#refresh(client, kinds, Math.max(minListMs, leftMs))
  }

  /** Detaches the client; the lists stay. */
  detach(): void {
    this.#client = undefined
    this.#problems.clear()
    this.#stale.clear()
    clearTimeout(this.#timer)
    this.#refreshAtMs = Number.POSITIVE_INFINITY
  }

  /** The server reports a changed list. */
  changed(kind: ListKind): void {
    if (this.#options.follow) this.#refreshSoon(kind)
  }

  /** Fetches all lists again before long. */
  refreshAll(): void {
    for (const kind of this.#options.kinds) this.#refreshSoon(kind)
  }

  /** Subscribes to changes. Failures are ignored: the lists are then less up to date. */
  async #watch(client: Client): Promise<void> {
    const filter = listChanges(client, this.#options.kinds)
    if (Object.keys(filter).length === 0) return
    try {
      const watch = await client.watch(filter)
      const since = performance.now()
      watch.closed.then(() => {
        if (performance.now() - since > stableAfterMs) this.#watchFailures = 0
        this.#watchAgain(client)
      })
    } catch (error) {
      this.#options.onWarning(`Changes cannot be watched: ${reasonOf(error)}`)
    }
  }

  async #watchAgain(client: Client): Promise<void> {
    if (this.#isDetached(client)) return
    await this.#options.suspect(client)
    this.#watchFailures++
    await pause(backoff(this.#watchFailures + 3), this.#options.signal)
    if (this.#isDetached(client)) return
    this.#watch(client)
    this.refreshAll()
  }

  #isDetached(client: Client): boolean {
    return client !== this.#client || this.#options.signal.aborted
  }

  /** A refresh that is due earlier includes later ones. */
  #refreshSoon(kind: ListKind, afterMs = debounceMs): void {
    if (!this.#options.kinds.includes(kind)) return
    this.#stale.add(kind)
    const dueMs = performance.now() + afterMs
    if (this.#options.signal.aborted || this.#refreshAtMs <= dueMs) return
    clearTimeout(this.#timer)
    this.#refreshAtMs = dueMs
    this.#timer = setTimeout(() => {
      this.#refreshAtMs = Number.POSITIVE_INFINITY
      const client = this.#client
      if (client === undefined) return
      this.#refreshing = this.#refreshing
        .then(() => this.#refresh(client, [...this.#stale], this.#options.timeoutMs))
        .catch((error: unknown) =>
          this.#options.onWarning(`Its changed lists could not be handled: ${reasonOf(error)}`),
        )
    }, afterMs)
  }

  async #refresh(client: Client, kinds: readonly ListKind[], withinMs: number): Promise<void> {
    for (const kind of kinds) this.#stale.delete(kind)
    const { lists, problems } = await refreshLists(
      client,
      this.lists,
      kinds,
      withinMs,
      this.#options.timeoutMs,
    )
    if (this.#isDetached(client)) return
    this.lists = lists
    for (const kind of kinds) this.#problems.delete(kind)
    for (const [kind, problem] of problems) this.#problems.set(kind, problem)
    if (this.#problems.size > 0) this.#listFailures++
    else this.#listFailures = 0
    for (const kind of this.#problems.keys()) this.#refreshSoon(kind, backoff(this.#listFailures + 3))
    this.#options.onFetched(client)
  }
}

/** The list changes that the server supports, among these kinds. */
export function listChanges(client: Client, kinds: readonly ListKind[] = allKinds): SubscriptionFilter {
  const { tools, prompts, resources } = client.server.capabilities
  return {
    ...(tools?.listChanged && kinds.includes('tools') && { toolsListChanged: true }),
    ...(prompts?.listChanged && kinds.includes('prompts') && { promptsListChanged: true }),
    ...(resources?.listChanged && kinds.includes('resources') && { resourcesListChanged: true }),
  }
}

export type ListKind = 'tools' | 'prompts' | 'resources'

export const allKinds: readonly ListKind[] = ['tools', 'prompts', 'resources']

const emptyLists: Readonly<Record<ListKind, Partial<ServerLists>>> = {
  tools: { tools: [] },
  prompts: { prompts: [] },
  resources: { resources: [], templates: [] },
}

interface ListProblem {
  reason: string
  error: Failure | undefined
}

/** Lists as they are after a refresh, and what could not be fetched. */
interface RefreshResult {
  lists: ServerLists
  problems: Map<ListKind, ListProblem>
}

/**
 * Fetches lists again. A list that cannot be fetched stays unchanged, with a problem to report.
 * @param limitMs the configured limit, of which `withinMs` is the rest
 */
export async function refreshLists(
  client: Client,
  before: ServerLists,
  kinds: Iterable<ListKind>,
  withinMs: number,
  limitMs: number = withinMs,
): Promise<RefreshResult> {
  const problems = new Map<ListKind, ListProblem>()
  const { capabilities } = client.server
  const options = { timeoutMs: withinMs, maxTotalMs: withinMs, cache: 'refresh' } as const
  const fetches: Record<ListKind, () => Promise<Partial<ServerLists>>> = {
    tools: async () => ({ tools: await client.tools(options) }),
    prompts: async () => ({ prompts: await client.prompts(options) }),
    resources: async () => {
      const [resources, templates] = await Promise.all([
        client.resources(options),
        templatesOf(client, options),
      ])
      return { resources, templates }
    },
  }
  const fetched: Partial<ServerLists>[] = []
  await Promise.all(
    [...kinds].map(async (kind) => {
      try {
        fetched.push(capabilities[kind] === undefined ? emptyLists[kind] : await fetches[kind]())
      } catch (cause) {
        const error = withConfiguredLimit(cause, `${kind}/list`, limitMs)
        const reason = `could not list ${kind}: ${reasonOf(error)}`
        problems.set(kind, { reason, error: failureFrom(error) })
      }
    }),
  )
  let lists = before
  for (const part of fetched) lists = { ...lists, ...part }
  return { lists, problems }
}

/** Many servers with resources do not implement `resources/templates/list`. */
async function templatesOf(client: Client, options: ReadOptions): Promise<ResourceTemplate[]> {
  try {
    return await client.templates(options)
  } catch (error) {
    if (error instanceof RpcError && error.code === ErrorCode.MethodNotFound) return []
    throw error
  }
}

/** The stored lists of a server, for when it does not run. */
export class StoredLists {
  readonly #table: ManifestTable
  readonly #identity: () => string
  readonly #principal: string
  #lastSaved = ''

  constructor(table: ManifestTable, identity: () => string, name: string, config: ServerConfig) {
    this.#table = table
    this.#identity = identity
    this.#principal = principalOf(name, config)
  }

  load(): { lists: ServerLists; atMs: number } | undefined {
    try {
      const stored = this.#table.get(this.#identity(), this.#principal)
      if (stored === undefined) return undefined
      const lists: ServerLists = { ...noLists, ...readJson(stored.lists) }
      return Object.values(lists).every(isListOfRecords) ? { lists, atMs: stored.atMs } : undefined
    } catch {
      return undefined
    }
  }

  /** Lists that were never fetched are left out, because they are not known to be empty. */
  save(lists: ServerLists): void {
    const fetchedLists = Object.entries(lists).filter(
      ([kind, list]) => list !== Object.entries(noLists).find(([name]) => name === kind)?.[1],
    )
    const text = JSON.stringify(Object.fromEntries(fetchedLists))
    if (text !== this.#lastSaved) this.#table.put(this.#identity(), this.#principal, text)
    this.#lastSaved = text
  }
}

function isListOfRecords(list: unknown): boolean {
  return Array.isArray(list) && list.every(isRecord)
}

/** Identifies the principal for which the server lists definitions: the account, or the credentials in its configuration. */
export function principalOf(name: string, config: ServerConfig): string {
  return 'url' in config
    ? fingerprint({ account: name, headers: config.headers, auth: config.auth })
    : fingerprint({ env: config.env, envFile: config.envFile })
}
