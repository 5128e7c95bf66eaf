import { requireKnown } from '../../core/known-members.ts'
import { limits } from '../../core/limits.ts'
import { McpError } from '../../jsonrpc/error.ts'
import { memoryTaskStore } from './memory-store.ts'
import type { TaskStatus } from './record.ts'
import type { TaskStore } from './store.ts'

/** Something that happened to a task, for an audit log. */
export interface TaskEvent {
  readonly type: 'created' | 'taken over' | 'changed' | 'read' | 'refused'
  readonly taskId: string
  /** Who asked; null when nobody authenticated, and for what the server did by itself. */
  readonly principal: string | null
  /** Where the task stands; absent for one that was refused. */
  readonly status?: TaskStatus
}

/** Where tasks are kept, how many, for how long, and who hears of them. All of it has defaults. */
export interface TasksOptions {
  /** Where tasks are kept. Default: in this process, with which they end. */
  store?: TaskStore
  /** Milliseconds a task is kept, from its creation on, where its client does not say. Default 1 hour. */
  ttlMs?: number
  /** The most milliseconds a client of 2025-11-25 may ask for. Default 24 hours. */
  maxTtlMs?: number
  /** Milliseconds clients are told to wait between two looks at a task. Default 1000. */
  pollIntervalMs?: number
  /** Tasks kept in all, finished ones among them. Default 1024. */
  maxTasks?: number
  /** Tasks kept of one principal, finished ones among them; callers without one are counted by their
   * network address. Default 64. */
  maxTasksPerPrincipal?: number
  /** Bytes of one task with its arguments, its answers and its result. Default 1 MiB. */
  maxTaskBytes?: number
  /** Questions that the handler of one task may ask. Default 64. */
  maxQuestions?: number
  /**
   * Milliseconds until another process takes a task over whose process gave no sign of life. Default 15 000. A handler
   * that blocks its process for longer may find that its steps are done somewhere else.
   */
  leaseMs?: number
  /** How often one task is taken over before it is given up. Default 5. */
  maxTakeovers?: number
  /** Hears of what happens to tasks. */
  onEvent?: (event: TaskEvent) => void
}

export type Settings = Required<TasksOptions>

/** @throws McpError 'INVALID' for a number that cannot be used */
export function settingsOf(options: TasksOptions): Settings {
  const settings: Settings = {
    store: options.store ?? memoryTaskStore(),
    ttlMs: options.ttlMs ?? 3_600_000,
    maxTtlMs: options.maxTtlMs ?? Math.max(86_400_000, options.ttlMs ?? 0),
    pollIntervalMs: options.pollIntervalMs ?? 1000,
    maxTasks: options.maxTasks ?? 1024,
    maxTasksPerPrincipal: options.maxTasksPerPrincipal ?? 64,
    maxTaskBytes: options.maxTaskBytes ?? 1_048_576,
    maxQuestions: options.maxQuestions ?? limits.questions,
    leaseMs: options.leaseMs ?? 15_000,
    maxTakeovers: options.maxTakeovers ?? 5,
    onEvent: options.onEvent ?? (() => {}),
  }
  requireKnown('The options object of tasks', options, Object.keys(settings))
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value === 'number' && (!Number.isSafeInteger(value) || value < 1)) {
      throw new McpError('INVALID', `The tasks option "${name}" is no whole number from 1: ${value}`)
    }
  }
  if (settings.ttlMs > settings.maxTtlMs) {
    throw new McpError('INVALID', `The tasks option "ttlMs" is more than "maxTtlMs": ${settings.ttlMs}`)
  }
  return settings
}
