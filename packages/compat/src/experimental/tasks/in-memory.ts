/** Tasks in the memory of this process, until their time to live is over. */
import { randomUUID } from 'node:crypto'
import { ErrorCode, McpError, type Request, type RequestId, type Result, type Task } from '../../types.ts'
import {
  type CreateTaskOptions,
  isTerminal,
  type QueuedMessage,
  type TaskMessageQueue,
  type TaskStore,
} from './interfaces.ts'

interface StoredTask {
  task: Task
  readonly sessionId: string | undefined
  result?: Result
  timer?: ReturnType<typeof setTimeout>
}

const pageSize = 10
const defaultPollMs = 1_000

export class InMemoryTaskStore implements TaskStore {
  readonly #tasks = new Map<string, StoredTask>()

  async createTask(
    { ttl = null, pollInterval = defaultPollMs }: CreateTaskOptions,
    _requestId: RequestId,
    _request: Request,
    sessionId?: string,
  ): Promise<Task> {
    const now = new Date().toISOString()
    const task: Task = {
      taskId: randomUUID(),
      status: 'working',
      ttl,
      createdAt: now,
      lastUpdatedAt: now,
      pollInterval,
    }
    const stored = { task, sessionId }
    this.#tasks.set(task.taskId, stored)
    this.#expire(stored)
    return { ...task }
  }

  async getTask(taskId: string, sessionId?: string): Promise<Task | null> {
    const stored = this.#find(taskId, sessionId)
    return stored === undefined ? null : { ...stored.task }
  }

  async storeTaskResult(
    taskId: string,
    status: 'completed' | 'failed',
    result: Result,
    sessionId?: string,
  ): Promise<void> {
    const stored = this.#running(taskId, sessionId)
    stored.result = result
    this.#update(stored, status, undefined)
  }

  async getTaskResult(taskId: string, sessionId?: string): Promise<Result> {
    const { result } = this.#require(taskId, sessionId)
    if (result === undefined) throw new McpError(ErrorCode.InvalidParams, `Task ${taskId} has no result`)
    return result
  }

  async updateTaskStatus(
    taskId: string,
    status: Task['status'],
    statusMessage?: string,
    sessionId?: string,
  ): Promise<void> {
    this.#update(this.#running(taskId, sessionId), status, statusMessage)
  }

  async listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const own = [...this.#tasks.values()]
      .filter((stored) => this.#isOwnedBy(stored, sessionId))
      .map(({ task }) => task)
    const after = cursor === undefined ? -1 : own.findIndex(({ taskId }) => taskId === cursor)
    if (cursor !== undefined && after === -1)
      throw new McpError(ErrorCode.InvalidParams, `Invalid cursor: ${cursor}`)
    const tasks = own.slice(after + 1, after + 1 + pageSize)
    const last = tasks.at(-1)
    return after + 1 + pageSize < own.length && last !== undefined
      ? { tasks, nextCursor: last.taskId }
      : { tasks }
  }

  /** Removes all tasks and their timers. */
  cleanup(): void {
    for (const { timer } of this.#tasks.values()) clearTimeout(timer)
    this.#tasks.clear()
  }

  getAllTasks(): Task[] {
    return Array.from(this.#tasks.values(), ({ task }) => ({ ...task }))
  }

  #isOwnedBy(stored: StoredTask, sessionId: string | undefined): boolean {
    return stored.sessionId === undefined || stored.sessionId === sessionId
  }

  #find(taskId: string, sessionId: string | undefined): StoredTask | undefined {
    const stored = this.#tasks.get(taskId)
    return stored !== undefined && this.#isOwnedBy(stored, sessionId) ? stored : undefined
  }

  #require(taskId: string, sessionId: string | undefined): StoredTask {
    const stored = this.#find(taskId, sessionId)
    if (stored !== undefined) return stored
    throw new McpError(ErrorCode.InvalidParams, `Task with ID ${taskId} not found`)
  }

  #running(taskId: string, sessionId: string | undefined): StoredTask {
    const stored = this.#require(taskId, sessionId)
    const { status } = stored.task
    if (!isTerminal(status)) return stored
    throw new McpError(ErrorCode.InvalidParams, `Task ${taskId} has ended (${status}) and cannot change`)
  }

  #update(stored: StoredTask, status: Task['status'], statusMessage: string | undefined): void {
    stored.task = {
      ...stored.task,
      status,
      lastUpdatedAt: new Date().toISOString(),
      ...(statusMessage === undefined ? {} : { statusMessage }),
    }
    // The time to live starts again when a task ends, so that its result can be read.
    if (isTerminal(status)) this.#expire(stored)
  }

  #expire(stored: StoredTask): void {
    clearTimeout(stored.timer)
    const { ttl, taskId } = stored.task
    if (ttl === null) return
    stored.timer = setTimeout(() => this.#tasks.delete(taskId), ttl)
    stored.timer.unref()
  }
}

/** A queue for messages of tasks. Servers of this package do not read it. */
export class InMemoryTaskMessageQueue implements TaskMessageQueue {
  readonly #messages = new Map<string, QueuedMessage[]>()

  async enqueue(taskId: string, message: QueuedMessage, _sessionId?: string, maxSize = 1_000): Promise<void> {
    const queue = this.#messages.get(taskId) ?? []
    if (queue.length >= maxSize)
      throw new RangeError(`The queue of task ${taskId} is full: it has ${maxSize} messages`)
    this.#messages.set(taskId, [...queue, message])
  }

  async dequeue(taskId: string): Promise<QueuedMessage | undefined> {
    const [first, ...rest] = this.#messages.get(taskId) ?? []
    this.#messages.set(taskId, rest)
    return first
  }

  async dequeueAll(taskId: string): Promise<QueuedMessage[]> {
    const all = this.#messages.get(taskId) ?? []
    this.#messages.delete(taskId)
    return all
  }
}
