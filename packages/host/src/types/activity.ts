import type { InboxItem } from './inbox.ts'
import type { ConnectionState } from './server.ts'

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

/** What happens in the host, for faces to show. */
export type HostEvent =
  | { type: 'connection'; server: string; state: ConnectionState }
  | { type: 'catalog' }
  | { type: 'activity'; row: Activity }
  | { type: 'progress'; server: string; tool: string; progress: number; total?: number; message?: string }
  | { type: 'log'; server: string; level: string; logger?: string; data: unknown }
  /** What a child process wrote beside the protocol. */
  | { type: 'stderr'; server: string; text: string }
  /** A question was put, answered, withdrawn or lost. */
  | { type: 'question'; item: InboxItem }
  | { type: 'resource-updated'; server: string; uri: string }
  | { type: 'warning'; server: string; message: string }
