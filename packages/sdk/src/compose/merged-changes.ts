import type { Change, Changes, Held, Listener } from '../core/changes.ts'
import { createChanges } from '../core/hub.ts'
import type { SubscriptionFilter } from '../protocol/definitions.ts'
import type { Member } from './members.ts'

export interface MergedChangesOptions {
  members: () => Iterable<Member>
  /** Who may tell of a resource. */
  ownersOf: (uri: string, listener: Listener) => Promise<Iterable<Member>>
  /** Hears of every change before it is told. */
  heard: (member: Member, change: Change) => void
}

/** Somebody who listens, and how long each member is listened to for them. */
interface Watcher {
  readonly hub: Changes
  readonly wants: (change: Change) => boolean
  readonly listener: Listener | undefined
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

  watch(wants: (change: Change) => boolean, signal: AbortSignal, listener?: Listener): AsyncIterable<Change> {
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

  async hold(filter: SubscriptionFilter, listener: Listener): Promise<Held> {
    const { resourceSubscriptions: uris, ...lists } = filter
    const { parts, routed } = await this.#parts(filter, listener)
    const held: Held[] = []
    const hold = async ([{ server }, part]: [Member, SubscriptionFilter]): Promise<SubscriptionFilter> => {
      const one = await server.changes.hold?.(part, listener)
      if (one !== undefined) held.push(one)
      return one?.honored ?? part
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
      honored,
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
    listener: Listener,
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
