/**
 * The methods of tasks of revision 2025-11-25, served from the task store of an official server. A request of a task to the
 * client is sent with the client's `tasks/result` request.
 */

import type { TaskStore } from '../experimental/tasks/interfaces.ts'
import { isTerminal } from '../experimental/tasks/interfaces.ts'
import type { RequestTaskStore } from '../shared/protocol.ts'
import { ErrorCode, McpError, RELATED_TASK_META_KEY, type Task } from '../types.ts'
import type { Engine } from './engine.ts'
import { isObject, type ServedCall } from './served-call.ts'

const defaultPollMs = 1_000

/** Adds the task methods to an engine. */
export function serveTasks(
  engine: Engine,
  store: TaskStore,
  sessionIdOf: (call: ServedCall) => string | undefined,
): void {
  const { handlers } = engine
  handlers.set('tasks/get', async (_request, call) => ({
    ...(await requireTask(store, call, sessionIdOf(call))),
  }))
  handlers.set('tasks/list', async ({ params }, call) => {
    const cursor = params?.['cursor']
    return { ...(await store.listTasks(typeof cursor === 'string' ? cursor : undefined, sessionIdOf(call))) }
  })
  handlers.set('tasks/cancel', async (_request, call) => {
    const task = await requireTask(store, call, sessionIdOf(call))
    if (isTerminal(task.status)) {
      throw new McpError(ErrorCode.InvalidParams, `Cannot cancel task in terminal status: ${task.status}`)
    }
    await store.updateTaskStatus(
      task.taskId,
      'cancelled',
      'Client cancelled task execution.',
      sessionIdOf(call),
    )
    return { ...(await requireTask(store, call, sessionIdOf(call))) }
  })
  handlers.set('tasks/result', async (_request, call) => {
    const { taskId } = await waitForTask(store, call, sessionIdOf(call))
    const { _meta, ...result } = await store.getTaskResult(taskId, sessionIdOf(call))
    return { ...result, _meta: { ..._meta, [RELATED_TASK_META_KEY]: { taskId } } }
  })
}

async function requireTask(store: TaskStore, call: ServedCall, sessionId: string | undefined): Promise<Task> {
  const { taskId } = call.params
  const task = typeof taskId === 'string' ? await store.getTask(taskId, sessionId) : null
  if (task !== null) return task
  throw new McpError(ErrorCode.InvalidParams, 'Failed to retrieve task: Task not found')
}

/** Waits until a task has ended. */
async function waitForTask(store: TaskStore, call: ServedCall, sessionId: string | undefined): Promise<Task> {
  for (;;) {
    const task = await requireTask(store, call, sessionId)
    if (isTerminal(task.status)) return task
    await pause(task.pollInterval ?? defaultPollMs, call.signal)
  }
}

/** Waits some milliseconds. Rejects with the reason of the signal when it is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** The task store of one request. */
export function taskStoreOf(
  store: TaskStore,
  call: ServedCall,
  sessionId: string | undefined,
): RequestTaskStore {
  return {
    createTask: (params) =>
      store.createTask(params, call.id, { method: call.method, params: requestParams(call) }, sessionId),
    getTask: async (taskId) => {
      const task = await store.getTask(taskId, sessionId)
      if (task !== null) return task
      throw new McpError(ErrorCode.InvalidParams, 'Failed to retrieve task: Task not found')
    },
    storeTaskResult: (taskId, status, result) => store.storeTaskResult(taskId, status, result, sessionId),
    getTaskResult: (taskId) => store.getTaskResult(taskId, sessionId),
    updateTaskStatus: (taskId, status, message) => store.updateTaskStatus(taskId, status, message, sessionId),
    listTasks: (cursor) => store.listTasks(cursor, sessionId),
  }
}

function requestParams({ params }: ServedCall): { [name: string]: unknown } {
  const { _meta, ...others } = params
  return isObject(_meta) ? { ...others, _meta } : others
}
