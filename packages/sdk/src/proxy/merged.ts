import { jsonBytes } from '../jsonrpc/bytes.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
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
import type { Member } from './upstream.ts'

/** One list as it is merged out of the members' own. */
export interface MergedList {
  /** The member of the result that holds the entries. */
  readonly column: string
  /** The capability without which a server has no such list. */
  readonly capability: 'tools' | 'resources' | 'prompts'
  /** An entry as the composition shows it; undefined for one it does not show. */
  show(entry: JsonObject, member: Member): JsonObject | undefined
  /** Called before a member is listed. */
  before?(member: Member): Promise<void>
  /** Sees every page a member gave. */
  learn?(member: Member, page: JsonObject): void
}

export interface MergeOptions {
  members: readonly Member[]
  /** About how many entries make a page. */
  pageSize: number
  /** Hears of a member whose list could not be had; the others are listed all the same. */
  onFailure: (member: Member, error: unknown) => void
}

const maxCalls = 100

/**
 * One page over all members. The cursor is the prefix of a member, how many pages and bytes it gave, and its own cursor, empty
 * at its beginning, so nothing is kept between pages.
 */
export async function mergedPage(
  exchange: Exchange,
  list: MergedList,
  { members, pageSize, onFailure }: MergeOptions,
): Promise<Outcome> {
  const { limits, params } = exchange
  /** Bytes of one member's list. A client takes twice as many in all, so that one member keeps it from none of the others. */
  const memberBytes = limits.listBytes / 2
  /** A merged page that has this many bytes waits for no more members, so that it stays small enough to be a message. */
  const enoughBytes = limits.messageBytes / 2
  const offering = members.filter(({ server }) => server.capabilities[list.capability] !== undefined)
  const entries: JsonObject[] = []
  const hints = new Hints()
  let at = placeOf(params['cursor'], offering, limits)
  let total = 0
  for (let calls = 0; at !== undefined; calls++) {
    if (entries.length >= pageSize || calls === maxCalls || total >= enoughBytes) break
    const { member, pages, cursor } = at
    await list.before?.(member)
    const page = await pageOf(exchange, member, cursor).catch((error: unknown) => {
      if (exchange.signal.aborted || (cursor !== '' && isInvalid(error))) throw error
      onFailure(member, error)
      return undefined
    })
    const bytes: number = at.bytes + (page === undefined ? 0 : bytesOf(page, at))
    const isTooMuch = bytes > memberBytes
    total += bytes - at.bytes
    if (page !== undefined && !isTooMuch) {
      list.learn?.(member, page)
      hints.add(page)
      for (const entry of objectsIn(page[list.column])) {
        const shown = list.show(entry, member)
        if (shown !== undefined) entries.push(shown)
      }
    }
    const next = after(at, page, bytes, limits)
    const isEndless = next !== undefined && pages >= limits.pages
    if (isTooMuch) onFailure(member, tooLarge(exchange.method, pages, bytes, memberBytes))
    else if (isEndless) onFailure(member, endless(exchange.method, limits.pages))
    at = next === undefined || isTooMuch || isEndless ? atFirst(following(member, offering)) : next
  }
  const result: JsonObject = { [list.column]: entries, ...hints.common }
  if (at !== undefined) result['nextCursor'] = cursorOf(at)
  return { type: 'complete', result }
}

/** Where a page begins. */
interface Place {
  readonly member: Member
  /** Which page of that member it is, counted from 1, so that one whose list has no end keeps nobody from the others. */
  readonly pages: number
  /** Bytes of its pages before this one. */
  readonly bytes: number
  readonly cursor: string
}

const cursorForm = /^([^:+]*)(?:\+(\d{1,6})\+(\d{1,12}))?:(.*)$/s

function placeOf(cursor: unknown, members: readonly Member[], limits: RequestLimits): Place | undefined {
  if (cursor === undefined || cursor === '') return atFirst(members[0])
  const fits = typeof cursor === 'string' && cursor.length <= limits.cursorChars
  const [, name, pages = '1', bytes = '0', own = ''] = (fits && cursorForm.exec(cursor)) || []
  const member = members.find(({ prefix }) => prefix === name)
  if (member !== undefined) return { member, pages: Number(pages), bytes: Number(bytes), cursor: own }
  throw new RpcError(
    ErrorCode.InvalidParams,
    'Invalid params: the cursor is not one of this list. Start without one.',
  )
}

function cursorOf({ member, pages, bytes, cursor }: Place): string {
  return `${member.prefix}${pages === 1 ? '' : `+${pages}+${bytes}`}:${cursor}`
}

function atFirst(member: Member | undefined): Place | undefined {
  return member && { member, pages: 1, bytes: 0, cursor: '' }
}

/** The place after a page in the same member; undefined where that was its last. */
function after(
  { member, pages }: Place,
  page: JsonObject | undefined,
  bytes: number,
  limits: RequestLimits,
): Place | undefined {
  const cursor = page?.['nextCursor']
  if (typeof cursor !== 'string' || cursor === '') return undefined
  const next = { member, pages: pages + 1, bytes, cursor }
  return cursorOf(next).length <= limits.cursorChars ? next : undefined
}

function following(member: Member, members: readonly Member[]): Member | undefined {
  return members[members.indexOf(member) + 1]
}

/** Bytes of one page of several. A list of one page is as small as a message must be, and is not measured. */
function bytesOf(page: JsonObject, { pages }: Place): number {
  return pages === 1 && page['nextCursor'] === undefined ? 0 : jsonBytes(page)
}

function endless(method: string, most: number): McpError {
  return new McpError('LIMIT', `It gave more than ${most} pages of ${method}: the rest is left out`)
}

