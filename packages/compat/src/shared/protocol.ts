/** Options and types of requests that the official SDK's `Server` and `Client` share, and the options of tasks. */
import type { CreateTaskOptions, TaskMessageQueue, TaskStore } from '../experimental/tasks/interfaces.ts'
import type { AnySchema, SchemaOutput } from '../server/schemas.ts'
import type {
  AuthInfo,
  ClientCapabilities,
  Notification,
  Progress,
  RelatedTaskMetadata,
  Request,
  RequestId,
  RequestInfo,
  RequestMeta,
  Result,
  ServerCapabilities,
  Task,
  TaskCreationParams,
} from '../types.ts'
import { type Uncovered, uncovered } from '../uncovered.ts'
import type { TransportSendOptions } from './transport.ts'

export type ProgressCallback = (progress: Progress) => void

export type ProtocolOptions = {
  /** Has no effect: the capabilities of the other side are always checked. */
  enforceStrictCapabilities?: boolean
  /** Has no effect: equal notifications of changes are always merged. */
  debouncedNotificationMethods?: string[]
  /** Stores the tasks of `registerToolTask` (2025-11-25). */
  taskStore?: TaskStore
  /** Has no effect: requests of a task are sent with the client's `tasks/result` request. */
  taskMessageQueue?: TaskMessageQueue
  /** Milliseconds between two polls of a task that the server waits for. Default 5 000. */
  defaultTaskPollInterval?: number
  maxTaskQueueSize?: number
}

/** Default timeout of a request, in milliseconds. */
export const DEFAULT_REQUEST_TIMEOUT_MSEC = 60_000

export type RequestOptions = {
  onprogress?: ProgressCallback
  signal?: AbortSignal
  timeout?: number
  resetTimeoutOnProgress?: boolean
  maxTotalTimeout?: number
  task?: TaskCreationParams
  relatedTask?: RelatedTaskMetadata
} & TransportSendOptions

export type NotificationOptions = { relatedRequestId?: RequestId; relatedTask?: RelatedTaskMetadata }
export type TaskRequestOptions = Omit<RequestOptions, 'relatedTask'>

/** The tasks of one request. */
export interface RequestTaskStore {
  createTask(taskParams: CreateTaskOptions): Promise<Task>
  getTask(taskId: string): Promise<Task>
  storeTaskResult(taskId: string, status: 'completed' | 'failed', result: Result): Promise<void>
  getTaskResult(taskId: string): Promise<Result>
  updateTaskStatus(taskId: string, status: Task['status'], statusMessage?: string): Promise<void>
  listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }>
}

/** The second argument of a request handler. */
export type RequestHandlerExtra<SendRequestT extends Request, SendNotificationT extends Notification> = {
  /** Aborted when the client cancels or disconnects. */
  signal: AbortSignal
  authInfo?: AuthInfo
  sessionId?: string
  _meta?: RequestMeta
  requestId: RequestId
  taskId?: string
  taskStore?: RequestTaskStore
  taskRequestedTtl?: number
  requestInfo?: RequestInfo
  sendNotification: (notification: SendNotificationT) => Promise<void>
  sendRequest: <U extends AnySchema>(
    request: SendRequestT,
    resultSchema: U,
    options?: TaskRequestOptions,
  ) => Promise<SchemaOutput<U>>
  closeSSEStream?: () => void
  closeStandaloneSSEStream?: () => void
}

export const Protocol: Uncovered = uncovered('the class Protocol', 'Extend Server or Client')

/** Adds capabilities to others; members of a capability are merged. */
export function mergeCapabilities(
  base: ServerCapabilities,
  additional: Partial<ServerCapabilities>,
): ServerCapabilities
export function mergeCapabilities(
  base: ClientCapabilities,
  additional: Partial<ClientCapabilities>,
): ClientCapabilities
export function mergeCapabilities(base: object, additional: object): object {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(additional)) {
    const before = merged[name]
    const isMerged = typeof before === 'object' && typeof value === 'object'
    if (value !== undefined) merged[name] = isMerged ? { ...before, ...value } : value
  }
  return merged
}
