import { ErrorCode, invalidParams, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { supports } from '../../protocol/revision.ts'
import type { Exchange, Outcome, Peer } from '../../request/exchange.ts'
import { declares, requireExtension } from '../../server/extension.ts'
import type { Server } from '../../server/server.ts'
import { type TaskSettings, tasksExtension } from './options.ts'
import { isFinal, type TaskRecord } from './record.ts'

type TaskSupport = ReturnType<Server['taskSupport']>

/** How a call runs: as a task at once, or as a call whose handler may continue it as a task. */
type Admission = { as: 'task'; ttlMs: number } | { as: 'call'; mayBecomeTask: boolean }

interface Dialect {
  /** Whether `tools/list` has `taskSupport`. */
  readonly listsTaskSupport: boolean
  /** @throws RpcError if the call's `task` does not match the tool's support */
  admit(exchange: Exchange, support: TaskSupport, settings: TaskSettings): Admission
  created(record: TaskRecord, settings: TaskSettings): Outcome
  /** @throws RpcError if the peer may not access the task in this revision */
  authorize(peer: Peer, record: TaskRecord | undefined): void
  state(record: TaskRecord, peer: Peer, server: Server, settings: TaskSettings): JsonObject
  /**
   * The result of `tasks/cancel`.
   * @throws RpcError for a final task on 2025-11-25
   */
  cancelled(record: TaskRecord, done: boolean, settings: TaskSettings): JsonObject
}

/** Revisions without tasks. */
const none: Dialect = {
  listsTaskSupport: false,
  admit({ peer }, support) {
    if (support === 'required') requireExtension(peer, tasksExtension)
    return { as: 'call', mayBecomeTask: false }
  },
  created: () => unsupported(),
  authorize: () => unsupported(),
  state: () => unsupported(),
  cancelled: () => unsupported(),
}

/** Tasks of 2025-11-25, requested by the client per call. */
const experimental: Dialect = {
  listsTaskSupport: true,
  admit({ params: { task } }, support, settings) {
    if (task === undefined && support !== 'required') return { as: 'call', mayBecomeTask: false }
    if (task === undefined || support === undefined) {
      throw new RpcError(
        ErrorCode.MethodNotFound,
        support === 'required'
          ? 'Method not found: this tool runs only as a task. Call it with "task"'
          : 'Method not found: this tool does not run as a task. Call it without "task"',
      )
    }
    return { as: 'task', ttlMs: parseTtl(task, settings) }
  },
  created: (record, settings) => ({
    type: 'extension',
    resultType: 'task',
    result: { task: experimentalTask(record, settings) },
  }),
  authorize: () => {},
  state: (record, _peer, _server, settings) => experimentalTask(record, settings),
  cancelled(record, done, settings) {
    if (done) return experimentalTask(record, settings)
    throw new RpcError(
      ErrorCode.InvalidParams,
      `Cannot cancel: the task is already ${experimentalStatus(record)}`,
    )
  },
}

/** Tasks of 2026-07-28, created by the server for clients that declare the extension. */
const extension: Dialect = {
  listsTaskSupport: false,
  admit({ peer }, support, { ttlMs }) {
    if (support === 'required') requireExtension(peer, tasksExtension)
    const isDeclared = declares(peer, tasksExtension)
    return isDeclared && support !== undefined
      ? { as: 'task', ttlMs }
      : { as: 'call', mayBecomeTask: isDeclared }
  },
  created: (record, settings) => ({
    type: 'extension',
    resultType: 'task',
    result: extensionTask(record, settings),
  }),
  authorize(peer, record) {
    // A client that declares only the core capability may still access tasks it created with it.
    if (record !== undefined && supports(record.peer.version, 'coreTasks') && peer.capabilities.tasks) return
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

export function dialectOf({ revision }: Peer): Dialect {
  if (supports(revision.version, 'coreTasks')) return experimental
  return revision.era === 'stateless' ? extension : none
}

export function errorOf({ error }: TaskRecord): RpcError {
  return error === undefined
    ? new RpcError(ErrorCode.InternalError, 'Internal error')
    : new RpcError(error.code, error.message, error.data)
}

function extensionTask(record: TaskRecord, { pollIntervalMs }: TaskSettings): JsonObject {
  return {
    ...commonMembers(record),
    status: record.status,
    ttlMs: record.expiresAt - record.createdAt,
    ...(isFinal(record) ? {} : { pollIntervalMs }),
  }
}

/** The task object of 2025-11-25. */
export function experimentalTask(record: TaskRecord, { pollIntervalMs }: TaskSettings): JsonObject {
  const status = experimentalStatus(record)
  return {
    ...commonMembers(record),
    status,
    ...(status === 'failed' && record.status === 'completed' ? { statusMessage: 'The tool failed' } : {}),
    ttl: record.expiresAt - record.createdAt,
    pollInterval: pollIntervalMs,
  }
}

/** On 2025-11-25 a tool error fails the task. */
function experimentalStatus({ status, result }: TaskRecord): TaskRecord['status'] {
  return status === 'completed' && result?.['isError'] === true ? 'failed' : status
}

function commonMembers({ id, statusMessage, createdAt, updatedAt }: TaskRecord): JsonObject {
  return {
    taskId: id,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
  }
}

function parseTtl(task: unknown, { ttlMs, maxTtlMs }: TaskSettings): number {
  if (!isObject(task)) throw invalidParams('"task" must be an object')
  const { ttl = ttlMs } = task
  if (typeof ttl !== 'number' || !Number.isSafeInteger(ttl) || ttl < 1) {
    throw invalidParams('"ttl" must be a positive integer of milliseconds')
  }
  return Math.min(ttl, maxTtlMs)
}

function unsupported(): never {
  throw new TypeError('This revision has no tasks')
}