function tooLarge(method: string, pages: number, bytes: number, memberBytes: number): McpError {
  return new McpError(
    'LIMIT',
    `It gave ${bytes} bytes of ${method} in ${pages} pages, and a member may give at most ${memberBytes}: the rest is left out`,
  )
}

async function pageOf(exchange: Exchange, member: Member, cursor: string): Promise<JsonObject> {
  const { cursor: _cursor, ...params } = exchange.params
  const own = cursor === '' ? params : { ...params, cursor }
  const outcome = await member.server.handle(member.exchange(exchange, own))
  if (outcome.type !== 'complete') throw new TypeError(`${exchange.method} ended without a list`)
  return outcome.result
}

/** How fresh several pages are together: as the one that is so for the shortest time, and for the fewest. */
class Hints {
  #ttlMs = Number.POSITIVE_INFINITY
  #isPublic = true

  add({ ttlMs, cacheScope }: JsonObject): void {
    this.#ttlMs = Math.min(this.#ttlMs, Number.isSafeInteger(ttlMs) ? Math.max(0, Number(ttlMs)) : 0)
    this.#isPublic &&= cacheScope === 'public'
  }

  get common(): JsonObject {
    const known = Number.isFinite(this.#ttlMs)
    return { ttlMs: known ? this.#ttlMs : 0, cacheScope: known && this.#isPublic ? 'public' : 'private' }
  }
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function isInvalid(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.InvalidParams
}

export interface MergedChangesOptions {
  members: () => Iterable<Member>
  /** Who may tell of a resource. */
  ownersOf: (uri: string, listener: Subscriber) => Promise<Iterable<Member>>
  /** Hears of every change before it is told. */
  heard: (member: Member, change: Change) => void
}

/** Somebody who listens, and how long each member is listened to for them. */
interface Watcher {
  readonly hub: Changes
  readonly wants: (change: Change) => boolean
  readonly listener: Subscriber | undefined
  readonly pumps: Map<Member, AbortController>
}

/** The changes of several servers as those of one, for everybody who listens what their own part of each tells. */
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
    listener?: Subscriber,
  ): AsyncIterable<Change> {
    const watcher: Watcher = { hub: createChanges(), wants, listener, pumps: new Map() }
    if (!signal.aborted) {
      this.#watchers.add(watcher)
      this.#refresh(watcher)
      const leave = (): void => {
        this.#watchers.delete(watcher)
        for (const stop of watcher.pumps.values()) stop.abort()
      }
      signal.addEventListener('abort', leave, { once: true })
    }
    return watcher.hub.watch(wants, signal)
  }

  isWatched(change: Change): boolean {
    return [...this.#watchers].some(({ wants, listener }) => listener !== undefined && wants(change))
  }

  async subscribe(filter: SubscriptionFilter, listener: Subscriber): Promise<ChangeSubscription> {
    const { resourceSubscriptions: uris, ...lists } = filter
    const { parts, routed } = await this.#parts(filter, listener)
    const held: ChangeSubscription[] = []
    const hold = async ([{ server }, part]: [Member, SubscriptionFilter]): Promise<SubscriptionFilter> => {
      const one = await server.changes.subscribe?.(part, listener)
      if (one !== undefined) held.push(one)
      return one?.acknowledged ?? part
    }
    const ends = await Promise.allSettled([...parts].map(hold))
    const agreed = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
    const told = new Set(agreed.flatMap(({ resourceSubscriptions = [] }) => resourceSubscriptions))
    const honored: SubscriptionFilter = { ...lists }
    // A resource that is nobody's may come to be: it costs nothing to listen for it.
    if (uris !== undefined) {
      honored.resourceSubscriptions = uris.filter((uri) => told.has(uri) || !routed.has(uri))
    }
    return {
      acknowledged: honored,
      release: () => {
        for (const one of held) one.release()
      },
    }
  }

  /** The members are others now. */
  refresh(): void {
    for (const watcher of this.#watchers) this.#refresh(watcher)
  }

  /** What each member is asked to tell, and the resources that are somebody's. */
  async #parts(
    { resourceSubscriptions: uris = [], ...lists }: SubscriptionFilter,
    listener: Subscriber,
  ): Promise<{ parts: Map<Member, SubscriptionFilter>; routed: Set<string> }> {
    const parts = new Map<Member, SubscriptionFilter>()
    const routed = new Set<string>()
    if (Object.keys(lists).length > 0) {
      for (const member of this.#options.members()) parts.set(member, { ...lists })
    }
    for (const uri of uris) {
      for (const member of await this.#options.ownersOf(uri, listener)) {
        routed.add(uri)
        const part = parts.get(member) ?? {}
        parts.set(member, { ...part, resourceSubscriptions: [...(part.resourceSubscriptions ?? []), uri] })
      }
    }
    return { parts, routed }
  }

  #refresh(watcher: Watcher): void {
    const members = new Set(this.#options.members())
    for (const [member, stop] of watcher.pumps) {
      if (members.has(member)) continue
      stop.abort()
      watcher.pumps.delete(member)
    }
    for (const member of members) if (!watcher.pumps.has(member)) this.#pump(watcher, member)
  }

  #pump({ hub, wants, listener, pumps }: Watcher, member: Member): void {
    const stop = new AbortController()
    pumps.set(member, stop)
    const wanted = (change: Change): boolean => change.type === 'resources' || wants(change)
    const changes = member.server.changes.watch(wanted, stop.signal, listener)
    const run = async (): Promise<void> => {
      for await (const change of changes) {
        this.#options.heard(member, change)
        hub.publish(change)
      }
    }
    run().catch(() => {})
  }
}
