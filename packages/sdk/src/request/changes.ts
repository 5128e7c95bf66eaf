import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import type { Exchange } from './exchange.ts'

/** Something about a server that changed. */
export type Change =
  | { readonly type: 'tools' }
  | { readonly type: 'prompts' }
  | { readonly type: 'resources' }
  | { readonly type: 'resource'; readonly uri: string }
  /** A person finished at the URL they were asked to visit. */
  | { readonly type: 'elicitation'; readonly id: string }
  /** A log message for every client that wants its level; each is sent, equal ones too. */
  | {
      readonly type: 'log'
      readonly level: LoggingLevel
      readonly data: unknown
      readonly logger: string | undefined
    }
  /** Changes may have been missed: whatever is listened for may be another. */
  | { readonly type: 'anything' }

/** One hub for changes: servers publish, sessions and `subscriptions/listen` streams watch. */
export interface Changes {
  /** Tells every watcher that wants it. */
  publish(change: Change): void
  /**
   * Yields wanted changes until the signal aborts. Equal changes not yet read are told once, so a slow reader stays
   * bounded. `listener` says on whose behalf, where not everybody hears the same.
   */
  watch(wants: (change: Change) => boolean, signal: AbortSignal, listener?: Subscriber): AsyncIterable<Change>
  /** Whether a client in this process is subscribed to this change. */
  isWatched(change: Change): boolean
  /**
   * Sees to it that these changes are heard of where they happen, until they are let go. Absent where that needs no
   * doing. Rejects with an RpcError for what cannot be watched.
   */
  subscribe?(filter: SubscriptionFilter, listener: Subscriber): Promise<ChangeSubscription>
}

/** Who hears of changes. */
export type Subscriber = Pick<Exchange, 'peer' | 'session'>

/** Changes that are being listened for elsewhere. */
export interface ChangeSubscription {
  /** What will be told. */
  readonly acknowledged: SubscriptionFilter
  /** Lets go of them; a second time does nothing. */
  release(): void
}

/** Log messages kept for one watcher that does not read them; more are counted and left out. */
const maxUnreadLogs = 100

interface Watcher {
  wants(change: Change): boolean
  tell(change: Change): void
  /** On whose behalf; undefined for what is no client. */
  readonly listener: Subscriber | undefined
}

/** An in-process hub for one server's changes. */
export function createChanges(): Changes {
  const watchers = new Set<Watcher>()
  return {
    publish(change) {
      for (const watcher of watchers) if (watcher.wants(change)) watcher.tell(change)
    },
    watch: (wants, signal, listener) => watch(watchers, { wants, listener }, signal),
    isWatched: (change) =>
      [...watchers].some(({ listener, wants }) => listener !== undefined && wants(change)),
  }
}

/** What a change is to somebody who listens for this: where anything may have changed, each of it may have. */
export function changesFor(change: Change, filter: SubscriptionFilter): Change[] {
  if (change.type !== 'anything') return [change]
  const lists: Change[] = []
  if (filter.toolsListChanged === true) lists.push({ type: 'tools' })
  if (filter.promptsListChanged === true) lists.push({ type: 'prompts' })
  if (filter.resourcesListChanged === true) lists.push({ type: 'resources' })
  const resources = (filter.resourceSubscriptions ?? []).map((uri): Change => ({ type: 'resource', uri }))
  return [...lists, ...resources]
}

function watch(
  watchers: Set<Watcher>,
  { wants, listener }: Pick<Watcher, 'wants' | 'listener'>,
  signal: AbortSignal,
): AsyncIterable<Change> {
  const unread = new Map<string, Change>()
  let logs = 0
  let lostLogs = 0
  let wake: (() => void) | undefined
  const watcher: Watcher = {
    wants,
    listener,
    tell(change) {
      if (change.type !== 'log') unread.set(keyOf(change), change)
      else if (unread.size < maxUnreadLogs) unread.set(`log ${++logs}`, change)
      else unread.set('lost logs', lostLog(++lostLogs))
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

function lostLog(count: number): Change {
  const data = `${count} log messages were left out: this client did not read them in time`
  return { type: 'log', level: 'warning', data, logger: undefined }
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
