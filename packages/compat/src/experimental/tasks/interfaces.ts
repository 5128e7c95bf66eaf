/** The tasks of revision 2025-11-25 as the official SDK has them: stores, and the handlers of tools that create tasks. */
import type { AnySchema, ShapeOutput, ZodRawShapeCompat } from '../../server/schemas.ts'
import type { RequestHandlerExtra, RequestTaskStore } from '../../shared/protocol.ts'
import type {
  CallToolResult,
  CreateTaskResult,
  GetTaskResult,
  Request,
  RequestId,
  Result,
  ServerNotification,
  ServerRequest,
  Task,
  ToolExecution,
} from '../../types.ts'

export interface CreateTaskOptions {
  /** Milliseconds to keep the task; `null` for no limit. */
  ttl?: number | null
  pollInterval?: number
  context?: Record<string, unknown>
}

/** Stores tasks and their results. */
export interface TaskStore {
  createTask(
    taskParams: CreateTaskOptions,
    requestId: RequestId,
    request: Request,
    sessionId?: string,
  ): Promise<Task>
  getTask(taskId: string, sessionId?: string): Promise<Task | null>
  storeTaskResult(
    taskId: string,
    status: 'completed' | 'failed',
    result: Result,
    sessionId?: string,
  ): Promise<void>
  getTaskResult(taskId: string, sessionId?: string): Promise<Result>
  updateTaskStatus(
    taskId: string,
    status: Task['status'],
    statusMessage?: string,
    sessionId?: string,
  ): Promise<void>
  listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }>
}

export type QueuedMessage = { type: string; timestamp: number; message: unknown }
/** A queue of messages about a task. This package does not use it. */
export interface TaskMessageQueue {
  enqueue(taskId: string, message: QueuedMessage, sessionId?: string, maxSize?: number): Promise<void>
  dequeue(taskId: string, sessionId?: string): Promise<QueuedMessage | undefined>
  dequeueAll(taskId: string, sessionId?: string): Promise<QueuedMessage[]>
}

export interface CreateTaskRequestHandlerExtra
  extends RequestHandlerExtra<ServerRequest, ServerNotification> {
  taskStore: RequestTaskStore
}
export interface TaskRequestHandlerExtra extends RequestHandlerExtra<ServerRequest, ServerNotification> {
  taskId: string
  taskStore: RequestTaskStore
}

export type BaseToolCallback<
  SendResultT extends Result,
  ExtraT extends RequestHandlerExtra<ServerRequest, ServerNotification>,
  Args extends undefined | ZodRawShapeCompat | AnySchema = undefined,
> = Args extends ZodRawShapeCompat
  ? (args: ShapeOutput<Args>, extra: ExtraT) => SendResultT | Promise<SendResultT>
  : Args extends AnySchema
    ? (args: unknown, extra: ExtraT) => SendResultT | Promise<SendResultT>
    : (extra: ExtraT) => SendResultT | Promise<SendResultT>

export type CreateTaskRequestHandler<
  SendResultT extends Result,
  Args extends undefined | ZodRawShapeCompat | AnySchema = undefined,
> = BaseToolCallback<SendResultT, CreateTaskRequestHandlerExtra, Args>
export type TaskRequestHandler<
  SendResultT extends Result,
  Args extends undefined | ZodRawShapeCompat | AnySchema = undefined,
> = BaseToolCallback<SendResultT, TaskRequestHandlerExtra, Args>

/** The handlers of a tool that creates tasks. */
export interface ToolTaskHandler<Args extends undefined | ZodRawShapeCompat | AnySchema = undefined> {
  createTask: CreateTaskRequestHandler<CreateTaskResult, Args>
  getTask: TaskRequestHandler<GetTaskResult, Args>
  getTaskResult: TaskRequestHandler<CallToolResult, Args>
}

export type TaskToolExecution<TaskSupport = ToolExecution['taskSupport']> = Omit<
  ToolExecution,
  'taskSupport'
> & {
  taskSupport: TaskSupport extends 'forbidden' | undefined ? never : TaskSupport
}

/** Whether a task has ended. */
export function isTerminal(status: Task['status']): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
