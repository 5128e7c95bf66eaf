import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import type { Exchange } from './exchange.ts'

/** A change of a server that clients can be notified of. */
export type Change =
  /** A list changed. */
  | { readonly type: 'tools' }
  | { readonly type: 'prompts' }
  | { readonly type: 'resources' }
  /** The contents of a resource changed. */
  | { readonly type: 'resource'; readonly uri: string }
  /** The user completed a URL elicitation. */
  | { readonly type: 'elicitation'; readonly id: string }
  /** A log message for every client with its level or a lower one. */
  | {
      readonly type: 'log'
      readonly level: LoggingLevel
      readonly data: unknown
      readonly logger: string | undefined
    }
  /** Changes may have been missed: everything subscribed to may have changed. */
  | { readonly type: 'anything' }

/** Publishes a server's changes to sessions and `subscriptions/listen` streams. */
export interface Changes {
  /** Delivers a change to every subscriber whose `wants` accepts it. */
  publish(change: Change): void
  /**
   * Yields the changes that `wants` accepts until the signal aborts. Equal changes that are still unread are merged, so that the
   * queue of a slow reader is bounded. `subscriber` is the client that they are for; absent for a subscriber without a client.
   */
  watch(
    wants: (change: Change) => boolean,
    signal: AbortSignal,
    subscriber?: Subscriber,
  ): AsyncIterable<Change>
  /** Whether a client in this process is subscribed to this change. */
  isWatched(change: Change): boolean
  /**
   * Subscribes to these changes at their source, until `release`. Absent if there is no other source. Rejects with an
   * RpcError for a resource that cannot be subscribed to.
   */
  subscribe?(filter: SubscriptionFilter, subscriber: Subscriber): Promise<ChangeSubscription>
}

/** The client that changes are delivered to. */
export type Subscriber = Pick<Exchange, 'peer' | 'session'>

/** A subscription to changes at their source. */
export interface ChangeSubscription {
  /** What was accepted of the requested filter. */
  readonly acknowledged: SubscriptionFilter
  /** Ends the subscription. Idempotent. */
  release(): void
}

/** Log messages queued for one watcher; further ones are counted and dropped. */
const maxUnreadLogs = 100

interface Watcher {
  wants(change: Change): boolean
  notify(change: Change): void
  /** Undefined for a subscriber without a client. */
  readonly subscriber: Subscriber | undefined
}

/** An in-process hub for one server's changes. */
export function createChanges(): Changes {
  const watchers = new Set<Watcher>()
  return {
    publish(change) {
      for (const watcher of watchers) if (watcher.wants(change)) watcher.notify(change)
    },
    watch: (wants, signal, subscriber) => watch(watchers, { wants, subscriber }, signal),
    isWatched: (change) =>
      [...watchers].some(({ subscriber, wants }) => subscriber !== undefined && wants(change)),
  }
}

/** The changes to report for a filter: `anything` becomes a change of everything in it. */
export function changesFor(change: Change, filter: SubscriptionFilter): Change[] {
  return change.type === 'anything' ? changesIn(filter) : [change]
}

/** The member of a subscription filter for each list. */
export const listFlags = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const

/** Subscribes to the changes of all lists. */
export const everyList: SubscriptionFilter = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
}

export const changingLists = ['tools', 'prompts', 'resources'] as const

type FilteredChange = { type: (typeof changingLists)[number] } | { type: 'resource'; uri: string }

/** A change of everything in a filter. */
export function changesIn(filter: SubscriptionFilter): FilteredChange[] {
  const { resourceSubscriptions: uris = [] } = filter
  const lists = changingLists.filter((type) => filter[listFlags[type]] === true)
  return [
    ...lists.map((type): FilteredChange => ({ type })),
    ...uris.map((uri): FilteredChange => ({ type: 'resource', uri })),
  ]
}

function watch(
  watchers: Set<Watcher>,
  { wants, subscriber }: Pick<Watcher, 'wants' | 'subscriber'>,
  signal: AbortSignal,
): AsyncIterable<Change> {
  const unread = new Map<string, Change>()
  let logs = 0
  let lostLogs = 0
  let wake: (() => void) | undefined
  const watcher: Watcher = {
    wants,
    subscriber,
    notify(change) {
      if (change.type !== 'log') unread.set(keyOf(change), change)
      else if (unread.size < maxUnreadLogs) unread.set(`log ${++logs}`, change)
      else {
        const data = `${++lostLogs} log messages were left out: this client did not read them in time`
        unread.set('lost logs', { type: 'log', level: 'warning', data, logger: undefined })
      }
      wake?.()
    },
  }
  const stop = (): void => {
    watchers.delete(watcher)
    wake?.()
  }
  if (!signal.aborted) {
    watchers.add(watcher)
    signal.addEventListener('abort', stop, { once: true })
  }

  async function* read(): AsyncGenerator<Change> {
    try {
      while (!signal.aborted) {
        for (const [key, change] of unread) {
          unread.delete(key)
          if (key === 'lost logs') lostLogs = 0
          yield change
          if (signal.aborted) return
        }
        if (unread.size > 0 || signal.aborted) continue
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
      }
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }
  return read()
}

function keyOf(change: Exclude<Change, { type: 'log' }>): string {
  switch (change.type) {
    case 'resource':
      return `resource ${change.uri}`
    case 'elicitation':
      return `elicitation ${change.id}`
    default:
      return change.type
  }
}
