import type { ClientExtension, ExtensionAccess, ExtensionCall } from '../../../client/extension.ts'
import type { CallOptions, Client, ServerFacts } from '../../../client/types.ts'
import { McpError } from '../../../jsonrpc/error.ts'
import type { JsonObject } from '../../../jsonrpc/message.ts'
import { isObject } from '../../../jsonrpc/parse.ts'
import type { CallToolResult } from '../../../protocol/definitions.ts'
import { tasksExtension } from '../names.ts'
import { type Ending, type Follow, followExperimental, followExtension, mayPass } from './follow.ts'
import { protocol, stateIn, type TaskState } from './state.ts'

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
