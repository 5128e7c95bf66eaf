import { jsonBytes } from '../jsonrpc/bytes.ts'
import { ErrorCode, invalidParams, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import {
  type Change,
  type ChangeSubscription,
  type Changes,
  createChanges,
  type Subscriber,
} from '../request/changes.ts'
import type { Exchange, Outcome } from '../request/exchange.ts'
import type { RequestLimits } from '../request/limits.ts'
import type { Member } from './members.ts'

/** How one kind of list is merged. */
export interface MergedList {
  /** The member of the result with the entries. */
  readonly key: string
  /** The capability of servers that have such a list. */
  readonly capability: 'tools' | 'resources' | 'prompts'
  /** The entry of the composition; undefined to leave it out. */
  present(entry: JsonObject, member: Member): JsonObject | undefined
  /** Called before a member is listed. */
  beforeMember?(member: Member): Promise<void>
  /** Called with every page of a member. */
  onPage?(member: Member, page: JsonObject): void
}

interface MergeOptions {
  members: readonly Member[]
  /** Entries per page, approximately. */
  pageSize: number
  /** Called when a member's list fails; the others are still listed. */
  onFailure: (member: Member, error: unknown) => void
}

const maxCalls = 100

/** One page over all members. Stateless: the cursor has the member's prefix, its pages and bytes so far, and its own cursor. */
export async function mergedPage(
  exchange: Exchange,
  list: MergedList,
  { members, pageSize, onFailure }: MergeOptions,
): Promise<Outcome> {
  const { limits, params } = exchange
  /** Maximum bytes of one member's list: half of what a client accepts in all, so that no member displaces the others. */
  const maxMemberBytes = limits.listBytes / 2
  /** From this size on a page is complete, so that it fits into one message. */
  const pageBytes = limits.messageBytes / 2
  const providers = members.filter(({ server }) => server.capabilities[list.capability] !== undefined)
  const entries: JsonObject[] = []
  const read: JsonObject[] = []
  let position = positionOf(params['cursor'], providers, limits)
  let total = 0
  for (let calls = 0; position !== undefined; calls++) {
    if (entries.length >= pageSize || calls === maxCalls || total >= pageBytes) break
    const { member, pages, cursor } = position
    await list.beforeMember?.(member)
    const page = await pageOf(exchange, member, cursor).catch((error: unknown) => {
      const isInvalid = error instanceof RpcError && error.code === ErrorCode.InvalidParams
      if (exchange.signal.aborted || (cursor !== '' && isInvalid)) throw error
      onFailure(member, error)
      return undefined
    })
    const bytes: number = position.bytes + (page === undefined ? 0 : bytesOf(page, position))
    const isTooLarge = bytes > maxMemberBytes
    total += bytes - position.bytes
    if (page !== undefined && !isTooLarge) {
      list.onPage?.(member, page)
      read.push(page)
      const { [list.key]: rows } = page
      for (const entry of Array.isArray(rows) ? rows.filter(isObject) : []) {
        const presented = list.present(entry, member)
        if (presented !== undefined) entries.push(presented)
      }
    }
    const next = nextPosition(position, page, bytes, limits)
    const hasTooManyPages = next !== undefined && pages >= limits.pages
    if (isTooLarge) onFailure(member, tooLarge(exchange.method, pages, bytes, maxMemberBytes))
    else if (hasTooManyPages) onFailure(member, tooManyPages(exchange.method, limits.pages))
    position =
      next === undefined || isTooLarge || hasTooManyPages
        ? firstPage(providers[providers.indexOf(member) + 1])
        : next
  }
  const result: JsonObject = { [list.key]: entries, ...commonHints(read) }
  if (position !== undefined) result['nextCursor'] = cursorOf(position)
  return { type: 'complete', result }
}

/** Where a page starts. */
interface Position {
  readonly member: Member
  /** The number of the member's page, from 1; bounds endless lists. */
  readonly pages: number
  /** Bytes of its earlier pages. */
  readonly bytes: number
  readonly cursor: string
}

const cursorForm = /^([^:+]*)(?:\+(\d{1,6})\+(\d{1,12}))?:(.*)$/s

function positionOf(
  cursor: unknown,
  members: readonly Member[],
  limits: RequestLimits,
): Position | undefined {
  if (cursor === undefined || cursor === '') return firstPage(members[0])
  const isValid = typeof cursor === 'string' && cursor.length <= limits.cursorChars
  const [, name, pages = '1', bytes = '0', memberCursor = ''] = (isValid && cursorForm.exec(cursor)) || []
  const member = members.find(({ prefix }) => prefix === name)
  if (member !== undefined)
    return { member, pages: Number(pages), bytes: Number(bytes), cursor: memberCursor }
  throw invalidParams('unknown cursor for this list. Start again without a cursor.')
}

function cursorOf({ member, pages, bytes, cursor }: Position): string {
  return `${member.prefix}${pages === 1 ? '' : `+${pages}+${bytes}`}:${cursor}`
}

function firstPage(member: Member | undefined): Position | undefined {
  return member && { member, pages: 1, bytes: 0, cursor: '' }
}

/** The position after a page of the same member; undefined after its last page. */
function nextPosition(
  { member, pages }: Position,
  page: JsonObject | undefined,
  bytes: number,
  limits: RequestLimits,
): Position | undefined {
  const cursor = page?.['nextCursor']
  if (typeof cursor !== 'string' || cursor === '') return undefined
  const next = { member, pages: pages + 1, bytes, cursor }
  return cursorOf(next).length <= limits.cursorChars ? next : undefined
}

/** Bytes of a page. A list of a single page is bounded as a message already and not measured. */
function bytesOf(page: JsonObject, { pages }: Position): number {
  return pages === 1 && page['nextCursor'] === undefined ? 0 : jsonBytes(page)
}

function tooManyPages(method: string, max: number): McpError {
  return new McpError('LIMIT', `It returned more than ${max} pages of ${method}: the rest is left out`)
}

function tooLarge(method: string, pages: number, bytes: number, maxMemberBytes: number): McpError {
  return new McpError(
    'LIMIT',
    `It returned ${bytes} bytes of ${method} in ${pages} pages, and the limit for one member is ${maxMemberBytes}: the rest is left out`,
  )
}

async function pageOf(exchange: Exchange, member: Member, cursor: string): Promise<JsonObject> {
  const { cursor: _cursor, ...params } = exchange.params
  const memberCursor = cursor === '' ? params : { ...params, cursor }
  const outcome = await member.server.handle(member.exchange(exchange, memberCursor))
  if (outcome.type !== 'complete') throw new TypeError(`${exchange.method} ended without a list`)
  return outcome.result
}

/** The cache hints of merged pages: the shortest TTL and the narrowest scope. */
function commonHints(pages: readonly JsonObject[]): JsonObject {
  const ttls = pages.map(({ ttlMs }) => (Number.isSafeInteger(ttlMs) ? Math.max(0, Number(ttlMs)) : 0))
  const isPublic = pages.length > 0 && pages.every(({ cacheScope }) => cacheScope === 'public')
  return { ttlMs: pages.length === 0 ? 0 : Math.min(...ttls), cacheScope: isPublic ? 'public' : 'private' }
}

interface MergedChangesOptions {
  members: () => Iterable<Member>
  /** The members that may publish changes of a resource. */
  ownersOf: (uri: string, subscriber: Subscriber) => Promise<Iterable<Member>>
  /** Called before a change is published. */
  onChange: (member: Member, change: Change) => void
}

/** A watcher, and its reader for the changes of each member. */
interface Watcher {
  readonly hub: Changes
  readonly wants: (change: Change) => boolean
  readonly subscriber: Subscriber | undefined
  readonly readers: Map<Member, AbortController>
}

/** Merges the changes of all members, per watcher. */
export class MergedChanges implements Changes {
  readonly #options: MergedChangesOptions
  readonly #watchers = new Set<Watcher>()

  constructor(options: MergedChangesOptions) {
    this.#options = options
  }

  publish(change: Change): void {
    for (const { hub } of this.#watchers) hub.publish(change)
  }

  watch(
    wants: (change: Change) => boolean,
    signal: AbortSignal,
    subscriber?: Subscriber,
  ): AsyncIterable<Change> {
    const watcher: Watcher = { hub: createChanges(), wants, subscriber, readers: new Map() }
    if (!signal.aborted) {
      this.#watchers.add(watcher)
      this.#refresh(watcher)
      const stopWatching = (): void => {
        this.#watchers.delete(watcher)
        for (const stop of watcher.readers.values()) stop.abort()
      }
      signal.addEventListener('abort', stopWatching, { once: true })
    }
    return watcher.hub.watch(wants, signal)
  }

  isWatched(change: Change): boolean {
    return [...this.#watchers].some(({ wants, subscriber }) => subscriber !== undefined && wants(change))
  }

  async subscribe(filter: SubscriptionFilter, subscriber: Subscriber): Promise<ChangeSubscription> {
    const { resourceSubscriptions: uris, ...lists } = filter
    const { parts: filters, routed } = await this.#route(filter, subscriber)
    const subscriptions: ChangeSubscription[] = []
    const subscribe = async ([{ server }, part]: [
      Member,
      SubscriptionFilter,
    ]): Promise<SubscriptionFilter> => {
      const one = await server.changes.subscribe?.(part, subscriber)
      if (one !== undefined) subscriptions.push(one)
      return one?.acknowledged ?? part
    }
    const ends = await Promise.allSettled([...filters].map(subscribe))
    const agreed = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
    const accepted = new Set(agreed.flatMap(({ resourceSubscriptions = [] }) => resourceSubscriptions))
    const acknowledged: SubscriptionFilter = { ...lists }
    // A URI without an owner may get one later, so it is accepted.
    if (uris !== undefined) {
      acknowledged.resourceSubscriptions = uris.filter((uri) => accepted.has(uri) || !routed.has(uri))
    }
    return {
      acknowledged,
      release: () => {
        for (const one of subscriptions) one.release()
      },
    }
  }

  /** Called when the members changed. */
  refresh(): void {
    for (const watcher of this.#watchers) this.#refresh(watcher)
  }

  /** The filter for each member, and the URIs that have an owner. */
  async #route(
    { resourceSubscriptions: uris = [], ...lists }: SubscriptionFilter,
    subscriber: Subscriber,
  ): Promise<{ parts: Map<Member, SubscriptionFilter>; routed: Set<string> }> {
    const filters = new Map<Member, SubscriptionFilter>()
    const routed = new Set<string>()
    if (Object.keys(lists).length > 0) {
      for (const member of this.#options.members()) filters.set(member, { ...lists })
    }
    for (const uri of uris) {
      for (const member of await this.#options.ownersOf(uri, subscriber)) {
        routed.add(uri)
        const part = filters.get(member) ?? {}
        filters.set(member, { ...part, resourceSubscriptions: [...(part.resourceSubscriptions ?? []), uri] })
      }
    }
    return { parts: filters, routed }
  }

  #refresh(watcher: Watcher): void {
    const members = new Set(this.#options.members())
    for (const [member, stop] of watcher.readers) {
      if (members.has(member)) continue
      stop.abort()
      watcher.readers.delete(member)
    }
    for (const member of members) if (!watcher.readers.has(member)) this.#startReader(watcher, member)
  }

  #startReader({ hub, wants, subscriber, readers }: Watcher, member: Member): void {
    const stop = new AbortController()
    readers.set(member, stop)
    const accepts = (change: Change): boolean => change.type === 'resources' || wants(change)
    const changes = member.server.changes.watch(accepts, stop.signal, subscriber)
    const run = async (): Promise<void> => {
      for await (const change of changes) {
        this.#options.onChange(member, change)
        hub.publish(change)
      }
    }
    run().catch(() => {})
  }
}
