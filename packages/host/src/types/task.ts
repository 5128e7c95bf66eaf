import type { BrokeredCall } from './host.ts'
import type { Caller } from './policy.ts'

/** A tool call that its server runs as a task (extension `io.modelcontextprotocol/tasks`, tasks of 2025-11-25). */
export interface HostTask {
  /** Identifies it in this host. */
  readonly id: string
  /** The configured server name. */
  readonly server: string
  /** The tool by its own name. */
  readonly tool: string
  /** The arguments of the call. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** Who called the tool. */
  readonly caller: Caller
  /** The conversation of the call; absent outside conversations. */
  readonly conversation?: string
  /** The activity row of the call. */
  readonly activity: number
  /** The server's id of the task. */
  readonly taskId: string
  /** `lost`: the server does not have it any more, or is configured differently now. */
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled' | 'lost'
  /** The server's status message, or the reason of the failure. */
  readonly message?: string
  /** The last `notifications/progress` of the call. */
  readonly progress?: { readonly progress: number; readonly total?: number; readonly message?: string }
  /** ISO 8601. */
  readonly createdAt: string
  /** When the server may delete it, ISO 8601; null if it does not expire. */
  readonly expiresAt: string | null
  /** This program continues the task of an earlier program, so no caller waits for it. */
  readonly continued?: true
  /** Whether a running program polls it. Otherwise it is continued when its server is connected. */
  readonly followed: boolean
}

/**
 * Calls that servers run as tasks. A task outlives the program that started it: the next host with the same store and
 * server continues it.
 */
export interface TaskService {
  /** Unfinished tasks of all programs on the store, and the last 100 that ended in this program. Oldest first. */
  list(): HostTask[]
  /**
   * Waits for the end of a task of this program.
   * @throws McpError 'NOT_FOUND' if there is none of this id, 'CONFLICT' if another program follows it
   */
  result(id: string, options?: { signal?: AbortSignal }): Promise<BrokeredCall>
  /**
   * Cancels a task and removes it, even if the server does not confirm the cancellation.
   * @throws McpError 'NOT_FOUND' if there is none of this id, 'CONFLICT' if another program follows it
   */
  cancel(id: string): Promise<void>
}
