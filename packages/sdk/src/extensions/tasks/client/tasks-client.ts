import type { ClientExtension, ExtensionAccess, ExtensionCall } from '../../../client/extension.ts'
import type { CallOptions, Client, ServerFacts } from '../../../client/types.ts'
import { McpError, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { describeValue, isObject } from '../../../jsonrpc/parse.ts'
import type { CallToolResult } from '../../../protocol/definitions.ts'
import { wait } from '../../../transports/client/retry-backoff.ts'
import { tasksExtension } from '../options.ts'
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
  return new RpcError(error['code'], describeValue(error['message'] ?? ''), error['data'])
}

function isStatus(value: unknown): value is TaskStatus {
  return typeof value === 'string' && statuses.includes(value)
}

export function protocol(why: string): McpError {
  return new McpError('PROTOCOL', `The server broke the rules for tasks: ${why}`)
}

/** How a task ended. */
export type Ending = { readonly result: JsonObject } | { readonly error: Error }

/** Follows a task to its end, answering its questions on the way. Rejects when this side cannot go on. */
export type Follow = (first: TaskState | string, call: ExtensionCall) => Promise<Ending>

const defaultPollMs = 1_000
const shortestPollMs = 50
const longestPollMs = 3_600_000
const aliveMs = 5_000
const longestBackOffMs = 30_000
const maxFailures = 8

/** Follows a task of the extension: looks at it, answers what is new in it, and looks again. */
export const followExtension: Follow = async (first, call) => {
  const looking = new Looking(first, call)
  const answers = new Answered()
  let { state } = looking
  for (;;) {
    if (state !== undefined) await answers.give(state, call)
    if (state !== undefined) await looking.pause()
    const task = await looking.look()
    state = looking.state
    switch (state?.status) {
      case 'completed':
        return isObject(task['result'])
          ? { result: withoutType(task['result']) }
          : { error: protocol(`the task ${state.taskId} completed without a result`) }
      case 'failed':
        return { error: errorIn(task, state) }
      case 'cancelled':
        return { error: wasCancelled(state) }
    }
  }
}

/** Follows a task of 2025-11-25. Its result is waited for only where the server has to ask something on the way. */
export const followExperimental: Follow = async (first, call) => {
  const looking = new Looking(first, call)
  try {
    return await untilOver(looking, call)
  } finally {
    looking.stop()
  }
}

async function untilOver(looking: Looking, call: ExtensionCall): Promise<Ending> {
  let waiting: Promise<Ending | undefined> | undefined
  for (;;) {
    if (looking.state !== undefined) {
      const pause = looking.pause()
      const ending = waiting && (await Promise.race([waiting, pause]))
      if (ending !== undefined) return ending
      await pause
    }
    await looking.look()
    const { state } = looking
    switch (state?.status) {
      case 'cancelled':
        return { error: wasCancelled(state) }
      case 'completed':
      case 'failed': {
        const ending = (await waiting) ?? (await resultOf(state.taskId, call))
        if (ending !== undefined) return ending
        waiting = undefined
        break
      }
      case 'input_required':
        waiting ??= resultOf(state.taskId, call).finally(() => {
          waiting = undefined
        })
        waiting.catch(() => {})
    }
  }
}

/** The result of a task, once it is there; undefined when the connection broke before it was. */
async function resultOf(taskId: string, call: ExtensionCall): Promise<Ending | undefined> {
  try {
    return { result: withoutType(await call.request('tasks/result', { taskId })) }
  } catch (error) {
    if (error instanceof RpcError) return { error }
    if (mayPass(error) && !call.signal.aborted) return undefined
    throw error
  }
}

/** Looks at one task at the server's pace, and less often while that fails. */
class Looking {
  state: TaskState | undefined
  readonly #id: string
  readonly #call: ExtensionCall
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  #failures = 0

  constructor(first: TaskState | string, call: ExtensionCall) {
    this.state = typeof first === 'string' ? undefined : first
    this.#id = typeof first === 'string' ? first : first.taskId
    this.#call = call
    this.#signal = AbortSignal.any([call.signal, this.#stop.signal])
  }

  /** Ends a pause that nobody waits for any more. */
  stop(): void {
    this.#stop.abort()
  }

