import { invalid } from '../../jsonrpc/error.ts'
import { limits } from '../../request/limits.ts'
import { requireKnown } from '../../request/object-members.ts'
import type { TaskStatus } from './record.ts'
import { memoryTaskStore, type TaskStore } from './store.ts'

/** An event of a task, for an audit log. */
export interface TaskEvent {
  readonly type: 'created' | 'taken over' | 'changed' | 'read' | 'refused'
  /** Id of the task. */
  readonly taskId: string
  /** The caller; null without authentication and for events of the server itself. */
  readonly principal: string | null
  /** The task's status; absent for `refused`. */
  readonly status?: TaskStatus
}

/** Repeats of a task: after its process ended unexpectedly, and with `retryLater`. */
export interface TaskRetry {
  /** Times one task may be repeated with `retryLater` before it fails. Default 10. */
  most?: number
  /** Milliseconds before the first takeover after a process ended unexpectedly; doubled for each later one. Default 1000. */
  firstMs?: number
  /** Maximum milliseconds before a takeover. Default 60 000. */
  longestMs?: number
}

/** An engine that decides when and in which process tasks run, such as a job queue. */
export interface TaskRunner {
  /**
   * Arranges that a process calls `tasks.run(id)` after `delayMs` milliseconds. Called when a task was created, answered or
   * has to be repeated, and again for a task that nothing ran since, so it may be called several times. Throw, or reject,
   * if the engine is unavailable.
   */
  start(id: string, delayMs: number): void | Promise<void>
}

/** Options of the tasks extension. */
export interface TasksOptions {
  /** Where tasks are stored. Default: in memory, until the process ends. */
  store?: TaskStore
  /** Milliseconds a task is stored, from its creation, if the client sets none. Default 1 hour. */
  ttlMs?: number
  /** Longest TTL a 2025-11-25 client may request, in milliseconds. Default 24 hours. */
  maxTtlMs?: number
  /** Milliseconds clients should wait between two polls. Default 1000. */
  pollIntervalMs?: number
  /** Stored tasks, including finished ones. Default 1024. */
  maxTasks?: number
  /** Stored tasks per principal, or per network address without authentication. Default 64. */
  maxTasksPerPrincipal?: number
  /** Bytes of one task with arguments, answers and result. Default 1 MiB. */
  maxTaskBytes?: number
  /** Input requests of one task. Default 64. */
  maxQuestions?: number
  /**
   * Milliseconds without a heartbeat after which another process takes over a task. Default 15 000. Steps of a handler that
   * blocks its process for longer may run twice.
   */
  leaseMs?: number
  /** Takeovers of one task before it fails. Default 5. */
  maxTakeovers?: number
  /** Delays of takeovers, and the limit of `retryLater`. */
  retry?: TaskRetry
  /**
   * Whether this process runs tasks. Default true. With false it creates them, and other processes with the same store run
   * them.
   */
  work?: boolean
  /** Tasks that run in this process at once; further ones wait for any process. Default 256. */
  maxRunning?: number
  /** Decides when and where tasks run. Default: processes claim them from the store. */
  runner?: TaskRunner
  /** Called for every event of a task, for an audit log. Default: none. */
  onEvent?: (event: TaskEvent) => void
}

export type TaskSettings = Required<Omit<TasksOptions, 'retry' | 'runner'>> & {
  readonly retry: Required<TaskRetry>
  readonly runner: TaskRunner | undefined
}

/** @throws McpError 'INVALID' for an invalid number */
export function resolveSettings(options: TasksOptions): TaskSettings {
  const settings: TaskSettings = {
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
    retry: { most: 10, firstMs: 1000, longestMs: 60_000, ...options.retry },
    work: options.work ?? true,
    maxRunning: options.maxRunning ?? 256,
    runner: options.runner,
    onEvent: options.onEvent ?? (() => {}),
  }
  requireKnown('The options object of tasks', options, Object.keys(settings))
  requireKnown('The "retry" object of tasks', settings.retry, ['most', 'firstMs', 'longestMs'])
  for (const [name, value] of [...Object.entries(settings), ...Object.entries(settings.retry)]) {
    if (typeof value === 'number' && (!Number.isSafeInteger(value) || value < 1)) {
      throw invalid(`The tasks option "${name}" must be a positive integer, got ${value}`)
    }
  }
  if (settings.ttlMs > settings.maxTtlMs) {
    throw invalid(`The tasks option "ttlMs" is more than "maxTtlMs": ${settings.ttlMs}`)
  }
  if (!settings.store.durable && (!settings.work || settings.runner !== undefined)) {
    throw invalid(
      'The tasks options "work: false" and "runner" need a store that other processes share. Set "store" to a durable one, such as redisTaskStore',
    )
  }
  return settings
}

/** The identifier of the tasks extension, as in `capabilities.extensions`. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
