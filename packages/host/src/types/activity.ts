import type { ConversationEntry } from './conversation.ts'
import type { InboxItem } from './inbox.ts'
import type { Caller } from './policy.ts'
import type { ConnectionState } from './server.ts'
import type { HostTask } from './task.ts'
import type { DefinitionChange } from './trust.ts'

/** One row of the activity log. */
export interface Activity {
  readonly id: number
  /** ISO 8601. */
  readonly at: string
  readonly kind:
    | 'connection'
    | 'call'
    | 'read'
    | 'prompt'
    | 'approval'
    | 'elicitation'
    | 'sampling'
    | 'roots'
    | 'model'
    | 'change'
    | 'result'
    | 'install'
    | 'drift'
    | 'login'
    | 'code'
    | 'conversation'
  readonly server: string | null
  /** One line for a person. */
  readonly summary: string
  /** How it ended: 'ok', 'error', 'denied', 'declined', 'cancelled' and so on; 'running' until then. */
  readonly outcome: string
  readonly durationMs: number | null
  /** The row that caused this one. */
  readonly cause: number | null
  /** Arguments, verdicts, rule, result, as JSON. */
  readonly detail: Record<string, unknown>
}

/** What is wrong with the activity log at one place. */
export interface ActivityFault {
  /** The link of the chain; null where something stands beside it. */
  readonly position: number | null
  /** The row that the link is about, where known. */
  readonly activity: number | null
  /** One sentence for a person. */
  readonly message: string
}

/** Whether the activity log is as it was written. Every link's hash covers a row or an end, and the hash before it. */
export interface ActivityVerification {
  /** No faults were found. */
  sound: boolean
  /** Links that were checked. */
  checked: number
  /** The last link: whoever keeps its hash elsewhere can later tell that nothing up to it was changed. */
  head: { position: number; hash: string }
  /** What was taken away from the beginning by `pruneActivity`: the last link of it and the hash the chain goes on from. */
  pruned?: { position: number; hash: string; at: string; before: string; rows: number }
  /** In the order of the chain, the first 20. */
  faults: readonly ActivityFault[]
}

/** A call on its way to its server, or back. */
export interface CallNotice {
  /** The activity row of the call. */
  readonly activity: number
  readonly server: string
  readonly tool: string
  readonly caller: Caller
  readonly conversation?: string
  /** The row that caused it. */
  readonly cause: number | null
}

/** What happens in the host, for faces to show. */
export type HostEvent =
  | { type: 'connection'; server: string; state: ConnectionState }
  | { type: 'catalog' }
  /** The open folders changed, or what servers may know of them: see `host.roots`. */
  | { type: 'roots' }
  /** The rules changed: see `host.policy`. */
  | { type: 'policy' }
  /**
   * What may be used of a server changed: see `host.trust`. `accepted`: what changed about a server whose definitions
   * are not pinned.
   */
  | { type: 'trust'; server: string; accepted?: readonly DefinitionChange[] }
  /** Something began; `host.activity({ id })` gives its row. What is over as it begins has the event `activity` alone. */
  | { type: 'activity-started'; id: number }
  /** Something is over. */
  | { type: 'activity'; row: Activity }
  /** A call goes out to its server now (`begins`), or is over. */
  | { type: 'call'; state: 'begins'; call: CallNotice }
  | { type: 'call'; state: 'ends'; call: CallNotice; outcome: string }
  /** A call became a task, or its task changed. */
  | { type: 'task'; task: HostTask }
  /** `activity`: the row of the call. */
  | {
      type: 'progress'
      server: string
      tool: string
      activity: number
      progress: number
      total?: number
      message?: string
    }
  | { type: 'log'; server: string; level: string; logger?: string; data: unknown }
  /** What a child process wrote beside the protocol. */
  | { type: 'stderr'; server: string; text: string }
  /** A page was opened where the person signs in; its address works in any browser of this machine. */
  | { type: 'login'; server: string; url: string; issuer: string }
  /** A question was put, answered, withdrawn or lost. `rows`: its activity row and those that led to it. */
  | { type: 'question'; item: InboxItem; rows: readonly number[] }
  /** The person left a question for later: no face shows it any more. `rows`: its activity row and those that led to it. */
  | { type: 'later'; item: InboxItem; rows: readonly number[] }
  /** The built-in offline planner answered a server's sampling request without a review; `model` is its id. */
  | { type: 'sampling'; server: string; model: string }
  | { type: 'resource-updated'; server: string; uri: string }
  /** What is attached to a conversation changed, or one of the copies went out of date: see `host.library`. */
  | { type: 'attached'; conversation: string }
  /** Entries were added to a conversation by this host; `from` is the place of the first. */
  | { type: 'conversation'; id: string; from: number; entries: readonly ConversationEntry[] }
  | { type: 'warning'; server: string; message: string }
