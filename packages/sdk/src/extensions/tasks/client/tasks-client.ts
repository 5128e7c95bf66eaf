import type { ClientExtension, ExtensionAccess, ExtensionCall } from '../../../client/extension.ts'
import type { CallOptions, Client, ServerFacts } from '../../../client/types.ts'
import { describeValue, invalid, McpError, RpcError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import type { CallToolResult } from '../../../protocol/definitions.ts'
import { supports } from '../../../protocol/revision.ts'
import { wait } from '../../../transports/client/retry-backoff.ts'
import { tasksExtension } from '../options.ts'
import type { TaskStatus } from '../record.ts'

/** The state of a task, in the same form for every revision. */
export interface TaskState {
  /** Id of the task. */
  readonly taskId: string
  /** `completed`, `failed` and `cancelled` are final. */
  readonly status: TaskStatus
  /** One sentence about the status, for people. */
  readonly statusMessage?: string
  /** ISO 8601. */
  readonly createdAt: string
  /** ISO 8601. */
  readonly lastUpdatedAt: string
  /** Milliseconds the task is stored, from its creation; null for no expiry. */
  readonly ttlMs: number | null
  /** Milliseconds to wait between two polls. */
  readonly pollIntervalMs?: number
  /** Open input requests, by key (2026-07-28). */
  readonly inputRequests?: JsonObject
}

const statuses: readonly string[] = ['working', 'input_required', 'completed', 'failed', 'cancelled']

/**
 * Parses a task.
 * @throws McpError 'PROTOCOL' for an invalid one
 */
function parseState(task: unknown): TaskState {
  if (!isObject(task)) throw protocolError('a task must be an object')
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, inputRequests } = task
  const { ttlMs = task['ttl'] ?? null, pollIntervalMs = task['pollInterval'] } = task
  if (typeof taskId !== 'string' || taskId === '') throw protocolError('a task must have a "taskId"')
  if (!isStatus(status)) throw protocolError(`unknown status ${JSON.stringify(status)}`)
  if (inputRequests !== undefined && !isObject(inputRequests))
    throw protocolError('"inputRequests" must be an object')
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

function parseError({ error }: JsonObject, state: TaskState): Error {
  if (!isObject(error) || !Number.isSafeInteger(error['code']) || typeof error['code'] !== 'number') {
    return protocolError(`the task ${state.taskId} failed without an error`)
  }
  return new RpcError(error['code'], describeValue(error['message'] ?? ''), error['data'])
}

function isStatus(value: unknown): value is TaskStatus {
  return typeof value === 'string' && statuses.includes(value)
}

function protocolError(reason: string): McpError {
  return new McpError('PROTOCOL', `The server violated the tasks protocol: ${reason}`)
}

type TaskOutcome = { readonly result: JsonObject } | { readonly error: Error }

/** Follows a task to its end and answers its input requests. Rejects when the connection or a handler fails. */
type Follow = (
  first: TaskState | string,
  call: ExtensionCall,
  onState?: (state: TaskState) => void,
) => Promise<TaskOutcome>

const defaultPollMs = 1_000
const minPollMs = 50
const maxPollMs = 3_600_000
const keepAliveMs = 5_000
const maxBackoffMs = 30_000
const maxFailures = 8

/** Follows a task of the extension: polls it and answers new input requests. */
const followExtension: Follow = async (first, call, onState) => {
  const poller = new Poller(first, call, onState)
  const answers = new TaskAnswers()
  let { state } = poller
  for (;;) {
    if (state !== undefined) await answers.send(state, call)
    if (state !== undefined) await poller.pause()
    const task = await poller.poll()
    state = poller.state
    switch (state?.status) {
      case 'completed':
        return isObject(task['result'])
          ? { result: withoutResultType(task['result']) }
          : { error: protocolError(`the task ${state.taskId} completed without a result`) }
      case 'failed':
        return { error: parseError(task, state) }
      case 'cancelled':
        return { error: cancelledError(state) }
    }
  }
}

/** Follows a task of 2025-11-25. `tasks/result` is sent early only if the server needs input, which it requests there. */
const followExperimental: Follow = async (first, call, onState) => {
  const poller = new Poller(first, call, onState)
  return pollToEnd(poller, call).finally(() => poller.stop())
}

async function pollToEnd(poller: Poller, call: ExtensionCall): Promise<TaskOutcome> {
  let result: Promise<TaskOutcome | undefined> | undefined
  for (;;) {
    if (poller.state !== undefined) {
      const pause = poller.pause()
      const outcome = result && (await Promise.race([result, pause]))
      if (outcome !== undefined) return outcome
      await pause
    }
    await poller.poll()
    const { state } = poller
    switch (state?.status) {
      case 'cancelled':
        return { error: cancelledError(state) }
      case 'completed':
      case 'failed': {
        const outcome = (await result) ?? (await resultOf(state.taskId, call))
        if (outcome !== undefined) return outcome
        result = undefined
        break
      }
      case 'input_required':
        result ??= resultOf(state.taskId, call).finally(() => {
          result = undefined
        })
        result.catch(() => {})
    }
  }
}

/** The result of a task; undefined if the connection broke before. */
async function resultOf(taskId: string, call: ExtensionCall): Promise<TaskOutcome | undefined> {
  try {
    return { result: withoutResultType(await call.request('tasks/result', { taskId })) }
  } catch (error) {
    if (error instanceof RpcError) return { error }
    if (isTransient(error) && !call.signal.aborted) return undefined
    throw error
  }
}

/** Polls one task at the server's interval, with a backoff after failures. */
class Poller {
  state: TaskState | undefined
  readonly #id: string
  readonly #call: ExtensionCall
  readonly #onState: ((state: TaskState) => void) | undefined
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  #failures = 0

  constructor(first: TaskState | string, call: ExtensionCall, onState?: (state: TaskState) => void) {
    this.state = typeof first === 'string' ? undefined : first
    this.#id = typeof first === 'string' ? first : first.taskId
    this.#call = call
    this.#onState = onState
    this.#signal = AbortSignal.any([call.signal, this.#stop.signal])
  }

  /** Ends the current pause. */
  stop(): void {
    this.#stop.abort()
  }

  /** Waits until the next poll, keeping the call's timeout from expiring. */
  async pause(): Promise<undefined> {
    const { pollIntervalMs = defaultPollMs } = this.state ?? {}
    const interval = Math.min(maxPollMs, Math.max(minPollMs, pollIntervalMs))
    const backoff = Math.min(maxBackoffMs, interval * 2 ** this.#failures)
    let remaining = this.#failures === 0 ? interval : Math.max(interval, backoff)
    while (remaining > 0) {
      const slice = Math.min(remaining, keepAliveMs)
      await wait(slice, this.#signal)
      this.#call.touch()
      remaining -= slice
    }
    return undefined
  }

  /** The task now; an empty object after a transient failure. */
  async poll(): Promise<JsonObject> {
    const taskId = this.#id
    try {
      const task = await this.#call.request('tasks/get', { taskId }, this.#call.onProgress ?? false)
      this.state = parseState(task)
      if (this.state.taskId !== taskId) throw protocolError('it returned another task than requested')
      this.#failures = 0
      this.#call.touch()
      this.#onState?.(this.state)
      return task
    } catch (error) {
      if (!isTransient(error) || this.#call.signal.aborted || ++this.#failures > maxFailures) throw error
      this.state ??= { taskId, status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: null }
      this.state = { ...this.state, status: 'working' }
      return {}
    }
  }
}

/** Answers each input request of a task once, up to the limit of rounds. */
class TaskAnswers {
  readonly #keys = new Set<string>()
  #rounds = 0
  #undelivered: JsonObject = {}

  async send({ taskId, status, inputRequests = {} }: TaskState, call: ExtensionCall): Promise<void> {
    if (status !== 'input_required') return
    const newRequests = Object.entries(inputRequests).filter(([key]) => !this.#keys.has(key))
    if (newRequests.length > 0) {
      if (++this.#rounds > call.maxQuestions) {
        throw new McpError(
          'TOO_MANY_ROUNDS',
          `The task ${taskId} requested input more than ${call.maxQuestions} times`,
        )
      }
      const answers = await call.answer(Object.fromEntries(newRequests))
      for (const [key] of newRequests) this.#keys.add(key)
      this.#undelivered = { ...this.#undelivered, ...answers }
    }
    if (Object.keys(this.#undelivered).length === 0) return
    try {
      await call.request('tasks/update', { taskId, inputResponses: this.#undelivered })
      this.#undelivered = {}
    } catch (error) {
      if (!isTransient(error) || call.signal.aborted) throw error
    }
  }
}

/** Whether a failure is one of the connection, so that a retry may help. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof McpError)) return false
  if (error.code === 'CONNECTION_CLOSED' || error.code === 'OUTCOME_UNKNOWN') return true
  const { status } = error.details
  return error.code === 'HTTP' && typeof status === 'number' && status >= 500
}

function cancelledError({ taskId, statusMessage }: TaskState): McpError {
  const reason = statusMessage === undefined ? '' : `: ${statusMessage}`
  return new McpError('CANCELLED', `The task was cancelled${reason}`, { details: { taskId } })
}

function withoutResultType({ resultType: _type, ...result }: JsonObject): JsonObject {
  return result
}

/** A task on a server. `resume` returns it again by its id, also in another process. */
export interface ClientTask {
  /** Id of the task. */
  readonly id: string
  /** Polls the task once. */
  state(options?: CallOptions): Promise<TaskState>
  /**
   * Waits for the result, answering input requests with the client's handlers. A timeout or abort does not cancel the task.
   * `onState` is called with every state that is polled.
   * @throws RpcError the error of a failed task
   * @throws McpError 'CANCELLED' for a cancelled task
   */
  result(options?: CallOptions & { onState?: (state: TaskState) => void }): Promise<CallToolResult>
  /** Answers input requests by key, without the handlers (2026-07-28). */
  update(inputResponses: JsonObject, options?: CallOptions): Promise<void>
  /** Cancels the task. */
  cancel(options?: CallOptions): Promise<void>
}

/** Options of a call that may become a task. */
export interface StartOptions extends CallOptions {
  /** Requested TTL in milliseconds (2025-11-25 only; later the server decides). */
  ttlMs?: number
}

/** A task, or the result if the server did not create one. */
export type Started =
  /** The task that the server created. */
  | { readonly task: ClientTask }
  /** The result, from a server that ran the tool without a task. */
  | { readonly result: CallToolResult }

/**
 * The client side of the tasks extension and of the experimental tasks of 2025-11-25. `client.call` then waits for tasks, and
 * cancels them when the caller aborts.
 */
export interface TasksClient extends ClientExtension {
  /** Calls a tool, as a task if the server supports it. Does not wait for a task to end. */
  start(client: Client, tool: string, args?: JsonObject, options?: StartOptions): Promise<Started>
  /** A task by its id. Sends no request. With `call`, the call that created it, its result is checked and handlers get it as cause. */
  resume(client: Client, taskId: string, call?: { tool: string; arguments: JsonObject }): ClientTask
}

/** Creates the client extension for the option `extensions` of `connect`. One serves any number of clients. */
export function tasksClient(): TasksClient {
  const clients = new WeakMap<object, ExtensionAccess>()
  const accessOf = (client: object): ExtensionAccess => {
    const access = clients.get(client)
    if (access !== undefined) return access
    throw invalid('This client has no tasks extension: pass tasksClient() to connect in "extensions"')
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
      if (method !== 'tools/call' || !supportsTasks(server) || params['task'] !== undefined) return undefined
      return (await tool())?.execution?.taskSupport === 'required' ? { ...params, task: {} } : undefined
    },
    async start(client, name, args = {}, { ttlMs, ...options } = {}) {
      const access: ExtensionAccess = accessOf(client)
      const params: JsonObject = { name, arguments: args }
      if (supportsTasks(client.server) && (await mayBeTask(access, name))) {
        params['task'] = ttlMs === undefined ? {} : { ttl: ttlMs }
      }
      const { resultType, result } = await access.first('tools/call', params, options)
      if (resultType === 'task') return { task: new Task(client, access, created(result).taskId, params) }
      access.check('tools/call', params, result)
      return { result }
    },
    resume: (client, taskId, call) =>
      new Task(
        client,
        accessOf(client),
        taskId,
        call === undefined ? {} : { name: call.tool, arguments: call.arguments },
      ),
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
    return parseState(await this.#client.request('tasks/get', { taskId: this.id }, options))
  }

  async result({ onState, ...options }: Parameters<ClientTask['result']>[0] = {}): Promise<CallToolResult> {
    const follow = followOf(this.#client.server)
    const outcome = await this.#access.during('tools/call', this.#params, options, (call) =>
      follow(this.id, call, onState),
    )
    const result = resultIn(outcome)
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

/** Waits for the task that a call created. Cancels it if the call fails or is cancelled here. */
async function finish(result: JsonObject, call: ExtensionCall): Promise<JsonObject> {
  if (call.method !== 'tools/call') {
    throw protocolError(`it responded to ${call.method} with a task, which is allowed for tools/call only`)
  }
  const state = created(result)
  let outcome: TaskOutcome
  try {
    outcome = await followOf(call.server)(state, call)
  } catch (error) {
    if (call.signal.aborted || !isTransient(error)) {
      call.apart('tasks/cancel', { taskId: state.taskId }).catch(() => {})
    }
    throw error
  }
  return resultIn(outcome)
}

function resultIn(outcome: TaskOutcome): JsonObject {
  if ('error' in outcome) throw outcome.error
  return outcome.result
}

/** The task in the result of a call: nested on 2025-11-25. */
function created(result: JsonObject): TaskState {
  return parseState(isObject(result['task']) ? result['task'] : result)
}

function followOf(server: ServerFacts): Follow {
  return isExperimental(server) ? followExperimental : followExtension
}

function isExperimental({ revision }: ServerFacts): boolean {
  return supports(revision, 'coreTasks')
}

/** Whether a server of 2025-11-25 supports calls as tasks. */
function supportsTasks(server: ServerFacts): boolean {
  return isExperimental(server) && server.capabilities.tasks?.requests?.tools?.call !== undefined
}

async function mayBeTask(access: ExtensionAccess, name: string): Promise<boolean> {
  const support = (await access.tool(name))?.execution?.taskSupport
  return support === 'optional' || support === 'required'
}