  /** Waits until it is time to look again. That nothing comes meanwhile is what was agreed. */
  async pause(): Promise<undefined> {
    const { pollIntervalMs = defaultPollMs } = this.state ?? {}
    const wanted = Math.min(longestPollMs, Math.max(shortestPollMs, pollIntervalMs))
    const failing = Math.min(longestBackOffMs, wanted * 2 ** this.#failures)
    let left = this.#failures === 0 ? wanted : Math.max(wanted, failing)
    while (left > 0) {
      const slice = Math.min(left, aliveMs)
      await wait(slice, this.#signal)
      this.#call.touch()
      left -= slice
    }
    return undefined
  }

  /** The task as it is now; an empty object when the look failed in a way that may pass. */
  async look(): Promise<JsonObject> {
    const taskId = this.#id
    try {
      const task = await this.#call.request('tasks/get', { taskId }, this.#call.onProgress ?? false)
      this.state = stateIn(task)
      if (this.state.taskId !== taskId) throw protocol('it gave another task than the one asked for')
      this.#failures = 0
      this.#call.touch()
      return task
    } catch (error) {
      if (!mayPass(error) || this.#call.signal.aborted || ++this.#failures > maxFailures) throw error
      this.state ??= { taskId, status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: null }
      this.state = { ...this.state, status: 'working' }
      return {}
    }
  }
}

/** Answers each question of a task once, however often it is shown, and asks no more often than any server may. */
class Answered {
  readonly #keys = new Set<string>()
  #rounds = 0
  #undelivered: JsonObject = {}

  async give({ taskId, status, inputRequests = {} }: TaskState, call: ExtensionCall): Promise<void> {
    if (status !== 'input_required') return
    const fresh = Object.entries(inputRequests).filter(([key]) => !this.#keys.has(key))
    if (fresh.length > 0) {
      if (++this.#rounds > call.maxQuestions) {
        throw new McpError(
          'TOO_MANY_ROUNDS',
          `The task ${taskId} asked back more than ${call.maxQuestions} times`,
        )
      }
      const answers = await call.answer(Object.fromEntries(fresh))
      for (const [key] of fresh) this.#keys.add(key)
      this.#undelivered = { ...this.#undelivered, ...answers }
    }
    if (Object.keys(this.#undelivered).length === 0) return
    try {
      await call.request('tasks/update', { taskId, inputResponses: this.#undelivered })
      this.#undelivered = {}
    } catch (error) {
      if (!mayPass(error) || call.signal.aborted) throw error
    }
  }
}

/** Whether a failure is one of the connection, so that trying again may help. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof McpError)) return false
  if (error.code === 'CONNECTION_CLOSED' || error.code === 'OUTCOME_UNKNOWN') return true
  const { status } = error.details
  return error.code === 'HTTP' && typeof status === 'number' && status >= 500
}

function wasCancelled({ taskId, statusMessage }: TaskState): McpError {
  const why = statusMessage === undefined ? '' : `: ${statusMessage}`
  return new McpError('CANCELLED', `The task was cancelled${why}`, { details: { taskId } })
}

function withoutType({ resultType: _type, ...result }: JsonObject): JsonObject {
  return result
}

/** A task on a server. Keep its id to find it again later, from another process too. */
export interface ClientTask {
  readonly id: string
  /** Looks at the task once. */
  state(options?: CallOptions): Promise<TaskState>
  /**
   * Waits for the end, answering the task's questions with the client's handlers. Giving up waiting, by the signal or
   * the clock, leaves the task alone.
   * @throws RpcError the error the task failed with
   * @throws McpError 'CANCELLED' when it was cancelled
   */
  result(options?: CallOptions): Promise<CallToolResult>
  /** Answers questions by key, past the handlers (2026-07-28). */
  update(inputResponses: JsonObject, options?: CallOptions): Promise<void>
  /** Asks the server to cancel the task. */
  cancel(options?: CallOptions): Promise<void>
}

/** How a call is made that may become a task. */
export interface StartOptions extends CallOptions {
  /** Milliseconds the task should be kept (2025-11-25; later the server decides). */
  ttlMs?: number
}

/** What became of a call: a task, or the result at once. The server decides. */
export type Started = { readonly task: ClientTask } | { readonly result: CallToolResult }

/**
 * Speaks the tasks extension, and the experimental tasks of 2025-11-25. With it `client.call` follows a task to its
 * result by itself, and cancels it when the caller gives up.
 */
export interface TasksClient extends ClientExtension {
  /** Calls a tool, as a task where the server can. Does not wait for a task to end. */
  start(client: Client, tool: string, args?: JsonObject, options?: StartOptions): Promise<Started>
  /** Takes up a task again by its id. Sends nothing yet. */
  resume(client: Client, taskId: string): ClientTask
}

/** Makes the client's side of tasks, for the option `extensions` of `connect`. One serves any number of clients. */
export function tasksClient(): TasksClient {
  const clients = new WeakMap<object, ExtensionAccess>()
  const accessOf = (client: object): ExtensionAccess => {
    const access = clients.get(client)
    if (access !== undefined) return access
    throw new McpError(
      'INVALID',
      'This client does not speak tasks: give tasksClient() to connect, in "extensions"',
    )
  }
  return {
    id: tasksExtension,
    named: { 'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' },
    results: { task: finish },
    attach: (client, access) => clients.set(client, access),
    resultType: (result, { server }) =>
      isExperimental(server) && isObject(result['task']) && result['content'] === undefined
        ? 'task'
        : undefined,
    async params({ method, params, server, tool }) {
      if (method !== 'tools/call' || !takesTasks(server) || params['task'] !== undefined) return undefined
      return (await tool())?.execution?.taskSupport === 'required' ? { ...params, task: {} } : undefined
    },
    async start(client, name, args = {}, { ttlMs, ...options } = {}) {
      const access: ExtensionAccess = accessOf(client)
      const params: JsonObject = { name, arguments: args }
      if (takesTasks(client.server) && (await mayBeTask(access, name))) {
        params['task'] = ttlMs === undefined ? {} : { ttl: ttlMs }
      }
      const { resultType, result } = await access.first('tools/call', params, options)
      if (resultType === 'task') return { task: new Task(client, access, created(result).taskId, params) }
      access.check('tools/call', params, result)
      return { result }
    },
    resume: (client, taskId) => new Task(client, accessOf(client), taskId, {}),
  }
}

class Task implements ClientTask {
  readonly id: string
  readonly #client: Client
  readonly #access: ExtensionAccess
  readonly #params: JsonObject

  constructor(client: Client, access: ExtensionAccess, id: string, params: JsonObject) {
    this.#client = client
    this.#access = access
    this.id = id
    this.#params = params
  }

  async state(options: CallOptions = {}): Promise<TaskState> {
    return stateIn(await this.#client.request('tasks/get', { taskId: this.id }, options))
  }

  async result(options: CallOptions = {}): Promise<CallToolResult> {
    const follow = followOf(this.#client.server)
    const ending = await this.#access.during('tools/call', this.#params, options, (call) =>
      follow(this.id, call),
    )
    const result = resultIn(ending)
    const access: ExtensionAccess = this.#access
    access.check('tools/call', this.#params, result)
    return result
  }

  async update(inputResponses: JsonObject, options: CallOptions = {}): Promise<void> {
    await this.#client.request('tasks/update', { taskId: this.id, inputResponses }, options)
  }

  async cancel(options: CallOptions = {}): Promise<void> {
    await this.#client.request('tasks/cancel', { taskId: this.id }, options)
  }
}

/** Follows the task a call was answered with. When this side gives up, there is no use for it any more. */
async function finish(result: JsonObject, call: ExtensionCall): Promise<JsonObject> {
  if (call.method !== 'tools/call') {
    throw protocol(`it answered ${call.method} with a task, which only tools/call may be answered with`)
  }
  const state = created(result)
  let ending: Ending
  try {
    ending = await followOf(call.server)(state, call)
  } catch (error) {
    if (call.signal.aborted || !mayPass(error)) {
      call.apart('tasks/cancel', { taskId: state.taskId }).catch(() => {})
    }
    throw error
  }
  return resultIn(ending)
}

function resultIn(ending: Ending): JsonObject {
  if ('error' in ending) throw ending.error
  return ending.result
}

/** The task in the answer to a call: 2025-11-25 puts it one level down. */
function created(result: JsonObject): TaskState {
  return stateIn(isObject(result['task']) ? result['task'] : result)
}

function followOf(server: ServerFacts): Follow {
  return isExperimental(server) ? followExperimental : followExtension
}

function isExperimental({ revision }: ServerFacts): boolean {
  return revision === '2025-11-25'
}

/** Whether calls to a server of 2025-11-25 may be made as tasks. */
function takesTasks(server: ServerFacts): boolean {
  return isExperimental(server) && server.capabilities.tasks?.requests?.tools?.call !== undefined
}

async function mayBeTask(access: ExtensionAccess, name: string): Promise<boolean> {
  const support = (await access.tool(name))?.execution?.taskSupport
  return support === 'optional' || support === 'required'
}
