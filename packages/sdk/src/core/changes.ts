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
  watch(wants: (change: Change) => boolean, signal: AbortSignal, listener?: Listener): AsyncIterable<Change>
  /** Whether a client in this process is subscribed to this change. */
  isWatched(change: Change): boolean
  /**
   * Sees to it that these changes are heard of where they happen, until they are let go. Absent where that needs no
   * doing. Rejects with an RpcError for what cannot be watched.
   */
  hold?(filter: SubscriptionFilter, listener: Listener): Promise<Held>
}

/** Who hears of changes. */
export type Listener = Pick<Exchange, 'peer' | 'session'>

/** Changes that are being listened for elsewhere. */
export interface Held {
  /** What will be told. */
  readonly honored: SubscriptionFilter
  /** Lets go of them; a second time does nothing. */
  release(): void
}
