import type { ConversationEntry } from './conversation.ts'
import type { Fix } from './fix.ts'
import type { InboxItem } from './inbox.ts'
import type { Caller } from './policy.ts'
import type { ConnectionState } from './server.ts'
import type { HostTask } from './task.ts'
import type { DefinitionChange } from './trust.ts'

/** One row of the activity log. */
export interface Activity {
  /** Unique in the store; increases with every row. */
  readonly id: number
  /** ISO 8601. */
  readonly at: string
  /**
   * What happened. `change`: something changed outside of a call, such as a list; `input`: a value was
   * entered; `drift`: changed definitions.
   */
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
    | 'start'
    | 'input'
    | 'drift'
    | 'login'
    | 'app'
    | 'code'
    | 'conversation'
  /** The configured server name; null for a row that belongs to none. */
  readonly server: string | null
  /** One line for a person. */
  readonly summary: string
  /** How it ended: 'ok', 'error', 'denied', 'declined', 'cancelled' and so on; 'running' until then. */
  readonly outcome: string
  /** Milliseconds from its start to its end; null while it is running and where there is no duration. */
  readonly durationMs: number | null
  /** The row that caused this one; null if none did. */
  readonly cause: number | null
  /** Data of the kind, as JSON: arguments, decision, result and so on. Long values are cut and listed in `cut`. */
  readonly detail: Record<string, unknown>
}

/** A place where the activity log is not as it was written. */
export interface ActivityFault {
  /** The link of the chain; null if the fault is outside the chain. */
  readonly position: number | null
  /** The row of the link, if known. */
  readonly activity: number | null
  /** One sentence for a person. */
  readonly message: string
}

/** The result of verifying the activity log. Every link's hash covers a row or an end, and the previous hash. */
export interface ActivityVerification {
  /** Whether no fault was found. */
  sound: boolean
  /** The number of links that were verified. */
  checked: number
  /** The last link: with a copy of its hash outside this machine, you can verify later that nothing up to it was changed. */
  head: { position: number; hash: string }
  /** The links removed by `pruneActivity`: the last removed link, and the hash from which the chain continues. */
  pruned?: { position: number; hash: string; at: string; before: string; rows: number }
  /** The first 20 faults, in the order of the chain. */
  faults: readonly ActivityFault[]
}

/** A call that was sent to its server or has ended. */
export interface CallNotice {
  /** The activity row of the call. */
  readonly activity: number
  /** The configured server name. */
  readonly server: string
  /** The server's own name of the tool. */
  readonly tool: string
  /** Who called the tool. */
  readonly caller: Caller
  /** The conversation of the call; absent outside conversations. */
  readonly conversation?: string
  /** The row that caused the call; null if none did. */
  readonly cause: number | null
}

/** Events of a host, for surfaces. */
export type HostEvent =
  /** The state of a connection changed. */
  | { type: 'connection'; server: string; state: ConnectionState }
  /** The tools, prompts, resources or templates of the host changed. */
  | { type: 'catalog' }
  /** The open folders changed, or the decisions about servers: see `host.roots`. */
  | { type: 'roots' }
  /** The rules changed: see `host.policy`. */
  | { type: 'policy' }
  /**
   * The enabled definitions of a server changed: see `host.trust`. `accepted`: the changes of a server whose definitions are not
   * pinned.
   */
  | { type: 'trust'; server: string; accepted?: readonly DefinitionChange[] }
  /** A row was opened; `host.activity({ id })` returns it. A row that is complete from the start has only the event `activity`. */
  | { type: 'activity-started'; id: number }
  /** A row is complete. */
  | { type: 'activity'; row: Activity }
  /** A call is sent to its server (`begins`), or has ended. */
  | { type: 'call'; state: 'begins'; call: CallNotice }
  | { type: 'call'; state: 'ends'; call: CallNotice; outcome: string }
  /** A call became a task, or its task changed. */
  | { type: 'task'; task: HostTask }
  /** A server sent `notifications/progress` for a call; `activity` is its row. */
  | {
      type: 'progress'
      server: string
      tool: string
      activity: number
      progress: number
      total?: number
      message?: string
    }
  /** A server sent a log message (`notifications/message`). */
  | { type: 'log'; server: string; level: string; logger?: string; data: unknown }
  /** Text that a child process wrote to stderr, or to stdout outside the protocol. */
  | { type: 'stderr'; server: string; text: string }
  /** A login page was opened; its URL works in any browser on this machine. */
  | { type: 'login'; server: string; url: string; issuer: string }
  /** A question was asked, answered, withdrawn or lost. `rows`: its activity row and the rows that caused it. */
  | { type: 'question'; item: InboxItem; rows: readonly number[] }
  /** A question was deferred: no surface shows it. `rows`: its activity row and the rows that caused it. */
  | { type: 'later'; item: InboxItem; rows: readonly number[] }
  /** An offline model answered a server's sampling request without a review; `model` is its id. */
  | { type: 'sampling'; server: string; model: string }
  /** A server reported that a watched resource changed. */
  | { type: 'resource-updated'; server: string; uri: string }
  /** The attachments of a conversation changed, or an attached copy is out of date: see `host.library`. */
  | { type: 'attached'; conversation: string }
  /** Entries were added to a conversation by this host; `from` is the index of the first. */
  | { type: 'conversation'; id: string; from: number; entries: readonly ConversationEntry[] }
  /** Something that the user should know. `fixes`: what they can do about it. */
  | { type: 'warning'; server: string; message: string; fixes?: readonly Fix[] }
