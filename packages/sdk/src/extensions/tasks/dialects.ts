import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import type { Exchange, Outcome, Peer } from '../../request/exchange.ts'
import { declares, requireExtension } from '../../server/extension.ts'
import type { Server } from '../../server/server.ts'
import { type Settings, tasksExtension } from './options.ts'
import { isOver, type TaskRecord } from './record.ts'

export type TaskSupport = ReturnType<Server['taskSupport']>

/** What becomes of a call: a task at once, or a call, whose handler may or may not make it one later. */
export type Admission = { as: 'task'; ttlMs: number } | { as: 'call'; mayLeave: boolean }

/** How one revision speaks of tasks. */
export interface Dialect {
  /** Whether `tools/list` says which tools can run as tasks. */
  readonly marks: boolean
  /** @throws RpcError for a call that cannot be served as it was made */
  admit(exchange: Exchange, support: TaskSupport, settings: Settings): Admission
  created(record: TaskRecord, settings: Settings): Outcome
  /** @throws RpcError for a peer that may not ask for this task in this way */
  allow(peer: Peer, record: TaskRecord | undefined): void
  /** The result of `tasks/get`. */
  state(record: TaskRecord, peer: Peer, server: Server, settings: Settings): JsonObject
  /**
   * The result of `tasks/cancel`.
   * @throws RpcError where a task that was over already cannot be cancelled
   */
  cancelled(record: TaskRecord, done: boolean, settings: Settings): JsonObject
}

/** Revisions before there were tasks. */
const none: Dialect = {
  marks: false,
  admit({ peer }, support) {
    if (support === 'required') requireExtension(peer, tasksExtension)
    return { as: 'call', mayLeave: false }
  },
  created: () => unspoken(),
  allow: () => unspoken(),
  state: () => unspoken(),
  cancelled: () => unspoken(),
}

/** Tasks as the client asks for them, one by one. */
const experimental: Dialect = {
  marks: true,
  admit({ params: { task } }, support, settings) {
    if (task === undefined && support !== 'required') return { as: 'call', mayLeave: false }
    if (task === undefined || support === undefined) {
      throw new RpcError(
        ErrorCode.MethodNotFound,
        support === 'required'
          ? 'Method not found: this tool runs only as a task. Call it with "task"'
          : 'Method not found: this tool does not run as a task. Call it without "task"',
      )
    }
    return { as: 'task', ttlMs: ttlIn(task, settings) }
  },
  created: (record, settings) => ({
    type: 'extension',
    resultType: 'task',
    result: { task: experimentalTask(record, settings) },
  }),
  allow: () => {},
  state: (record, _peer, _server, settings) => experimentalTask(record, settings),
  cancelled(record, done, settings) {
    if (done) return experimentalTask(record, settings)
    throw new RpcError(
      ErrorCode.InvalidParams,
      `Cannot cancel: the task is already ${experimentalStatus(record)}`,
    )
  },
}

/** Tasks as the server makes them, for clients that say they can follow one. */
const extension: Dialect = {
  marks: false,
  admit({ peer }, support, { ttlMs }) {
    if (support === 'required') requireExtension(peer, tasksExtension)
    const able = declares(peer, tasksExtension)
    return able && support !== undefined ? { as: 'task', ttlMs } : { as: 'call', mayLeave: able }
  },
  created: (record, settings) => ({
    type: 'extension',
    resultType: 'task',
    result: extensionTask(record, settings),
  }),
  allow(peer, record) {
    // A client that knows tasks only as they were may still look at those it made then.
    if (record?.peer.version === '2025-11-25' && peer.capabilities.tasks !== undefined) return
    requireExtension(peer, tasksExtension)
  },
  state: (record, { revision }, server, settings) => {
    const task = extensionTask(record, settings)
    switch (record.status) {
      case 'input_required': {
        const requests = Object.entries(record.questions).map(([key, { question }]) => [key, question])
        const { inputRequests } = revision.inputRequired(Object.fromEntries(requests), undefined, server.info)
        return { ...task, inputRequests }
      }
      case 'completed':
        return { ...task, result: revision.result('tools/call', record.result ?? {}, server.info) }
      case 'failed':
        return { ...task, error: revision.error(errorOf(record)) }
      default:
        return task
    }
  },
  cancelled: () => ({}),
}

const dialects: Readonly<Record<ProtocolVersion, Dialect>> = {
  '2024-11-05': none,
  '2025-03-26': none,
  '2025-06-18': none,
  '2025-11-25': experimental,
  '2026-07-28': extension,
}

/** How a peer speaks of tasks. */
export function dialectOf({ revision }: Peer): Dialect {
  return dialects[revision.version]
}

/** The error a task ended with. */
export function errorOf({ error }: TaskRecord): RpcError {
  return error === undefined
    ? new RpcError(ErrorCode.InternalError, 'Internal error')
    : new RpcError(error.code, error.message, error.data)
}

function extensionTask(record: TaskRecord, { pollIntervalMs }: Settings): JsonObject {
  return {
    ...shown(record),
    status: record.status,
    ttlMs: record.expiresAt - record.createdAt,
    ...(isOver(record) ? {} : { pollIntervalMs }),
  }
}

/** A task in the form 2025-11-25 gives it. */
export function experimentalTask(record: TaskRecord, { pollIntervalMs }: Settings): JsonObject {
  const status = experimentalStatus(record)
  return {
    ...shown(record),
    status,
    ...(status === 'failed' && record.status === 'completed' ? { statusMessage: 'The tool failed' } : {}),
    ttl: record.expiresAt - record.createdAt,
    pollInterval: pollIntervalMs,
  }
}

/** A result that says its tool failed is a failure of the task there. */
function experimentalStatus({ status, result }: TaskRecord): TaskRecord['status'] {
  return status === 'completed' && result?.['isError'] === true ? 'failed' : status
}

function shown({ id, statusMessage, createdAt, updatedAt }: TaskRecord): JsonObject {
  return {
    taskId: id,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
  }
}

function ttlIn(task: unknown, { ttlMs, maxTtlMs }: Settings): number {
  if (!isObject(task)) throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "task" must be an object')
  const { ttl = ttlMs } = task
  if (typeof ttl !== 'number' || !Number.isSafeInteger(ttl) || ttl < 1) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      'Invalid params: "ttl" must be milliseconds, a whole number from 1',
    )
  }
  return Math.min(ttl, maxTtlMs)
}

function unspoken(): never {
  throw new TypeError('This revision has no tasks')
}
