/** Milliseconds of a monotonic clock, the same for all processes of this machine but for its first setting. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

/** The principals of the load. The hostile one has a good token, and uses ids of the others. */
export const principals = ['alice', 'bob', 'mallory'] as const
export type Principal = (typeof principals)[number]

/** The resources that clients subscribe to. */
export const uris = ['note://0', 'note://1', 'note://2', 'note://3'] as const

/** How an operation ended for its client. */
export type Outcome =
  | 'result'
  /** The server refused it, or responded that its session does not exist. */
  | 'refused'
  | 'interrupted'
  /** The connection broke before an event, or the events after the last one are lost: it may have had an effect. */
  | 'unknown'
  | 'cancelled'
  /** Nothing came within the limit of the client. */
  | 'hung'

/** What a client did and received. Times are those of `now`. */
export type ClientRecord = { readonly at: number; readonly client: string } & (
  | { readonly type: 'invoked'; readonly op: string; readonly principal: Principal; readonly tool: string }
  | {
      readonly type: 'completed'
      readonly op: string
      readonly outcome: Outcome
      readonly text: string
      /** Responses to the request that arrived. */
      readonly responses: number
    }
  /** An event with an id, as read from a stream that was opened or resumed. `reader` has one place in each stream. */
  | { readonly type: 'event'; readonly reader: string; readonly session: string; readonly id: string }
  /** Any text that a server sent. */
  | { readonly type: 'received'; readonly principal: Principal; readonly text: string }
  | { readonly type: 'question'; readonly op: string; readonly nth: number; readonly id: string }
  | { readonly type: 'answered'; readonly op: string; readonly nth: number; readonly nonce: string }
  /** The result of an operation, read again from its stream. */
  | {
      readonly type: 'retrieved'
      readonly op: string
      readonly from: number
      readonly how: 'equal' | 'different' | 'absent' | 'unavailable'
    }
  /** A request with the session or event of another principal, or of a session that was ended. */
  | {
      readonly type: 'probe'
      readonly of: 'foreign' | 'ended'
      readonly status: number
      readonly what: string
    }
  /** A session that its client did not end was not found. */
  | { readonly type: 'gone'; readonly since: number; readonly session: string }
  | { readonly type: 'subscribed'; readonly session: string; readonly uri: string }
  | { readonly type: 'changed'; readonly session: string; readonly uri: string }
  | { readonly type: 'touched'; readonly uri: string; readonly from: number }
)

/** What the test did to the service. */
export interface FaultRecord {
  readonly kind:
    | 'node killed'
    | 'node paused'
    | 'node drained'
    | 'subscriptions cut'
    | 'store paused'
    | 'store restarted'
    | 'store failed over'
  readonly from: number
  readonly until: number
}

/** What a node entered into its ledger, which is a file outside of the store. */
export type NodeRecord = { readonly node: number } & (
  | { readonly type: 'effect'; readonly op: string; readonly step?: string; readonly key?: string }
  | { readonly type: 'used'; readonly op: string; readonly nth: number; readonly nonce: string }
  /** An operation on the store failed, as it does during an outage. */
  | { readonly type: 'failed'; readonly at: number }
  | { readonly type: 'stored'; readonly log: string; readonly position: string; readonly entry: string }
)

/** A key of the store with the milliseconds it has left; -1 for one that never expires. */
export interface StoredKey {
  readonly key: string
  readonly ttlMs: number
}

/** All that is known of a run. */
export interface History {
  readonly clients: readonly ClientRecord[]
  readonly faults: readonly FaultRecord[]
  readonly nodes: readonly NodeRecord[]
  readonly keys: readonly StoredKey[]
  /** Milliseconds after which each request has ended, but for the time that the nodes and the store were paused. */
  readonly limitMs: number
  /** Milliseconds that a key may live. */
  readonly longestLifeMs: number
}

/** What breaks a promise. */
export interface Violation {
  /** The number of the promise, as listed in `checker.ts`. */
  readonly promise: number
  readonly what: string
}

/** The number of a question, and the operation that asks it, in its message. */
export function questionIn(message: string): { op: string; nth: number } | undefined {
  const match = /^q(\d) (op-[\w-]+) /.exec(message)
  const [, nth, op] = match ?? []
  return op === undefined ? undefined : { op, nth: Number(nth) }
}

/** The client of an operation. */
export function clientOf(op: string): string {
  return op.split('-')[1] ?? ''
}
