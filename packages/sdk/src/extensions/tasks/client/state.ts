import { McpError, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { inWords, isObject } from '../../../jsonrpc/parse.ts'
import type { TaskStatus } from '../record.ts'

/** A task as its server last told of it, in the same form on every revision. */
export interface TaskState {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string
  /** ISO 8601. */
  readonly createdAt: string
  /** ISO 8601. */
  readonly lastUpdatedAt: string
  /** Milliseconds the task is kept from its creation on; null where it is kept for good. */
  readonly ttlMs: number | null
  /** Milliseconds the server wants between two looks. */
  readonly pollIntervalMs?: number
  /** Questions that wait for an answer, by key (2026-07-28). */
  readonly inputRequests?: JsonObject
}

const statuses: readonly string[] = ['working', 'input_required', 'completed', 'failed', 'cancelled']

/**
 * Reads a task as a server sent it.
 * @throws McpError 'PROTOCOL' for what is none
 */
export function stateIn(task: unknown): TaskState {
  if (!isObject(task)) throw protocol('a task must be an object')
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, inputRequests } = task
  const { ttlMs = task['ttl'] ?? null, pollIntervalMs = task['pollInterval'] } = task
  if (typeof taskId !== 'string' || taskId === '') throw protocol('a task must have a "taskId"')
  if (!isStatus(status)) throw protocol(`a task cannot be ${JSON.stringify(status)}`)
  if (inputRequests !== undefined && !isObject(inputRequests))
    throw protocol('"inputRequests" must be an object')
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' ? { statusMessage } : {}),
    createdAt: typeof createdAt === 'string' ? createdAt : '',
    lastUpdatedAt: typeof lastUpdatedAt === 'string' ? lastUpdatedAt : '',
    ttlMs: typeof ttlMs === 'number' ? ttlMs : null,
    ...(typeof pollIntervalMs === 'number' && pollIntervalMs > 0 ? { pollIntervalMs } : {}),
    ...(inputRequests === undefined ? {} : { inputRequests }),
  }
}

/** The error in a failed task. */
export function errorIn({ error }: JsonObject, state: TaskState): Error {
  if (!isObject(error) || !Number.isSafeInteger(error['code']) || typeof error['code'] !== 'number') {
    return protocol(`the task ${state.taskId} failed without saying how`)
  }
  return new RpcError(error['code'], inWords(error['message'] ?? ''), error['data'])
}

function isStatus(value: unknown): value is TaskStatus {
  return typeof value === 'string' && statuses.includes(value)
}

export function protocol(why: string): McpError {
  return new McpError('PROTOCOL', `The server broke the rules for tasks: ${why}`)
}
